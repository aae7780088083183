// What the caller types as passwords.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace looseleaf::server {

// Thread-safe.
class Passwords {
 public:
  using Account = std::pair<std::string, std::string>;  // the address of the server, and the user

  // Returns what `ask` has answered for this user, and asks unless that was done before; absent if there is no answer.
  // If `ask` throws, it is asked again next time.
  [[nodiscard]] std::optional<std::string> of(const std::string& user,
                                              const std::function<std::optional<std::string>()>& ask);
  // Notes that the account was refused without a password.
  void note_needed(const Account& account);
  [[nodiscard]] bool is_needed(const Account& account);

 private:
  std::mutex mutex_;  // guards the members below
  std::set<Account> needed_;
  std::map<std::string, std::optional<std::string>> by_user_;
};

}  // namespace looseleaf::server

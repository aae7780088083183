#include "server/passwords.hpp"

namespace looseleaf::server {

std::optional<std::string> Passwords::of(const std::string& user,
                                         const std::function<std::optional<std::string>()>& ask) {
  const std::lock_guard lock(mutex_);
  auto password = by_user_.find(user);
  if (password == by_user_.end()) {
    password = by_user_.emplace(user, ask()).first;
  }
  return password->second;
}

void Passwords::note_needed(const Account& account) {
  const std::lock_guard lock(mutex_);
  needed_.insert(account);
}

bool Passwords::is_needed(const Account& account) {
  const std::lock_guard lock(mutex_);
  return needed_.contains(account);
}

}  // namespace looseleaf::server

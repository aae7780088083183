// The one exception type of the library: what failed, where, whether trying again may help, and what to do.
#pragma once

#include <looseleaf/export.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace looseleaf {

enum class ErrorCode {
  usage,            // the caller asked for something that makes no sense
  bad_cluster,      // the cluster file, an option file or a credential is wrong
  wrong_cluster,    // a shard's identity disagrees with the cluster file
  bad_definition,   // an index definition is malformed, or differs from the one in force
  bad_index,        // an index is unknown, still building, or being dropped
  bad_entity,       // an entity is malformed or too large
  refused,          // an immutable property would change
  busy,             // another process holds the job
  unavailable,      // a server could not be reached or kept failing until the time-out
  outcome_unknown,  // a COMMIT was sent and its outcome could not be learnt before the time-out
  server,           // a server refused for good: privileges, disk full, ...
  corrupt,          // stored data cannot be read
  interrupted,      // the caller asked to stop
  io,               // a local file or pipe failed
};

// A failure. what() is a static sentence in lower case; whatever varies (shard, server, line, code) is in the
// context, in the order in which it should be shown. hint() is one in lower case without a full stop, or empty.
class LOOSELEAF_EXPORT Error : public std::runtime_error {
 public:
  using Context = std::vector<std::pair<std::string, std::string>>;

  Error(ErrorCode code, const std::string& what, Context context = {}, std::string hint = {});
  Error(const Error&) = default;
  Error& operator=(const Error&) = default;
  ~Error() override;

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  [[nodiscard]] const Context& context() const noexcept { return context_; }
  [[nodiscard]] const std::string& hint() const noexcept { return hint_; }

  // Adds a context pair unless the key is there already; the innermost place that knows a fact wins.
  Error& with(const std::string& key, const std::string& value);
  Error& with_hint(const std::string& hint);

 private:
  ErrorCode code_;
  Context context_;
  std::string hint_;
};

}  // namespace looseleaf

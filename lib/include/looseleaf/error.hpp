// The library's only exception type. It says what failed and where, whether a retry may help, and what to do.
#pragma once

#include <looseleaf/export.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace looseleaf {

enum class ErrorCode {
  usage,            // the caller's request is invalid
  bad_cluster,      // the cluster file, an option file or a credential is wrong
  wrong_cluster,    // a shard's identity disagrees with the cluster file
  bad_definition,   // an index definition is malformed, or differs from the active one
  bad_index,        // an index is unknown, still building, or being dropped
  bad_position,     // a position in the feed is malformed, or what follows it is gone
  bad_entity,       // an entity is malformed or too large
  refused,          // an immutable property would change, or a unique index has or cannot hold the values
  frozen,           // the store is frozen: it takes no writes and no index changes
  moved,            // the store has moved to another cluster: it takes no writes, and gives no entities by id or query
  busy,             // another process runs the job, or changes the state of the store
  unavailable,      // a server could not be reached, or kept failing until the timeout
  outcome_unknown,  // a COMMIT was sent, and its outcome was still unknown at the timeout
  server,           // a server reported a permanent error: privileges, disk full, ...
  corrupt,          // stored data cannot be read
  interrupted,      // the caller asked to stop
  io,               // a local file, a pipe or another local resource failed
};

// A failure. what() is a fixed text in lower case that says what is wrong. The facts (shard, server, line, code, ...)
// are in the context, in the order in which to show them. hint() says what to do: it is in lower case, without a full
// stop, and may be empty.
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

  // Adds a context pair unless the key exists: a more precise fact may have been added where the error was thrown.
  Error& with(const std::string& key, const std::string& value);
  Error& with_hint(const std::string& hint);

 private:
  ErrorCode code_;
  Context context_;
  std::string hint_;
};

}  // namespace looseleaf

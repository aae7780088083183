// Records the statements of an operation instead of executing them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sql/connection.hpp"

namespace looseleaf::sql {

// The statements of one operation that would change or lock something, on all its sessions, in order. A session in a
// rehearsal sends reads only, and without their locks. The operation runs in one thread.
class Rehearsal {
 public:
  struct Recorded {
    std::uint32_t place;  // as in Connection::rehearse()
    std::string sql;
  };

  void record(std::uint32_t place, std::string sql) { recorded_.push_back({place, std::move(sql)}); }
  // From now on a query has this answer, because a recorded statement would have changed what it reads.
  void pretend(const std::string& sql, Result answer) { answers_.insert_or_assign(sql, std::move(answer)); }
  [[nodiscard]] std::optional<Result> pretended(const std::string& sql) const;
  // Returns what was recorded since the last call, and forgets all pretended answers.
  [[nodiscard]] std::vector<Recorded> take();

 private:
  std::vector<Recorded> recorded_;
  std::map<std::string, Result> answers_;
};

// One session's part in a rehearsal.
class RehearsedSession {
 public:
  RehearsedSession(Rehearsal& rehearsal, std::uint32_t place) : rehearsal_(&rehearsal), place_(place) {}

  void record(const std::string& sql);
  // Answers a query. Sends it by `send` if it reads, without the lock that it takes.
  [[nodiscard]] Result query(const std::string& sql, const std::function<Result(const std::string&)>& send);
  void begin() { begins_ = true; }
  void end(const char* how);
  [[nodiscard]] Rehearsal& rehearsal() const { return *rehearsal_; }

 private:
  Rehearsal* rehearsal_;
  std::uint32_t place_;
  bool begins_ = false;  // the next statement begins a transaction
};

}  // namespace looseleaf::sql

// The store: entities by id, index queries, and the operations on a whole cluster.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <looseleaf/cluster.hpp>
#include <looseleaf/entity_reader.hpp>
#include <looseleaf/error.hpp>
#include <looseleaf/export.hpp>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/jobs.hpp>
#include <looseleaf/query.hpp>
#include <looseleaf/status.hpp>
#include <looseleaf/uuid.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace looseleaf {

namespace shard {
class Shards;
}

struct Warning {
  std::string what;
  Error::Context context;
  std::string hint;
};

struct Options {
  std::chrono::milliseconds timeout = std::chrono::seconds(30);  // of one operation with all its retries
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);
  std::string defaults_file;        // beats the cluster file's; empty: that one
  std::optional<SslMode> ssl_mode;  // beats the cluster file's
  // Called from any thread, one call at a time, once for each distinct warning.
  std::function<void(const Warning&)> on_warning;
  // Asked once if a server wants a password and none is configured; absent: fail instead.
  std::function<std::optional<std::string>(const std::string& prompt)> ask_password;
};

struct Entity {
  Uuid id;
  std::string json;  // the text as stored

  bool operator==(const Entity&) const = default;
};

// What there is under an id.
struct GetResult {
  Uuid id;
  std::optional<Entity> entity;  // absent if there is none
  std::optional<Error> error;  // its body cannot be read (corrupt), or its shard cannot be asked (unavailable, server)
};

// What became of one write.
enum class WriteStatus {
  stored,     // durable: the entity is stored, or deleted
  not_found,  // a delete of an id that is not there
  rejected,   // this entity cannot be stored (error: bad_entity or refused)
  failed,     // not stored: a server failed (error: unavailable, server, ...)
  unknown,    // a COMMIT's outcome stayed unknown (error: outcome_unknown)
};

struct WriteResult {
  std::uint64_t sequence = 0;  // 0 for the first put() or remove() of the stream, then counting up
  Position position;           // as given to put() or remove()
  WriteStatus status = WriteStatus::stored;
  std::optional<Uuid> id;      // absent only if the text was rejected before an id was known
  std::optional<Error> error;  // with status rejected, failed and unknown
  std::string text;            // of a put that was not stored: the text as given
};

struct InitReport {
  Uuid cluster_id;
  std::uint32_t created = 0;  // shards that had no tables yet
  // Indexes that are `building` now because a shard was accepted empty: create them again, so that it knows them too,
  // and backfill.
  std::vector<std::string> unready;
};

// Thread-safe: any number of threads may use one Datastore. It opens connections as needed and keeps them.
class LOOSELEAF_EXPORT Datastore {
 public:
  // Reads the option files; a shard is connected, and its identity checked, when it is first needed.
  [[nodiscard]] static Datastore open(Cluster cluster, Options options = {});
  Datastore(Datastore&&) noexcept;
  Datastore& operator=(Datastore&&) noexcept;
  ~Datastore();

  [[nodiscard]] std::uint32_t shard_count() const;

  // Creates databases and tables on every shard; may be repeated. `accept_empty_shard` names a shard that may be
  // empty although its siblings hold entities. Throws Error(wrong_cluster) rather than adopt a foreign shard.
  InitReport init(std::optional<std::uint32_t> accept_empty_shard = {});

  // The entities with these ids, in the order asked; absent where there is none. Throws what a GetResult's `error`
  // would be. At most a few thousand at a time: all are in memory at once.
  [[nodiscard]] std::vector<std::optional<Entity>> get(const std::vector<Uuid>& ids) const;
  // The same one by one, until `on_result` returns false: any number of ids, of whatever size, in bounded memory. With
  // a shard down the ids of the others are answered nevertheless, and the shard is waited for once. `down`, for work in
  // several calls: the shards that one of them has waited for in vain, and why; the next does not ask them again.
  void get_each(const std::vector<Uuid>& ids, const std::function<bool(GetResult)>& on_result,
                std::map<std::uint32_t, Error>* down = nullptr) const;

  // Stores JSON texts, or deletes ids, and returns when each is durable or failed. For long inputs use WriteStream.
  std::vector<WriteResult> put(const std::vector<std::string>& texts);
  std::vector<WriteResult> remove(const std::vector<Uuid>& ids);

  // Calls `on_entity` for each match in index order until it returns false. See query.hpp.
  QueryReport query(const Query& query, const std::function<bool(const Entity&)>& on_entity) const;
  // All of them at once, up to the query's limit. At most a few thousand: all are in memory.
  [[nodiscard]] std::vector<Entity> get_all(const Query& query) const;

  // Creates the indexes that are not there yet. Each is `ready` on return if the store was empty, else `building`.
  std::vector<CreateReport> create_indexes(const std::vector<IndexDefinition>& definitions);
  // What create_indexes() would do; changes nothing.
  [[nodiscard]] std::vector<CreatePlan> plan_indexes(const std::vector<IndexDefinition>& definitions) const;
  DropReport drop_index(const std::string& table, const DropOptions& options = {});
  // Throws Error(bad_index), as drop_index would, for the first of these of which nothing is known.
  void require_indexes(const std::vector<std::string>& tables) const;

  // Long jobs; see jobs.hpp.
  BackfillReport backfill(const BackfillOptions& options, JobControl& control);
  VerifyReport verify(const VerifyOptions& options, JobControl& control);
  CleanReport clean(const CleanOptions& options, JobControl& control);

  // Never throws because of a shard that is down: that is part of the answer.
  [[nodiscard]] Status status() const;
  // The same of one shard alone.
  [[nodiscard]] ShardStatus status(std::uint32_t shard) const;

 private:
  friend class WriteStream;
  explicit Datastore(std::shared_ptr<shard::Shards> shards);
  std::shared_ptr<shard::Shards> shards_;
};

// Writes a long sequence of puts and deletes at full speed with bounded memory: texts are parsed and compressed by a
// few threads, and one writer per shard stores them in batches as large as the input comes in fast. Writes of one id
// take effect in the order given.
class LOOSELEAF_EXPORT WriteStream {
 public:
  // `on_result` is called once per put() and remove(), in their order, from one thread of the stream's own.
  // It may block (nothing is lost, writing waits) but must not throw. Throws Error(io) if no threads can be had.
  WriteStream(Datastore& datastore, std::function<void(WriteResult)> on_result);
  // Finishes what was given; prefer finish().
  ~WriteStream();

  // Both block while too much is in flight. `position` comes back in the result and in error messages. If the stream
  // itself has failed, for want of memory or because on_result threw after all, every member function throws that:
  // what no result was given for may be stored or not.
  void put(std::string text, Position position = {});
  void remove(Uuid id, Position position = {});
  // Returns when the results of everything given so far were delivered; more may follow.
  void flush();
  // Returns when the last result was delivered.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace looseleaf

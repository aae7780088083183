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
  std::chrono::milliseconds timeout = std::chrono::seconds(30);  // limit for one operation including all its retries
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);
  std::string defaults_file;        // takes precedence over the cluster file's; empty: use that one
  std::optional<SslMode> ssl_mode;  // takes precedence over the cluster file's
  // Called once for each distinct warning, from any thread, one call at a time.
  std::function<void(const Warning&)> on_warning;
  // Called once if a server wants a password and none is configured. Without it, connecting fails instead.
  std::function<std::optional<std::string>(const std::string& prompt)> ask_password;
};

struct Entity {
  Uuid id;
  std::string json;  // the text as stored

  bool operator==(const Entity&) const = default;
};

// The result of reading one id.
struct GetResult {
  Uuid id;
  std::optional<Entity> entity;  // absent if no entity has this id, or if `error` is set
  std::optional<Error> error;    // why the body (corrupt) or the shard (unavailable, server) cannot be read
};

// The outcome of one write.
enum class WriteStatus {
  stored,     // the entity was stored or deleted, durably
  not_found,  // a delete found no entity with this id
  rejected,   // the entity cannot be stored (error: bad_entity or refused)
  failed,     // the entity was not stored because a server failed (error: unavailable, server, ...)
  unknown,    // the outcome of a COMMIT is unknown (error: outcome_unknown)
};

struct WriteResult {
  std::uint64_t sequence = 0;  // 0 for the stream's first put() or remove(), 1 for the second, and so on
  Position position;           // the position that was given to put() or remove()
  WriteStatus status = WriteStatus::stored;
  std::optional<Uuid> id;      // absent only if the text was rejected before its id was known
  std::optional<Error> error;  // set with status rejected, failed and unknown
  std::string text;            // the given text, if a put was not stored
};

struct InitReport {
  Uuid cluster_id;
  std::uint32_t created = 0;  // number of shards that had no tables before
  // Indexes that are `building` now because an empty shard was accepted. Create them again so that the new shard has
  // them too, then run a backfill.
  std::vector<std::string> unready;
};

// Thread-safe: any number of threads may use one Datastore. It opens connections when they are needed and keeps them
// open.
class LOOSELEAF_EXPORT Datastore {
 public:
  // Reads the option files. It connects to a shard, and checks the shard's identity, when the shard is first needed.
  [[nodiscard]] static Datastore open(Cluster cluster, Options options = {});
  Datastore(Datastore&&) noexcept;
  Datastore& operator=(Datastore&&) noexcept;
  ~Datastore();

  [[nodiscard]] std::uint32_t shard_count() const;

  // Creates databases and tables on every shard. It is safe to call it again. `accept_empty_shard` names a shard that
  // may be empty although other shards hold entities. Throws Error(wrong_cluster) if a shard belongs to another
  // cluster.
  InitReport init(std::optional<std::uint32_t> accept_empty_shard = {});

  // Returns the entities in the order of `ids`; an element is absent if no entity has that id. Throws the error that a
  // GetResult would have in `error`. Ask for at most a few thousand ids: all entities are in memory at once.
  [[nodiscard]] std::vector<std::optional<Entity>> get(const std::vector<Uuid>& ids) const;
  // Reads any number of entities of any size in bounded memory. Calls `on_result` for each id in order until it returns
  // false. If a shard is down, the call waits for it once, and the results for its ids have `error`; the other ids are
  // answered. To split the work over several calls, pass the same `down` to each: a call adds the shards that it could
  // not reach, with the reason, and does not wait for those that are already in it.
  void get_each(const std::vector<Uuid>& ids, const std::function<bool(GetResult)>& on_result,
                std::map<std::uint32_t, Error>* down = nullptr) const;

  // Stores JSON texts, or deletes ids. Returns when each write is durable or has failed, with one result per write, in
  // order. Use WriteStream for long inputs.
  std::vector<WriteResult> put(const std::vector<std::string>& texts);
  std::vector<WriteResult> remove(const std::vector<Uuid>& ids);

  // Calls `on_entity` for each match, in index order, until it returns false. See query.hpp.
  QueryReport query(const Query& query, const std::function<bool(const Entity&)>& on_entity) const;
  // Returns all matches, up to the query's limit. Ask for at most a few thousand: all are in memory at once.
  [[nodiscard]] std::vector<Entity> get_all(const Query& query) const;

  // Creates the indexes that do not exist yet. A new index is `ready` on return if the store was empty, or else
  // `building`.
  std::vector<CreateReport> create_indexes(const std::vector<IndexDefinition>& definitions);
  // Returns what create_indexes() would do. Changes nothing.
  [[nodiscard]] std::vector<CreatePlan> plan_indexes(const std::vector<IndexDefinition>& definitions) const;
  DropReport drop_index(const std::string& table, const DropOptions& options = {});
  // Throws Error(bad_index), as drop_index() does, for the first of these indexes that does not exist.
  void require_indexes(const std::vector<std::string>& tables) const;

  // Long jobs; see jobs.hpp.
  BackfillReport backfill(const BackfillOptions& options, JobControl& control);
  VerifyReport verify(const VerifyOptions& options, JobControl& control);
  CleanReport clean(const CleanOptions& options, JobControl& control);

  // Reports the state of all shards. A shard that is down is reported too; it does not cause an exception.
  [[nodiscard]] Status status() const;
  // Reports the state of one shard.
  [[nodiscard]] ShardStatus status(std::uint32_t shard) const;

 private:
  friend class WriteStream;
  explicit Datastore(std::shared_ptr<shard::Shards> shards);
  std::shared_ptr<shard::Shards> shards_;
};

// Writes a long sequence of puts and deletes at full speed in bounded memory. A few threads parse and compress the
// texts. One writer per shard stores them in batches; batches grow when input arrives faster. Writes of one id take
// effect in the order in which they were given.
class LOOSELEAF_EXPORT WriteStream {
 public:
  // `on_result` is called once per put() and remove(), in their order, from one thread that the stream owns. It may
  // block, which slows writing down but loses nothing. It must not throw. Throws Error(io) if threads cannot be
  // started.
  WriteStream(Datastore& datastore, std::function<void(WriteResult)> on_result);
  // Waits for all writes, as finish() does, but cannot report an error. Call finish() first.
  ~WriteStream();

  // Both calls block while too many writes are waiting. `position` is returned in the result and in error messages. If
  // the stream itself has failed, because memory ran out or `on_result` threw, every member function throws that error.
  // Writes that have no result yet may then be stored or not.
  void put(std::string text, Position position = {});
  void remove(Uuid id, Position position = {});
  // Returns when all results for the writes so far were delivered. More writes may follow.
  void flush();
  // Waits for all writes and returns when the last result was delivered. No writes may follow.
  void finish();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace looseleaf

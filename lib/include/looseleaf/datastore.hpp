// The store: entities by id, index queries, and the operations on a whole cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/buffer.hpp>
#include <looseleaf/cluster.hpp>
#include <looseleaf/compare.hpp>
#include <looseleaf/copy.hpp>
#include <looseleaf/entity.hpp>
#include <looseleaf/entity_reader.hpp>
#include <looseleaf/error.hpp>
#include <looseleaf/export.hpp>
#include <looseleaf/feed.hpp>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/jobs.hpp>
#include <looseleaf/key.hpp>
#include <looseleaf/options.hpp>
#include <looseleaf/query.hpp>
#include <looseleaf/status.hpp>
#include <looseleaf/trigger.hpp>
#include <looseleaf/uuid.hpp>
#include <looseleaf/write.hpp>
#include <looseleaf/write_stream.hpp>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace looseleaf {

// If memory runs out, a call throws std::bad_alloc, or an Error that names the cause. Where the C++ library or one that
// this one uses cannot report it, in a destructor for example, the process ends (std::terminate). A write that this
// happens to is reported as failed or unknown, or not at all, but never as stored.
//
// Thread-safe: any number of threads may use one Datastore. It opens connections when they are needed and keeps them
// open. A long job (backfill, clean, verify, copy, move, a trigger) keeps one or two of them to itself, and at the
// default of 8 for each server only two are for this use. So give each job that runs beside another a Datastore of its
// own, or raise the limit.
//
// Do not use or destroy a Datastore in a child process after fork(): the child would write to the connections of its
// parent. Let the child open one of its own.
//
// With the first connection, the client library (MariaDB Connector/C) makes the whole process ignore SIGPIPE.
class LOOSELEAF_EXPORT Datastore {
 public:
  // Reads the option files and the password file. They are read again for each new connection; if they are no regular
  // files, or cannot be read any more, what was read first counts. It connects to a shard, and checks the shard's identity, when the shard is first needed.
  // Throws Error(bad_cluster) or Error(usage) if the number of shards, a limit of connections or a timeout is out of
  // range.
  [[nodiscard]] static Datastore open(Cluster cluster, Options options = {});
  Datastore(Datastore&&) noexcept;
  Datastore& operator=(Datastore&&) noexcept;
  ~Datastore();

  [[nodiscard]] std::uint32_t shard_count() const;

  // Creates databases and tables on every shard. It is safe to call it again. `accept_empty` names shards that
  // may be empty although other shards hold entities. Throws Error(wrong_cluster) if a shard belongs to another
  // cluster.
  InitReport init(const std::set<std::uint32_t>& accept_empty = {});

  // Returns the entities in the order of `ids`; an element is absent if no entity has that id. Throws the error that a
  // GetResult would have in `error`. Ask for at most a few thousand ids: all entities are in memory at once.
  [[nodiscard]] std::vector<std::optional<Entity>> get(const std::vector<Uuid>& ids) const;
  // Reads any number of entities of any size in bounded memory. Calls `on_result` for each id in order until it returns
  // false. If a shard is down, the call waits for it once, and the results for its ids have `error`; the other ids are
  // answered. To split the work over several calls, pass the same `down` to each: a call adds the shards that it could
  // not reach, with the reason, and does not wait for those that are already in it.
  void get_each(const std::vector<Uuid>& ids, const std::function<bool(GetResult)>& on_result,
                std::map<std::uint32_t, Error>* down = nullptr, Stamps stamps = Stamps::leave_out) const;

  // Stores each JSON text, or deletes each id, for which the condition holds. Returns when each write is durable or has
  // failed, with one result per write, in order. With a key, a text without an id gets the id of its key, and a text
  // with another id is rejected. Use WriteStream for long inputs. Throws Error(usage) if the condition's stamp is
  // malformed.
  std::vector<WriteResult> put(const std::vector<std::string>& texts, const WriteCondition& condition = {},
                               const Key& key = {});
  std::vector<WriteResult> remove(const std::vector<Uuid>& ids, const WriteCondition& condition = {});

  // Merges JSON texts into the stored entities with the same ids, as JSON Merge Patch (RFC 7396) says, and stores the
  // results: members of a text replace those of the entity, objects are merged, and null deletes a member. All other
  // members stay byte for byte. If another writer changes an entity meanwhile, it is merged again. A text without an id
  // is rejected, unless it has all properties of the key. `positions` are for the results and their errors; they are
  // empty, or one for each text.
  std::vector<WriteResult> merge(const std::vector<std::string>& texts, const std::vector<Position>& positions = {},
                                 const Key& key = {});
  // Reads an entity, calls `change` with its text, and stores the text that `change` returns, which must have the same
  // id, and the key that makes this id, if a key is given. If another writer has changed the entity meanwhile, begins
  // again. Calls for one entity wait for one another, in other processes too, so that they seldom begin again. What
  // `change` throws is thrown.
  WriteResult update(const Uuid& id, const std::function<std::string(const std::string& text)>& change,
                     const Key& key = {});

  // Calls `on_entity` for each match, in index order, until it returns false. See query.hpp.
  QueryReport query(const Query& query, const std::function<bool(const Entity&)>& on_entity) const;
  // Returns all matches, up to the query's limit. Ask for at most a few thousand: all are in memory at once.
  [[nodiscard]] std::vector<Entity> get_all(const Query& query) const;

  // Reads all entities, in no order. An entity that exists throughout is given exactly once; one that is deleted,
  // purged and put again meanwhile may be given twice. On return, and after an error, `report.position` says where
  // changes() or another call continues; it is empty if the call fails before it knows a position. Calls `on_batch`
  // from any thread, one call at a time, until it returns false. If it throws, the batch does not count as delivered.
  // See feed.hpp.
  void export_entities(const FeedOptions& options, const std::function<bool(const ChangeBatch&)>& on_batch,
                       FeedReport& report) const;
  // Reads the latest version of everything that has changed after a position, at least once, and for each entity in the
  // order of its versions. Throws Error(bad_position) if something that follows the position is gone, and, with
  // `follow`, Error(moved) if the store has moved and everything in it was delivered.
  void changes(const ChangesOptions& options, const std::function<bool(const ChangeBatch&)>& on_batch,
               FeedReport& report) const;

  // Runs a trigger, which it creates if there is none of this name, until `options.stop` returns true. Calls `deliver`
  // with batches of changes, one call at a time, from any thread. The store keeps how far the trigger has come when
  // `deliver` has returned true. If it returns false, or throws an Error, it gets the batch again after a second, and
  // then after longer and longer times, at most a minute. Throws Error(bad_position) if a shard has lost changes that
  // were delivered, or has purged deletes that were not, and Error(moved) if the store has moved and everything in it
  // was delivered. See trigger.hpp.
  TriggerReport run_trigger(const TriggerOptions& options,
                            const std::function<bool(std::span<const Change>)>& deliver) const;
  // Returns all triggers, in the order of their names, or with `only` the one of this name, if there is one. If a shard
  // does not answer, throws, or with `down` adds it there and leaves it out.
  [[nodiscard]] std::vector<TriggerStatus> triggers(std::map<std::uint32_t, Error>* down = nullptr,
                                                    const std::string& only = {}) const;
  // Lets a trigger begin again at `after`. Throws Error(usage) if there is none of this name, and Error(busy) if a
  // process runs it, unless `force` is true. So does drop_trigger(). Throws Error(moved) if the store has moved.
  void reset_trigger(const std::string& name, const std::string& after = "beginning", bool force = false);
  void drop_trigger(const std::string& name, bool force = false);

  // Makes another cluster hold the same indexes and entities, however many shards it has. It must be initialised and
  // empty, or a copy that an earlier call has begun. Nobody else can write to it until the copy is detached. Returns
  // when everything that was committed when it was called is there; with `follow`, when it is stopped. A call that was
  // interrupted is continued by the next one. Throws Error(usage) if the other cluster is something else.
  CopyReport copy_to(Datastore& other, const CopyOptions& options, JobControl& control) const;
  // Opens a copy, which is a store of its own then. What is put in this store after the copy has caught up is not in
  // it.
  // `options` are for catching up, without `follow`.
  CopyReport detach_copy(Datastore& other, CopyEnd end, const CopyOptions& options, JobControl& control) const;
  // Moves this store to its copy: copies and compares everything while writers go on, lets them wait for a moment, and
  // opens the other cluster once this one takes no writes any more. Afterwards reads and writes of entities here throw
  // Error(moved). Begins the copy if there is none. If the call fails before the move is decided, this store is open
  // again, at the latest after `freeze_limit`; if later, the store has moved, and a repetition completes the move.
  // After Error(outcome_unknown) it is not known which. Does not move the store if the other cluster differs: the
  // report says so. Throws Error(busy) if a trigger has not delivered everything, if there are buffered or refused
  // writes, or if an index changes, and Error(frozen) if this store is frozen.
  MoveReport move_to(Datastore& other, const MoveOptions& options, JobControl& control) const;

  // Creates the indexes that do not exist yet. A new index is `ready` on return if the store was empty, or else
  // `building`. This and what else takes definitions throws Error(bad_definition), with the table as `file` and a
  // position in canonical_json(), for a definition that IndexDefinition::parse() would refuse.
  std::vector<CreateReport> create_indexes(const std::vector<IndexDefinition>& definitions);
  // Compares definitions, each of another table, with the active indexes. Returns all of both in order of their names.
  [[nodiscard]] std::vector<DeclaredIndex> compare_definitions(const std::vector<IndexDefinition>& definitions) const;
  // Returns the statements with which create_indexes() would change or lock something. It runs the same code, but sends
  // only reads. Generations, tokens and epochs are random numbers, which every run draws anew.
  [[nodiscard]] std::vector<CreatePlan> plan_indexes(const std::vector<IndexDefinition>& definitions) const;
  DropReport drop_index(const std::string& table, const DropOptions& options = {});
  // Throws Error(bad_index), as drop_index() does, for the first of these indexes that does not exist.
  void require_indexes(const std::vector<std::string>& tables) const;

  // Returns what an entity calls for in each index, whether the entity is stored or not. Throws Error(bad_entity) if
  // put would reject the text; lines and columns in its context are counted from `start`.
  [[nodiscard]] std::vector<IndexedEntity> explain(const std::string& json, Position start = {}) const;

  // Returns what indexes with these definitions would hold of a sample: the newest entities of each shard, about 1,000
  // in all. The indexes need not exist. Entities that cannot be read, and those that take more than 64 KiB as stored,
  // are left out.
  [[nodiscard]] std::map<std::string, IndexingCounts> count_sample(
      const std::vector<IndexDefinition>& definitions) const;

  // Throws Error(usage), as a job does, if these limits cannot be applied to this cluster.
  void check_throttle(const Throttle& throttle) const;
  // Long jobs; see jobs.hpp.
  BackfillReport backfill(const BackfillOptions& options, JobControl& control);
  VerifyReport verify(const VerifyOptions& options, JobControl& control);
  // Compares the entities of this store with those of another one, which may have other shards, servers and vendors. It
  // changes and locks nothing, and both stores may be written meanwhile. See compare.hpp. Throws Error(usage) if it is
  // the same store.
  CompareReport compare(const Datastore& other, const CompareOptions& options, JobControl& control) const;
  CleanReport clean(const CleanOptions& options, JobControl& control);

  // Stores the buffered writes, see WriteCondition::buffer, whose servers answer, those of each id in the order in
  // which they were accepted. Each takes effect once, however often and by however many processes they are flushed;
  // clean() does so too. Throws Error(interrupted) when asked to stop; `report` then has what was done.
  void flush(JobControl& control, FlushReport& report);
  // Calls `on_write` for each refused write until it returns false.
  void list_refused(const std::function<bool(const RefusedWrite&)>& on_write) const;
  // Buffer the refused writes with these ids once more, so that the next flush() tries them again, or forget them. Both
  // return the number of these writes. `unknown` gets the ids that no refused write has.
  std::uint64_t retry_refused(const std::vector<Uuid>& ids, std::vector<Uuid>* unknown = nullptr);
  std::uint64_t drop_refused(const std::vector<Uuid>& ids, std::vector<Uuid>* unknown = nullptr);
  // Do the same with all refused writes.
  std::uint64_t retry_all_refused();
  std::uint64_t drop_all_refused();

  // Lets every shard refuse writes and index changes, which fail with Error(frozen), until thaw() is called. Reads,
  // verify, clean and the feed go on; backfill and flush are refused. On return, every write that was acknowledged is
  // stored, except buffered ones, and no other write is stored later. `reason` is one line of at most 1,000 characters,
  // and is shown to those whose writes are refused. Throws Error(frozen) if a
  // shard is frozen already, and Error(moved) or Error(busy) if the store has moved or is about to. If a shard cannot
  // be frozen, opens the others again and throws.
  void freeze(const std::string& reason);
  // Opens every frozen shard and returns their number; 0 if the store is open already. If a server fails, opens the
  // other shards and throws. Gives up a move of the store that is not decided. Throws Error(moved) if the store has
  // moved, which cannot be undone; and Error(busy) if another store is being copied or about to move here, unless
  // `force` is true: then the copy cannot continue.
  std::uint32_t thaw(bool force = false);

  // Reports the state of all shards. A shard that is down is reported too; it does not cause an exception.
  [[nodiscard]] Status status() const;
  // Reports the state of one shard. Throws Error(usage) if there is no such shard.
  [[nodiscard]] ShardStatus status(std::uint32_t shard) const;

 private:
  friend class WriteStream;
  class Impl;
  explicit Datastore(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared with the streams of this store
};

}  // namespace looseleaf

// The store: entities by id, index queries, and the operations on a whole cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/cluster.hpp>
#include <looseleaf/entity.hpp>
#include <looseleaf/error.hpp>
#include <looseleaf/export.hpp>
#include <looseleaf/index_definition.hpp>
#include <looseleaf/jobs.hpp>
#include <looseleaf/options.hpp>
#include <looseleaf/query.hpp>
#include <looseleaf/status.hpp>
#include <looseleaf/uuid.hpp>
#include <looseleaf/write.hpp>
#include <looseleaf/write_stream.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace looseleaf {

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
  class Impl;
  explicit Datastore(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared with the streams of this store
};

}  // namespace looseleaf

// The public class Datastore: each member hands over to its operation.
#include <looseleaf/datastore.hpp>

#include "api/store.hpp"
#include "backfill/backfill.hpp"
#include "clean/clean.hpp"
#include "cluster/init.hpp"
#include "cluster/status.hpp"
#include "compare/compare.hpp"
#include "copy/copy.hpp"
#include "feed/feed.hpp"
#include "flush/flush.hpp"
#include "flush/refused.hpp"
#include "index/create_index.hpp"
#include "index/create_plan.hpp"
#include "index/declared_indexes.hpp"
#include "index/drop_index.hpp"
#include "index/explain.hpp"
#include "job/throttling.hpp"
#include "move/finish.hpp"
#include "move/freeze.hpp"
#include "read/get.hpp"
#include "read/query.hpp"
#include "shard/access.hpp"
#include "trigger/list.hpp"
#include "trigger/manage.hpp"
#include "trigger/trigger.hpp"
#include "update/update.hpp"
#include "verify/verify.hpp"
#include "write/encode.hpp"

namespace looseleaf {
Datastore::Datastore(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Datastore::Datastore(Datastore&&) noexcept = default;
Datastore& Datastore::operator=(Datastore&&) noexcept = default;
Datastore::~Datastore() = default;

Datastore Datastore::open(Cluster cluster, Options options) {
  return Datastore(std::make_shared<Impl>(std::move(cluster), std::move(options)));
}

std::uint32_t Datastore::shard_count() const {
  return impl_->shards.count();
}

InitReport Datastore::init(const std::set<std::uint32_t>& accept_empty) {
  return cluster::init(impl_->shards, accept_empty);
}

std::vector<std::optional<Entity>> Datastore::get(const std::vector<Uuid>& ids) const {
  std::vector<std::optional<Entity>> entities;
  entities.reserve(ids.size());
  get_each(ids, [&](GetResult result) {
    if (result.error) {
      throw *result.error;
    }
    entities.push_back(std::move(result.entity));
    return true;
  });
  return entities;
}

void Datastore::get_each(const std::vector<Uuid>& ids, const std::function<bool(GetResult)>& on_result,
                         std::map<std::uint32_t, Error>* down, Stamps stamps) const {
  read::Unavailable unavailable(down != nullptr ? *down : read::Unavailable::Shards());
  read::get_each(impl_->shards, ids, on_result, unavailable, read::Wanted::all,
                 {.text = read::require_entity, .skip = {}}, stamps);
  if (down != nullptr) {
    *down = unavailable.down();
  }
}

std::vector<WriteResult> Datastore::put(const std::vector<std::string>& texts, const WriteCondition& condition,
                                        const Key& key) {
  std::vector<WriteResult> results;
  if (texts.size() == 1) {
    impl_->shards.prepare_put();
    results.push_back(write::put_one(impl_->shards, impl_->writer, texts.front(), write::to_condition(condition), key));
    return results;
  }
  WriteStream stream(
      *this, [&](WriteResult result) { results.push_back(std::move(result)); }, key);
  for (const std::string& text : texts) {
    stream.put(text, {}, condition);
  }
  stream.finish();
  return results;
}

std::vector<WriteResult> Datastore::remove(const std::vector<Uuid>& ids, const WriteCondition& condition) {
  std::vector<WriteResult> results;
  WriteStream stream(*this, [&](WriteResult result) { results.push_back(std::move(result)); });
  for (const Uuid& id : ids) {
    stream.remove(id, {}, condition);
  }
  stream.finish();
  return results;
}

std::vector<WriteResult> Datastore::merge(const std::vector<std::string>& texts, const std::vector<Position>& positions,
                                          const Key& key) {
  return update::merge(impl_->shards, impl_->writer, texts, positions, key);
}

WriteResult Datastore::update(const Uuid& id, const std::function<std::string(const std::string& text)>& change,
                              const Key& key) {
  return update::update(impl_->shards, impl_->writer, id, change, key);
}

QueryReport Datastore::query(const Query& query, const std::function<bool(const Entity&)>& on_entity) const {
  return read::query(impl_->shards, query, on_entity);
}

std::vector<Entity> Datastore::get_all(const Query& query) const {
  std::vector<Entity> entities;
  read::query(impl_->shards, query, [&](const Entity& entity) {
    entities.push_back(entity);
    return true;
  });
  return entities;
}

void Datastore::export_entities(const FeedOptions& options, const std::function<bool(const ChangeBatch&)>& on_batch,
                                FeedReport& report) const {
  feed::export_entities(impl_->shards, options, on_batch, report);
}

void Datastore::changes(const ChangesOptions& options, const std::function<bool(const ChangeBatch&)>& on_batch,
                        FeedReport& report) const {
  feed::changes(impl_->shards, options, on_batch, report);
}

TriggerReport Datastore::run_trigger(const TriggerOptions& options,
                                     const std::function<bool(std::span<const Change>)>& deliver) const {
  return trigger::run(impl_->shards, options, deliver);
}

std::vector<TriggerStatus> Datastore::triggers(std::map<std::uint32_t, Error>* down, const std::string& only) const {
  std::map<std::uint32_t, Error> failed;
  std::vector<TriggerStatus> found = trigger::list(impl_->shards, failed, only);
  if (down != nullptr) {
    down->merge(failed);
  } else if (!failed.empty()) {
    throw failed.begin()->second;
  }
  return found;
}

void Datastore::reset_trigger(const std::string& name, const std::string& after, bool force) {
  using trigger::WhileRunning;
  trigger::reset(impl_->shards, name, after, force ? WhileRunning::change : WhileRunning::refuse);
}

void Datastore::drop_trigger(const std::string& name, bool force) {
  using trigger::WhileRunning;
  trigger::drop(impl_->shards, name, force ? WhileRunning::change : WhileRunning::refuse);
}

CopyReport Datastore::copy_to(Datastore& other, const CopyOptions& options, JobControl& control) const {
  return copy::copy(impl_->shards, other.impl_->shards, options, control);
}

CopyReport Datastore::detach_copy(Datastore& other, CopyEnd end, const CopyOptions& options,
                                  JobControl& control) const {
  return copy::detach(impl_->shards, other.impl_->shards, end, options, control);
}

MoveReport Datastore::move_to(Datastore& other, const MoveOptions& options, JobControl& control) const {
  return move::finish(impl_->shards, other.impl_->shards, options, control);
}

std::vector<CreateReport> Datastore::create_indexes(const std::vector<IndexDefinition>& definitions) {
  return index::create_indexes(impl_->shards, definitions);
}

std::vector<DeclaredIndex> Datastore::compare_definitions(const std::vector<IndexDefinition>& definitions) const {
  return index::compare_definitions(impl_->shards, definitions);
}

std::vector<CreatePlan> Datastore::plan_indexes(const std::vector<IndexDefinition>& definitions) const {
  return index::plan_indexes(impl_->shards, definitions);
}

DropReport Datastore::drop_index(const std::string& table, const DropOptions& options) {
  return index::drop_index(impl_->shards, table, options);
}

void Datastore::require_indexes(const std::vector<std::string>& tables) const {
  index::require_indexes(impl_->shards, tables);
}

std::vector<IndexedEntity> Datastore::explain(const std::string& json, Position start) const {
  return index::explain(impl_->shards, json, start);
}

std::map<std::string, IndexingCounts> Datastore::count_sample(const std::vector<IndexDefinition>& definitions) const {
  return index::count_sample(impl_->shards, definitions);
}

void Datastore::check_throttle(const Throttle& throttle) const {
  job::Throttling::check(impl_->shards.cluster(), throttle);
}

BackfillReport Datastore::backfill(const BackfillOptions& options, JobControl& control) {
  return backfill::backfill(impl_->shards, options, control);
}

VerifyReport Datastore::verify(const VerifyOptions& options, JobControl& control) {
  shard::warn_if_moved(impl_->shards, 0, impl_->shards.deadline());
  VerifyOptions checked = options;
  if (checked.definitions) {
    checked.definitions = index::checked(*checked.definitions);
  }
  return verify::verify(impl_->shards, checked, control);
}

CompareReport Datastore::compare(const Datastore& other, const CompareOptions& options, JobControl& control) const {
  return compare::compare(impl_->shards, other.impl_->shards, options, control);
}

CleanReport Datastore::clean(const CleanOptions& options, JobControl& control) {
  return clean::clean(impl_->shards, options, control);
}

void Datastore::flush(JobControl& control, FlushReport& report) {
  flush::flush(impl_->shards, control, report);
}

void Datastore::list_refused(const std::function<bool(const RefusedWrite&)>& on_write) const {
  flush::list_refused(impl_->shards, on_write);
}

std::uint64_t Datastore::retry_refused(const std::vector<Uuid>& ids, std::vector<Uuid>* unknown) {
  return flush::retry_refused(impl_->shards, std::set<Uuid>(ids.begin(), ids.end()), unknown);
}

std::uint64_t Datastore::drop_refused(const std::vector<Uuid>& ids, std::vector<Uuid>* unknown) {
  return flush::drop_refused(impl_->shards, std::set<Uuid>(ids.begin(), ids.end()), unknown);
}

std::uint64_t Datastore::retry_all_refused() {
  return flush::retry_refused(impl_->shards, std::nullopt, nullptr);
}

std::uint64_t Datastore::drop_all_refused() {
  return flush::drop_refused(impl_->shards, std::nullopt, nullptr);
}

void Datastore::freeze(const std::string& reason) {
  move::freeze(impl_->shards, reason);
}

std::uint32_t Datastore::thaw(bool force) {
  return move::thaw(impl_->shards, force);
}

Status Datastore::status() const {
  return cluster::status(impl_->shards);
}

ShardStatus Datastore::status(std::uint32_t shard) const {
  return cluster::status(impl_->shards, shard);
}

}  // namespace looseleaf

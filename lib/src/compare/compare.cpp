// Compares two stores by digests, and then entities one by one where digests differ.
#include "compare/compare.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parallel.hpp"
#include "compare/contents.hpp"
#include "compare/settlement.hpp"
#include "compare/text_digest.hpp"
#include "copy/target.hpp"
#include "index/declared_indexes.hpp"
#include "scan/entity_scan.hpp"
#include "shard/index_everywhere.hpp"
#include "shard/placement.hpp"

namespace looseleaf {

std::string to_string(DifferenceKind kind) {
  switch (kind) {
    case DifferenceKind::missing:
      return "missing";
    case DifferenceKind::extra:
      return "extra";
    case DifferenceKind::different:
      return "different";
    case DifferenceKind::unreadable:
      return "unreadable";
    case DifferenceKind::other_unreadable:
      return "other_unreadable";
    case DifferenceKind::unsettled:
      return "unsettled";
  }
  return {};
}

namespace compare {
namespace {

constexpr std::size_t ids_at_once = 20'000;  // that are read of a store, or more if it has many shards
constexpr std::size_t fewest_ids = 200;      // the same of a shard
constexpr std::size_t batch = 2000;          // entities that are compared at once

// Ids of a range of both stores.
struct IdWindow {
  std::vector<Uuid> ids;     // sorted; all that exist before `next`
  std::optional<Uuid> next;  // absent: to the end
};

class Comparison {
 public:
  Comparison(const Store& here, const Store& there, const CompareOptions& options, CompareReport& report)
      : here_(here), there_(there), report_(report), settlement_(here_, there_, digester_, options, report) {}

  void run() {
    compare_indexes();
    plan_progress();
    begin_phase("read");
    on_both([this](const Store& store) { read_all(store); });
    if (sums_.differ()) {
      begin_phase("compare");
      for (const auto& [place, rows] : rows_) {
        (place.first ? there_ : here_).job.progress().expect(place.second, rows);
      }
      compare_cells();
    }
    settlement_.finish();
  }

 private:
  // Runs `work` for both stores at the same time. If it fails for one, it ends at its next checkpoint for the other.
  template <typename Work>
  void on_both(const Work& work) {
    const auto run = [&](const Store& store, job::Job& other) {
      try {
        in_store(store, [&] { work(store); });
      } catch (...) {
        other.fail(std::current_exception());
        throw;
      }
    };
    base::run_all({[&] { run(here_, there_.job); }, [&] { run(there_, here_.job); }});
  }

  // Finds the indexes of the other store that are not as they are here.
  void compare_indexes() {
    std::map<std::string, shard::CatalogIndex> active;
    for (const shard::Catalog& catalog : shard::read_catalogs(here_.shards, here_.shards.deadline())) {
      for (const shard::CatalogIndex& index : catalog.indexes) {
        if (index.state == IndexState::building || index.state == IndexState::ready) {
          active.emplace(index.definition.table, index);
        }
      }
    }
    std::vector<IndexDefinition> definitions;
    for (const auto& [table, index] : active) {
      definitions.push_back(index.definition);
    }
    report_.indexes = in_store(there_, [&] { return index::compare_definitions(there_.shards, definitions); });
    std::erase_if(report_.indexes, [&](const DeclaredIndex& index) {
      return index.kind == DeclaredIndex::Kind::equal ||
             (index.kind == DeclaredIndex::Kind::building && active.at(index.table).state == IndexState::building);
    });
  }

  // Reading an id takes about a tenth of the time of reading an entity.
  void plan_progress() const {
    for (const Store* store : {&here_, &there_}) {
      store->job.progress().plan({{"read", 1}, {"compare", 0.1}});
    }
  }

  void begin_phase(std::string_view phase) const {
    here_.job.progress().begin(phase);
    there_.job.progress().begin(phase);
  }

  // Adds the digests of all entities of a store.
  void read_all(const Store& store) {
    store.job.for_each_shard([&](std::uint32_t shard) {
      const auto [rows, greatest] =
          shard::read_shard(store.shards, shard, store.shards.deadline(), [](const sql::Database& database) {
            return std::pair(shard::estimate_rows(database, "entities"),
                             shard::greatest_id(database, "entities", "id"));
          });
      store.job.progress().expect(shard, rows);
      store.job.checkpoint(shard);
      const std::lock_guard lock(mutex_);
      greatest_ = std::max(greatest_, greatest);
    });
    store.job.for_each_shard([&](std::uint32_t shard) {
      std::uint64_t entities = 0;
      scan::EntityScan scan(store.shards, shard, store.job);
      scan.read_rows([&](const shard::EntityRow& row) { entities += add(store, shard, row) ? 1 : 0; });
      const std::lock_guard lock(mutex_);
      rows_[{store.is_other, shard}] = scan.entities();
      if (store.is_other) {
        report_.other_entities += entities;
      } else {
        report_.shards[shard].entities = entities;
        report_.entities += entities;
      }
    });
  }

  // Returns false for a row that no reader of the store sees: a tombstone, or a row on the wrong shard.
  bool add(const Store& store, std::uint32_t shard, const shard::EntityRow& row) {
    Content content = content_of(row, digester_);
    if (content.kind == Content::Kind::absent || shard::shard_of(row.id, store.shards.count()) != shard) {
      return false;
    }
    if (content.kind == Content::Kind::unreadable) {  // as a text that the other store cannot have
      content.digest = digester_.digest(row.id, store.is_other ? "damaged there" : "damaged here");
    }
    if (store.is_other) {
      sums_.subtract(row.id, content.digest);
    } else {
      sums_.add(row.id, content.digest);
    }
    return true;
  }

  // Compares the entities in cells that differ. An entity that differs all the time existed when the stores were read.
  // New ids are greater than those that existed then, and without an end the comparison could run after them for ever.
  void compare_cells() {
    std::vector<Uuid> ids;
    std::optional<Uuid> from;
    do {
      const IdWindow window = read_window(from);
      std::copy_if(window.ids.begin(), window.ids.end(), std::back_inserter(ids),
                   [&](const Uuid& id) { return sums_.differ_at(id); });
      from = window.next <= greatest_ ? window.next : std::nullopt;
      if (ids.size() >= batch || !from) {
        compare_entities(ids);
        ids.clear();
      }
    } while (from);
  }

  // Reads ids of both stores from `from` on, about as many of each, because a window ends where the first of them does.
  IdWindow read_window(const std::optional<Uuid>& from) {
    IdWindow window;
    const std::size_t most_shards = std::max(here_.shards.count(), there_.shards.count());
    const std::size_t total = std::max(ids_at_once, fewest_ids * most_shards);
    on_both([&](const Store& store) {
      const std::size_t limit = total / store.shards.count();
      store.job.for_each_shard([&](std::uint32_t shard) {
        const auto ids = read_ids(store, shard, from, limit);
        const std::lock_guard lock(mutex_);
        window.ids.insert(window.ids.end(), ids.begin(), ids.end());
        if (ids.size() == limit) {
          window.next = std::min(window.next.value_or(ids.back()), ids.back());
        }
      });
    });
    std::sort(window.ids.begin(), window.ids.end());
    window.ids.erase(std::unique(window.ids.begin(), window.ids.end()), window.ids.end());
    if (window.next) {
      window.ids.erase(std::lower_bound(window.ids.begin(), window.ids.end(), *window.next), window.ids.end());
    }
    return window;
  }

  static std::vector<Uuid> read_ids(const Store& store, std::uint32_t shard, const std::optional<Uuid>& from,
                                    std::size_t limit) {
    store.job.pace(shard, limit);
    const auto turn = store.job.turn();
    auto ids = shard::read_shard(store.shards, shard, store.shards.deadline(), [&](const sql::Database& database) {
      return shard::read_ids(database, {from, std::nullopt}, limit);
    });
    store.job.progress().advance(shard, ids.size());
    return ids;
  }

  void compare_entities(const std::vector<Uuid>& all) {
    const auto compare = [&](std::span<const Uuid> ids) {
      std::vector<Content> here, there;
      on_both([&](const Store& store) { (store.is_other ? there : here) = read_contents(store, ids, digester_); });
      report_.looked_again += ids.size();
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (!same(here[i], there[i])) {
          settlement_.add(ids[i], std::move(here[i]), std::move(there[i]));
        }
      }
    };
    shard::in_lists(all, compare, batch);
  }

  const Store here_, there_;
  const Digester digester_;
  CellSums sums_{digester_};
  std::mutex mutex_;  // guards what follows, and a window, while several shards are read at once
  std::map<std::pair<bool, std::uint32_t>, std::uint64_t> rows_;  // tombstones included, by is_other and shard
  std::optional<Uuid> greatest_;                                  // id of both stores when they began to be read
  CompareReport& report_;
  Settlement settlement_;
};

void require_two_stores(const Store& here, const Store& there) {
  for (const Store* store : {&here, &there}) {
    in_store(*store, [&] {
      store->shards.check_identities();
      shard::require_every_shard(store->shards, "nothing was compared: every shard is needed, and one is down");
      require_comparable(store->shards);
    });
  }
  if (there.shards.cluster_id() == here.shards.cluster_id()) {
    throw Error(ErrorCode::usage, "a store cannot be compared with itself",
                {{"cluster_id", to_string(there.shards.cluster_id())}}, "name the cluster file of the other store");
  }
}

}  // namespace

CompareReport compare(shard::Shards& here, shard::Shards& there, const CompareOptions& options, JobControl& control) {
  job::Job whole(here, control, options.throttle, "compare",
                 Error(ErrorCode::interrupted, "interrupted before everything was compared", {},
                       "nothing is proved; run the same command to begin again"));
  job::Job part(whole, there, job::Throttling::in_other_store(there.cluster(), options.throttle), "compare");
  const Store this_store{here, whole}, other_store{there, part, true};
  require_two_stores(this_store, other_store);
  CompareReport report;
  report.follows = in_store(other_store, [&] { return copy::origin_of(there); }) == to_string(here.cluster_id());
  for (std::uint32_t shard = 0; shard < here.count(); ++shard) {
    report.shards[shard];
  }
  Comparison(this_store, other_store, options, report).run();
  return report;
}

}  // namespace compare
}  // namespace looseleaf

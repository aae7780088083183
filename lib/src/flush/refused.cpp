// Buffered writes that cannot be stored.
#include "flush/refused.hpp"

#include <algorithm>
#include <exception>
#include <string_view>
#include <vector>

#include "codec/body.hpp"
#include "model/entity.hpp"
#include "shard/access.hpp"
#include "shard/buffered_writes.hpp"
#include "shard/fence.hpp"
#include "shard/placement.hpp"
#include "shard/statements.hpp"
#include "shard/steps.hpp"

namespace looseleaf::flush {
namespace {

constexpr std::size_t refusals_a_page = shard::max_ids;

// Calls `work` with the refused writes of these shards, a page at a time, until it returns false. If a shard fails,
// goes on with the others, and then throws the first failure.
void for_each_page(shard::Shards& shards, const std::set<std::uint32_t>& some,
                   const std::function<bool(std::uint32_t, const std::vector<shard::Refusal>&)>& work) {
  std::exception_ptr failure;
  for (const std::uint32_t shard : some) {
    try {
      std::vector<shard::Refusal> refusals;
      for (shard::BufferPlace behind; behind == shard::BufferPlace{} || refusals.size() == refusals_a_page;) {
        refusals = shard::read_shard(shards, shard, shards.deadline(), [&](const sql::Database& database) {
          return shard::list_refusals(database, behind, refusals_a_page);
        });
        if (refusals.empty()) {
          break;
        }
        behind = refusals.back().place;
        if (!work(shard, refusals)) {
          return;
        }
      }
    } catch (const Error&) {
      failure = failure ? failure : std::current_exception();
    }
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

std::set<std::uint32_t> shards_of(const shard::Shards& shards, const std::optional<std::set<Uuid>>& ids) {
  const auto all = shard::all_shards(shards);
  if (!ids) {
    return {all.begin(), all.end()};
  }
  std::set<std::uint32_t> some;
  for (const Uuid& id : *ids) {
    some.insert(shard::shard_of(id, shards.count()));
  }
  return some;
}

std::string text_of(const std::optional<std::string>& body) {
  try {
    return body ? codec::decode_body(*body, model::max_body_size) : "";
  } catch (const Error&) {  // damaged; its id and reason are all that is left
    return "";
  }
}

using Change = std::function<std::uint64_t(const sql::Database&, std::uint32_t, std::span<const std::uint64_t>)>;

// Changes the refused writes with these ids, or all, in one transaction for each page. An error says how many others
// were changed.
std::uint64_t change_refused(shard::Shards& shards, const std::optional<std::set<Uuid>>& ids,
                             std::vector<Uuid>* unknown, std::string_view step, const Change& change) {
  std::uint64_t changed = 0;
  std::set<Uuid> unseen = ids.value_or(std::set<Uuid>());
  const auto change_page = [&](std::uint32_t shard, const std::vector<shard::Refusal>& refusals) {
    std::vector<std::uint64_t> tokens;
    for (const shard::Refusal& refusal : refusals) {
      if (!ids || ids->contains(refusal.id)) {
        tokens.push_back(refusal.place.token);
        unseen.erase(refusal.id);
      }
    }
    std::uint64_t count = 0;  // also of an attempt that was committed, but whose answer was lost
    if (!tokens.empty()) {
      const shard::Step scope(step, shard);
      shard::with_fence_shared(shards, shard, shards.deadline(),
                               [&](const sql::Database& database, const shard::Fence& fence) {
                                 shard::require_write_access(shards, shard, database, fence);
                                 count = std::max(count, change(database, shard, tokens));
                               });
      changed += count;
    }
    return true;
  };
  try {
    for_each_page(shards, shards_of(shards, ids), change_page);
  } catch (Error& error) {
    error.with("writes of other shards that were changed", std::to_string(changed));
    throw;
  }
  if (unknown != nullptr) {
    unknown->assign(unseen.begin(), unseen.end());
  }
  return changed;
}

}  // namespace

void list_refused(shard::Shards& shards, const std::function<bool(const RefusedWrite&)>& on_write) {
  const std::set<std::uint32_t> all = shards_of(shards, std::nullopt);
  for_each_page(shards, all, [&](std::uint32_t shard, const std::vector<shard::Refusal>& refusals) {
    for (const shard::Refusal& refusal : refusals) {
      const auto body = shard::read_shard(shards, shard, shards.deadline(), [&](const sql::Database& database) {
        return shard::read_refused_body(database, refusal.place.token);
      });
      if (!on_write({refusal.id, to_string(refusal.place.accepted), refusal.reason, text_of(body)})) {
        return false;
      }
    }
    return true;
  });
}

std::uint64_t retry_refused(shard::Shards& shards, const std::optional<std::set<Uuid>>& ids,
                            std::vector<Uuid>* unknown) {
  return change_refused(shards, ids, unknown, shard::steps::refused_retry,
                        [](const sql::Database& database, std::uint32_t shard, std::span<const std::uint64_t> tokens) {
                          return shard::buffer_refusals(database, shard, tokens);
                        });
}

std::uint64_t drop_refused(shard::Shards& shards, const std::optional<std::set<Uuid>>& ids,
                           std::vector<Uuid>* unknown) {
  return change_refused(shards, ids, unknown, shard::steps::refused_drop,
                        [](const sql::Database& database, std::uint32_t /*shard*/,
                           std::span<const std::uint64_t> tokens) { return shard::drop_refusals(database, tokens); });
}

}  // namespace looseleaf::flush

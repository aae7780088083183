// With Extent::follow there is a round every second on each server.
#include "feed/rounds.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "base/parallel.hpp"
#include "shard/access.hpp"
#include "shard/fence.hpp"

namespace looseleaf::feed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto between_rounds = std::chrono::seconds(1);
constexpr auto longest_turn = std::chrono::seconds(1);  // of one shard, if others of its server wait for it
constexpr auto nap = std::chrono::milliseconds(20);

}  // namespace

bool passes(const Error& error) {
  return error.code() == ErrorCode::unavailable || error.code() == ErrorCode::outcome_unknown ||
         error.code() == ErrorCode::server;
}

void Rounds::run(std::span<const std::uint32_t> shards) {
  const server::Connector& connector = shards_.sessions().connector();
  const std::vector<std::vector<std::uint32_t>> by_server = connector.by_server(shards);
  std::vector<std::function<void()>> servers;
  for (const auto& here : by_server) {
    const std::uint32_t server = connector.server_of(here.front());
    chosen_[server] = std::nullopt;
    servers.emplace_back([this, server, &here] { serve(server, here); });
  }
  base::run_together(servers, [this] { reader_.end(); });
}

// If one server fails for good, the others end, too.
void Rounds::serve(std::uint32_t server, const std::vector<std::uint32_t>& here) {
  try {
    for (auto next = Clock::now(); !reader_.ended();) {
      if (Clock::now() < next) {
        std::this_thread::sleep_for(nap);
        continue;
      }
      next = Clock::now() + between_rounds;
      const Chosen chosen = round(here);
      next = chosen.more ? Clock::now() : next;
      reader_.end_round();
      if (extent_ != Extent::follow) {
        return;
      }
      end_if_moved(server, chosen);
    }
  } catch (...) {
    reader_.end();
    throw;
  }
}

Rounds::Chosen Rounds::round(const std::vector<std::uint32_t>& here) {
  const std::vector<std::uint32_t> chosen = reader_.choose(here);
  const News news = find_news_of(chosen);
  std::atomic<bool> more = false;
  shard::for_shards(shards_, news.changed, [&](std::uint32_t shard) {
    auto turn = Turn::given_up;
    if (tolerate({&shard, 1}, [&] { turn = advance(shard); }) && turn != Turn::given_up) {
      works(shard, FoundBy::turn);
    }
    if (turn == Turn::has_more) {
      more = true;
    }
  });
  return {chosen.size(), news.finished.size(), more};
}

// A reader that holds none of the shards goes on: it may have to take over those of another one.
void Rounds::end_if_moved(std::uint32_t server, Chosen chosen) {
  {
    const std::lock_guard lock(mutex_);
    chosen_[server] = chosen;
    std::size_t all = 0;
    for (const auto& [other, last] : chosen_) {
      if (!last || last->finished < last->all) {
        return;
      }
      all += last->all;
    }
    if (all == 0) {
      return;
    }
  }
  const std::uint32_t first = 0;
  static_cast<void>(tolerate({&first, 1}, [&] {
    throw shard::has_moved(shard::read_shard(shards_, first, shards_.deadline(), shard::read_access));
  }));
}

// The shards that the reader has not begun, or is scanning, count as changed.
News Rounds::find_news_of(const std::vector<std::uint32_t>& chosen) {
  News news;
  std::vector<std::uint32_t> begun;
  Positions positions;
  for (const std::uint32_t shard : chosen) {
    if (const auto position = reader_.position(shard); position && !position->scan) {
      begun.push_back(shard);
      positions.emplace(shard, *position);
    } else {
      news.changed.push_back(shard);
    }
  }
  if (extent_ == Extent::entities_once) {
    return news;
  }
  std::mutex mutex;
  shard::for_groups(shards_, begun, [&](std::span<const std::uint32_t> group) {
    News found;
    if (!tolerate(group, [&] { found = find_news(shards_, group, positions); })) {
      return;
    }
    for (const std::uint32_t shard : group) {
      if (std::find(found.changed.begin(), found.changed.end(), shard) == found.changed.end()) {
        reader_.caught_up(shard);
        works(shard, FoundBy::turn);
      }
    }
    const std::lock_guard lock(mutex);
    news.changed.insert(news.changed.end(), found.changed.begin(), found.changed.end());
    news.finished.insert(news.finished.end(), found.finished.begin(), found.finished.end());
  });
  return news;
}

// Reads everything of one shard that was committed when this was called. A reader that follows goes on with the other
// shards of the server after a turn.
Rounds::Turn Rounds::advance(std::uint32_t shard) {
  const auto end = Clock::now() + longest_turn;
  const auto is_over = [&] { return extent_ == Extent::follow && Clock::now() >= end; };
  auto at = reader_.position(shard);
  const bool scans = !at || at->scan;
  if (!at) {
    at = reader_.take(shard, at, {{}, feed::begin(shards_, shard, true)}, Source::scan);
  }
  while (at && at->scan && !reader_.ended()) {
    const Deletes deletes = extent_ == Extent::entities_once ? Deletes::not_needed : Deletes::needed;
    at = reader_.take(shard, at, read_scan(shards_, shard, *at, deletes), Source::scan);
    if (at && at->scan && is_over()) {
      return Turn::has_more;
    }
  }
  if (!at || reader_.ended() || extent_ == Extent::entities_once) {
    return Turn::given_up;
  }
  if (scans && find_news(shards_, std::span(&shard, 1), {{shard, *at}}).changed.empty()) {
    reader_.caught_up(shard);
    return Turn::caught_up;
  }
  const base::Stamp barrier = shard::take_barrier(shards_, shard, shards_.deadline());
  bool more = true;
  while (at && more && !reader_.ended()) {
    Page page = read_changes(shards_, shard, *at, barrier);
    more = page.more;
    at = reader_.take(shard, at, std::move(page), Source::changes);
    if (at && more && is_over()) {
      return Turn::has_more;
    }
  }
  if (!at || more) {
    return Turn::given_up;
  }
  reader_.caught_up(shard);
  return Turn::caught_up;
}

bool Rounds::tolerate(std::span<const std::uint32_t> group, const std::function<void()>& work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    if (failures_ == Failures::end || !passes(error) || (group.size() > 1 && shard::may_be_one_shards(error))) {
      throw;  // for_groups() asks the shards one by one then
    }
    for (const std::uint32_t shard : group) {
      fails(shard, error, FoundBy::turn);
    }
    return false;
  }
}

void Rounds::fails(std::uint32_t shard, const Error& failure, FoundBy by) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = failing_.try_emplace(shard, by);
  if (by == FoundBy::look) {
    found->second = by;
  }
  if (is_new) {
    const Error own = server::error_of_shard(shards_.cluster(), shard, failure);
    reader_.tell(shard, &own);
  }
}

void Rounds::works(std::uint32_t shard, FoundBy by) {
  const std::lock_guard lock(mutex_);
  if (const auto found = failing_.find(shard); found != failing_.end() && found->second == by) {
    failing_.erase(found);
    reader_.tell(shard, nullptr);
  }
}

}  // namespace looseleaf::feed

// A look renews the lease, and compares who holds each shard with who should.
#include "trigger/division.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/parallel.hpp"
#include "base/random.hpp"
#include "feed/rounds.hpp"
#include "job/jobs.hpp"
#include "shard/steps.hpp"
#include "sql/literals.hpp"

namespace looseleaf::trigger {
namespace {

constexpr auto between_looks = std::chrono::seconds(2);

// Returns true if a row is behind what was stored there.
bool is_older(const Known& row, const Known& before) {
  return row.generation == before.generation && before.place && (!row.place || *row.place < *before.place);
}

}  // namespace

base::Deadline deadline_of_look() {
  return base::Deadline(std::chrono::seconds(4));
}

Division::Division(shard::Shards& shards, Holdings& holdings, std::string trigger, Events events)
    : shards_(shards),
      holdings_(holdings),
      trigger_(std::move(trigger)),
      events_(std::move(events)),
      token_(base::random_u64()),
      servers_(shard::shards_by_server(shards)) {
  std::atomic<std::size_t> answered = 0;
  std::vector<std::function<void()>> looks;
  for (const auto& here : servers_) {
    looks.emplace_back([this, &here, &answered] { answered += look(here, {}) ? 1 : 0; });
  }
  base::run_all(looks);
  if (failed_ || answered == 0) {
    std::rethrow_exception(failure_);
  }
  failure_ = nullptr;
  events_.changed();
  started_ = true;
  for (const auto& here : servers_) {
    threads_.emplace_back([this, &here](const std::stop_token& stop) { keep(stop, here); });
  }
}

Division::~Division() {
  threads_.clear();
  std::vector<std::function<void()>> releases;
  for (const auto& here : servers_) {
    releases.emplace_back([this, &here] { release(here); });
  }
  base::run_all(releases);
}

void Division::check() {
  if (failed_) {
    const std::lock_guard lock(mutex_);
    std::rethrow_exception(failure_);
  }
}

void Division::keep(const std::stop_token& stop, const std::vector<std::uint32_t>& here) {
  while (!failed_) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, stop, between_looks, [] { return false; });
    }
    if (stop.stop_requested()) {
      return;
    }
    look(here, stop);
  }
}

bool Division::look(const std::vector<std::uint32_t>& here, const std::stop_token& stop) noexcept {
  bool answers = false;
  const std::vector<std::uint32_t> held_before = holdings_.held_of(here);
  try {
    std::map<std::uint32_t, Known> known;  // before the rows are read, because each may be stored meanwhile
    for (const std::uint32_t shard : here) {
      known[shard] = holdings_.known(shard);
    }
    View view = read(here);
    for (const std::uint32_t shard : here) {
      if (stop.stop_requested()) {
        break;
      }
      renew(here.front(), view);  // each shard that is taken over or given back may take as long as half a lease
      if (!view.failures.contains(shard)) {
        survive(shard, view, [&] { shard::on_shard(shards_, shard, [&] { decide(shard, view, known[shard]); }); });
      }
      const auto failure = view.failures.find(shard);
      tell({&shard, 1}, failure == view.failures.end() ? nullptr : &failure->second);
    }
    answers = true;
  } catch (const Error& error) {
    if (feed::passes(error) && started_) {
      tell(here, &error);
    } else if (feed::passes(error)) {
      keep_failure();  // it counts only if no server answers
    } else {
      fail();
    }
  } catch (...) {
    fail();
  }
  if (started_ && holdings_.held_of(here) != held_before) {
    events_.changed();
  }
  return answers;
}

// A failure of one shard must not keep this process from taking over the others. So then they are asked one by one. As
// that may take long, the lease is renewed meanwhile.
Division::View Division::read(std::span<const std::uint32_t> here) {
  View view;
  renew(here.front(), view);
  for (std::span<const std::uint32_t> rest = here; !rest.empty();) {
    const auto group = rest.first(std::min(rest.size(), shard::shards_at_once));
    rest = rest.subspan(group.size());
    try {
      read_rows(group, view);
    } catch (const Error& error) {
      if (!feed::passes(error) || !shard::may_be_one_shards(error)) {
        throw;
      }
      for (const std::uint32_t shard : group) {
        survive(shard, view, [&] { read_rows({&shard, 1}, view); });
        renew(here.front(), view);
      }
    }
  }
  return view;
}

void Division::renew(std::uint32_t first, View& view) {
  const auto now = std::chrono::steady_clock::now();
  if (view.renewed && now - *view.renewed < between_looks) {
    return;
  }
  shard::with_shard(shards_, first, deadline_of_look(), [&](const sql::Database& database) {
    renew_lease(database, trigger_, token_);
    view.alive = live_processes(database, trigger_);
  });
  view.renewed = now;
}

void Division::read_rows(std::span<const std::uint32_t> group, View& view) {
  // One attempt: a lock that somebody holds lasts, and the next look comes soon.
  shard::with_group(shards_, group, base::Deadline({}), shard::Purpose::general, [&](shard::Lease& lease) {
    std::string select;
    for (const std::uint32_t shard : group) {
      select += fmt::format(
          "{}(SELECT {}, token, generation, barrier, position FROM {} WHERE job = '{}' AND "
          "table_name = {})",
          select.empty() ? "" : " UNION ALL ", shard, lease.on(shard).table("looseleaf_progress"), trigger_job,
          sql::text_literal(trigger_));
    }
    const sql::Result rows = lease->query(select);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Seen seen{rows.unsigned_integer(i, 1), {rows.unsigned_integer(i, 2)}};
      if (rows.cell(i, 3)) {
        seen.known.place = {base::parse_stamp(rows.text(i, 3)), rows.cell(i, 4) ? rows.unsigned_integer(i, 4) : 0};
      }
      view.rows[static_cast<std::uint32_t>(rows.unsigned_integer(i, 0))] = seen;
    }
  });
}

void Division::survive(std::uint32_t shard, View& view, const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    if (!feed::passes(error) || !shard::may_be_one_shards(error)) {
      throw;
    }
    view.failures.insert_or_assign(shard, error);
  }
}

void Division::decide(std::uint32_t shard, const View& view, const Known& before) {
  const auto row = view.rows.find(shard);
  if (row == view.rows.end()) {
    holdings_.lose(shard);
    throw Error(ErrorCode::usage, "the trigger was dropped while it ran, or a shard was replaced or restored",
                {{"trigger", trigger_}}, "start it again: without a position it begins with all entities");
  }
  if (is_older(row->second.known, before)) {
    holdings_.lose(shard);
    throw Error(ErrorCode::bad_position, "the shard has lost changes that were delivered");
  }
  const std::uint64_t token = row->second.token;
  const bool is_ours = !view.alive.empty() && std::next(view.alive.begin(), shard % view.alive.size())->first == token_;
  if (token != token_) {
    holdings_.lose(shard);
    if (is_ours && !view.alive.contains(token)) {
      claim(shard, token);
    }
  } else if (!is_ours) {
    if (holdings_.let_go(shard)) {
      give_back(shard);
    }
  } else if (holdings_.holds(shard)) {
    holdings_.keep(shard);
  } else {  // an answer was lost, or a position could not be stored
    shard::with_shard(shards_, shard, deadline_of_look(), [&](const auto& database) { adopt(shard, database); });
  }
}

void Division::claim(std::uint32_t shard, std::uint64_t from) {
  const shard::Step step(shard::steps::trigger_claim, shard);
  shard::with_shard(shards_, shard, deadline_of_look(), [&](const sql::Database& database) {
    if (change_holder(database, trigger_, from, token_, job::this_process())) {
      adopt(shard, database);
    }
  });
}

// Reads the row only now, because the process that held the shard may have stored something until then.
void Division::adopt(std::uint32_t shard, const sql::Database& database) {
  const auto row = read_trigger(database, trigger_);
  if (row && row->token == token_) {
    holdings_.hold(shard, *row);
  }
}

void Division::give_back(std::uint32_t shard) {
  shard::with_shard(shards_, shard, deadline_of_look(), [&](const sql::Database& database) {
    static_cast<void>(change_holder(database, trigger_, token_, 0, ""));
  });
}

// If this process holds one of the shards, its reader tells of failures.
void Division::tell(std::span<const std::uint32_t> shards, const Error* failure) {
  if (!failure || holdings_.held_of(shards).empty()) {
    events_.looked(shards.front(), failure);
  }
}

void Division::keep_failure() noexcept {
  const std::lock_guard lock(mutex_);
  failure_ = failure_ ? failure_ : std::current_exception();
}

void Division::fail() noexcept {
  keep_failure();
  failed_ = true;
}

// Without this, other processes would wait until the lease has expired.
void Division::release(const std::vector<std::uint32_t>& here) noexcept {
  try {
    for (const std::uint32_t shard : holdings_.held_of(here)) {
      if (!shards_.sessions().is_failing(shard)) {
        holdings_.lose(shard);
        give_back(shard);
      }
    }
    if (!shards_.sessions().is_failing(here.front())) {
      shard::with_shard(shards_, here.front(), deadline_of_look(), [&](const sql::Database& first) {
        remove_lease(first, token_);
        remove_old_leases(first);
      });
    }
  } catch (const std::exception&) {
  }
}

}  // namespace looseleaf::trigger

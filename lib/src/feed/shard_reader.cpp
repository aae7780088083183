// A page counts only if its server is writable after it, and if the shard still has all that the position builds on.
#include "feed/shard_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <looseleaf/error.hpp>
#include <tuple>

#include "codec/body.hpp"
#include "shard/access_state.hpp"
#include "shard/durability.hpp"
#include "shard/fence.hpp"
#include "shard/purged.hpp"
#include "shard/statements.hpp"
#include "shard/steps.hpp"
#include "shard/writable.hpp"
#include "sql/literals.hpp"

namespace looseleaf::feed {
namespace {

using shard::Step;
namespace steps = shard::steps;

constexpr std::size_t rows_at_once = 500;
constexpr std::uint64_t small_body = 16 << 10;  // bytes as stored; larger bodies are read one by one
constexpr std::size_t most_text = 8 << 20;      // bytes of a page's decoded bodies, unless a single one has more

// What a shard says of a position.
struct Outlook {
  base::Stamp clock_floor;
  base::Stamp purged_below;                     // tombstones with stamps below it may be gone
  std::optional<base::Stamp> witness = {};      // the stamp of the witness's row; absent: there is no such row
  std::optional<shard::EntityRow> newest = {};  // the last row in the order of places
  bool moved = false;                           // no entity changes any more
};

// Returns the SELECT whose row to_outlook() converts.
std::string outlook_query(const sql::Database& database, std::uint32_t shard, const ShardPosition& position) {
  const std::string entities = database.table("entities");
  const auto newest = [&](const char* column) {
    return fmt::format("(SELECT {} FROM {} ORDER BY updated DESC, added_id DESC LIMIT 1)", column, entities);
  };
  const std::string witness = position.witness ? fmt::format("(SELECT updated FROM {} WHERE id = {})", entities,
                                                             shard::id_literal(position.witness->id))
                                               : "NULL";
  return fmt::format(
      "(SELECT {}, clock_floor, {}, {}, {}, {}, {}, @@global.read_only, access FROM {} WHERE only_row = 1)", shard,
      shard::purged_below_query(database), witness, newest("id"), newest("updated"), newest("added_id"),
      database.table("looseleaf_shard"));
}

// Throws a retryable ServerError if the server was read-only.
Outlook to_outlook(const sql::Database& database, const sql::Result& rows, std::size_t row) {
  shard::require_writable(database, rows.text(row, 7));
  Outlook outlook{base::parse_stamp(rows.text(row, 1)),
                  rows.cell(row, 2) ? base::parse_stamp(rows.text(row, 2)) : base::Stamp()};
  if (rows.cell(row, 3)) {
    outlook.witness = base::parse_stamp(rows.text(row, 3));
  }
  if (rows.cell(row, 4)) {
    outlook.newest = {.id = shard::require_uuid(rows.text(row, 4)),
                      .added_id = rows.unsigned_integer(row, 6),
                      .updated = base::parse_stamp(rows.text(row, 5))};
  }
  outlook.moved = shard::parse_access_state(rows.text(row, 8)) == AccessState::moved;
  return outlook;
}

// The barrier before a page and the witness after it were on disk. A shard that lacks either is an older copy.
bool has_lost_history(const ShardPosition& position, const Outlook& outlook) {
  if (outlook.clock_floor < position.place.updated) {
    return true;
  }
  if (!position.witness) {
    return false;
  }
  return outlook.witness ? *outlook.witness < position.witness->stamp : position.witness->stamp >= outlook.purged_below;
}

void require_history(const ShardPosition& position, const Outlook& outlook, Deletes deletes) {
  const Error::Context context = {{"position", to_string(position.place.updated)}};
  if (has_lost_history(position, outlook)) {
    throw Error(ErrorCode::bad_position, "the shard has lost changes that were delivered", context,
                "it was restored from an older copy, or failed over with loss, so the consumer has versions that the "
                "store never will have again: bring back the newer copy, or let the consumer start again with "
                "`--after beginning` and drop what it does not receive");
  }
  if (deletes == Deletes::needed && outlook.purged_below > position.place.updated) {
    throw Error(ErrorCode::bad_position, "deletes that were not delivered have been purged", context,
                "let the consumer start again with `--after beginning` and drop what it does not receive; deletes are "
                "kept for a day, and longer for a trigger");
  }
}

bool has_news(const ShardPosition& position, const Outlook& outlook) {
  return outlook.newest && std::tie(outlook.newest->updated, outlook.newest->added_id) >
                               std::tie(position.place.updated, position.place.added_id);
}

// Ends the reading of a page, which counts only now. A row that has left the range since `barrier` has a later stamp.
// So if there is one, it must be on disk: a server that died and forgot it would have the row of before again, which
// nobody would read any more.
void conclude(const sql::Database& database, std::uint32_t shard, const ShardPosition& from, base::Stamp barrier,
              Page& page, Deletes deletes) {
  const Step step(steps::feed_conclude, shard);
  const sql::Result rows = database->query(outlook_query(database, shard, from));
  const Outlook outlook = to_outlook(database, rows, 0);
  require_history(from, outlook, deletes);
  if (outlook.clock_floor < barrier && !step.left_out()) {
    throw Error(ErrorCode::unavailable, "another server has taken over the shard without its last commit", {},
                "run the command again: the page was not delivered, and is read again");
  }
  if (!outlook.newest) {
    return;
  }
  if (outlook.newest->updated >= barrier && !step.left_out()) {
    shard::make_durable(database, shard);
  }
  page.end.witness = {outlook.newest->id, outlook.newest->updated};
}

// What to do with a large body whose row has changed since the page was read.
enum class Changed { take_newer, leave_out };

// Reads the bodies that the page's statement has left out, and cuts the page where its texts would take too much
// memory. `page.end` is then the position after the rows that remain, or that were left out.
void complete(const sql::Database& database, Page& page, Changed changed, const ShardPosition& from) {
  std::size_t text = 0;
  std::vector<shard::EntityRow> rows;
  for (shard::EntityRow& row : page.rows) {
    const ShardPosition after = position_after(row, from, from);
    if (row.lacks_body()) {
      auto now = shard::read_entity(database, row.id, shard::Lock::none);
      if (!now || (now->updated != row.updated && changed == Changed::leave_out)) {
        page.end = after;
        continue;
      }
      row = *std::move(now);
    }
    text += row.body ? codec::recorded_length(*row.body) : 0;
    if (text > most_text && !rows.empty()) {
      page.more = true;
      break;
    }
    page.end = after;
    rows.push_back(std::move(row));
  }
  page.rows = std::move(rows);
}

}  // namespace

ShardPosition begin(shard::Shards& shards, std::uint32_t shard, bool scan) {
  const base::Stamp barrier = shard::take_barrier(shards, shard, shards.deadline());
  Page nothing{{}, {{barrier, 0}}};
  return shard::with_shard(shards, shard, shards.deadline(), [&](const sql::Database& database) {
    if (scan) {
      nothing.end.scan = {0, shard::last_added(database)};
    }
    conclude(database, shard, nothing.end, barrier, nothing, Deletes::needed);
    return nothing.end;
  });
}

News find_news(shard::Shards& shards, std::span<const std::uint32_t> group, const Positions& positions) {
  return shard::with_group(shards, group, shards.deadline(), shard::Purpose::general, [&](shard::Lease& lease) {
    std::string select;
    for (const std::uint32_t shard : group) {
      select += select.empty() ? "" : " UNION ALL ";
      select += outlook_query(lease.on(shard), shard, positions.at(shard));
    }
    const sql::Result rows = lease->query(select);
    News found;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto shard = static_cast<std::uint32_t>(rows.unsigned_integer(i, 0));
      const Outlook outlook = to_outlook(*lease, rows, i);
      shard::on_shard(shards, shard, [&] { require_history(positions.at(shard), outlook, Deletes::needed); });
      if (has_news(positions.at(shard), outlook)) {
        found.changed.push_back(shard);
      } else if (outlook.moved) {
        found.finished.push_back(shard);
      }
    }
    return found;
  });
}

Page read_scan(shard::Shards& shards, std::uint32_t shard, const ShardPosition& from, Deletes deletes) {
  return shard::with_shard(shards, shard, shards.deadline(), [&](const sql::Database& database) {
    const Step step(steps::feed_scan, shard);
    Page page{shard::read_added_page(database, from.scan->done, from.scan->until, rows_at_once, small_body), from};
    page.more = page.rows.size() == rows_at_once;
    complete(database, page, Changed::take_newer, from);
    if (!page.more) {
      page.end.scan.reset();
    }
    std::erase_if(page.rows, [](const shard::EntityRow& row) { return !row.body; });
    conclude(database, shard, from, from.place.updated, page, deletes);
    return page;
  });
}

// Rows only leave the range meanwhile: whoever changes one gives it a stamp that is not below the barrier.
Page read_changes(shard::Shards& shards, std::uint32_t shard, const ShardPosition& from, base::Stamp until) {
  return shard::with_shard(shards, shard, shards.deadline(), [&](const sql::Database& database) {
    const Step step(steps::feed_read, shard);
    Page page{shard::read_updated_page(database, from.place, until, rows_at_once, small_body), from};
    page.more = page.rows.size() == rows_at_once;
    complete(database, page, Changed::leave_out, from);
    if (!page.more) {
      page.end.place = {until, 0};
    }
    conclude(database, shard, from, until, page, Deletes::needed);
    return page;
  });
}

ShardPosition position_after(const shard::EntityRow& row, const ShardPosition& from, const ShardPosition& end) {
  ShardPosition after = from;
  after.witness = end.witness;
  if (after.scan) {
    after.scan->done = row.added_id;
  } else {
    after.place = {row.updated, row.added_id};
  }
  return after;
}

}  // namespace looseleaf::feed

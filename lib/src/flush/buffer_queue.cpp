// The buffered writes of all shards, in the order in which they were accepted.
#include "flush/buffer_queue.hpp"

#include <iterator>
#include <utility>

namespace looseleaf::flush {
namespace {

constexpr std::size_t copies_a_page = 1000;

}  // namespace

BufferQueue::BufferQueue(shard::Shards& shards, job::Job& job, const std::vector<std::uint32_t>& from,
                         std::map<std::uint32_t, Error>& failures)
    : shards_(shards), job_(job), failures_(failures) {
  for (const std::uint32_t shard : from) {
    of_shards_[shard];
  }
}

std::optional<shard::BufferedWrite> BufferQueue::next() {
  auto first = of_shards_.end();
  for (auto it = of_shards_.begin(); it != of_shards_.end();) {
    auto& [shard, of_shard] = *it;
    while (!of_shard.read.empty() && of_shard.read.front().place.token == last_) {
      of_shard.read.pop_front();  // the other copy, which has the same place
    }
    if (of_shard.read.empty() && of_shard.more) {
      read_page(shard, of_shard);
      continue;
    }
    if (of_shard.read.empty()) {
      it = of_shards_.erase(it);
      continue;
    }
    if (first == of_shards_.end() || of_shard.read.front().place < first->second.read.front().place) {
      first = it;
    }
    ++it;
  }
  if (first == of_shards_.end()) {
    return std::nullopt;
  }
  shard::BufferedWrite write = std::move(first->second.read.front());
  first->second.read.pop_front();
  write.read_from = first->first;
  last_ = write.place.token;
  return write;
}

void BufferQueue::read_page(std::uint32_t shard, OfShard& of_shard) {
  job_.checkpoint();
  of_shard.more = false;
  try {
    auto found = shard::read_shard(shards_, shard, shards_.deadline(), [&](const sql::Database& database) {
      return shard::list_copies(database, of_shard.behind, copies_a_page);
    });
    of_shard.more = found.size() == copies_a_page;
    if (!found.empty()) {
      of_shard.behind = found.back().place;
    }
    of_shard.read.assign(std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  } catch (const Error& error) {
    complete_ = false;
    failures_.emplace(shard, error);
  }
}

}  // namespace looseleaf::flush

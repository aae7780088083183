// Reads many shards in rounds. A round takes a barrier on each shard that has changed, and reads what is below it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <looseleaf/error.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "feed/change.hpp"
#include "feed/position.hpp"
#include "feed/shard_reader.hpp"
#include "shard/shards.hpp"

namespace looseleaf::feed {

// Decides what is read, and gets the pages. Called from several threads; for one shard from one at a time.
class Reader {
 public:
  Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  virtual ~Reader() = default;

  // Returns true if nothing more is to be read.
  [[nodiscard]] virtual bool ended() = 0;
  // Makes ended() true: the reading of a server has failed.
  virtual void end() = 0;
  // Returns those of these shards that the next round reads.
  [[nodiscard]] virtual std::vector<std::uint32_t> choose(std::span<const std::uint32_t> shards) = 0;
  // Returns from where to read a shard; absent: nothing was read from it yet.
  [[nodiscard]] virtual std::optional<ShardPosition> position(std::uint32_t shard) = 0;
  // Takes the page that was read from there. Where the shard begins, `from` is absent and the page has no rows. Returns
  // where to read on, which is `page.end`; absent: this round reads no more from the shard.
  [[nodiscard]] virtual std::optional<ShardPosition> take(std::uint32_t shard, const std::optional<ShardPosition>& from,
                                                          Page page, Source source) = 0;
  // Everything of the shard was taken that was committed when a round began.
  virtual void caught_up(std::uint32_t /*shard*/) {}
  // A round of a server has ended.
  virtual void end_round() = 0;
  // A shard fails for the time being; null: it works again.
  virtual void tell(std::uint32_t shard, const Error* failure) = 0;
};

enum class Extent { entities_once, entities_and_changes, follow };

// Whether a failure that passes ends the reading, or is told to the reader and the shard is tried again.
enum class Failures { end, told };

// Returns true for failures that a reader that follows must survive.
[[nodiscard]] bool passes(const Error& error);

class Rounds {
 public:
  Rounds(shard::Shards& shards, Reader& reader, Extent extent, Failures failures)
      : shards_(shards), reader_(reader), extent_(extent), failures_(failures) {}

  // Reads these shards, each server's by a thread of its own, so that a server that is down delays no other one. With
  // Extent::follow there is a round every second until the reader has ended. If the store has moved, throws
  // Error(moved) once everything was read.
  void run(std::span<const std::uint32_t> shards);

  // How a failure of a shard was found: in a turn, which reads its changes, or in a look, which reads only a row.
  enum class FoundBy { turn, look };

  // Tell the reader, once, that a shard fails for the time being, and then, once, that it works again. Only a turn
  // takes back what a turn has found, and only a look what a look has found. A failure that both have found counts as
  // the look's. So report a failed look only for a shard that the reader does not choose.
  void fails(std::uint32_t shard, const Error& failure, FoundBy by);
  void works(std::uint32_t shard, FoundBy by);

 private:
  // The shards of a server that were chosen for its last round.
  struct Chosen {
    std::size_t all = 0, finished = 0;
    bool more = false;  // a shard had more than a turn
  };
  enum class Turn { caught_up, has_more, given_up };  // the last: the reader takes no more from the shard

  void serve(std::uint32_t server, const std::vector<std::uint32_t>& here);
  Chosen round(const std::vector<std::uint32_t>& here);
  [[nodiscard]] News find_news_of(const std::vector<std::uint32_t>& chosen);
  void end_if_moved(std::uint32_t server, Chosen chosen);
  [[nodiscard]] Turn advance(std::uint32_t shard);
  // Returns false if the work has met a failure that passes.
  [[nodiscard]] bool tolerate(std::span<const std::uint32_t> group, const std::function<void()>& work);

  shard::Shards& shards_;
  Reader& reader_;
  const Extent extent_;
  const Failures failures_;
  std::mutex mutex_;                                       // guards the members below
  std::map<std::uint32_t, FoundBy> failing_;               // as the reader was told
  std::map<std::uint32_t, std::optional<Chosen>> chosen_;  // by server; absent: its first round has not ended
};

}  // namespace looseleaf::feed

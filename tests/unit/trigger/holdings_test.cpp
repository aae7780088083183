// Which pages count, and when a shard can go to another process.
#include "trigger/holdings.hpp"

#include <doctest/doctest.h>

namespace looseleaf::trigger {
namespace {

feed::ShardPosition at(std::int64_t micros) {
  return {{{micros}, 0}};
}

TriggerRow row_at(std::int64_t micros) {
  TriggerRow row;
  row.position = at(micros);
  return row;
}

TEST_CASE("a page that was read before the shard was lost does not count once the shard is held again") {
  Holdings holdings;
  holdings.hold(0, row_at(1));
  CHECK(holdings.move(0, at(1), at(5)));
  holdings.lose(0);
  CHECK(!holdings.move(0, at(5), at(9)));
  holdings.hold(0, row_at(1));
  CHECK(!holdings.move(0, at(5), at(9)));  // this would skip what is between 1 and 5
  CHECK(holdings.move(0, at(1), at(2)));
}

TEST_CASE("a shard that is to go stays while its changes are in hand, and no more of it are taken") {
  Holdings holdings;
  holdings.hold(0, row_at(1));
  CHECK(holdings.move(0, at(1), at(2)));
  CHECK(!holdings.let_go(0));
  CHECK(holdings.move(0, at(2), at(3)));
  holdings.store(0, row_at(3));
  CHECK(!holdings.move(0, at(3), at(4)));
  CHECK(holdings.let_go(0));
  CHECK(!holdings.holds(0));
  CHECK(holdings.known(0).place == shard::StampPlace{{3}, 0});
}

TEST_CASE("a shard that need not go any more is read on, and a batch that is given up is read again") {
  Holdings holdings;
  holdings.hold(0, row_at(1));
  CHECK(holdings.move(0, at(1), at(2)));
  CHECK(!holdings.let_go(0));
  holdings.keep(0);
  holdings.rewind();
  CHECK(holdings.reading(0) == at(1));
  CHECK(holdings.move(0, at(1), at(2)));
}

}  // namespace
}  // namespace looseleaf::trigger

// What proof_kills interrupts: a state to start from, a command, and what its writes may leave behind.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/proof/snapshot.hpp"
#include "tests/support/observed_store.hpp"
#include "tests/support/store_fixture.hpp"

namespace looseleaf::test {

struct Bench : StoreFixture {
  using StoreFixture::StoreFixture;

  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& arguments) const;
  // Runs the program to an end that must be one of these.
  void looseleaf(const std::vector<std::string>& arguments, const std::vector<int>& statuses = {0});
  void put(const std::vector<std::string>& bodies);
  void sql(std::uint32_t shard, const std::string& statement) { observer.connection(shard).execute(statement); }
  // Writes a definition to a file and returns its path.
  [[nodiscard]] std::string definition(const std::string& name, const std::string& text) const;

  Observer observer{cluster};
};

struct KillWrite {
  std::string id;
  std::optional<std::string> body;  // absent: a delete
};

struct Scenario {
  std::string name;
  std::uint32_t shards = 2;
  std::function<void(Bench&)> prepare;
  // What is interrupted: arguments of the program, and its input.
  std::function<std::vector<std::string>(Bench&)> command;
  std::vector<KillWrite> writes;  // what that writes, in order, each acknowledged by a line of output
  std::string input;
  // What ends it after the kill; absent: the command again, with one of these statuses. The first is that of a run that
  // is not killed.
  std::function<void(Bench&)> recover;
  std::vector<int> statuses = {0};
  // Steps that begin so are killed; empty: all that are passed.
  std::vector<std::string> only;
  // A session of this shard's server dies under this failpoint, which stops the program.
  std::string cut_at;
  std::uint32_t cut_shard = 0;
  bool others_write = true;  // go on putting after the kill
  // Values of the unique index by_n that another entity then tries to take, and gives up.
  std::vector<int> contested;
  bool long_form_only = false;
};

[[nodiscard]] std::vector<Scenario> kill_scenarios();

}  // namespace looseleaf::test

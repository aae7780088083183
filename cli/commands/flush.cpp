// looseleaf flush: store what was buffered while a server was down.
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/commands/flush_job.hpp"

namespace looseleaf::cli {
namespace {

ExitStatus run(const Globals& globals) {
  Datastore store = open_store(globals);
  return flush_and_report(store, globals);
}

}  // namespace

Command flush_command() {
  Command command;
  command.name = "flush";
  command.summary = "store what `put --buffer` has kept while a server was down";
  command.details = {
      "The buffered writes of each id are stored in the order in which they were accepted, as far as the servers that "
      "they need "
      "answer. `looseleaf clean --follow` does so all the time. Each takes effect once, even if several processes "
      "flush, or one dies.",
      "A write is refused if its id exists by now with another text, or if the entity cannot be stored for another "
      "reason; then the exit status is 1. If a server does not answer, or the store is frozen, writes may be left, and "
      "the exit status is 3."};
  command.examples = {{"Store what was buffered", "looseleaf flush"}};
  command.see_also = {"put", "refused", "clean", "status"};
  command.run = [](const Globals& globals) { return run(globals); };
  return command;
}

}  // namespace looseleaf::cli

// Reads the same a few times in one session each, as programs do that use the library for long: so by statements that
// are prepared. Prints what the last time has found. usage: reads_again --cluster FILE ID...
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <looseleaf/datastore.hpp>
#include <looseleaf/error.hpp>
#include <looseleaf/query.hpp>
#include <new>
#include <string>
#include <vector>

namespace {

constexpr int times = 3;

std::string read_again(const std::string& file, const std::vector<looseleaf::Uuid>& ids) {
  const looseleaf::Datastore store = looseleaf::Datastore::open(looseleaf::Cluster::load(file));
  looseleaf::Query query;
  query.index = "by_n";
  query.conditions = {{"n", looseleaf::Operator::equal, "0"}};
  std::string out;
  for (int time = 0; time < times; ++time) {
    out.clear();
    for (const auto& entity : store.get(ids)) {
      out += entity.value().json + "\n";
    }
    static_cast<void>(store.query(query, [&](const looseleaf::Entity& entity) {
      out += entity.json + "\n";
      return true;
    }));
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  // Where memory runs out in code that must not throw, the process ends (datastore.hpp).
  std::set_terminate([] {
    std::fputs("looseleaf: error: no memory\n", stderr);
    std::_Exit(3);
  });
  try {
    std::vector<looseleaf::Uuid> ids;
    for (int i = 3; i < argc; ++i) {
      ids.push_back(looseleaf::Uuid::parse(argv[i]).value());
    }
    std::fputs(read_again(argv[2], ids).c_str(), stdout);
    return 0;
  } catch (const looseleaf::Error& error) {
    std::fprintf(stderr, "looseleaf: error: %s\n", error.what());
  } catch (const std::bad_alloc&) {
    std::fputs("looseleaf: error: no memory\n", stderr);
  }
  return 3;
}

// The store of the article "How FriendFeed uses MySQL to store schema-less data", through the library: entities, an index
// on their user, a put, a get, and a query.
// usage: feed CLUSTER-FILE
#include <iostream>
#include <looseleaf/datastore.hpp>

namespace {

constexpr const char* index_user_id = R"({
  "table": "index_user_id",
  "properties": [{"name": "user_id", "type": "uuid"}],
  "shard_on": "user_id",
  "immutable": true
})";

int run(const char* cluster_file) {
  auto datastore = looseleaf::Datastore::open(looseleaf::Cluster::load(cluster_file));
  datastore.init();
  datastore.create_indexes({looseleaf::IndexDefinition::parse(index_user_id, "index_user_id")});

  const auto stored = datastore.put({
      R"({"id": "71f0c4d2291844cca2df6f486e96e37c", "user_id": "f48b0440ca0c4f66991c4d5f6a078eaf",
          "feed_id": "f48b0440ca0c4f66991c4d5f6a078eaf", "title": "We just launched a new backend system for FriendFeed!",
          "link": "http://friendfeed.com/e/71f0c4d2-2918-44cc-a2df-6f486e96e37c", "published": 1235697046})",
      R"({"user_id": "f48b0440ca0c4f66991c4d5f6a078eaf", "title": "A second entry, whose id the store makes"})",
  });
  for (const auto& result : stored) {
    if (result.status != looseleaf::WriteStatus::stored) {
      std::cerr << "not stored: " << result.error->what() << '\n';
      return 1;
    }
  }

  const auto entity = datastore.get({*looseleaf::Uuid::parse("71f0c4d2291844cca2df6f486e96e37c")}).front();
  std::cout << "get: " << (entity ? "found" : "not found") << '\n';

  looseleaf::Query query;
  query.index = "index_user_id";
  query.conditions = {looseleaf::Condition::parse("user_id=f48b0440ca0c4f66991c4d5f6a078eaf")};
  const auto report = datastore.query(query, [](const looseleaf::Entity& found) {
    std::cout << "query: " << found.json << '\n';
    return true;
  });
  std::cout << report.entities << " entities\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: feed CLUSTER-FILE\n";
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const looseleaf::Error& error) {
    std::cerr << "feed: " << error.what() << '\n';
    for (const auto& [key, value] : error.context()) {
      std::cerr << "  " << key << ": " << value << '\n';
    }
    return 3;
  }
}

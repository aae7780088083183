// The store of the article "How FriendFeed uses MySQL to store schema-less data", through the library.
// docs/library.md walks through it.
// usage: feed CLUSTER-FILE
#include <iostream>
#include <looseleaf/datastore.hpp>
#include <looseleaf/index.hpp>

namespace {

using looseleaf::Datastore;
using looseleaf::Entity;

const looseleaf::Index by_user("index_user_id");
const looseleaf::Index by_feed("index_feed_id");

Datastore open_store(const char* cluster_file) {
  looseleaf::Options options;
  options.timeout = std::chrono::seconds(10);
  options.on_warning = [](const looseleaf::Warning& warning) { std::cerr << "warning: " << warning.what << '\n'; };
  return Datastore::open(looseleaf::Cluster::load(cluster_file), options);
}

void create_indexes(Datastore& datastore) {
  datastore.create_indexes({
      looseleaf::IndexDefinition::parse(R"({
        "table": "index_user_id",
        "properties": [{"name": "user_id", "type": "uuid"}],
        "shard_on": "user_id",
        "immutable": true
      })",
                                        "index_user_id"),
      looseleaf::IndexDefinition::parse(R"({
        "table": "index_feed_id",
        "properties": [{"name": "feed_id", "type": "uuid"}, {"name": "published", "type": "int"}],
        "shard_on": "feed_id"
      })",
                                        "index_feed_id"),
  });
  looseleaf::JobControl control;
  datastore.backfill({}, control);  // does nothing if the store was empty: then they are ready at once
}

void put_entries(Datastore& datastore) {
  const auto results = datastore.put({
      R"({"id": "71f0c4d2291844cca2df6f486e96e37c", "user_id": "f48b0440ca0c4f66991c4d5f6a078eaf",
          "feed_id": "f48b0440ca0c4f66991c4d5f6a078eaf", "title": "We just launched a new backend system for FriendFeed!",
          "link": "http://friendfeed.com/e/71f0c4d2-2918-44cc-a2df-6f486e96e37c", "published": 1235697046})",
      R"({"user_id": "f48b0440ca0c4f66991c4d5f6a078eaf", "title": "A second entry, whose id the store makes"})",
  });
  for (const looseleaf::WriteResult& result : results) {
    if (result.status != looseleaf::WriteStatus::stored) {
      throw *result.error;
    }
    std::cout << "put: " << to_string(*result.id) << '\n';
  }
}

void put_many(Datastore& datastore, int count) {
  int stored = 0;
  looseleaf::WriteStream stream(datastore, [&](const looseleaf::WriteResult& result) {
    stored += result.status == looseleaf::WriteStatus::stored ? 1 : 0;
  });
  for (int i = 0; i < count; ++i) {
    stream.put(R"({"feed_id": "0a93cf9b6a4e4cb0a0f0bb0c4c5a7a11", "published": )" + std::to_string(i) + "}");
  }
  stream.finish();
  std::cout << "put: " << stored << " of " << count << '\n';
}

void get_entries(const Datastore& datastore) {
  const auto id = looseleaf::Uuid::parse("71f0c4d2-2918-44cc-a2df-6f486e96e37c");
  const std::optional<Entity> entity = datastore.get({*id}).front();
  std::cout << "get: " << (entity ? "found" : "not found") << '\n';

  const std::vector<Entity> entries = by_user.get_all(datastore, {{"user_id", "f48b0440ca0c4f66991c4d5f6a078eaf"}});
  std::cout << "get_all: " << entries.size() << '\n';
}

void read_pages(const Datastore& datastore) {
  looseleaf::Query query = by_feed.query({{"feed_id", "0a93cf9b6a4e4cb0a0f0bb0c4c5a7a11"}});
  query.conditions.push_back(looseleaf::Condition::parse("published>=5"));
  query.descending = true;
  query.limit = 3;
  do {
    const looseleaf::QueryReport report = datastore.query(query, [](const Entity& entity) {
      std::cout << "query: " << entity.json << '\n';
      return true;  // false ends the query
    });
    std::cout << "page: " << report.entities << '\n';
    query.after = report.next;
  } while (!query.after.empty());
}

void remove_many(Datastore& datastore) {
  std::vector<looseleaf::Uuid> ids;
  for (const Entity& entity : by_feed.get_all(datastore, {{"feed_id", "0a93cf9b6a4e4cb0a0f0bb0c4c5a7a11"}})) {
    ids.push_back(entity.id);
  }
  std::cout << "remove: " << datastore.remove(ids).size() << '\n';
}

void verify(Datastore& datastore) {
  looseleaf::JobControl control;
  control.on_progress = [](const looseleaf::Progress& progress) { std::clog << progress.done << " done\r"; };
  const looseleaf::VerifyReport report = datastore.verify({}, control);
  std::cout << "verify: " << (report.findings.empty() ? "consistent" : "not consistent") << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: feed CLUSTER-FILE\n";
    return 2;
  }
  try {
    Datastore datastore = open_store(argv[1]);
    datastore.init();
    create_indexes(datastore);
    put_entries(datastore);
    put_many(datastore, 10);
    get_entries(datastore);
    read_pages(datastore);
    remove_many(datastore);
    verify(datastore);
  } catch (const looseleaf::Error& error) {
    std::cerr << "feed: " << error.what() << '\n';
    for (const auto& [key, value] : error.context()) {
      std::cerr << "  " << key << ": " << value << '\n';
    }
    std::cerr << (error.hint().empty() ? "" : "hint: " + error.hint() + "\n");
    return 3;
  }
}

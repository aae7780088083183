// Checks that a database is the shard that the cluster file names.
#include "shard/identity.hpp"

#include <fmt/format.h>

#include <string>

#include "shard/schema.hpp"

namespace looseleaf::shard {
namespace {

[[noreturn]] void refuse(const char* what, const std::string& expected, const std::string& seen) {
  throw Error(ErrorCode::wrong_cluster, what, {{"expected", expected}, {"found", seen}},
              "check the order, number and addresses of the shards in the cluster file; nothing was read or written");
}

}  // namespace

Error other_shard_count(std::uint64_t in_store, std::uint32_t in_file) {
  return {ErrorCode::wrong_cluster,
          "cluster file and cluster have different numbers of shards",
          {{"expected", fmt::format("{} shards", in_store)}, {"found", fmt::format("{} in the cluster file", in_file)}},
          fmt::format("{}; a store's number of shards never changes, and nothing was read or written",
                      in_file > in_store ? "delete from the cluster file the shards that are not in this store"
                                         : "add the missing shards to the cluster file, each at its place")};
}

void Identity::check(std::uint32_t shard, const Head& head) {
  if (head.format != format_version) {
    throw Error(ErrorCode::wrong_cluster, "shard has a different format version",
                {{"expected", fmt::format("{}", format_version)}, {"found", fmt::format("{}", head.format)}},
                "use the version of looseleaf that created this store; nothing was read or written");
  }
  if (head.shard_count != count()) {
    throw other_shard_count(head.shard_count, count());
  }
  if (head.shard != shard) {
    refuse("shard is at the wrong place in the cluster file", fmt::format("shard {}", shard),
           fmt::format("shard {}", head.shard));
  }
  const std::lock_guard lock(mutex_);
  if (!cluster_id_) {
    cluster_id_ = head.cluster_id;
  } else if (*cluster_id_ != head.cluster_id) {
    refuse("shard belongs to another cluster", to_string(*cluster_id_), to_string(head.cluster_id));
  }
}

std::optional<Uuid> Identity::cluster_id() const {
  const std::lock_guard lock(mutex_);
  return cluster_id_;
}

// The superfluous shard may be the first or the last in the cluster file. The shard at the other end knows the right
// number.
void Identity::refuse_uninitialised(std::uint32_t shard, server::Sessions& sessions) const {
  bool are_others_initialised = false;
  for (const std::uint32_t other : {0U, count() - 1}) {
    std::uint64_t in_store = count();
    try {
      if (other != shard) {
        const server::Lease lease = sessions.connect_unchecked_once(other);
        const auto found = lease->query("SELECT shard_count FROM looseleaf_shard WHERE only_row = 1");
        are_others_initialised = are_others_initialised || !found.empty();
        in_store = found.empty() ? in_store : found.unsigned_integer(0, 0);
      }
    } catch (const Error&) {  // that shard does not know the number
    }
    if (in_store != count()) {
      throw other_shard_count(in_store, count());
    }
  }
  throw are_others_initialised ? NotInitialised::beside_others() : NotInitialised();
}

}  // namespace looseleaf::shard

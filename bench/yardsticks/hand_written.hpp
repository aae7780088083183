// The yardsticks of single operations: what one would write by hand against the same tables, one statement after
// another, without checks and without retries. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <looseleaf/index_definition.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/yardsticks/plain.hpp"

namespace looseleaf::bench {

using OnText = std::function<void(std::string_view json)>;

class HandWritten {
 public:
  // Connects to every shard of the cluster file.
  HandWritten(const std::string& cluster_file, std::vector<IndexDefinition> indexes);
  ~HandWritten();

  // The index rows, each by an INSERT in autocommit, then the entity in a transaction.
  void put(const std::string& json);
  // In a transaction: the old body, locked; the new index rows, each by an INSERT in autocommit; the entity. Then the
  // old index rows.
  void update(const std::string& json);
  // By a prepared SELECT; 32 hex digits.
  void get(const std::string& id, const OnText& on_text);
  // Ids by one statement on the index shard, which is that of `shard_value` (a uuid or a string), then bodies, one
  // statement a shard; in no order. `conditions` is what follows the index table's name.
  void query(const IndexDefinition& index, const std::string& shard_value, const std::string& conditions,
             const OnText& on_text);

 private:
  std::vector<Session> sessions_;
  std::vector<std::unique_ptr<::sql::PreparedStatement>> selects_;
  std::vector<IndexDefinition> indexes_;
  Codec codec_;
};

// A literal for `conditions`: of 32 hex digits, or of a text.
[[nodiscard]] std::string id_literal(const std::string& id);
[[nodiscard]] std::string text_literal(const std::string& text);

}  // namespace looseleaf::bench

// The index rows that an entity calls for, as a plain program works them out.
#pragma once

#include <cstddef>
#include <functional>
#include <looseleaf/index_definition.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace looseleaf::bench {

// Where an id (32 hex digits) belongs, or the row with this value of its shard_on property.
[[nodiscard]] std::size_t shard_of_uuid(const std::string& digits, std::size_t shards);
[[nodiscard]] std::size_t shard_of_value(const Property& property, const nlohmann::json& value, std::size_t shards);

class EntityRows {
 public:
  // `entity` outlives the object; its ids have no dashes.
  EntityRows(const nlohmann::json& entity, std::size_t shards);

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] std::size_t shard() const { return home_; }
  // Calls `on_row` with the shard and the literal `(…)` of each row; one for each element of an `each` property.
  void each(const IndexDefinition& index,
            const std::function<void(std::size_t shard, std::string literal)>& on_row) const;

 private:
  void one(const IndexDefinition& index, const nlohmann::json* element,
           const std::function<void(std::size_t, std::string)>& on_row) const;

  const nlohmann::json& entity_;
  const std::string& id_;
  const std::size_t shards_;
  const std::size_t home_;
};

[[nodiscard]] std::vector<IndexDefinition> load_definitions(const std::vector<std::string>& files);

}  // namespace looseleaf::bench

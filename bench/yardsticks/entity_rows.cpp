// Rows as literals, and where they belong.
#include "bench/yardsticks/entity_rows.hpp"

#include <looseleaf/uuid.hpp>
#include <utility>

#include "bench/yardsticks/plain.hpp"
#include "shard/placement.hpp"

namespace looseleaf::bench {
namespace {

void append_value(std::string& sql, const Property& property, const nlohmann::json& value) {
  if (property.type == PropertyType::uuid) {
    sql += "x'" + value.get_ref<const std::string&>() + "'";
  } else if (property.type == PropertyType::string) {
    append_text(sql, value.get_ref<const std::string&>());
  } else {
    sql += value.dump();
  }
}

}  // namespace

std::size_t shard_of_uuid(const std::string& digits, std::size_t shards) {
  return shard::shard_of(Uuid::parse(digits).value(), static_cast<std::uint32_t>(shards));
}

std::size_t shard_of_value(const Property& property, const nlohmann::json& value, std::size_t shards) {
  const auto count = static_cast<std::uint32_t>(shards);
  if (property.type == PropertyType::integer) {
    return shard::shard_of(value.get<std::int64_t>(), count);
  }
  const auto& text = value.get_ref<const std::string&>();
  return property.type == PropertyType::uuid ? shard_of_uuid(text, shards)
                                             : shard::shard_of(std::string_view(text), count);
}

EntityRows::EntityRows(const nlohmann::json& entity, std::size_t shards)
    : entity_(entity),
      id_(entity.at("id").get_ref<const std::string&>()),
      shards_(shards),
      home_(shard_of_uuid(id_, shards_)) {}

void EntityRows::each(const IndexDefinition& index, const std::function<void(std::size_t, std::string)>& on_row) const {
  const Property* array = nullptr;
  for (const Property& property : index.properties) {
    if (!entity_.contains(property.name)) {
      return;
    }
    array = property.each ? &property : array;
  }
  if (array == nullptr) {
    one(index, nullptr, on_row);
    return;
  }
  for (const nlohmann::json& element : entity_[array->name]) {
    one(index, &element, on_row);
  }
}

void EntityRows::one(const IndexDefinition& index, const nlohmann::json* element,
                     const std::function<void(std::size_t, std::string)>& on_row) const {
  std::size_t shard = home_;
  std::string row = "(";
  for (std::size_t i = 0; i < index.properties.size(); ++i) {
    const Property& property = index.properties[i];
    const nlohmann::json& value = property.each ? *element : entity_[property.name];
    append_value(row, property, value);
    row += ',';
    if (i == index.shard_on) {
      shard = shard_of_value(property, value, shards_);
    }
  }
  on_row(shard, row + "x'" + id_ + "')");
}

std::vector<IndexDefinition> load_definitions(const std::vector<std::string>& files) {
  std::vector<IndexDefinition> result;
  for (const std::string& file : files) {
    result.push_back(IndexDefinition::load(file));
  }
  return result;
}

}  // namespace looseleaf::bench

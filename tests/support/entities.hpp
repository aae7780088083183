// Small entities and index definitions that tests share.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <looseleaf/uuid.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace looseleaf::test {

// The property `n`, an integer. A row is on its entity's shard, or on the shard of its value.
inline constexpr const char* by_n = R"({"table": "by_n", "properties": [{"name": "n", "type": "int"}]})";
inline constexpr const char* by_n_sharded =
    R"({"table": "by_n", "properties": [{"name": "n", "type": "int"}], "shard_on": "n"})";
inline constexpr const char* by_n_unique =
    R"({"table": "by_n", "properties": [{"name": "n", "type": "int"}], "shard_on": "n", "unique": true})";

// The id whose last digits are `number` in hexadecimal; number % shards is its shard.
[[nodiscard]] inline std::string id_of(std::uint64_t number) {
  return fmt::format("018f2c4e1a2b7c3d8e4f{:012x}", number);
}

[[nodiscard]] inline Uuid uuid_of(std::uint64_t number) {
  return *Uuid::parse(id_of(number));
}

// Six random bits a byte, always the same: compression saves a quarter of it.
[[nodiscard]] inline std::string noise(std::size_t size) {
  static constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::mt19937 random(7);
  std::string text(size, ' ');
  for (char& c : text) {
    c = alphabet[random() % alphabet.size()];
  }
  return text;
}

// SQL for a cleanup record that names entities of a shard, as if a put of them had died when it had committed.
[[nodiscard]] inline std::string cleanup_record(const std::vector<std::string>& ids) {
  return fmt::format("INSERT INTO looseleaf_cleanup (token, since, ids) VALUES (UUID_SHORT(), NOW(6), x'{}')",
                     fmt::join(ids, ""));
}

// {"id":"…",MEMBERS}: one entity on a line, without the line end.
[[nodiscard]] inline std::string entity(std::string_view id, std::string_view members = {}) {
  return fmt::format("{{\"id\":\"{}\"{}{}}}", id, members.empty() ? "" : ",", members);
}
[[nodiscard]] inline std::string entity(std::uint64_t number, std::string_view members = {}) {
  return entity(id_of(number), members);
}

// The first `count` entities, one a line, with the members that are told for each number.
[[nodiscard]] inline std::string entity_lines(std::uint64_t count,
                                              const std::function<std::string(std::uint64_t)>& members) {
  std::string lines;
  for (std::uint64_t number = 0; number < count; ++number) {
    lines += entity(number, members(number)) + "\n";
  }
  return lines;
}
// The same; `{}` or `{0}` in `members` is the number.
[[nodiscard]] inline std::string entity_lines(std::uint64_t count, std::string_view members = {}) {
  return entity_lines(count, [&](std::uint64_t number) { return fmt::format(fmt::runtime(members), number); });
}
// Their ids, likewise.
[[nodiscard]] inline std::string id_lines(std::uint64_t count) {
  std::string lines;
  for (std::uint64_t number = 0; number < count; ++number) {
    lines += id_of(number) + "\n";
  }
  return lines;
}

// The ids of these entities, and the same one a line.
[[nodiscard]] inline std::vector<std::string> ids_of(const std::vector<std::uint64_t>& numbers) {
  std::vector<std::string> ids;
  std::transform(numbers.begin(), numbers.end(), std::back_inserter(ids), id_of);
  return ids;
}
[[nodiscard]] inline std::string lines_of_ids(const std::vector<std::uint64_t>& numbers) {
  return numbers.empty() ? "" : fmt::format("{}\n", fmt::join(ids_of(numbers), "\n"));
}

}  // namespace looseleaf::test

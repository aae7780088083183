// A token holds a hash of the query it belongs to (8 bytes), the row's values and the entity's id, then a checksum of
// all these (4 bytes).
#include "read/page_token.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <looseleaf/error.hpp>
#include <string_view>

#include "base/base64.hpp"
#include "base/text.hpp"

namespace looseleaf::read {
namespace {

constexpr std::size_t number_size = 8, sum_size = 4, id_size = 16;

void append_number(std::string& bytes, std::uint64_t number, std::size_t size = number_size) {
  for (; size > 0; --size, number >>= 8) {
    bytes += static_cast<char>(static_cast<unsigned char>(number & 255));
  }
}

std::uint64_t sum_of(std::string_view bytes) {
  return base::fnv1a(bytes) & 0xffffffff;
}

// Returns a hash of the query. It is equal for two queries if one can continue where the other ended.
std::uint64_t identity_of(const IndexDefinition& definition, const Query& query) {
  std::string text = definition.fingerprint() + (query.descending ? "desc" : "asc");
  for (const auto* conditions : {&query.conditions, &query.where}) {
    text += '\n';
    for (const Condition& condition : *conditions) {
      text += fmt::format("{}:{}{}{}:{};", condition.property.size(), condition.property,
                          static_cast<int>(condition.op), condition.value.size(), condition.value);
    }
  }
  return base::fnv1a(text);
}

struct AppendValue {
  std::string& bytes;

  void operator()(const Uuid& id) const { bytes.append(id.bytes.begin(), id.bytes.end()); }
  void operator()(const std::string& text) const {
    append_number(bytes, text.size());
    bytes += text;
  }
  void operator()(std::int64_t number) const { append_number(bytes, static_cast<std::uint64_t>(number)); }
  void operator()(double number) const { append_number(bytes, std::bit_cast<std::uint64_t>(number)); }
  void operator()(bool value) const { append_number(bytes, value ? 1 : 0); }
};

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorCode::usage, what, {},
              "use the `next` of the previous page with the same index, conditions and order");
}

// Reads values from the front of the text.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) {
      fail("invalid page token");
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::uint64_t number(std::size_t size = number_size) {
    const std::string_view bytes = take(size);
    std::uint64_t number = 0;
    for (std::size_t i = size; i-- > 0;) {
      number = number << 8 | static_cast<unsigned char>(bytes[i]);
    }
    return number;
  }

  Uuid id() { return Uuid::from_bytes(take(id_size)).value(); }

  model::Value value(PropertyType type) {
    switch (type) {
      case PropertyType::uuid:
        return id();
      case PropertyType::string: {
        const std::string_view text = take(number());
        if (!base::is_utf8(text)) {
          fail("invalid page token");
        }
        return std::string(text);
      }
      case PropertyType::integer:
        return static_cast<std::int64_t>(number());
      case PropertyType::real: {
        const auto real = std::bit_cast<double>(number());
        if (!std::isfinite(real)) {
          fail("invalid page token");
        }
        return real;
      }
      case PropertyType::boolean:
        return number() != 0;
    }
    fail("invalid page token");
  }

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

std::string make_token(const IndexDefinition& definition, const Query& query, const shard::IndexEntry& last) {
  std::string bytes;
  append_number(bytes, identity_of(definition, query));
  for (const model::Value& value : last.values) {
    std::visit(AppendValue{bytes}, value);
  }
  AppendValue{bytes}(last.entity_id);
  append_number(bytes, sum_of(bytes), sum_size);
  return base::to_base64url(bytes);
}

shard::IndexEntry parse_token(const IndexDefinition& definition, const Query& query, const std::string& token) {
  const auto bytes = base::from_base64url(token);
  if (!bytes || bytes->size() < number_size + id_size + sum_size) {
    fail("invalid page token");
  }
  const std::string_view content = std::string_view(*bytes).substr(0, bytes->size() - sum_size);
  if (Reader(std::string_view(*bytes).substr(content.size())).number(sum_size) != sum_of(content)) {
    fail("invalid page token");
  }
  Reader reader(content);
  if (reader.number() != identity_of(definition, query)) {
    fail("the page token belongs to another query, or to another definition of the index");
  }
  shard::IndexEntry last;
  for (const Property& property : definition.properties) {
    last.values.push_back(reader.value(property.type));
  }
  last.entity_id = reader.id();
  if (!reader.at_end()) {
    fail("invalid page token");
  }
  return last;
}

}  // namespace looseleaf::read

// Splits an object into its members, and joins those that remain. Values are copied as they are.
#include "model/merge_patch.hpp"

#include <algorithm>
#include <looseleaf/error.hpp>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "model/json/strict_json.hpp"
#include "model/parsed_entity.hpp"

namespace looseleaf::model {
namespace {

// The parts of `lead "key" : value trail`, which are between a brace or comma and the next one.
struct Member {
  std::string_view lead;   // white space
  std::string_view name;   // from the key to the white space before the value
  std::string_view value;  // without white space around it
  std::string_view trail;  // white space
  std::string key;         // what the key means
};

// Reads a valid JSON text from the front.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip() { ++at_; }

  std::string_view take_white_space() { return take_until(text_.find_first_not_of(base::json_white_space, at_)); }

  std::string_view take_string() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"') {
      end += text_[end] == '\\' ? 2 : 1;
    }
    return take_until(end + 1);
  }

  std::string_view take_value() {
    const std::size_t begin = at_;
    if (next() == '"') {
      return take_string();
    }
    if (next() != '{' && next() != '[') {
      return take_until(text_.find_first_of(" \t\r\n,]}", at_));
    }
    std::size_t depth = 0;
    do {
      const char byte = next();
      depth += byte == '{' || byte == '[' ? 1 : 0;
      depth -= byte == '}' || byte == ']' ? 1 : 0;
      if (byte == '"') {
        take_string();
      } else {
        skip();
      }
    } while (depth > 0 && at_ < text_.size());
    return text_.substr(begin, at_ - begin);
  }

 private:
  std::string_view take_until(std::size_t end) {
    const std::string_view taken = text_.substr(at_, std::min(end, text_.size()) - at_);
    at_ += taken.size();
    return taken;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string decoded(std::string_view key) {
  return key.find('\\') == std::string_view::npos ? std::string(key.substr(1, key.size() - 2))
                                                  : nlohmann::json::parse(key).get<std::string>();
}

std::vector<Member> members_of(std::string_view object) {
  std::vector<Member> members;
  Cursor cursor(object);
  cursor.take_white_space();
  while (cursor.next() == '{' || cursor.next() == ',') {
    cursor.skip();
    Member member;
    member.lead = cursor.take_white_space();
    if (cursor.next() != '"') {
      break;  // an empty object
    }
    const std::string_view key = cursor.take_string();
    member.key = decoded(key);
    cursor.take_white_space();
    cursor.skip();  // the colon
    cursor.take_white_space();
    member.value = cursor.take_value();
    member.name = {key.data(), static_cast<std::size_t>(member.value.data() - key.data())};
    member.trail = cursor.take_white_space();
    members.push_back(std::move(member));
  }
  return members;
}

bool is_object(std::string_view value) {
  return value.starts_with('{');
}

class ByKey {
 public:
  explicit ByKey(const std::vector<Member>& members) {
    for (const Member& member : members) {
      by_key_.emplace(member.key, &member);
    }
  }
  // Returns null if no member has this key.
  [[nodiscard]] const Member* find(const std::string& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : found->second;
  }

 private:
  std::unordered_map<std::string_view, const Member*> by_key_;
};

std::string merge(const std::vector<Member>& before, const std::vector<Member>& patch);

// Returns the value that a member gets by its counterpart in the patch, which is not null.
std::string merged_value(std::string_view before, std::string_view patch) {
  if (!is_object(patch)) {
    return std::string(patch);
  }
  const std::vector<Member> changes = members_of(patch);
  if (!is_object(before)) {
    return merge({}, changes);
  }
  return changes.empty() ? std::string(before) : merge(members_of(before), changes);
}

// Appends members to the text of an object.
class Joiner {
 public:
  void add(std::string_view lead, std::string_view name, std::string_view value) {
    text_ += empty_ ? "{" : ",";
    empty_ = false;
    text_.append(lead).append(name).append(value);
  }
  void add_white_space(std::string_view space) { text_ += space; }
  [[nodiscard]] std::string close() { return empty_ ? "{}" : text_ + "}"; }

 private:
  std::string text_;
  bool empty_ = true;
};

std::string merge(const std::vector<Member>& before, const std::vector<Member>& patch) {
  const ByKey old(before), changes(patch);
  Joiner result;
  std::string_view trail;  // of the last member: it comes after the members that are new
  for (const Member& member : before) {
    const Member* const change = changes.find(member.key);
    if (change != nullptr && change->value == "null") {
      continue;
    }
    result.add_white_space(trail);
    if (change == nullptr) {
      result.add(member.lead, member.name, member.value);
    } else {
      result.add(member.lead, member.name, merged_value(member.value, change->value));
    }
    trail = member.trail;
  }
  const std::string_view lead = before.empty() ? std::string_view() : before.back().lead;
  for (const Member& added : patch) {
    if (added.value != "null" && old.find(added.key) == nullptr) {
      result.add(lead, added.name, merged_value({}, added.value));
    }
  }
  result.add_white_space(trail);
  return result.close();
}

}  // namespace

void require_mergeable(const Uuid& id, const std::string& stored) {
  Error error(ErrorCode::corrupt, "the stored text is not one that put accepts, so nothing can be merged into it", {},
              "put the whole entity instead, or correct what is stored with `looseleaf update`");
  try {
    if (const auto parsed = ParsedEntity::strict(stored); parsed && parsed->id() == id) {
      return;
    }
  } catch (const JsonFault& fault) {
    error.with("reason", fault.what());
    if (!fault.detail.empty()) {
      error.with("detail", fault.detail);
    }
  }
  static_cast<void>(ParsedEntity(stored, id));  // throws what get says of such a text
  throw error;
}

std::string merge_patch(std::string_view target, std::string_view patch) {
  std::vector<Member> changes = members_of(patch);
  std::erase_if(changes, [](const Member& member) { return member.key == "id"; });
  return merge(members_of(target), changes);
}

}  // namespace looseleaf::model

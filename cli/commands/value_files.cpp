// Reads values of conditions from files.
#include "cli/commands/value_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "cli/files/files.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::size_t most_bytes = 64 << 20;

using Lines = std::vector<std::pair<std::uint64_t, std::string>>;

// Moves the lines that are complete from the text.
void take_lines(std::string& text, std::uint64_t& number, Lines& lines) {
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    ++number;
    const bool has_return = end > begin && text[end - 1] == '\r';
    std::string line = text.substr(begin, end - begin - (has_return ? 1 : 0));
    if (number == 1 && line.starts_with(byte_order_mark)) {
      line.erase(0, byte_order_mark.size());
    }
    if (!line.empty()) {
      lines.emplace_back(number, std::move(line));
    }
  }
  text.erase(0, begin);
}

Lines lines_of(const std::string& file) {
  Input input(file);
  Lines lines;
  std::string text;
  std::uint64_t number = 0;
  std::size_t size = 0;
  std::array<char, 16 * 1024> chunk{};
  while (const std::size_t got = input.read(chunk.data(), chunk.size())) {
    text.append(chunk.data(), got);
    size += got;
    take_lines(text, number, lines);
    if (lines.size() > Query::most_values) {
      return lines;
    }
    if (size > most_bytes) {
      throw Error(ErrorCode::io, "the file of values is too large",
                  {{"file", file}, {"limit", fmt::format("{} bytes", most_bytes)}}, "write one value on each line");
    }
  }
  text += '\n';
  take_lines(text, number, lines);
  return lines;
}

}  // namespace

std::vector<Condition> ValueFiles::conditions_of(const std::vector<std::string>& texts) {
  std::vector<Condition> conditions;
  for (const std::string& text : texts) {
    Condition condition = Condition::parse(text);
    if (text.starts_with('"') || condition.op != Operator::equal || !condition.value.starts_with('@')) {
      conditions.push_back(std::move(condition));
      continue;
    }
    const std::string file = condition.value.substr(1);
    Source source{file, condition.property, {}};
    try {
      source.lines = lines_of(file);
    } catch (Error& error) {
      throw error.with("condition", text)
          .with_hint(
              fmt::format("{}; if the value begins with @, write the property's name in double quotes: '\"{}\"={}'",
                          error.hint().empty() ? "name a file that has one value on each line" : error.hint(),
                          condition.property, condition.value));
    }
    if (source.lines.empty()) {
      throw Error(ErrorCode::usage, "the file has no values", {{"file", file}, {"condition", text}},
                  "write one value on each line; empty lines do not count");
    }
    for (const auto& [number, line] : source.lines) {
      condition.value = line;
      conditions.push_back(condition);
    }
    sources_.push_back(std::move(source));
  }
  return conditions;
}

void ValueFiles::locate(Error& error) const {
  const auto fact = [&](std::string_view key) {
    const auto& context = error.context();
    const auto found =
        std::find_if(context.begin(), context.end(), [&](const auto& pair) { return pair.first == key; });
    return found == context.end() ? std::string() : found->second;
  };
  const std::string property = fact("property"), value = fact("value");
  for (const Source& source : sources_) {
    const auto line =
        std::find_if(source.lines.begin(), source.lines.end(), [&](const auto& one) { return one.second == value; });
    if (error.code() == ErrorCode::usage && source.property == property && line != source.lines.end()) {
      error.with("file", source.file).with("line", fmt::format("{}", line->first));
      return;
    }
  }
}

}  // namespace looseleaf::cli

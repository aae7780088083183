// Notices that an input is CSV and not JSON.
#include "cli/report/csv_detector.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal/messages.hpp"

namespace looseleaf::cli {
namespace {

// Returns the most frequent separator as Python writes it; empty if the line has none.
std::string separator_of(const std::string& line) {
  const auto count = [&](char c) { return std::count(line.begin(), line.end(), c); };
  const char separator = std::max({',', ';', '\t'}, [&](char a, char b) { return count(a) < count(b); });
  return count(separator) == 0 ? "" : separator == '\t' ? "\\t" : std::string(1, separator);
}

}  // namespace

void CsvDetector::add(const Piece& piece) {
  has_object_ = has_object_ || piece.text.starts_with('{');
  if (!first_line_) {
    first_line_ = piece.text.substr(0, piece.text.find('\n'));
  }
}

void CsvDetector::warn_if_csv(const std::string& input) const {
  const bool may_be_csv = first_line_ && !first_line_->starts_with('[') && !has_object_;
  const std::string separator = may_be_csv ? separator_of(*first_line_) : "";
  if (separator.empty()) {
    return;
  }
  const std::string hint =
      separator == ","
          ? "this looks like CSV; `looseleaf put --csv` stores it"
          : fmt::format(
                "this looks like CSV; convert it to JSON Lines first, for example with `python3 -c \"import "
                "csv, json, sys; [print(json.dumps(row)) for row in csv.DictReader(sys.stdin, "
                "delimiter='{}')]\" < FILE > FILE.jsonl`, which makes every value a string",
                separator);
  print_warning("no line of the input begins with {", {{"file", input == "-" ? "standard input" : input}}, hint);
}

}  // namespace looseleaf::cli

// The text format of Prometheus (exposition format 0.0.4).
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace looseleaf::cli {

// The metrics of one command, whose names begin alike: looseleaf_<command>_<name>.
class MetricsText {
 public:
  explicit MetricsText(std::string_view command) : command_(command) {}

  // Begins a metric; its samples follow.
  void family(std::string_view name, std::string_view type, std::string_view help) {
    text_ += fmt::format("# HELP looseleaf_{0}_{1} {3}\n# TYPE looseleaf_{0}_{1} {2}\n", command_, name, type, help);
  }
  // `labels` are in braces, or empty.
  template <typename Number>
  void sample(std::string_view name, std::string_view labels, Number number) {
    text_ += fmt::format("looseleaf_{}_{}{} {}\n", command_, name, labels, number);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const std::string_view command_;
  std::string text_;
};

}  // namespace looseleaf::cli

// The progress of a put, as a part of the files that it reads.
#include "cli/report/put_progress.hpp"

#include <unistd.h>

#include "cli/files/files.hpp"

namespace looseleaf::cli {
namespace {

// On a terminal that also shows the ids, they would run into the progress line.
Globals progress_settings(Globals globals) {
  if (::isatty(STDOUT_FILENO) == 1) {
    globals.progress = "off";
  }
  return globals;
}

std::optional<std::uint64_t> total_size(const std::vector<std::string>& files) {
  std::uint64_t total = 0;
  for (const auto& file : files) {
    const auto size = size_of_input(file);
    if (!size) {
      return std::nullopt;
    }
    total += *size;
  }
  return total;
}

}  // namespace

PutProgress::PutProgress(const Globals& globals, const std::vector<std::string>& files)
    : display_(progress_settings(globals)), total_(total_size(files)) {}

void PutProgress::update(std::uint64_t done) {
  const std::uint64_t consumed = consumed_;
  const bool known = total_ && consumed > 0;
  const double estimate =
      known ? static_cast<double>(given_) * static_cast<double>(*total_) / static_cast<double>(consumed) : 0;
  display_.update({"put", 0, done, static_cast<std::uint64_t>(estimate)});
}

}  // namespace looseleaf::cli

// Writes files that other programs may read at the same time.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace looseleaf::cli {

// Replaces the contents of a file atomically: a reader sees the old contents or the new ones, never a part. A link
// stays; a device or a pipe is written to. The umask takes permissions away from `mode`. Throws Error(io).
void replace_file(const std::string& path, std::string_view contents, std::filesystem::perms mode);

// Throws Error(io) if replace_file would fail. Call it before long work whose result goes into the file.
void check_replaceable(const std::string& path);

// True if standard output goes into the regular file `path`. replace_file() adds to that one.
[[nodiscard]] bool is_standard_output(const std::string& path);

// The name of the new file until it is renamed, in the same folder. One process at a time may replace a file.
[[nodiscard]] std::string unfinished_of(const std::string& path);

// The modes of a file that everybody may read, and of one that only its owner may read.
inline constexpr auto public_file = std::filesystem::perms{0644};
inline constexpr auto private_file = std::filesystem::perms{0600};

}  // namespace looseleaf::cli

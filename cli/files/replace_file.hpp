// Files that others read while they are written.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace looseleaf::cli {

// Gives a file new contents all at once: whoever reads it sees the old ones or the new ones, never a part. Throws
// Error(io).
void replace_file(const std::string& path, std::string_view contents, std::filesystem::perms mode);

// Throws Error(io) as replace_file would if nothing can be written there: for a file that is due only after long work.
void check_replaceable(const std::string& path);

// Of a file for everybody to read, and of one for its owner alone.
inline constexpr auto public_file = std::filesystem::perms{0644};
inline constexpr auto private_file = std::filesystem::perms{0600};

}  // namespace looseleaf::cli

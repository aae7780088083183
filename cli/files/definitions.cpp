// Reads index definitions from files and folders.
#include "cli/files/definitions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <looseleaf/error.hpp>
#include <system_error>

#include "base/text.hpp"
#include "cli/terminal/messages.hpp"

namespace looseleaf::cli {
namespace {

namespace fs = std::filesystem;

// Editors leave hidden files behind.
bool is_definition_file(const std::string& name) {
  return name.ends_with(".json") && !name.ends_with(".schema.json") && !name.starts_with('.');
}

// Whether somebody may think that it is read: a file whose name ends in .JSON, or a folder with definitions.
bool is_mistaken_for_definitions(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  std::error_code error;
  if (name.starts_with('.') || !entry.is_directory(error)) {
    return is_definition_file(base::ascii_lower(name));
  }
  const fs::directory_iterator inside(entry.path(), error);
  return std::any_of(begin(inside), end(inside),
                     [](const fs::directory_entry& file) { return is_definition_file(file.path().filename()); });
}

std::vector<std::string> definition_files(const std::string& folder) {
  std::vector<std::string> files, left_out;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (is_definition_file(entry->path().filename())) {
      files.push_back(entry->path().string());
    } else if (is_mistaken_for_definitions(*entry)) {
      left_out.push_back(entry->path().string());
    }
  }
  if (error) {
    throw Error(ErrorCode::usage, "cannot read the folder of definitions",
                {{"folder", folder}, {"reason", error.message()}}, "name a folder that exists and may be read");
  }
  if (files.empty()) {
    throw Error(ErrorCode::usage, "the folder contains no definitions", {{"folder", folder}},
                "definitions are files whose names end in .json, but not in .schema.json, and do not begin with a dot");
  }
  std::sort(left_out.begin(), left_out.end());
  for (const std::string& path : left_out) {
    print_warning("left out of the folder's definitions", {{"path", path}},
                  "definitions are files of the folder itself, and their names end in .json in small letters");
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Adds the file that declares a table, unless another one does.
void require_first(std::map<std::string, std::string>& files, const std::string& table, const std::string& file) {
  if (const auto [other, is_new] = files.emplace(table, file); !is_new) {
    throw Error(ErrorCode::bad_definition, "two files declare the same index",
                {{"index", table}, {"file", other->second}, {"file too", file}}, "keep one of the two");
  }
}

}  // namespace

DefinitionFolder load_definition_folder(const std::string& folder) {
  DefinitionFolder loaded;
  for (const std::string& file : definition_files(folder)) {
    loaded.definitions.push_back(IndexDefinition::load(file));
    const std::string& table = loaded.definitions.back().table;
    require_first(loaded.files, table, file);
  }
  return loaded;
}

std::vector<IndexDefinition> load_definitions(const std::vector<std::string>& paths) {
  std::vector<IndexDefinition> definitions;
  std::map<std::string, std::string> files;
  const auto add = [&](const IndexDefinition& definition, const std::string& file) {
    if (std::find(definitions.begin(), definitions.end(), definition) == definitions.end()) {
      require_first(files, definition.table, file);
      definitions.push_back(definition);
    }
  };
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      add(IndexDefinition::load(path), path);
      continue;
    }
    const DefinitionFolder folder = load_definition_folder(path);
    for (const IndexDefinition& definition : folder.definitions) {
      add(definition, folder.files.at(definition.table));
    }
  }
  return definitions;
}

}  // namespace looseleaf::cli

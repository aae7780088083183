// Reads index definitions from files and folders.
#include "cli/files/definitions.hpp"

#include <algorithm>
#include <filesystem>
#include <looseleaf/error.hpp>
#include <system_error>

namespace looseleaf::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> definition_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    // Editors leave hidden files behind.
    if (name.ends_with(".json") && !name.ends_with(".schema.json") && !name.starts_with('.')) {
      files.push_back(entry->path().string());
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
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

DefinitionFolder load_definition_folder(const std::string& folder) {
  DefinitionFolder loaded;
  for (const std::string& file : definition_files(folder)) {
    loaded.definitions.push_back(IndexDefinition::load(file));
    const std::string& table = loaded.definitions.back().table;
    if (const auto [other, is_new] = loaded.files.emplace(table, file); !is_new) {
      throw Error(ErrorCode::bad_definition, "two files declare the same index",
                  {{"index", table}, {"file", other->second}, {"file too", file}}, "keep one of the two in the folder");
    }
  }
  return loaded;
}

std::vector<IndexDefinition> load_definitions(const std::vector<std::string>& paths) {
  std::vector<IndexDefinition> definitions;
  const auto add = [&](const IndexDefinition& definition) {
    if (std::find(definitions.begin(), definitions.end(), definition) == definitions.end()) {
      definitions.push_back(definition);
    }
  };
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      add(IndexDefinition::load(path));
      continue;
    }
    const DefinitionFolder folder = load_definition_folder(path);
    std::for_each(folder.definitions.begin(), folder.definitions.end(), add);
  }
  return definitions;
}

}  // namespace looseleaf::cli

// Index definitions in files and folders.
#pragma once

#include <looseleaf/index_definition.hpp>
#include <map>
#include <string>
#include <vector>

namespace looseleaf::cli {

struct DefinitionFolder {
  std::vector<IndexDefinition> definitions;  // in order of the files' names
  std::map<std::string, std::string> files;  // the file that declares a table
};

// Reads the definition files of a folder: `*.json`, but not `*.schema.json` and not hidden files. Warns of `*.JSON` and
// of folders in it that have definitions. Throws Error(usage) if there are none, and Error(bad_definition) if one is
// wrong or two declare the same index.
[[nodiscard]] DefinitionFolder load_definition_folder(const std::string& folder);

// Reads definition files. A folder stands for its definition files. A definition that is given twice is returned once.
[[nodiscard]] std::vector<IndexDefinition> load_definitions(const std::vector<std::string>& paths);

}  // namespace looseleaf::cli

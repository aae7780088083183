// How commands name entities: by their ids, or by the values of their keys.
#pragma once

#include <functional>
#include <looseleaf/entity_reader.hpp>
#include <looseleaf/error.hpp>
#include <looseleaf/key.hpp>
#include <looseleaf/uuid.hpp>
#include <looseleaf/write.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/registry/registry.hpp"
#include "cli/report/write_report.hpp"

namespace looseleaf::cli {

struct EntityNames {
  std::vector<std::string> ids, keys;  // as they were given

  // True if the ids are read from standard input. Throws Error(usage) if others are given, too.
  [[nodiscard]] bool from_input() const;
  // Returns the ids, without a key, and then those of the keys. Throws Error(usage).
  [[nodiscard]] std::vector<KeyWithValues> parse() const;
  [[nodiscard]] std::vector<Uuid> parse_ids() const;
};

// Says that an entity does not exist, by the key by which it was named.
class AbsentEntities {
 public:
  explicit AbsentEntities(const EntityNames& names);

  // The error names the key, if there is one, and not the id.
  [[nodiscard]] Error error_of(const Uuid& id) const;
  // Gives the result of a write this error, if there was no such entity.
  void explain(WriteResult& result) const;

 private:
  struct Named {
    std::string key;
    bool has_number = false;
  };
  std::map<Uuid, Named> named_;
};

// True after a signal, and if the store refuses everything: then nothing more is written. The report says from which
// place on the input was not read.
[[nodiscard]] bool ends(WriteReport& report, std::optional<Position> next);

// Reads ids from standard input, one per line, and calls `write` for each, until ends(). Lines that are no ids are
// rejected.
void write_ids_read(WriteReport& report, const std::function<void(const Uuid&, Position)>& write);

// The arguments, and the option for keys, one of which is required. `names` must outlive the parameters.
[[nodiscard]] Parameter ids_parameter(EntityNames& names, std::string help);
[[nodiscard]] Parameter keys_parameter(EntityNames& names);

}  // namespace looseleaf::cli

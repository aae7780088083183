// How commands name entities: by their ids, or by the values of their keys.
#pragma once

#include <looseleaf/error.hpp>
#include <looseleaf/key.hpp>
#include <looseleaf/uuid.hpp>
#include <looseleaf/write.hpp>
#include <map>
#include <string>
#include <vector>

#include "cli/registry/registry.hpp"

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

// The arguments, and the option for keys, one of which is required. `names` must outlive the parameters.
[[nodiscard]] Parameter ids_parameter(EntityNames& names, std::string help);
[[nodiscard]] Parameter keys_parameter(EntityNames& names);

}  // namespace looseleaf::cli

// The names of the states.
#include "shard/access_state.hpp"

#include <array>
#include <utility>

namespace looseleaf {
namespace {

constexpr std::array<std::pair<AccessState, const char*>, 5> names = {{{AccessState::open, "open"},
                                                                       {AccessState::frozen, "frozen"},
                                                                       {AccessState::moving, "moving"},
                                                                       {AccessState::moved, "moved"},
                                                                       {AccessState::opening, "opening"}}};

}  // namespace

std::string to_string(AccessState state) {
  return names.at(static_cast<std::size_t>(state)).second;
}

AccessState shard::parse_access_state(const std::string& text) {
  for (const auto& [state, name] : names) {
    if (text == name) {
      return state;
    }
  }
  throw Error(ErrorCode::corrupt, "a shard has an unknown state", {{"state", text}},
              "use the newest looseleaf; a newer one wrote the state, or it was changed by hand");
}

}  // namespace looseleaf

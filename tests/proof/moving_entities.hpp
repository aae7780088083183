// Entities that a writer puts, changes and deletes all the time, and what each of them can have been at a moment.
#pragma once

#include <cstdint>
#include <looseleaf/datastore.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/proof/random_ops_reference.hpp"
#include "tests/proof/random_ops_values.hpp"

namespace looseleaf::test {

class MovingEntities {
 public:
  // Counts up; two of one store's life can be compared.
  using Moment = std::uint64_t;
  // Null: there was no such entity.
  using State = std::shared_ptr<const Reference::Stored>;

  // Writes by `store`, in a thread of its own, until the object ends. The ids must belong to nobody else.
  MovingEntities(Datastore store, const std::vector<Uuid>& ids, Taste taste, std::uint64_t seed);

  // A new moment. Throws what has stopped the writer, if something has.
  [[nodiscard]] Moment now();
  // Every state that the entity can have been seen in by somebody who looked between the two moments, oldest first.
  // Empty for an id that is not one of these.
  [[nodiscard]] std::vector<State> states(const Uuid& id, Moment from, Moment to) const;
  [[nodiscard]] const std::vector<Uuid>& ids() const { return ids_; }
  // Writes that took effect.
  [[nodiscard]] std::uint64_t writes() const;

 private:
  struct Version {
    State state;
    Moment begun = 0;
    Moment acknowledged = 0;  // `never` until then
  };

  void write(const std::stop_token& stop);
  void write_some(WriteStream& stream);
  [[nodiscard]] State next_state(const Uuid& id, const State& before);
  void begin(const Uuid& id, State state);
  void take(const WriteResult& result);

  Datastore store_;
  const std::vector<Uuid> ids_;
  const Taste taste_;
  Random random_;
  std::uint64_t notes_ = 0;
  mutable std::mutex mutex_;  // guards everything below
  Moment moment_ = 0;
  std::map<Uuid, std::vector<Version>> versions_;
  std::uint64_t writes_ = 0;
  std::string failure_;
  std::jthread writer_;  // last: it ends first
};

}  // namespace looseleaf::test

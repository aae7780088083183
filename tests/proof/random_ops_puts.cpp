#include "tests/proof/random_ops_puts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace looseleaf::test {
namespace {

// An indexed property that has a value keeps it, and an entity with a row does not leave the index.
bool may_become(const IndexDefinition& definition, const Json& before, const Json& after) {
  if (!definition.immutable || !is_indexed(definition, before)) {
    return true;
  }
  for (const Property& property : definition.properties) {
    const auto old = values_of(property, before);
    if (!old.empty() && old != values_of(property, after)) {
      return false;
    }
  }
  return rows_of(definition, before).empty() || is_indexed(definition, after);
}

bool is_too_long(const IndexDefinition& definition, const Json& entity) {
  const auto is_cut = [&](const Property& property) {
    const auto values = values_of(property, entity);
    return std::any_of(values.begin(), values.end(),
                       [&](const PropertyValue& value) { return stored_value(property, value) != value; });
  };
  return definition.unique && is_indexed(definition, entity) &&
         std::any_of(definition.properties.begin(), definition.properties.end(), is_cut);
}

// What can become of a put at a moment.
struct Verdict {
  bool is_wrong = false;    // it is rejected, whatever others have
  bool must_yield = false;  // it is rejected, because a holder has a value of a ready index
  std::set<Uuid> holders;   // whose values it would take

  [[nodiscard]] bool allows(const WriteResult& told) const {
    if (told.status == WriteStatus::stored) {
      return !is_wrong && !must_yield;
    }
    return told.status == WriteStatus::rejected &&
           (is_wrong ? !told.holder : told.holder && holders.contains(*told.holder));
  }
};

// An index that is building may lack the holder's row; and what the entity has already it does not take.
void add_holders(const Reference& reference, const Reference::Index& index, const Uuid& id, const Json& entity,
                 Verdict& verdict) {
  auto taken = rows_of(index.definition, entity);
  const auto before = reference.entities().find(id);
  if (!index.ready && before != reference.entities().end()) {
    for (const auto& row : rows_of(index.definition, before->second.json)) {
      taken.erase(row);
    }
  }
  for (const auto& [other, stored] : reference.entities()) {
    const auto rows = rows_of(index.definition, stored.json);
    const bool holds = std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return taken.contains(row); });
    if (other != id && holds) {
      verdict.holders.insert(other);
      verdict.must_yield = verdict.must_yield || index.ready;
    }
  }
}

Verdict judge(const Reference& reference, const Uuid& id, const Json& entity) {
  Verdict verdict;
  const auto before = reference.entities().find(id);
  for (const auto& [name, index] : reference.indexes()) {
    const bool may = before == reference.entities().end() || may_become(index.definition, before->second.json, entity);
    verdict.is_wrong = verdict.is_wrong || !may || is_too_long(index.definition, entity);
    if (index.definition.unique) {
      add_holders(reference, index, id, entity, verdict);
    }
  }
  return verdict;
}

std::string complaint_about(const ReferencePut& put, const Verdict& verdict) {
  std::vector<std::string> holders;
  for (const Uuid& holder : verdict.holders) {
    holders.push_back(to_string(holder));
  }
  return fmt::format("put of {}\n    expected: {}\n    found:    {}{}", put.entity.text,
                     verdict.is_wrong     ? "rejected"
                     : verdict.must_yield ? fmt::format("rejected, because of {}", fmt::join(holders, " or "))
                                          : "stored",
                     put.told.status == WriteStatus::stored ? "stored"
                     : put.told.error                       ? put.told.error->what()
                                                            : "no error",
                     put.told.holder ? ", because of " + to_string(*put.told.holder) : "");
}

// Looks for the order. Puts that change nothing are taken as soon as they can be.
class Search {
 public:
  Search(Reference& reference, const std::vector<ReferencePut>& puts) : reference_(reference) {
    for (const ReferencePut& put : puts) {
      left_.push_back(&put);
    }
  }

  bool run() {
    const std::vector<const ReferencePut*> before = left_;
    take_rejected();
    if (left_.empty()) {
      return true;
    }
    bool stuck = true;
    for (const ReferencePut* const put : candidates()) {
      if (++tries_ > most_tries) {
        continue;
      }
      stuck = false;
      const std::vector<const ReferencePut*> all_left = left_;
      std::erase(left_, put);
      auto old = reference_.store(put->id, put->entity);
      if (run()) {
        return true;
      }
      reference_.store(put->id, std::move(old));
      left_ = all_left;
    }
    if (stuck && (complaint_.empty() || left_.size() < least_left_)) {
      least_left_ = left_.size();
      complaint_ = complaint_about(*next().front(), judge_now(*next().front()));
    }
    left_ = before;
    return false;
  }

  // One of the puts that are left where most others have been explained.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  static constexpr int most_tries = 20'000;

  // The first put that is left of each id.
  [[nodiscard]] std::vector<const ReferencePut*> next() const {
    std::set<Uuid> seen;
    std::vector<const ReferencePut*> next;
    std::copy_if(left_.begin(), left_.end(), std::back_inserter(next),
                 [&](const ReferencePut* put) { return seen.insert(put->id).second; });
    return next;
  }

  // The puts that may come next: one that concerns no other put, if there is one, or else all.
  [[nodiscard]] std::vector<const ReferencePut*> candidates() const {
    std::vector<const ReferencePut*> candidates = next();
    std::erase_if(candidates, [&](const ReferencePut* put) {
      return put->told.status != WriteStatus::stored || !judge_now(*put).allows(put->told);
    });
    const auto alone = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const ReferencePut* put) { return concerns_no_other(*put); });
    return alone == candidates.end() ? candidates : std::vector{*alone};
  }

  // Returns true if whatever other put is left, it is judged alike before this one and after it, unless it can only
  // come after it: it takes no value that this one takes, and was not told of this entity.
  [[nodiscard]] bool concerns_no_other(const ReferencePut& put) const {
    return std::none_of(left_.begin(), left_.end(), [&](const ReferencePut* other) {
      return other->id != put.id && (other->told.holder == put.id || share_unique_rows(*other, put));
    });
  }

  [[nodiscard]] bool share_unique_rows(const ReferencePut& one, const ReferencePut& other) const {
    return std::any_of(reference_.indexes().begin(), reference_.indexes().end(), [&](const auto& named) {
      const IndexDefinition& definition = named.second.definition;
      const auto rows = rows_of(definition, one.entity.json);
      const auto others = rows_of(definition, other.entity.json);
      return definition.unique &&
             std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return others.contains(row); });
    });
  }

  [[nodiscard]] Verdict judge_now(const ReferencePut& put) const { return judge(reference_, put.id, put.entity.json); }

  void take_rejected() {
    std::set<Uuid> waiting;  // ids of which an earlier put is left
    std::erase_if(left_, [&](const ReferencePut* put) {
      const bool takes =
          put->told.status == WriteStatus::rejected && !waiting.contains(put->id) && judge_now(*put).allows(put->told);
      if (!takes) {
        waiting.insert(put->id);
      }
      return takes;
    });
  }

  Reference& reference_;
  std::vector<const ReferencePut*> left_;
  std::string complaint_;
  std::size_t least_left_ = 0;
  int tries_ = 0;
};

}  // namespace

std::optional<std::string> take_puts(Reference& reference, const std::vector<ReferencePut>& puts) {
  Search search(reference, puts);
  return search.run() ? std::nullopt : std::optional(search.complaint());
}

}  // namespace looseleaf::test

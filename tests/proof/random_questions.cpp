#include "tests/proof/random_questions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "tests/proof/random_ops_reference.hpp"

namespace looseleaf::test {
namespace {

std::vector<std::string> condition_texts(const std::vector<Condition>& conditions) {
  std::vector<std::string> texts;
  for (const Condition& condition : conditions) {
    texts.push_back(condition.property + (condition.each ? "[]" : "") +
                    operators.at(static_cast<std::size_t>(condition.op)) + Json::string(condition.value).write());
  }
  return texts;
}

}  // namespace

std::string describe(const Query& query) {
  return fmt::format("query {} {} --where {} --order-by '{}' {} --limit {}", query.index,
                     fmt::join(condition_texts(query.conditions), " "), fmt::join(condition_texts(query.where), " "),
                     query.order_by, query.descending ? "--desc" : "", query.limit);
}

std::vector<std::string> texts_of(const std::vector<Uuid>& ids) {
  std::vector<std::string> texts;
  std::transform(ids.begin(), ids.end(), std::back_inserter(texts), [](const Uuid& id) { return to_string(id); });
  return texts;
}

}  // namespace looseleaf::test

// How far a job is on each shard, over all its phases.
#include "job/job_progress.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace looseleaf::job {
namespace {

// The planned phases leave a little for what follows them: a repetition, or the end of the job.
constexpr double planned_share = 0.99;

}  // namespace

// An estimate that turns out to be too low counts as reached.
double JobProgress::Count::part() const {
  return done == 0 ? 0 : static_cast<double>(done) / static_cast<double>(std::max(done, estimate));
}

void JobProgress::plan(const std::vector<PhaseWeight>& phases) {
  const std::lock_guard lock(mutex_);
  end_phase();
  const double sum = std::accumulate(phases.begin(), phases.end(), 0.0,
                                     [](double weights, const PhaseWeight& phase) { return weights + phase.weight; });
  left_ = phases;
  for (PhaseWeight& phase : left_) {
    phase.weight *= planned_share * (1 - before_) / sum;
  }
  planned_ = true;
}

bool JobProgress::is_planned() const {
  const std::lock_guard lock(mutex_);
  return planned_;
}

void JobProgress::begin(std::string_view phase) {
  const std::lock_guard lock(mutex_);
  end_phase();
  phase_ = phase;
  counts_.assign(counts_.size(), {});
  if (!planned_) {
    return;
  }
  const auto found =
      std::find_if(left_.begin(), left_.end(), [&](const auto& planned) { return planned.phase == phase; });
  if (found == left_.end()) {
    share_ = (1 - before_) / 2;
  } else {
    share_ = found->weight;
    left_.erase(found);
  }
  first_share_ = first_share_ > 0 ? first_share_ : share_;
}

// When the first phase ends, its counts are known, and replace the estimates.
void JobProgress::end_phase() {
  if (first_share_ > 0 && units_.empty()) {
    for (const Count& count : counts_) {
      units_.push_back(static_cast<double>(std::max<std::uint64_t>(count.done, 1)) / first_share_);
    }
  }
  before_ += std::exchange(share_, 0);
}

void JobProgress::expect(std::uint32_t shard, std::uint64_t estimate, std::uint64_t done) {
  const std::lock_guard lock(mutex_);
  counts_.at(shard) = {done, estimate};
}

void JobProgress::advance(std::uint32_t shard, std::uint64_t more) {
  const std::lock_guard lock(mutex_);
  counts_.at(shard).done += more;
}

double JobProgress::units(std::uint32_t shard) const {
  if (!units_.empty()) {
    return units_.at(shard);
  }
  const Count& count = counts_.at(shard);
  return static_cast<double>(std::max<std::uint64_t>({count.done, count.estimate, 1})) / first_share_;
}

// Whole numbers would let the part that is done decrease a little when the estimate changes.
JobProgress::State JobProgress::of(std::uint32_t shard) {
  const std::lock_guard lock(mutex_);
  const Count& count = counts_.at(shard);
  if (first_share_ == 0) {
    return {phase_, count.done, count.estimate};
  }
  const double whole = units(shard);
  const double done = std::round((before_ + share_ * count.part()) * whole);
  double& told = told_.at(shard);
  const double estimate = told > 0 ? std::min(std::ceil(whole), std::floor(done / told)) : std::ceil(whole);
  told = done / estimate;
  return {phase_, static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(estimate)};
}

}  // namespace looseleaf::job

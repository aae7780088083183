// One bar for all phases of a job.
#include "job/job_progress.hpp"

#include <doctest/doctest.h>

namespace looseleaf::job {
namespace {

constexpr std::uint64_t entities = 1000;

// A job on one shard that has a plan.
struct ProgressFixture {
  JobProgress progress{1, "backfill"};
  double before = 0;

  explicit ProgressFixture(std::uint64_t estimate = entities, std::uint64_t done = 0) {
    progress.plan({{"backfill", 1}, {"reconcile", 0.05}, {"compare", 0.05}});
    progress.begin("backfill");
    progress.expect(0, estimate, done);
    before = part();
  }

  [[nodiscard]] double part() {
    const JobProgress::State state = progress.of(0);
    return static_cast<double>(state.done) / static_cast<double>(state.estimate);
  }

  // Does so much work in steps, and checks after each of them that the bar went on and is not full.
  void work(std::uint64_t amount) {
    for (std::uint64_t step = 0; step < 10; ++step) {
      progress.advance(0, amount / 10);
      check();
    }
  }
  void begin(std::string_view phase, std::uint64_t estimate) {
    progress.begin(phase);
    progress.expect(0, estimate);
    check();
  }
  void check() {
    CHECK(part() >= before);
    CHECK(part() < 1);
    before = part();
  }
};

TEST_CASE("a job's bar never goes back and is not full before the end, whatever its phases count") {
  for (const std::uint64_t estimate : {std::uint64_t{0}, entities / 3, entities, entities * 3}) {
    CAPTURE(estimate);
    ProgressFixture job(estimate);
    job.work(entities);
    job.begin("reconcile", 0);
    job.begin("compare", 7'000'000);
    job.work(7'000'000);
    CHECK(job.part() > 0.98);
    job.begin("verify", entities);  // a repetition that no plan has foreseen
    job.work(entities);
    job.begin("compare", 40);
    job.work(40);
  }
}

TEST_CASE("in its first phase a job counts entities, and its later phases have the shares that were planned") {
  ProgressFixture job;
  job.work(600);
  CHECK(job.progress.of(0).done == 600);
  CHECK(job.progress.of(0).estimate == 1112);  // 1.1 / 0.99 of the entities
  job.work(200);
  job.begin("reconcile", 0);  // there were fewer entities than expected
  CHECK(job.progress.of(0).done == 800);
  CHECK(job.progress.of(0).estimate == 889);
  job.begin("compare", 10);
  CHECK(job.progress.of(0).done == 840);
  job.work(10);
  CHECK(job.progress.of(0).done == 880);
  CHECK(job.progress.of(0).phase == "compare");
}

TEST_CASE("work that a plan learns of later is a part of what is left") {
  ProgressFixture job;
  job.work(entities);
  job.begin("reconcile", 10);
  job.work(10);
  job.progress.plan({{"verify", 3}, {"compare", 1}});
  job.begin("verify", entities);
  job.work(entities);
  job.begin("compare", 10);
  CHECK(job.part() < 0.99);
  job.work(10);
}

TEST_CASE("a resumed job begins where the earlier one ended") {
  ProgressFixture job(entities, 500);
  CHECK(job.progress.of(0).done == 500);
  CHECK(job.before == doctest::Approx(0.45).epsilon(0.01));
}

TEST_CASE("a job without a plan counts its current phase") {
  JobProgress progress(2, "clean");
  progress.advance(1, 5);
  CHECK(progress.of(0).done == 0);
  CHECK(progress.of(1).done == 5);
  CHECK(progress.of(1).estimate == 0);
}

}  // namespace
}  // namespace looseleaf::job

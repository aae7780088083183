// The main() of test programs that start servers. The servers of TestCluster::shared() are others' as well: a test case
// that leaves one of their settings changed makes the program fail.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "tests/support/test_servers.hpp"

namespace {

bool settings_were_left = false;

struct SettingsWatch : doctest::IReporter {
  explicit SettingsWatch(const doctest::ContextOptions& /*options*/) {}

  void test_case_start(const doctest::TestCaseData& data) override { name_ = data.m_name; }
  void test_case_end(const doctest::CurrentTestCaseStats& /*stats*/) override {
    const std::string changes = looseleaf::test::changed_settings_of_shared_servers();
    if (!changes.empty()) {
      settings_were_left = true;
      std::printf(
          "ERROR: the test case \"%s\" left settings of the shared servers changed; put them back, or use servers"
          " of its own:\n%s",
          name_.c_str(), changes.c_str());
      std::fflush(stdout);
    }
  }

  void report_query(const doctest::QueryData& /*data*/) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats& /*stats*/) override {}
  void test_case_reenter(const doctest::TestCaseData& /*data*/) override {}
  void test_case_exception(const doctest::TestCaseException& /*exception*/) override {}
  void subcase_start(const doctest::SubcaseSignature& /*signature*/) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& /*data*/) override {}
  void log_message(const doctest::MessageData& /*data*/) override {}
  void test_case_skipped(const doctest::TestCaseData& /*data*/) override {}

 private:
  std::string name_;
};

REGISTER_LISTENER("settings_watch", 1, SettingsWatch);

}  // namespace

int main(int argc, char** argv) {
  const int status = doctest::Context(argc, argv).run();
  return status == 0 && settings_were_left ? 1 : status;
}

// Reports in JUnit's XML, which CI systems show.
#include "cli/report/junit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/files/replace_file.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {

std::string junit_report(std::string_view suite, const std::vector<JunitCase>& cases, const Error* error,
                         std::chrono::steady_clock::time_point started, const std::string& output) {
  const auto failures =
      std::count_if(cases.begin(), cases.end(), [](const JunitCase& one) { return !one.failure.empty(); });
  const int errors = error != nullptr ? 1 : 0;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
      "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3f}\">\n",
      escape_xml(suite), cases.size() + static_cast<std::size_t>(errors), failures, errors, seconds.count());
  for (const JunitCase& one : cases) {
    xml += fmt::format("<testcase classname=\"{}\" name=\"{}\"", escape_xml(one.group), escape_xml(one.name));
    xml += one.failure.empty() ? "/>\n"
                               : fmt::format(">\n<failure message=\"{}\">{}</failure>\n</testcase>\n",
                                             escape_xml(one.failure), escape_xml(one.details));
  }
  if (error != nullptr) {
    xml += fmt::format("<testcase classname=\"verify\" name=\"run\">\n<error message=\"{}\">{}</error>\n</testcase>\n",
                       escape_xml(error->what()),
                       escape_xml(format_message("error", error->what(), error->context(), error->hint())));
  }
  if (!output.empty()) {
    xml += "<system-out>" + escape_xml(output) + "</system-out>\n";
  }
  return xml + "</testsuite>\n</testsuites>\n";
}

void write_junit(const std::string& file, const std::function<std::string(const Error* error)>& report,
                 const Error* error) {
  if (file.empty()) {
    return;
  }
  data_output().flush();  // the report may go there, too
  try {
    replace_file(file, report(error), public_file);
  } catch (const Error& unwritten) {
    if (error == nullptr) {
      throw;
    }
    print_warning(unwritten.what(), unwritten.context(), unwritten.hint());  // the error says why the command fails
  }
}

}  // namespace looseleaf::cli

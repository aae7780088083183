// Makes one file of what the measuring programs recorded, and prints its tables and its plots.
//   bench_report collect --commit C --command TEXT < RECORDS > FILE     medians, ratios, the machine: one JSON object
//   bench_report table FILE      Markdown; the status is 1 if a ratio of something that was measured is not there
//   bench_report names           the ratios that a whole run has, one a line
//   bench_report plots FILE DIR  a script for gnuplot that draws DIR/*.svg
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bench/measure.hpp"
#include "bench/ratios.hpp"

namespace looseleaf::bench {
namespace {

using nlohmann::ordered_json;

constexpr double micro = 1e6;

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) {
      return line.substr(line.find(':') + 2);
    }
  }
  return "unknown";
}

ordered_json machine() {
  utsname names{};
  ::uname(&names);
  const double pages = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  return {{"processor", cpu_model()},
          {"cores", std::thread::hardware_concurrency()},
          {"memory_gib", static_cast<int>(pages / (1 << 30) + 0.5)},
          {"kernel", fmt::format("{} {}", names.sysname, names.release)},
          {"server", cli::find_server({}).version},
          {"compiler", "g++ " __VERSION__}};
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

void collect(const std::string& commit, const std::string& command) {
  ordered_json report = {{"date", today()}, {"commit", commit}, {"command", command}, {"machine", machine()}};
  const std::vector<Measurement> measurements = read_records(std::cin);
  report["measurements"] = to_json(measurements);
  report["ratios"] = to_json(ratios_of(measurements));
  std::cout << report.dump(1) << '\n';
}

std::string spread(const ordered_json& values, double factor, int digits) {
  const auto scaled = [&](const char* name) { return values.at(name).get<double>() * factor; };
  return fmt::format("{:.{}f} ({:.{}f}, {:.{}f})", scaled("median"), digits, scaled("min"), digits, scaled("max"),
                     digits);
}

std::string cell(const ordered_json& metrics, const char* metric, double factor, int digits) {
  return metrics.contains(metric) ? spread(metrics[metric], factor, digits) : std::string();
}

// False if a ratio is missing.
bool print_ratios(const ordered_json& ratios) {
  bool complete = true;
  fmt::print("| | median (min, max) | reach | |\n|---|---|---|---|\n");
  for (const ordered_json& ratio : ratios) {
    const bool there = ratio.contains("median");
    complete = complete && there;
    fmt::print("| {} | {} | {} | {} |\n", ratio["name"].get<std::string>(), there ? spread(ratio, 1, 2) : "missing",
               ratio.value("goal", ""),
               there && ratio.contains("reached") ? (ratio["reached"] ? "yes" : "**no**") : "");
  }
  return complete;
}

std::string name_of(const ordered_json& measurement) {
  return fmt::format("{}, {} | {}", measurement["work"].get<std::string>(), measurement["variant"].get<std::string>(),
                     measurement["by"].get<std::string>());
}

void print_costs(const ordered_json& measurements, unsigned cores) {
  fmt::print(
      "\n| work | by | entities a second | client µs | servers µs | waiting µs | peak MiB | connections |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const ordered_json& m : measurements) {
    const ordered_json& metrics = m["metrics"];
    if (!metrics.contains("seconds")) {
      continue;
    }
    const std::vector<double> costs = costs_of(m, cores);
    fmt::print(
        "| {} | {} | {} | {} | {} |\n", name_of(m), cell(metrics, "rate", 1, 0),
        costs.empty() ? " | |"
                      : fmt::format("{:.1f} | {:.1f} | {:.1f}", costs[0] * micro, costs[1] * micro, costs[2] * micro),
        metrics.contains("max_rss_mib") ? fmt::format("{:.1f}", metrics["max_rss_mib"]["max"].get<double>()) : "",
        metrics.contains("connections") ? fmt::format("{:.0f}", metrics["connections"]["max"].get<double>()) : "");
  }
}

std::string micros_each(const ordered_json& metrics, const char* metric) {
  if (!metrics.contains(metric)) {
    return {};
  }
  const auto median = [&](const char* name) { return metrics.at(name).at("median").get<double>(); };
  return fmt::format("{:.0f}", median(metric) / median("count") * micro);
}

void print_latencies(const ordered_json& measurements) {
  std::string rows;
  for (const ordered_json& m : measurements) {
    const ordered_json& metrics = m["metrics"];
    if (metrics.contains("p50_ms")) {
      rows += fmt::format("| {} | {} | {} | {} | {} | {} |\n", name_of(m), cell(metrics, "rate", 1, 0),
                          cell(metrics, "p50_ms", 1, 2), cell(metrics, "p99_ms", 1, 2),
                          micros_each(metrics, "client_cpu"), micros_each(metrics, "server_cpu"));
    }
  }
  if (!rows.empty()) {
    fmt::print(
        "\n| work | by | a second | p50 ms | p99 ms | client µs | servers µs |\n|---|---|---|---|---|---|---|\n{}",
        rows);
  }
}

int table(const ordered_json& report) {
  const ordered_json& machine = report["machine"];
  fmt::print("{}, commit {}, `{}`: {}, {} cores, {} GiB, {}, server {}, {}.\n\n", report["date"].get<std::string>(),
             report["commit"].get<std::string>(), report["command"].get<std::string>(),
             machine["processor"].get<std::string>(), machine["cores"].get<unsigned>(),
             machine["memory_gib"].get<int>(), machine["kernel"].get<std::string>(),
             machine["server"].get<std::string>(), machine["compiler"].get<std::string>());
  const bool complete = print_ratios(report["ratios"]);
  print_costs(report["measurements"], machine["cores"]);
  print_latencies(report["measurements"]);
  if (!complete) {
    note("bench_report: a ratio is missing");
  }
  return complete ? 0 : 1;
}

constexpr const char* plot_head = R"(set style fill solid 0.8 noborder
set xrange [0:*]
set grid xtics
set xtics font ",9"
set lmargin 44
)";
constexpr int ours = 0x2f6f4f, theirs = 0x9bb8c9, nobody = 0xdddddd;  // colours

struct Plot {
  const char *file, *work, *metric, *title;
};

// Horizontal bars, from above: `rows` has their labels, `columns` what is plotted of them.
void print_plot(const std::string& path, const char* title, const std::string& rows, std::size_t count,
                const std::string& columns) {
  if (count > 0) {
    fmt::print("set terminal svg size 860,{} font \"sans,11\" background \"white\"\n", 80 + 22 * count);
    fmt::print("set output '{}'\nset title '{}'\nset yrange [{}.5:-0.5]\n$rows << EOD\n{}EOD\nplot {}\n", path, title,
               count - 1, rows, columns);
  }
}

void plot_metric(const ordered_json& measurements, const std::string& dir, const Plot& plot) {
  std::vector<const ordered_json*> chosen;
  for (const ordered_json& m : measurements) {
    if (m["work"] == plot.work && m["metrics"].contains(plot.metric)) {
      chosen.push_back(&m);
    }
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const auto* a, const auto* b) { return (*a)["variant"] < (*b)["variant"]; });
  std::string rows;
  for (std::size_t place = 0; place < chosen.size(); ++place) {
    const ordered_json& m = *chosen[place];
    const ordered_json& values = m["metrics"][plot.metric];
    rows +=
        fmt::format("{} {} {} {} {} \"{}: {}\"\n", place, values["median"].get<double>(), values["min"].get<double>(),
                    values["max"].get<double>(), m["by"] == "looseleaf" ? ours : theirs,
                    m["variant"].get<std::string>(), m["by"].get<std::string>());
  }
  print_plot(fmt::format("{}/{}.svg", dir, plot.file), plot.title, rows, chosen.size(),
             "$rows using 2:1:(0):2:($1-0.35):($1+0.35):5:ytic(6) with boxxyerror lc rgb variable notitle, "
             "$rows using 2:1:3:4 with xerrorbars lc rgb 'black' pt 0 notitle");
}

void plot_costs(const ordered_json& measurements, const std::string& dir, unsigned cores) {
  std::string rows;
  std::size_t count = 0;
  for (const ordered_json& m : measurements) {
    const std::vector<double> costs = costs_of(m, cores);
    if (!costs.empty() && (m["work"] == "put" || m["work"] == "backfill" || m["work"] == "verify")) {
      rows += fmt::format("{} {} {} {} \"{} {}: {}\"\n", count++, costs[0] * micro, costs[1] * micro, costs[2] * micro,
                          m["work"].get<std::string>(), m["variant"].get<std::string>(), m["by"].get<std::string>());
    }
  }
  print_plot(
      dir + "/costs.svg", "processor microseconds an entity, of all cores", rows, count,
      fmt::format("$rows using 2:1:(0):2:($1-0.35):($1+0.35):ytic(5) with boxxyerror lc rgb {} title 'client', "
                  "$rows using 2:1:2:($2+$3):($1-0.35):($1+0.35) with boxxyerror lc rgb {} title 'servers', "
                  "$rows using 2:1:($2+$3):($2+$3+$4):($1-0.35):($1+0.35) with boxxyerror lc rgb {} title 'waiting'",
                  ours, theirs, nobody));
}

void plots(const ordered_json& report, const std::string& dir) {
  const ordered_json& measurements = report["measurements"];
  std::cout << plot_head << std::flush;
  for (const Plot& plot : {Plot{"put", "put", "rate", "put, entities a second"},
                           Plot{"backfill", "backfill", "rate", "backfill, entities a second"},
                           Plot{"verify", "verify", "rate", "verify, entities a second"},
                           Plot{"single-put", "single put", "p50_ms", "single put, p50 in ms"},
                           Plot{"query", "query", "p50_ms", "query, p50 in ms"},
                           Plot{"process", "process", "p50_ms", "whole processes, p50 in ms"},
                           Plot{"growth", "growth", "rate", "entities a second as the store grows"},
                           Plot{"memory", "memory", "max_rss_mib", "peak memory in MiB"}}) {
    plot_metric(measurements, dir, plot);
  }
  plot_costs(measurements, dir, report["machine"]["cores"]);
}

ordered_json load(const std::string& path) {
  std::ifstream file(path);
  require(static_cast<bool>(file), "cannot read " + path);
  return ordered_json::parse(file);
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 5 && arguments[0] == "collect") {
    collect(arguments[2], arguments[4]);
    return 0;
  }
  if (arguments.size() == 1 && arguments[0] == "names") {
    for (const std::string& name : names_of_ratios()) {
      fmt::print("{}\n", name);
    }
    return 0;
  }
  if (arguments.size() == 2 && arguments[0] == "table") {
    return table(load(arguments[1]));
  }
  require(arguments.size() == 3 && arguments[0] == "plots", "see the head of bench/report.cpp");
  plots(load(arguments[1]), arguments[2]);
  return 0;
}

}  // namespace
}  // namespace looseleaf::bench

int main(int argc, char** argv) {
  try {
    return looseleaf::bench::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    looseleaf::bench::note(fmt::format("bench_report: {}", error.what()));
    return 2;
  }
}

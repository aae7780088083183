// The table of what is compared with what.
#include "bench/ratios.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

namespace looseleaf::bench {
namespace {

using nlohmann::ordered_json;

enum class Reach { report, at_least, at_most };

struct Side {
  const char *work, *variant, *by;
};

struct Target {
  const char* name;
  const char* metric;
  Side ours;
  std::optional<Side> theirs;  // absent: the value itself
  Reach reach = Reach::report;
  double goal = 0;
  bool optional = false;          // not measured unless asked for
  std::optional<Side> then = {};  // what is done after theirs, as a part of the same work
};

constexpr const char* us = "looseleaf";

const std::vector<Target>& targets() {
  static const Side put{"put", "1 index", us}, raw{"put", "1 index", "raw loader"}, put_none{"put", "no index", us},
      put_three{"put", "3 indexes", us}, debian{"put", "Debian packages, 3 indexes", us},
      single{"single put", "1 index", us}, single_hand{"single put", "1 index", "hand-written"},
      get{"get", "one at a time", us}, user{"query", "a user's entities", us}, feed{"query", "10 newest of a feed", us},
      link{"query", "one link", us}, one{"backfill", "1 index", us}, three{"backfill", "3 indexes", us},
      raw_rows{"backfill", "1 index", "raw index rows"}, raw_rows_of_three{"backfill", "3 indexes", "raw index rows"},
      reading{"verify", "all bodies", "reading and decoding"}, verify{"verify", "2 indexes", us},
      process{"process", "get of one id", us}, put2{"put, by shards", "2 shards", us},
      grown2{"put into grown files, by shards", "2 shards", us}, update2{"update, by shards", "2 shards", us},
      get2{"get, by shards", "2 shards", us}, query2{"query of a local index, by shards", "2 shards", us},
      backfill2{"backfill, by shards", "2 shards", us}, verify2{"verify, by shards", "2 shards", us},
      clean2{"clean --full, by shards", "2 shards", us}, near{"distance: put of a file", "0 ms", us};
  using enum Reach;
  static const std::vector<Target> all = {
      {"raw loader / piped statements", "rate", raw, Side{"put", "1 index", "piped statements"}, at_least, 0.9},
      {"raw loader / piped statements, side by side", "rate", raw,
       Side{"put", "1 index", "piped statements, side by side"}},
      {"put, 1 index / raw loader", "rate", put, raw, at_least, 1.2},
      {"put, 1 index / native JSON, 1 connection", "rate", put, Side{"put", "1 index", "native JSON, 1 connection"},
       at_least, 1.0},
      {"put, 1 index / native JSON, 2 connections", "rate", put, Side{"put", "1 index", "native JSON, 2 connections"}},
      {"put, no index / raw loader", "rate", put_none, Side{"put", "no index", "raw loader"}},
      {"put, 3 indexes / raw loader", "rate", put_three, Side{"put", "3 indexes", "raw loader"}},
      {"put, a unique index / the same index, not unique", "rate", Side{"put", "unique links", us},
       Side{"put", "links", us}},
      {"put, Debian packages, 3 indexes / raw loader", "rate", debian,
       Side{"put", "Debian packages, 3 indexes", "raw loader"}, report, 0, true},
      {"put, 1 index: peak memory, MiB", "max_rss_mib", put, {}, at_most, 64},
      {"single put p50 / hand-written", "p50_ms", single, single_hand, at_most, 1.3},
      {"single put p99 / hand-written", "p99_ms", single, single_hand},
      {"get from standard input / one at a time", "rate", Side{"get", "from standard input", us}, get, at_least, 10},
      {"get one at a time / prepared SELECT", "rate", get, Side{"get", "one at a time", "hand-written"}},
      {"query of a user's entities / hand-written", "rate", user, Side{"query", "a user's entities", "hand-written"},
       at_least, 1.0},
      {"query of a user's entities / native JSON", "rate", user, Side{"query", "a user's entities", "native JSON"}},
      {"query of a feed's 10 newest / hand-written", "rate", feed, Side{"query", "10 newest of a feed", "hand-written"},
       at_least, 1.0},
      {"query of a feed's 10 newest / native JSON", "rate", feed, Side{"query", "10 newest of a feed", "native JSON"}},
      {"query of one link / hand-written", "rate", link, Side{"query", "one link", "hand-written"}, at_least, 1.0},
      {"query of one link / native JSON", "rate", link, Side{"query", "one link", "native JSON"}},
      {"put --if-absent of new ids / put", "rate", Side{"put of new ids", "1 index", "put --if-absent"},
       Side{"put of new ids", "1 index", "put"}, at_least, 0.95},
      {"latest version of a cell / of an ordinary entity", "rate",
       Side{"query of cells", "latest version of a column", "cells"},
       Side{"query of cells", "latest version of a column", "ordinary entities"}, at_least, 0.95},
      {"row of 10 cells / of 10 ordinary entities", "rate", Side{"query of cells", "row of 10", "cells"},
       Side{"query of cells", "row of 10", "ordinary entities"}, at_least, 0.95},
      {"30 newest of 50 users, a thousandth of all rows each / hand-written, p50", "p50_ms",
       Side{"newest of several users", "50 users, a thousandth of all rows each", us},
       Side{"newest of several users", "50 users, a thousandth of all rows each", "hand-written"}, at_most, 1.0},
      {"30 newest of 50 users, a thousandth of all rows each / native JSON, p50", "p50_ms",
       Side{"newest of several users", "50 users, a thousandth of all rows each", us},
       Side{"newest of several users", "50 users, a thousandth of all rows each", "native JSON"}, at_most, 1.0},
      {"30 newest of 50 users, 20 rows each / hand-written, p50", "p50_ms",
       Side{"newest of several users", "50 users, 20 rows each", us},
       Side{"newest of several users", "50 users, 20 rows each", "hand-written"}, at_most, 1.1},
      {"30 newest of 50 users, 20 rows each / native JSON, p50", "p50_ms",
       Side{"newest of several users", "50 users, 20 rows each", us},
       Side{"newest of several users", "50 users, 20 rows each", "native JSON"}, at_most, 1.1},
      {"30 newest of 1000 users, a thousandth of all rows each / hand-written, p50", "p50_ms",
       Side{"newest of several users", "1000 users, a thousandth of all rows each", us},
       Side{"newest of several users", "1000 users, a thousandth of all rows each", "hand-written"}, at_most, 1.0},
      {"30 newest of 1000 users, a thousandth of all rows each / native JSON, p50", "p50_ms",
       Side{"newest of several users", "1000 users, a thousandth of all rows each", us},
       Side{"newest of several users", "1000 users, a thousandth of all rows each", "native JSON"}, at_most, 1.0},
      {"30 newest of 1000 users, 20 rows each / hand-written, p50", "p50_ms",
       Side{"newest of several users", "1000 users, 20 rows each", us},
       Side{"newest of several users", "1000 users, 20 rows each", "hand-written"}, at_most, 1.1},
      {"30 newest of 1000 users, 20 rows each / native JSON, p50", "p50_ms",
       Side{"newest of several users", "1000 users, 20 rows each", us},
       Side{"newest of several users", "1000 users, 20 rows each", "native JSON"}, at_most, 1.1},
      {"backfill, 1 index / raw index rows", "rate", one, raw_rows},
      {"backfill, 3 indexes / raw index rows", "rate", three, raw_rows_of_three},
      {"backfill, 1 index / reading and decoding, then raw index rows", "rate", one, reading, at_least, 1.2, false,
       raw_rows},
      {"backfill, 3 indexes / reading and decoding, then raw index rows", "rate", three, reading, at_least, 1.2, false,
       raw_rows_of_three},
      {"backfill, 1 index / ALTER TABLE of native JSON", "rate", one,
       Side{"backfill", "1 index", "ALTER TABLE native JSON"}},
      {"backfill, 1 index / reading and decoding, seconds", "seconds", one, reading},
      {"verify, 2 indexes / reading and decoding, seconds", "seconds", verify, reading, at_most, 1.25},
      {"verify, 3 indexes / CHECK TABLE EXTENDED, seconds", "seconds", Side{"verify", "3 indexes", us},
       Side{"verify", "3 indexes", "CHECK TABLE EXTENDED"}},
      {"clean --full / reading and decoding, seconds", "seconds", Side{"clean --full", "3 indexes", us}, reading},
      {"export / reading and decoding", "rate", Side{"export", "all entities", us}, reading, at_least, 0.9},
      {"changes --after beginning / reading and decoding", "rate", Side{"export", "changes --after beginning", us},
       reading, at_least, 0.7},
      {"single put p99 during a backfill at half speed / without", "p99_ms",
       Side{"backfill latency", "half speed: during", "put"}, Side{"backfill latency", "half speed: without", "put"},
       at_most, 1.5},
      {"single put p99 during a backfill without a limit / without", "p99_ms",
       Side{"backfill latency", "unthrottled: during", "put"}, Side{"backfill latency", "unthrottled: without", "put"}},
      {"from a put to the line of changes --follow, p50, ms", "p50_ms", Side{"feed", "from put to line", us}, {}},
      {"from a put to the line of changes --follow, p99, ms",
       "p99_ms",
       Side{"feed", "from put to line", us},
       {},
       at_most,
       2000},
      {"single put p99 beside a follower / without", "p99_ms",
       Side{"feed", "single put, 1 thread, beside a follower", us},
       Side{"feed", "single put, 1 thread, without a follower", us}, at_most, 1.3},
      {"single put p99 of 4 threads beside a follower / without", "p99_ms",
       Side{"feed", "single put, 4 threads, beside a follower", us},
       Side{"feed", "single put, 4 threads, without a follower", us}},
      {"put, 8 shards on 2 servers / 2 shards", "rate", Side{"put, by shards", "8 shards", us}, put2, at_least, 0.95},
      {"put, 64 shards / 2 shards", "rate", Side{"put, by shards", "64 shards", us}, put2, at_least, 0.65},
      {"put, 256 shards / 2 shards", "rate", Side{"put, by shards", "256 shards", us}, put2, at_least, 0.45},
      {"put into grown files, 8 shards / 2 shards", "rate", Side{"put into grown files, by shards", "8 shards", us},
       grown2, at_least, 0.95},
      {"put into grown files, 64 shards / 2 shards", "rate", Side{"put into grown files, by shards", "64 shards", us},
       grown2, at_least, 0.65},
      {"put into grown files, 256 shards / 2 shards", "rate", Side{"put into grown files, by shards", "256 shards", us},
       grown2, at_least, 0.45},
      {"update of two values, 2 shards / hand-written", "rate", update2,
       Side{"update, by shards", "2 shards", "hand-written"}, at_least, 0.6},
      {"update of two values, 64 shards / 2 shards", "rate", Side{"update, by shards", "64 shards", us}, update2,
       at_least, 0.6},
      {"get, 64 shards / 2 shards", "rate", Side{"get, by shards", "64 shards", us}, get2},
      {"query of a local index, 64 shards / 2 shards", "p50_ms",
       Side{"query of a local index, by shards", "64 shards", us}, query2, at_most, 4},
      {"backfill, 64 shards / 2 shards", "rate", Side{"backfill, by shards", "64 shards", us}, backfill2},
      {"verify, 64 shards / 2 shards", "rate", Side{"verify, by shards", "64 shards", us}, verify2},
      {"clean --full, 64 shards / 2 shards", "rate", Side{"clean --full, by shards", "64 shards", us}, clean2},
      {"put, 256 shards: connections to a server",
       "connections",
       Side{"put, by shards", "256 shards", us},
       {},
       at_most,
       8},
      {"backfill, 256 shards: connections to a server",
       "connections",
       Side{"backfill, by shards", "256 shards", us},
       {},
       at_most,
       8},
      {"put, 256 shards: peak memory, MiB", "max_rss_mib", Side{"put, by shards", "256 shards", us}, {}, at_most, 64},
      {"verify, 256 shards: peak memory, MiB",
       "max_rss_mib",
       Side{"verify, by shards", "256 shards", us},
       {},
       at_most,
       64},
      {"get of one id, whole process / `select 1` of the server's client", "p50_ms", process,
       Side{"process", "select 1", "the server's client"}, at_most, 2},
      {"get of one id, whole process, ms", "p50_ms", process, {}, at_most, 20},
      {"--help, whole process, ms", "p50_ms", Side{"process", "--help", us}, {}, at_most, 10},
      {"completion of a command, whole process, ms",
       "p50_ms",
       Side{"process", "completion of a command", us},
       {},
       at_most,
       10},
      {"completion of an index, which asks the shards, ms",
       "p50_ms",
       Side{"process", "completion of an index", us},
       {},
       at_most,
       10},
      {"put of a file, 0.5 ms away / without delay", "rate", Side{"distance: put of a file", "0.5 ms", us}, near,
       at_least, 0.8},
      {"put of a file, 5 ms away / without delay", "rate", Side{"distance: put of a file", "5 ms", us}, near},
      {"put of a file, 0.5 ms away / raw loader", "rate", Side{"distance: put of a file", "0.5 ms", us},
       Side{"distance: put of a file", "0.5 ms", "raw loader"}},
      {"get, 0.5 ms away / hand-written", "p50_ms", Side{"distance: get", "0.5 ms", us},
       Side{"distance: get", "0.5 ms", "hand-written"}},
      {"get, 5 ms away / hand-written", "p50_ms", Side{"distance: get", "5 ms", us},
       Side{"distance: get", "5 ms", "hand-written"}},
      {"query, 0.5 ms away / hand-written", "p50_ms", Side{"distance: query", "0.5 ms", us},
       Side{"distance: query", "0.5 ms", "hand-written"}},
      {"query, 5 ms away / hand-written", "p50_ms", Side{"distance: query", "5 ms", us},
       Side{"distance: query", "5 ms", "hand-written"}},
      {"put of a new entity, 0.5 ms away / hand-written", "p50_ms", Side{"distance: put of a new entity", "0.5 ms", us},
       Side{"distance: put of a new entity", "0.5 ms", "hand-written"}},
      {"put of a new entity, 5 ms away / hand-written", "p50_ms", Side{"distance: put of a new entity", "5 ms", us},
       Side{"distance: put of a new entity", "5 ms", "hand-written"}},
      {"put of a changed entity, 0.5 ms away / hand-written", "p50_ms",
       Side{"distance: put of a changed entity", "0.5 ms", us},
       Side{"distance: put of a changed entity", "0.5 ms", "hand-written"}},
      {"put of a changed entity, 5 ms away / hand-written", "p50_ms",
       Side{"distance: put of a changed entity", "5 ms", us},
       Side{"distance: put of a changed entity", "5 ms", "hand-written"}},
      {"get, whole process, 0.5 ms away / hand-written", "p50_ms", Side{"distance: process, get", "0.5 ms", us},
       Side{"distance: process, get", "0.5 ms", "hand-written"}},
      {"get, whole process, 5 ms away / hand-written", "p50_ms", Side{"distance: process, get", "5 ms", us},
       Side{"distance: process, get", "5 ms", "hand-written"}},
      {"query, whole process, 0.5 ms away / hand-written", "p50_ms", Side{"distance: process, query", "0.5 ms", us},
       Side{"distance: process, query", "0.5 ms", "hand-written"}},
      {"query, whole process, 5 ms away / hand-written", "p50_ms", Side{"distance: process, query", "5 ms", us},
       Side{"distance: process, query", "5 ms", "hand-written"}},
      {"put of a new entity, whole process, 0.5 ms away / hand-written", "p50_ms",
       Side{"distance: process, put of a new entity", "0.5 ms", us},
       Side{"distance: process, put of a new entity", "0.5 ms", "hand-written"}},
      {"put of a new entity, whole process, 5 ms away / hand-written", "p50_ms",
       Side{"distance: process, put of a new entity", "5 ms", us},
       Side{"distance: process, put of a new entity", "5 ms", "hand-written"}},
      {"put of a changed entity, whole process, 0.5 ms away / hand-written", "p50_ms",
       Side{"distance: process, put of a changed entity", "0.5 ms", us},
       Side{"distance: process, put of a changed entity", "0.5 ms", "hand-written"}},
      {"put of a changed entity, whole process, 5 ms away / hand-written", "p50_ms",
       Side{"distance: process, put of a changed entity", "5 ms", us},
       Side{"distance: process, put of a changed entity", "5 ms", "hand-written"}},
      {"put into the whole store / into its first twentieth", "rate", Side{"growth", "100 % of all", "put"},
       Side{"growth", "  5 % of all", "put"}, at_least, 0.8, true},
      {"backfill of the whole store / of a twentieth", "rate", Side{"growth", "100 % of all", "backfill"},
       Side{"growth", "  5 % of all", "backfill"}, at_least, 0.8, true},
      {"verify of the whole store / of a twentieth", "rate", Side{"growth", "100 % of all", "verify"},
       Side{"growth", "  5 % of all", "verify"}, at_least, 0.8, true},
      {"peak memory of put, large store / small store", "max_rss_mib", Side{"memory", "large store", "put"},
       Side{"memory", "small store", "put"}, at_most, 1.1},
      {"peak memory of get, large store / small store", "max_rss_mib", Side{"memory", "large store", "get"},
       Side{"memory", "small store", "get"}, at_most, 1.1},
      {"peak memory of query, large store / small store", "max_rss_mib", Side{"memory", "large store", "query"},
       Side{"memory", "small store", "query"}, at_most, 1.1},
      {"peak memory of backfill, large store / small store", "max_rss_mib", Side{"memory", "large store", "backfill"},
       Side{"memory", "small store", "backfill"}, at_most, 1.1},
      {"peak memory of verify, large store / small store", "max_rss_mib", Side{"memory", "large store", "verify"},
       Side{"memory", "small store", "verify"}, at_most, 1.1},
      {"peak memory of clean --full, large store / small store", "max_rss_mib",
       Side{"memory", "large store", "clean --full"}, Side{"memory", "small store", "clean --full"}, at_most, 1.1},
  };
  return all;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

ordered_json spread(const std::vector<double>& values) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return {{"median", median(values)}, {"min", *least}, {"max", *most}};
}

// Empty if it was not measured.
std::vector<double> values_of(const std::vector<Measurement>& measurements, const Side& side, const char* metric) {
  for (const Measurement& m : measurements) {
    if (m.work == side.work && m.variant == side.variant && m.by == side.by && m.metrics.contains(metric)) {
      return m.metrics.at(metric);
    }
  }
  return {};
}

// Makes rates those of both works done one after the other.
void add_times(std::vector<double>& rates, const std::vector<double>& of_the_second) {
  rates.resize(std::min(rates.size(), of_the_second.size()));
  for (std::size_t run = 0; run < rates.size(); ++run) {
    rates[run] = 1 / (1 / rates[run] + 1 / of_the_second[run]);
  }
}

Ratio ratio_of(const std::vector<Measurement>& measurements, const Target& target) {
  Ratio ratio{target.name, {}, values_of(measurements, target.ours, target.metric), {}};
  if (target.theirs) {
    std::vector<double> theirs = values_of(measurements, *target.theirs, target.metric);
    if (target.then) {
      add_times(theirs, values_of(measurements, *target.then, target.metric));
    }
    ratio.values.resize(std::min(ratio.values.size(), theirs.size()));
    for (std::size_t run = 0; run < ratio.values.size(); ++run) {
      ratio.values[run] /= theirs[run];
    }
  }
  if (target.reach != Reach::report) {
    const bool at_least = target.reach == Reach::at_least;
    ratio.goal = fmt::format("{} {:.2f}", at_least ? "≥" : "≤", target.goal);
    if (!ratio.values.empty()) {
      const double reached = median(ratio.values);
      ratio.reached = at_least ? reached >= target.goal : reached <= target.goal;
    }
  }
  return ratio;
}

}  // namespace

std::vector<Measurement> read_records(std::istream& lines) {
  std::vector<Measurement> measurements;
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line);
    const auto same = [&](const Measurement& m) {
      return m.work == record.at("work") && m.variant == record.at("variant") && m.by == record.at("by");
    };
    auto found = std::find_if(measurements.begin(), measurements.end(), same);
    if (found == measurements.end()) {
      found = measurements.insert(found, {record.at("work"), record.at("variant"), record.at("by"), {}});
    }
    for (const char* const metric :
         {"count", "seconds", "rate", "p50_ms", "p99_ms", "client_cpu", "server_cpu", "max_rss_mib", "connections"}) {
      if (record.contains(metric)) {
        found->metrics[metric].push_back(record[metric]);
      }
    }
  }
  return measurements;
}

std::vector<Ratio> ratios_of(const std::vector<Measurement>& measurements) {
  std::set<std::string> works;
  for (const Measurement& m : measurements) {
    works.insert(m.work);
  }
  std::vector<Ratio> ratios;
  for (const Target& target : targets()) {
    const bool measured = works.contains(target.ours.work) && (!target.theirs || works.contains(target.theirs->work));
    if (Ratio ratio = ratio_of(measurements, target); measured && !(target.optional && ratio.values.empty())) {
      ratios.push_back(std::move(ratio));
    }
  }
  return ratios;
}

std::vector<std::string> names_of_ratios() {
  std::vector<std::string> names;
  for (const Target& target : targets()) {
    if (!target.optional) {
      names.emplace_back(target.name);
    }
  }
  return names;
}

std::vector<double> costs_of(const ordered_json& measurement, unsigned cores) {
  const ordered_json& metrics = measurement.at("metrics");
  if (!metrics.contains("seconds") || !metrics.contains("client_cpu") || !metrics.contains("server_cpu")) {
    return {};
  }
  const auto each = [&](const char* metric) {
    return metrics.at(metric).at("median").get<double>() / metrics.at("count").at("median").get<double>();
  };
  const double client = each("client_cpu"), servers = each("server_cpu");
  return {client, servers, std::max(0.0, each("seconds") * cores - client - servers)};
}

ordered_json to_json(const std::vector<Measurement>& measurements) {
  ordered_json result = ordered_json::array();
  for (const Measurement& m : measurements) {
    ordered_json metrics;
    for (const auto& [name, values] : m.metrics) {
      metrics[name] = spread(values);
      metrics[name]["runs"] = values;
    }
    result.push_back({{"work", m.work}, {"variant", m.variant}, {"by", m.by}, {"metrics", metrics}});
  }
  return result;
}

ordered_json to_json(const std::vector<Ratio>& ratios) {
  ordered_json result = ordered_json::array();
  for (const Ratio& ratio : ratios) {
    ordered_json entry = {{"name", ratio.name}};
    if (!ratio.values.empty()) {
      entry.update(spread(ratio.values));
    }
    if (!ratio.goal.empty()) {
      entry["goal"] = ratio.goal;
    }
    if (ratio.reached) {
      entry["reached"] = *ratio.reached;
    }
    result.push_back(std::move(entry));
  }
  return result;
}

}  // namespace looseleaf::bench

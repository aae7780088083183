// looseleaf put: store entities from files or standard input.
#include <fmt/format.h>

#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/commands/connect.hpp"
#include "cli/files/csv_reader.hpp"
#include "cli/files/files.hpp"
#include "cli/files/replace_file.hpp"
#include "cli/report/csv_columns.hpp"
#include "cli/report/csv_detector.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/key_names.hpp"
#include "cli/report/put_progress.hpp"
#include "cli/report/write_report.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/signals.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::size_t merged_at_once = 1000;           // texts
constexpr std::size_t bytes_merged_at_once = 1 << 20;  // of them

struct PutArguments {
  std::vector<std::string> files;
  std::string rejects;
  bool csv = false;
  std::optional<std::string> types;
  std::optional<std::string> key;
  bool if_absent = false, buffer = false, merge = false;

  [[nodiscard]] WriteKind kind() const {
    return merge       ? WriteKind::merge
           : buffer    ? WriteKind::put_buffered
           : if_absent ? WriteKind::put_if_absent
                       : WriteKind::put;
  }

  [[nodiscard]] WriteCondition condition() const {
    WriteCondition condition;
    condition.kind = if_absent || buffer ? WriteCondition::Kind::absent : WriteCondition::Kind::none;
    condition.buffer = buffer;
    return condition;
  }
};

// The lines of CSV whose entities have no result yet. A result gets its line in place of the entity's JSON.
class CsvLines {
 public:
  void push(CsvColumns::RejectLine line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }

  void pop_into(WriteResult& result) {
    const std::lock_guard lock(mutex_);
    CsvColumns::RejectLine& line = lines_.front();
    if (result.status == WriteStatus::unknown && line.id_at) {
      line.text.insert(*line.id_at, to_string(*result.id));
    }
    result.text = std::move(line.text);
    lines_.pop_front();
    if (result.error) {
      Error::Context context = result.error->context();
      std::erase_if(context, [](const auto& fact) { return fact.first == "line" || fact.first == "column"; });
      result.error = Error(result.error->code(), result.error->what(), std::move(context), result.error->hint());
    }
  }

 private:
  std::mutex mutex_;
  std::deque<CsvColumns::RejectLine> lines_;
};

// Reads the inputs and puts their entities, with progress and a report.
class PutSession {
 public:
  PutSession(Datastore& store, const PutArguments& options, const ColumnTypes& types, const Globals& globals)
      : store_(store),
        condition_(options.condition()),
        key_(options.key ? Key(parse_names("--key", *options.key)) : Key()),
        key_names_(key_),
        merge_(options.merge),
        csv_(options.csv),
        types_(types),
        report_(options.kind(), globals, options.rejects),
        progress_(globals, options.files),
        stream_(
            store, [this](WriteResult result) { take(std::move(result)); }, key_) {}

  void put_input(const std::string& name) {
    report_.begin_input(name, given_);
    bool stopped_early = false;
    try {
      if (csv_) {
        put_csv(name);
      } else {
        stopped_early = put_pieces(name);
      }
    } catch (const Error& error) {
      report_.input_failed(error);
    }
    report_.end_input(stopped_early, given_);
  }

  [[nodiscard]] bool may_go_on() const { return !stop_requested() && !report_.hopeless(); }
  void leave_out(const std::string& name) { report_.leave_out(name); }

  [[nodiscard]] ExitStatus finish() {
    flush();
    stream_.finish();
    key_names_.report();
    return report_.finish();
  }

 private:
  // Not before something was read: who forgets the input may have given it as FILE.
  void empty_rejects() {
    if (!std::exchange(rejects_emptied_, true)) {
      report_.empty_rejects();
    }
  }

  [[nodiscard]] EntityReader::Source source_of(Input& input) {
    return [this, &input](char* buffer, std::size_t size) {
      if (input.is_idle()) {
        merge_waiting();
      }
      const std::uint64_t before = input.bytes_read();
      const std::size_t got = input.read(buffer, size);
      progress_.add_bytes(input.bytes_read() - before);
      return got;
    };
  }

  void put(std::string text, Position position) {
    empty_rejects();
    ++given_;
    progress_.add_entity();
    if (!merge_) {
      stream_.put(std::move(text), position, condition_);
      return;
    }
    bytes_to_merge_ += text.size();
    to_merge_.push_back(std::move(text));
    positions_.push_back(position);
    if (to_merge_.size() == merged_at_once || bytes_to_merge_ > bytes_merged_at_once) {
      flush();
    }
  }

  // Returns when all entities that were given have a result.
  void flush() {
    stream_.flush();
    merge_waiting();
  }

  void merge_waiting() {
    if (to_merge_.empty()) {
      return;
    }
    const std::uint64_t first = given_ - to_merge_.size();
    for (WriteResult& result : store_.merge(to_merge_, positions_, key_)) {
      result.sequence += first;
      take(std::move(result));
    }
    to_merge_.clear();
    positions_.clear();
    bytes_to_merge_ = 0;
  }

  void take(WriteResult result) {
    if (result.status == WriteStatus::rejected) {
      key_names_.find_in(result.text);
    } else {
      key_names_.find_all();
    }
    if (csv_) {
      lines_.pop_into(result);
    }
    report_.take(result);
    progress_.update(report_.done());
  }

  void reject(Piece piece, Error::Context context = {}) {
    empty_rejects();
    if (!report_.reject(std::move(piece), given_, std::move(context))) {
      flush();
    }
  }

  // Returns false if it is useless to continue, or after a signal: then nothing is read from this place on. After a
  // signal the last piece may be incomplete, so it is left out.
  bool goes_on_at(Position next) {
    if (!may_go_on()) {
      report_.leave_rest(next);
      return false;
    }
    return true;
  }

  // Call it when the reader gives nothing more: it may have been cut short by a signal, in the middle of a piece.
  void end_at(const Input& input) {
    if (stop_requested() && !input.at_end()) {
      report_.leave_rest(std::nullopt);
    }
  }

  // True if the reader gave up before the end of the input.
  bool put_pieces(const std::string& name) {
    Input input(name);
    hint_if_terminal(input, "entities");
    EntityReader reader(source_of(input));
    std::optional<Piece> piece;
    CsvDetector csv;
    while ((piece = reader.next()) && goes_on_at(piece->position)) {
      csv.add(*piece);
      if (piece->reject.empty()) {
        put(std::move(piece->text), piece->position);
      } else {
        reject(std::move(*piece));
      }
    }
    if (!piece) {
      end_at(input);
    }
    csv.warn_if_csv(name);
    return reader.stopped_early() && !stop_requested();
  }

  void put_csv(const std::string& name) {
    Input input(name);
    hint_if_terminal(input, "CSV");
    CsvReader reader(source_of(input));
    std::optional<CsvRecord> record = reader.next();
    if (!record) {
      return end_at(input);
    }
    if (!goes_on_at(record->position)) {
      return;
    }
    const CsvColumns columns = read_header(*record, name);
    while ((record = reader.next()) && goes_on_at(record->position)) {
      put_record(columns, *record);
    }
    if (!record) {
      end_at(input);
    }
  }

  [[nodiscard]] CsvColumns read_header(const CsvRecord& record, const std::string& name) {
    Error::Context context;
    if (name != "-") {
      context.emplace_back("file", name);
    }
    try {
      CsvColumns columns(record, types_);
      columns.require(key_);
      report_.begin_rejects_with(columns.rejects_header());
      if (const auto number = columns.column_like_a_value()) {
        context.emplace_back("field", *number);
        print_warning("a number is the name of a column", context,
                      "if the first line does not name the columns, put a line that does in front of it");
      }
      return columns;
    } catch (const Error& error) {
      context.insert(context.end(), error.context().begin(), error.context().end());
      throw Error(error.code(), error.what(), std::move(context), error.hint() + "; nothing of this input was stored");
    }
  }

  void put_record(const CsvColumns& columns, const CsvRecord& record) {
    try {
      if (std::string json = columns.to_json(record); !json.empty()) {
        lines_.push(columns.reject_line(record));
        put(std::move(json), record.position);
      }
    } catch (const CsvColumns::Reject& why) {
      reject({columns.reject_line(record).text,
              record.position,
              why.what,
              why.position,
              {},
              why.hint,
              record.fault && record.fault->more},
             why.context);
    }
  }

  Datastore& store_;
  const WriteCondition condition_;
  const Key key_;
  KeyNames key_names_;
  const bool merge_;
  const bool csv_;
  const ColumnTypes& types_;

  CsvLines lines_;
  std::vector<std::string> to_merge_;
  std::vector<Position> positions_;  // of these texts
  std::size_t bytes_to_merge_ = 0;
  WriteReport report_;
  bool rejects_emptied_ = false;
  PutProgress progress_;
  std::uint64_t given_ = 0;
  WriteStream stream_;
};

// Checks the options of CSV.
ColumnTypes types_of(const PutArguments& options) {
  if (options.types && !options.csv) {
    throw Error(ErrorCode::usage, "--types is for --csv only", {}, "give --csv, or leave --types out");
  }
  return options.types ? parse_column_types(*options.types) : ColumnTypes();
}

ExitStatus run(PutArguments options, const Globals& globals) {
  if (options.merge && (options.if_absent || options.buffer)) {
    throw Error(ErrorCode::usage,
                fmt::format("--merge and --{} exclude each other", options.buffer ? "buffer" : "if-absent"), {},
                "give one of them");
  }
  const ColumnTypes types = types_of(options);
  if (options.files.empty()) {
    options.files.emplace_back("-");
  }
  for (const auto& file : options.files) {
    try {
      check_readable(file);
    } catch (Error& error) {
      error.with_hint("nothing was stored; " + error.hint());
      throw;
    }
    if (!options.rejects.empty() && is_same_file(options.rejects, file)) {
      throw Error(ErrorCode::usage, "the rejects file is also an input", {{"file", options.rejects}},
                  "give another name: opening the file would empty it");
    }
  }
  if (!options.rejects.empty() && is_standard_output(options.rejects)) {
    throw Error(ErrorCode::usage, "the rejects file is also the output", {{"file", options.rejects}},
                "give another name: rejects and ids would overwrite each other");
  }
  Datastore store = open_store(globals);
  const Drain drain;
  PutSession session(store, options, types, globals);
  for (const auto& file : options.files) {
    if (session.may_go_on()) {
      session.put_input(file);
    } else {
      session.leave_out(file);
    }
  }
  return session.finish();
}

void add_parameters(Command& command, PutArguments& options) {
  command.parameters = {
      {.name = "FILE",
       .help = "files of JSON objects, or with `--csv` of CSV; `-`, or no file, is standard input",
       .target = &options.files,
       .details = "If one of several files does not exist or may not be read, nothing is stored."},
      {.name = "--rejects",
       .value = "FILE",
       .help = "write the entities that cannot be stored to this file, unchanged",
       .target = &options.rejects,
       .details =
           "The file's old contents are deleted as soon as something was read. An entity whose outcome "
           "is unknown is written with the id that it was given, so that putting it again cannot store it twice. With "
           "`--csv` the file begins with the header, and has a column `id`."},
      {.name = "--csv",
       .help = "read CSV instead of JSON",
       .target = &options.csv,
       .details = "The first line names the columns; `a.b` is the member `b` of the object `a`. Every other line is an "
                  "entity. An empty cell leaves the member out, unless it is a string in quotes: `\"\"`. A column `id` "
                  "has the ids."},
      {.name = "--types",
       .value = "TYPES",
       .help = "with `--csv`: what the columns have, such as `age=int,tags=json`",
       .target = &options.types,
       .details =
           "Types are `string`, `uuid`, `int`, `double`, `bool` and `json`; a column without a type has strings. "
           "`null` without quotes is null, except in a column of strings."},
      {.name = "--key",
       .value = "NAMES",
       .help = "make the ids of the entities' own values: of the properties with these names, such as `trip,column`",
       .target = &options.key,
       .details =
           "So entities with the same key are the same entity, and with `--if-absent` no key is stored twice. The "
           "values are strings, or whole numbers of 64 bits. An entity without them, or with an id of another key, is "
           "rejected. `get`, `update` and `delete` find the entity by its key. A put without `--key` checks nothing."},
      {.name = "--if-absent",
       .help = "store only entities whose ids do not exist yet",
       .target = &options.if_absent,
       .details =
           "An entity that exists already is left as it is. A warning says whether its text is the same, and the "
           "exit status is 1. It is not written to the file of `--rejects`. Of several processes that put the "
           "same id at once, one stores it."},
      {.name = "--buffer",
       .help = "like --if-absent; if a server is down, keep entities on other servers until they can be stored",
       .target = &options.buffer,
       .details =
           "Each is written durably to two servers that answer, or to one if no more do, and its id is printed. "
           "`looseleaf clean --follow` and `looseleaf flush` store it when the servers that it needs answer; until "
           "then `get`, `query`, `update`, `delete` and `put --merge` do not find it. If its id exists by then with "
           "another text, or a unique index forbids it, it is refused: `looseleaf refused list` shows it. A write "
           "waits at most 3 seconds for the servers that it needs, and only 0.2 seconds if one is known to be down; "
           "for one that stops responding, up to half of `--timeout`. Then it has a whole `--timeout` to be buffered."},
      {.name = "--merge",
       .help = "merge what is given into the stored entities, as JSON Merge Patch (RFC 7396)",
       .target = &options.merge,
       .details =
           "A member that is given replaces that of the entity, objects are merged, and null deletes a member. All "
           "other members stay byte for byte. If an id does not exist, a warning names it, and the exit status is "
           "1. No change that another process makes meanwhile is lost."},
  };
}

}  // namespace

Command put_command() {
  const auto options = std::make_shared<PutArguments>();
  Command command;
  command.name = "put";
  command.summary = "store entities from files or standard input, print their ids";
  add_parameters(command, *options);
  command.details = {
      "The input is JSON objects: one per line, pretty-printed one after another, or in one array. Each is stored "
      "under its `id` and replaces what was stored there. An object without an `id` gets one. Each id is printed, in "
      "input order, once its entity is durable.",
      "An entity that cannot be stored is reported with its line and column; all other entities are stored. At most 20 "
      "rejections of a kind are shown and the others are counted, unless `--verbose` is given. If a put was "
      "stopped, you may repeat it, provided that the entities have ids of their own. If the store moves to another "
      "cluster meanwhile, an error names the line from which on the input was not read.",
      "Gzip data is recognised and decompressed. A file that is compressed in another way, is a tar archive, or is "
      "in UTF-16, is refused as a whole: give the output of `zstdcat`, `tar -xOf` or `iconv` instead.",
      "The last line on standard error counts the entities that were stored, rejected and so on. It is printed if not "
      "all entities were stored, on a terminal, or with `--verbose`; `--quiet` leaves it out. With `--output json` the "
      "summary on standard output has the counts."};
  command.examples = {
      {"Store a file", "looseleaf put entities.jsonl > ids.txt"},
      {"Store a compressed file, and keep what cannot be stored",
       "looseleaf put --quiet --rejects bad.jsonl dump.jsonl.gz"},
      {"Store a table of a spreadsheet",
       "looseleaf put --csv --types 'year=int,price=double' --rejects bad.csv books.csv"},
      {"Store what is not there yet", "looseleaf put --if-absent entities.jsonl"},
      {"Store what is not there yet under a key of its own", "looseleaf put --if-absent --key trip,column cells.jsonl"},
      {"Store new entities even while a server is down", "looseleaf put --buffer --key trip,column cells.jsonl"},
      {"Change one member of an entity",
       "echo '{\"id\": \"71f0c4d2291844cca2df6f486e96e37c\", \"done\": true}' |\n  looseleaf put --merge"}};
  command.see_also = {"get", "update", "delete", "flush", "refused"};
  command.run = [options](const Globals& globals) { return run(*options, globals); };
  return command;
}

}  // namespace looseleaf::cli

// The output of put, update and delete.
#include "cli/report/write_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cli/terminal/json.hpp"
#include "cli/terminal/messages.hpp"
#include "cli/terminal/signals.hpp"
#include "cli/terminal/text.hpp"

namespace looseleaf::cli {
namespace {

constexpr std::size_t most_put_off_bytes = 4 * 1024 * 1024;

std::string_view name_of(WriteStatus status) {
  switch (status) {
    case WriteStatus::stored:
      return "stored";
    case WriteStatus::buffered:
      return "buffered";
    case WriteStatus::not_found:
      return "not_found";
    case WriteStatus::exists:
      return "exists";
    case WriteStatus::changed:
      return "changed";
    case WriteStatus::unchanged:
      return "unchanged";
    case WriteStatus::rejected:
      return "rejected";
    case WriteStatus::failed:
      return "failed";
    case WriteStatus::unknown:
      return "unknown";
  }
  return "unknown";
}

Error::Context place(WriteKind kind, const std::string& input, Position position) {
  Error::Context context;
  if (!input.empty()) {
    context.emplace_back("file", input);
  }
  context.emplace_back("line", std::to_string(position.line));
  if (kind != WriteKind::remove) {
    context.emplace_back("column", std::to_string(position.column));
  }
  return context;
}

std::string name_of_input(const std::string& input) {
  return input.empty() ? "standard input" : input;
}

// Whether the input has entities; otherwise it has ids.
bool takes_entities(WriteKind kind) {
  return kind != WriteKind::remove && kind != WriteKind::update;
}

// Puts the place in front of the error's context. A line in the context itself is more exact and takes precedence.
Error placed(const Error& error, Error::Context place) {
  const auto has = [&](const std::string& key) {
    return std::any_of(error.context().begin(), error.context().end(),
                       [&](const auto& pair) { return pair.first == key; });
  };
  Error::Context context;
  for (auto& pair : place) {
    if (!has(pair.first) && !(pair.first == "column" && has("line"))) {
      context.push_back(std::move(pair));
    }
  }
  context.insert(context.end(), error.context().begin(), error.context().end());
  return Error(error.code(), error.what(), std::move(context), error.hint());
}

// Why a write that has no error was not done.
Error refusal(WriteKind kind, const WriteResult& result) {
  switch (result.status) {
    case WriteStatus::exists:
      return {ErrorCode::usage,
              "the entity exists already",
              {{"text", result.same_text ? "same" : "different"}},
              result.same_text ? ""
                               : fmt::format("put it without --{} to replace what is stored",
                                             kind == WriteKind::put_buffered ? "buffer" : "if-absent")};
    case WriteStatus::changed:
      return {ErrorCode::usage, "the entity was changed meanwhile"};
    default:
      return {ErrorCode::usage, "no such entity"};
  }
}

// What the summary counts, beside what was stored.
std::vector<WriteStatus> counted_statuses(WriteKind kind) {
  std::vector<WriteStatus> statuses;
  if (kind == WriteKind::put_if_absent) {
    statuses = {WriteStatus::exists};
  } else if (kind == WriteKind::put_buffered) {
    statuses = {WriteStatus::buffered, WriteStatus::exists};
  } else if (kind == WriteKind::merge || kind == WriteKind::update) {
    statuses = {WriteStatus::unchanged, WriteStatus::not_found};
  } else if (kind == WriteKind::remove) {
    statuses = {WriteStatus::not_found};
  }
  statuses.insert(statuses.end(), {WriteStatus::rejected, WriteStatus::failed, WriteStatus::unknown});
  return statuses;
}

std::string_view words_for(WriteStatus status) {
  return status == WriteStatus::not_found ? "not found" : status == WriteStatus::exists ? "existing" : name_of(status);
}

bool is_success(WriteStatus status) {
  return status == WriteStatus::stored || status == WriteStatus::buffered || status == WriteStatus::unchanged;
}

}  // namespace

WriteReport::WriteReport(WriteKind kind, const Globals& globals, const std::string& rejects)
    : kind_(kind),
      globals_(globals),
      rejects_(rejects.empty() ? nullptr : std::make_unique<RejectsFile>(rejects)),
      unknown_("entities",
               rejects_ || (globals.json() && !globals.quiet) ? std::optional<std::uint64_t>(1) : std::nullopt,
               FailureDigest::Severity::error, ""),
      rejections_("entities", printed_of_a_kind(globals)),
      absent_("ids", printed_of_a_kind(globals), FailureDigest::Severity::warning),
      existing_("entities", printed_of_a_kind(globals), FailureDigest::Severity::warning) {}

void WriteReport::empty_rejects() {
  const Lock lock(mutex_);
  if (rejects_) {
    rejects_->empty();
  }
}

void WriteReport::begin_rejects_with(const std::string& header) {
  const Lock lock(mutex_);
  has_header_ = true;
  if (rejects_) {
    rejects_->begin_with(header);
  }
}

void WriteReport::begin_input(const std::string& name, std::uint64_t first_sequence) {
  const Lock lock(mutex_);
  inputs_.emplace_back(first_sequence, name == "-" ? "" : name);
}

void WriteReport::end_input(bool stopped_early, std::uint64_t given) {
  const Lock lock(mutex_);
  if (reading_long_piece_) {
    put_off(Piece{}, given);  // the end of the piece could not be read
  }
  if (stopped_early) {  // the last piece of the reader has the reason
    status_ = stronger(status_, ExitStatus::negative);
  }
}

void WriteReport::input_failed(const Error& error) {
  const Lock lock(mutex_);
  status_ = stronger(status_, exit_status_of(error.code(), 0));
  print_error(error);
}

void WriteReport::leave_rest(std::optional<Position> from) {
  const Lock lock(mutex_);
  unread_.emplace_back(inputs_.empty() ? "" : inputs_.back().second, from);
}

void WriteReport::leave_out(const std::string& name) {
  const Lock lock(mutex_);
  unread_.emplace_back(name == "-" ? "" : name, Position{});
}

void WriteReport::take(const WriteResult& result) {
  const Lock lock(mutex_);
  ++counts_[result.status];
  if (is_success(result.status)) {
    print_result(result, nullptr);
  } else {
    take_refused(result);
  }
  ++taken_;
  report_due_pieces();
}

void WriteReport::take_refused(const WriteResult& result) {
  Error error = result.error ? *result.error : refusal(kind_, result);
  if (!inputs_.empty()) {
    error = placed(error, place(kind_, input_of(result.sequence), result.position));
  }
  if (result.id) {
    error.with("id", to_string(*result.id));
  }
  print_result(result, &error);
  // Who puts the rejects again must not be told again that they exist.
  const bool refused = result.status == WriteStatus::exists || result.status == WriteStatus::changed;
  if (kind_ != WriteKind::remove && !refused) {
    write_reject(result.text, true);
  }
  count_refused(result, error);
}

void WriteReport::write_reject(std::string_view text, bool complete) {
  if (rejects_) {
    rejects_->write(text, complete);
    check_rejects();
  }
}

// Once the file cannot be written, messages name what is not in it.
void WriteReport::check_rejects() {
  if (rejects_->failure().empty() || std::exchange(rejects_failed_, true)) {
    return;
  }
  status_ = stronger(status_, ExitStatus::failed);
  const bool all_on_output = globals_.json() && !globals_.quiet;
  if (!all_on_output) {
    for (FailureDigest* const digest : {&failures_, &unknown_, &rejections_}) {
      digest->print_all();
    }
  }
  print_error(Error(ErrorCode::io, "cannot write to the rejects file", {{"reason", rejects_->failure()}},
                    all_on_output ? "the file does not have all entities that are not stored; the output names them"
                                  : "the file does not have all entities that are not stored; the messages after this "
                                    "one name those that it lacks"));
}

void WriteReport::count_refused(const WriteResult& result, const Error& error) {
  if (result.status == WriteStatus::unknown) {
    status_ = stronger(status_, ExitStatus::failed);
    unknown_.add(error);
  } else if (result.status == WriteStatus::rejected) {
    status_ = stronger(status_, ExitStatus::negative);
    rejections_.add(error);
  } else if (result.status == WriteStatus::not_found) {
    status_ = stronger(status_, ExitStatus::negative);
    absent_.add(error);
  } else if (result.status == WriteStatus::exists || result.status == WriteStatus::changed) {
    status_ = stronger(status_, ExitStatus::negative);
    existing_.add(error);
  } else {
    const bool wrong_setup = error.code() == ErrorCode::bad_cluster || error.code() == ErrorCode::wrong_cluster ||
                             error.code() == ErrorCode::moved;
    hopeless_ = hopeless_ || wrong_setup;
    moved_ = moved_ || error.code() == ErrorCode::moved;
    status_ = stronger(status_, wrong_setup ? ExitStatus::usage : ExitStatus::failed);
    failures_.add(error);
  }
}

bool WriteReport::reject(Piece piece, std::uint64_t given, Error::Context context) {
  const Lock lock(mutex_);
  put_off(std::move(piece), given, std::move(context));
  return put_off_bytes_ <= most_put_off_bytes;
}

void WriteReport::put_off(Piece piece, std::uint64_t results_before, Error::Context context) {
  reading_long_piece_ = piece.more;
  put_off_bytes_ += sizeof(PutOff) + piece.text.size();
  put_off_.push_back({results_before, inputs_.back().second, std::move(piece), std::move(context)});
  report_due_pieces();
}

void WriteReport::report_due_pieces() {
  while (!put_off_.empty() && put_off_.front().results_before <= taken_) {
    report_piece(put_off_.front());
    put_off_bytes_ -= sizeof(PutOff) + put_off_.front().piece.text.size();
    put_off_.pop_front();
  }
}

// The last part of a long piece may say more, such as where it ends.
void WriteReport::report_piece(const PutOff& late) {
  const Piece& piece = late.piece;
  write_reject(piece.text, !piece.more);
  if (!rejection_) {
    rejection_.emplace(ErrorCode::bad_entity, piece.reject, place(kind_, late.input, piece.reject_position));
  }
  for (const auto& [key, value] : late.context) {
    rejection_->with(key, value);
  }
  if (!piece.reject_detail.empty()) {
    rejection_->with("detail", piece.reject_detail);
  }
  if (!piece.reject_hint.empty()) {
    rejection_->with_hint(piece.reject_hint);
  }
  if (!piece.more) {
    count_rejected(*std::exchange(rejection_, std::nullopt));
  }
}

void WriteReport::count_rejected(const Error& error) {
  ++counts_[WriteStatus::rejected];
  status_ = stronger(status_, ExitStatus::negative);
  if (globals_.json() && !globals_.quiet) {
    print_status({}, name_of(WriteStatus::rejected), &error);
  }
  rejections_.add(error);
}

void WriteReport::reject(const IdLine& line) {
  const Lock lock(mutex_);
  count_rejected(not_an_id(line.line, line.text));
}

bool WriteReport::hopeless() const {
  const Lock lock(mutex_);
  return hopeless_;
}

std::uint64_t WriteReport::done() const {
  const Lock lock(mutex_);
  return taken_;
}

std::string WriteReport::input_of(std::uint64_t sequence) const {
  const auto after = std::upper_bound(inputs_.begin(), inputs_.end(), sequence,
                                      [](std::uint64_t wanted, const auto& input) { return wanted < input.first; });
  return after == inputs_.begin() ? "" : std::prev(after)->second;
}

void WriteReport::print_result(const WriteResult& result, const Error* error) {
  if (globals_.quiet) {
    return;
  }
  const std::string id = result.id ? to_string(*result.id) : "";
  if (globals_.json()) {
    const bool deleted = kind_ == WriteKind::remove && result.status == WriteStatus::stored;
    print_status(id, deleted ? "deleted" : name_of(result.status), error);
  } else if (is_success(result.status)) {
    print_line(id);
  }
  check_output();
}

void WriteReport::print_status(std::string_view id, std::string_view status, const Error* error) {
  Json line;
  line["id"] = id.empty() ? Json(nullptr) : Json(id);
  line["status"] = status;
  if (error != nullptr) {
    line["error"] = error->what();
    for (const auto& [key, value] : error->context()) {
      if (key != "id") {
        line[key == "status" ? "exit_status" : key] = json_of_context(key, value);
      }
    }
  }
  print_json(line);
}

void WriteReport::check_output() {
  if (const int error = data_output().take_error(); error != 0) {
    status_ = stronger(status_, ExitStatus::failed);
    print_error(
        Error(ErrorCode::io,
              fmt::format("{}; entities are still being {}, but their ids are not printed",
                          error == EPIPE ? "standard output was closed" : "cannot write to standard output",
                          kind_ != WriteKind::remove ? "stored" : "deleted"),
              {{"reason", std::strerror(error)}},
              kind_ != WriteKind::remove
                  ? "keep the ids in a file next time; `looseleaf export` prints all entities, also those whose "
                    "ids were not printed"
                  : "keep the ids in a file next time; `looseleaf get` says which entities exist"));
  }
}

ExitStatus WriteReport::finish() {
  const Lock lock(mutex_);
  failures_.finish();
  unknown_.finish();
  rejections_.finish();
  absent_.finish();
  existing_.finish();
  if (globals_.json()) {
    Json summary;
    summary[kind_ != WriteKind::remove ? "stored" : "deleted"] = counts_[WriteStatus::stored];
    for (const auto status : counted_statuses(kind_)) {
      summary[std::string(name_of(status))] = counts_[status];
    }
    print_summary(summary);
  }
  data_output().flush();
  check_output();
  if (rejects_) {
    rejects_->flush();
    check_rejects();
  }
  if (hopeless_ && !stop_requested() && (!unread_.empty() || takes_entities(kind_))) {
    report_hopeless();
  }
  print_note_of_counts();
  return stop_requested() ? exit_status_of_signal(stop_signal()) : status_;
}

// Says how much of the input was read before the store refused everything.
void WriteReport::report_hopeless() const {
  if (unread_.empty()) {
    print_error(Error(ErrorCode::moved, "all of the input was read, but not all of it was taken", {}, how_to_go_on()));
    return;
  }
  const auto& [input, from] = unread_.front();
  Error error(ErrorCode::moved, "the rest of the input was not read",
              from ? place(kind_, input, *from) : Error::Context(), how_to_go_on());
  const std::string others = other_inputs();
  print_error(others.empty() ? error : error.with("not read at all", others));
}

std::string WriteReport::other_inputs() const {
  std::string others;
  for (auto other = unread_.begin() + 1; other != unread_.end(); ++other) {
    others.append(others.empty() ? "" : ", ").append(name_of_input(other->first));
  }
  return others;
}

std::string WriteReport::how_to_go_on() const {
  const char* const then = moved_ ? "the cluster file of the new store" : "the right cluster file";
  if (!takes_entities(kind_)) {
    return fmt::format("run the command again with {}, with the ids that were not printed", then);
  }
  if (!rejects_ || rejects_failed_) {
    return fmt::format(
        "put the input again with {}, if its entities have ids of their own; with --rejects, a file has what "
        "was not stored",
        then);
  }
  if (unread_.empty()) {
    return fmt::format("put the rejects file, with the same options and {}", then);
  }
  const Position from = unread_.front().second.value_or(Position());
  const bool has_header = rejects_->has_header();
  const std::string rest = from == Position{} ? "what was not read"
                           : from.column != 1 ? "the input from this place on"
                           : has_header       ? fmt::format("the input from line {} on, behind its header", from.line)
                                              : fmt::format("the input from line {} on", from.line);
  return fmt::format("put the rejects file, and then {}, with the same options and {}", rest, then);
}

// Says after a signal what is left of the inputs.
std::string WriteReport::where_to_begin() const {
  const auto& [input, from] = unread_.front();
  const std::string others = other_inputs();
  if (!from) {
    return others.empty() ? "" : ", and nothing of " + others;
  }
  const std::string begin =
      *from == Position{} ? fmt::format(": begin with {}", name_of_input(input))
                          : fmt::format(": begin at line {}{}{}{}", from->line,
                                        from->column == 1 ? "" : fmt::format(", column {},", from->column),
                                        input.empty() ? "" : " of " + input, has_header_ ? ", behind its header" : "");
  return begin + (others.empty() ? "" : ", and then " + others);
}

void WriteReport::print_note_of_counts() const {
  const auto buffered = counts_.find(WriteStatus::buffered);
  const bool any_buffered = buffered != counts_.end() && buffered->second > 0;
  const bool all_well = status_ == ExitStatus::done && !stop_requested() && !any_buffered;
  const bool nothing = all_well && takes_entities(kind_) &&
                       std::all_of(counts_.begin(), counts_.end(), [](const auto& one) { return one.second == 0; });
  if (all_well && !nothing && !messages_on_terminal() && !globals_.verbose) {
    return;
  }
  std::string text = kind_ != WriteKind::remove ? "stored " : "deleted ";
  const auto stored = counts_.find(WriteStatus::stored);
  text += counted(stored == counts_.end() ? 0 : stored->second, "entity", "entities");
  for (const auto& [status, count] : counts_) {
    if (status != WriteStatus::stored && count > 0) {
      text += fmt::format(", {} {}", words_for(status), grouped(count));
    }
  }
  if (nothing) {
    text += rejects_ ? ": the input has none, so the rejects file stays as it is" : ": the input has none";
  } else if (kind_ == WriteKind::update && stop_requested()) {
    text += "; stopped";
  } else if (!unread_.empty()) {
    text += "; the rest of the input was not read" + (stop_requested() ? where_to_begin() : "");
  }
  print_note(text);
}

}  // namespace looseleaf::cli

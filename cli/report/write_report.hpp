// The output of put, update and delete: ids on standard output, failures on standard error, rejected texts in a file.
#pragma once

#include <cstdint>
#include <deque>
#include <looseleaf/write.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/files/files.hpp"
#include "cli/registry/exit_status.hpp"
#include "cli/registry/registry.hpp"
#include "cli/report/failure_digest.hpp"
#include "cli/report/rejects_file.hpp"

namespace looseleaf::cli {

enum class WriteKind { put, put_if_absent, put_buffered, merge, update, remove };

// Takes results from the write stream's thread, and rejected input from the reading thread.
class WriteReport {
 public:
  // `rejects` is a file name or empty.
  WriteReport(WriteKind kind, const Globals& globals, const std::string& rejects);

  // Deletes the rejects of an earlier run.
  void empty_rejects();
  // The input has a header. The rejects file gets this one, if there is such a file. Throws Error(bad_entity) if it has
  // another one.
  void begin_rejects_with(const std::string& header);
  // Results from `first_sequence` on belong to this input.
  void begin_input(const std::string& name, std::uint64_t first_sequence);
  void end_input(bool stopped_early, std::uint64_t given);
  // Reports an input that could not be read to its end.
  void input_failed(const Error& error);
  // Because it is useless to continue, or after a signal, the input in hand is not read from this place on, or another
  // one not at all. Arguments have no place, and after a signal it may be unknown.
  void leave_rest(std::optional<Position> from);
  void leave_out(const std::string& name);

  void take(const WriteResult& result);
  // `given` texts came before the piece, and it is reported after them. False if many pieces are delayed: then wait for
  // the results of these texts.
  [[nodiscard]] bool reject(Piece piece, std::uint64_t given, Error::Context context = {});
  void reject(const IdLine& line);

  // True once it is useless to continue, because the cluster file is wrong, or the store has moved.
  [[nodiscard]] bool hopeless() const;
  [[nodiscard]] std::uint64_t done() const;

  // Call it after the last result. Prints the summary.
  [[nodiscard]] ExitStatus finish();

 private:
  using Lock = std::unique_lock<std::mutex>;

  struct PutOff {
    std::uint64_t results_before;
    std::string input;
    Piece piece;
    Error::Context context;
  };

  [[nodiscard]] std::string input_of(std::uint64_t sequence) const;
  void print_result(const WriteResult& result, const Error* error);
  void print_status(std::string_view id, std::string_view status, const Error* error);
  void take_refused(const WriteResult& result);
  void count_refused(const WriteResult& result, const Error& error);
  void put_off(Piece piece, std::uint64_t results_before, Error::Context context = {});
  void report_due_pieces();
  void report_piece(const PutOff& late);
  void count_rejected(const Error& error);
  void check_output();
  void write_reject(std::string_view text, bool complete);
  void check_rejects();
  void report_hopeless() const;
  // Returns the names of the inputs that were not read at all, except the first in unread_.
  [[nodiscard]] std::string other_inputs() const;
  [[nodiscard]] std::string how_to_go_on() const;
  [[nodiscard]] std::string where_to_begin() const;
  void print_note_of_counts() const;

  const WriteKind kind_;
  const Globals& globals_;
  mutable std::mutex mutex_;
  std::deque<PutOff> put_off_;
  std::size_t put_off_bytes_ = 0;
  std::uint64_t taken_ = 0;
  bool reading_long_piece_ = false;
  std::optional<Error> rejection_;  // of the piece that is being reported, until its last part
  std::vector<std::pair<std::uint64_t, std::string>> inputs_;            // by first sequence; "" for standard input
  std::vector<std::pair<std::string, std::optional<Position>>> unread_;  // inputs, and from where on they were not read
  std::unique_ptr<RejectsFile> rejects_;
  FailureDigest failures_{"entities", 1, FailureDigest::Severity::error, ""};
  FailureDigest unknown_;  // prints each, so that all can be looked at, unless all are printed elsewhere
  FailureDigest rejections_, absent_, existing_;
  std::map<WriteStatus, std::uint64_t> counts_;
  ExitStatus status_ = ExitStatus::done;
  bool hopeless_ = false, moved_ = false, rejects_failed_ = false, has_header_ = false;
};

}  // namespace looseleaf::cli

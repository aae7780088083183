// Splits a byte stream into entity texts. It follows only brackets and strings. The content of an object is checked
// later, when the entity is parsed. Only inside an array it is checked here, because after a malformed element there is
// no safe place to continue.
#include <fmt/format.h>

#include <algorithm>
#include <looseleaf/entity_reader.hpp>
#include <utility>
#include <vector>

#include "model/entity.hpp"
#include "model/json/strict_json.hpp"
#include "model/json/value_scanner.hpp"

namespace looseleaf {
namespace {

using model::ValueScanner;

// The reason why a piece cannot be an entity.
struct Complaint {
  std::string reason, detail, hint;
};

constexpr std::size_t buffer_size = 64 * 1024;
constexpr std::size_t max_reject_piece = 1024 * 1024;
constexpr std::size_t largest_reserve = 4096;  // bytes
constexpr int end_of_input = -1;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool is_space(int byte) {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

// Reads the source byte by byte and tracks the position of the next byte. It reads from the source only when a byte is
// needed.
class Input {
 public:
  explicit Input(EntityReader::Source source) : source_(std::move(source)), buffer_(buffer_size) {}

  // Returns the next byte, or end_of_input.
  int peek() {
    if (at_ == end_ && !ended_) {
      at_ = 0;
      end_ = source_(buffer_.data(), buffer_.size());
      ended_ = end_ == 0;
    }
    return ended_ ? end_of_input : static_cast<unsigned char>(buffer_[at_]);
  }

  // Consumes the byte that peek() returned.
  char take() {
    const char byte = buffer_[at_++];
    if (byte == '\n') {
      position_ = {position_.line + 1, 1};
    } else {
      ++position_.column;
    }
    return byte;
  }

  // Appends the buffered bytes of a string to `text`, up to its next special byte and until `text` has `limit` bytes.
  void take_string(std::string& text, std::size_t limit) {
    const std::size_t room = limit > text.size() ? limit - text.size() : 0;
    const auto first = buffer_.begin() + static_cast<std::ptrdiff_t>(at_);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(room, end_ - at_));
    const auto stop = std::find_if(first, last, [](char byte) { return byte == '"' || byte == '\\' || byte == '\n'; });
    text.append(first, stop);
    const auto taken = static_cast<std::size_t>(stop - first);
    at_ += taken;
    position_.column += taken;
  }

  void skip_space() {
    while (is_space(peek())) {
      take();
    }
  }

  // Consumes a byte order mark without counting it. If there is only the beginning of one, returns the bytes that were
  // consumed.
  std::string skip_byte_order_mark() {
    std::string taken;
    while (taken.size() < byte_order_mark.size() &&
           peek() == static_cast<unsigned char>(byte_order_mark[taken.size()])) {
      taken += take();
    }
    if (taken == byte_order_mark) {
      position_ = Position();
      taken.clear();
    }
    return taken;
  }

  [[nodiscard]] Position position() const { return position_; }

 private:
  EntityReader::Source source_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  bool ended_ = false;
  Position position_;
};

// Returns the text with bytes beyond ASCII and escaped surrogates replaced, so that only its structure is checked.
std::string structure_of(std::string_view text) {
  std::string structure(text);
  for (std::size_t i = 0; i < structure.size(); ++i) {
    if (static_cast<unsigned char>(structure[i]) >= 0x80) {
      structure[i] = 'x';
    } else if (structure[i] == '\\' && i + 2 < structure.size()) {
      ++i;
      if (structure[i] == 'u' && (structure[i + 1] == 'd' || structure[i + 1] == 'D')) {
        structure[i + 1] = '0';
      }
    }
  }
  return structure;
}

// Returns the syntax error in the text; absent if there is none, whatever else is wrong.
std::optional<model::JsonFault> find_syntax_error(std::string_view text) {
  if (nlohmann::json::accept(text)) {
    return std::nullopt;
  }
  try {
    static_cast<void>(model::parse_strict(structure_of(text)));
  } catch (const model::JsonFault& fault) {
    if (fault.kind == model::JsonFaultKind::syntax) {
      return fault;
    }
  }
  return std::nullopt;
}

std::string at(Position position) {
  return fmt::format("line {}, column {}", position.line, position.column);
}

// Returns the complaint about a file that was appended to another one with its byte order mark.
Complaint inner_mark() {
  return {"byte order mark inside the input", {}, "delete the bytes EF BB BF in front of the entity"};
}

// Returns the complaint about a JSON value that is not an object.
Complaint no_object(std::string_view text) {
  if (text.starts_with(byte_order_mark)) {
    return inner_mark();
  }
  const char* type = "number";
  switch (text.front()) {
    case '"':
      type = "string";
      break;
    case '[':
      type = "array";
      break;
    case 't':
    case 'f':
      type = "boolean";
      break;
    case 'n':
      type = "null";
      break;
    default:
      break;
  }
  return {"not a JSON object", type, model::hint_for_no_object()};
}

Complaint stray(std::string_view text) {
  if (text.starts_with(byte_order_mark)) {
    return inner_mark();
  }
  const char* hint = "start an entity with { and an array of entities with [";
  if (text.front() == ',') {
    hint = "delete the comma; only entities in an array are separated by commas";
  } else if (text.front() == '}' || text.front() == ']') {
    hint = "delete it; there is nothing to close here";
  }
  return {"text between entities", {}, hint};
}

}  // namespace

class EntityReader::Impl {
 public:
  explicit Impl(Source source) : input_(std::move(source)) {}

  std::optional<Piece> next();
  [[nodiscard]] bool stopped_early() const { return stopped_early_; }

 private:
  // The place between two pieces that the reader has reached.
  enum class Place { start, outside, first_element, element, after_element, stopped };
  // The extent of the piece that is being rejected.
  enum class Extent { value, resume_line, line, known };

  struct Reject {
    Extent extent = Extent::known;
    Complaint complaint;
    Position position;
  };

  [[nodiscard]] bool in_array() const { return place_ != Place::start && place_ != Place::outside; }

  std::optional<Piece> outside(int byte);
  std::optional<Piece> inside_array(int byte);
  Piece read_value();
  Piece go_on_with_value();
  Piece complete_value();
  Piece broken_value(ValueScanner::Fault fault);
  [[nodiscard]] Complaint explained(ValueScanner::Fault fault);
  Piece stop(Complaint complaint, Position position);
  Piece begin_reject(Extent extent, Complaint complaint, Position position);
  Piece go_on_rejecting();
  void read_to_resume_line();
  void read_line();
  Piece reject_part();
  Piece end_reject();

  Input input_;
  Place place_ = Place::start;
  std::string text_;           // the part of the current piece that was not handed out yet
  Position start_;             // the position of text_
  Position value_start_;       // the position of the value that contains text_
  Position array_start_;       // the position of the current array
  std::size_t last_size_ = 0;  // the size of the last entity's text; the next one is about as long
  ValueScanner scanner_;
  std::optional<Reject> reject_;
  bool stopped_early_ = false;
};

std::optional<Piece> EntityReader::Impl::next() {
  if (reject_) {
    return go_on_rejecting();
  }
  text_.clear();
  if (place_ == Place::start) {
    place_ = Place::outside;
    text_ = input_.skip_byte_order_mark();
    if (!text_.empty()) {
      return begin_reject(Extent::line, {}, start_);
    }
  }
  while (place_ != Place::stopped) {
    input_.skip_space();
    start_ = input_.position();
    const int byte = input_.peek();
    if (byte == end_of_input && !in_array()) {
      break;
    }
    std::optional<Piece> piece = in_array() ? inside_array(byte) : outside(byte);
    if (piece) {
      return piece;
    }
  }
  return std::nullopt;
}

// Returns nothing if the byte was consumed without completing a piece.
std::optional<Piece> EntityReader::Impl::outside(int byte) {
  if (byte == '[') {
    array_start_ = start_;
    input_.take();
    place_ = Place::first_element;
    return std::nullopt;
  }
  return byte == '{' ? read_value() : begin_reject(Extent::line, {}, start_);
}

std::optional<Piece> EntityReader::Impl::inside_array(int byte) {
  if (byte == end_of_input) {
    return stop({"array is not closed", "it begins at " + at(array_start_), "check whether the input is cut off"},
                start_);
  }
  if (byte == ']' && place_ != Place::element) {
    input_.take();
    place_ = Place::outside;
    return std::nullopt;
  }
  if (byte == ',' && place_ == Place::after_element) {
    input_.take();
    place_ = Place::element;
    return std::nullopt;
  }
  if (place_ == Place::after_element || byte == ',' || byte == ']' || byte == '}') {
    return stop({"syntax error between array elements", {}, "write one comma between two elements and none at the end"},
                start_);
  }
  return read_value();
}

Piece EntityReader::Impl::read_value() {
  scanner_ = ValueScanner();
  value_start_ = start_;
  text_.reserve(last_size_);
  return go_on_with_value();
}

Piece EntityReader::Impl::go_on_with_value() {
  for (;;) {
    const int byte = input_.peek();
    if (byte == end_of_input) {
      return broken_value(ValueScanner::Fault::not_closed);
    }
    auto fault = ValueScanner::Fault::not_closed;
    switch (scanner_.feed(static_cast<char>(byte), input_.position().column == 1, fault)) {
      case ValueScanner::Step::more:
        text_ += input_.take();
        if (scanner_.inside_string()) {
          input_.take_string(text_, reject_ ? max_reject_piece : model::max_body_size);
        }
        break;
      case ValueScanner::Step::last:
        text_ += input_.take();
        return complete_value();
      case ValueScanner::Step::behind:
        return complete_value();
      case ValueScanner::Step::broken:
        return broken_value(fault);
    }
    if (!reject_ && text_.size() > model::max_body_size) {
      return begin_reject(Extent::value, {"body too large", {}, model::hint_for_size()}, input_.position());
    }
    if (reject_ && text_.size() > max_reject_piece) {
      return reject_part();
    }
  }
}

Piece EntityReader::Impl::complete_value() {
  if (in_array()) {
    place_ = Place::after_element;
  }
  if (reject_) {
    return end_reject();
  }
  const std::optional<model::JsonFault> fault = in_array() ? find_syntax_error(text_) : std::nullopt;
  if (fault) {
    return stop({fault->what(), fault->detail, hint_for(*fault, text_)},
                model::position_after(std::string_view(text_).substr(0, fault->offset), start_));
  }
  if (text_.front() != '{') {
    return begin_reject(Extent::known, no_object(text_), start_);
  }
  last_size_ = std::min(text_.size(), largest_reserve);
  return Piece{std::move(text_), start_, {}, {}, {}, {}, false};
}

Piece EntityReader::Impl::broken_value(ValueScanner::Fault fault) {
  if (in_array()) {
    return stop(explained(fault), input_.position());
  }
  if (reject_) {
    reject_->extent = Extent::resume_line;
    return go_on_rejecting();
  }
  return begin_reject(Extent::resume_line, explained(fault), input_.position());
}

// Returns the complaint about a fault that the scanner found at the next byte.
Complaint EntityReader::Impl::explained(ValueScanner::Fault fault) {
  switch (fault) {
    case ValueScanner::Fault::line_break:
      return {"line break inside a string", {}, "write a line break as \\n, or close the string"};
    case ValueScanner::Fault::no_match:
      return {"brackets do not match",
              fmt::format("a {} where a {} is open", static_cast<char>(input_.peek()), scanner_.innermost()),
              "close the innermost bracket first"};
    case ValueScanner::Fault::too_deep:
      return {"nested too deeply", {}, fmt::format("nest at most {} objects and arrays", model::max_depth)};
    case ValueScanner::Fault::not_closed:
      break;
  }
  return {"object is not closed", "it begins at " + at(value_start_),
          "check whether a brace, a bracket or a quotation mark is missing, or the input is cut off"};
}

Piece EntityReader::Impl::stop(Complaint complaint, Position position) {
  place_ = Place::stopped;
  stopped_early_ = true;
  Complaint first = reject_ ? std::move(reject_->complaint) : std::move(complaint);
  first.reason += "; the rest of the array was not read";
  return begin_reject(Extent::known, std::move(first), position);
}

Piece EntityReader::Impl::begin_reject(Extent extent, Complaint complaint, Position position) {
  reject_ = Reject{extent, std::move(complaint), position};
  return go_on_rejecting();
}

Piece EntityReader::Impl::go_on_rejecting() {
  if (text_.size() > max_reject_piece) {
    return reject_part();
  }
  switch (reject_->extent) {
    case Extent::value:
      return go_on_with_value();
    case Extent::resume_line:
      read_to_resume_line();
      break;
    case Extent::line:
      read_line();
      break;
    case Extent::known:
      break;
  }
  return text_.size() > max_reject_piece ? reject_part() : end_reject();
}

void EntityReader::Impl::read_to_resume_line() {
  for (int byte = input_.peek(); byte != end_of_input && text_.size() <= max_reject_piece; byte = input_.peek()) {
    if (byte == '{' && input_.position().column == 1) {
      return;
    }
    text_ += input_.take();
  }
}

void EntityReader::Impl::read_line() {
  for (int byte = input_.peek(); byte != end_of_input && text_.size() <= max_reject_piece; byte = input_.peek()) {
    if (byte == '\n') {
      break;
    }
    text_ += input_.take();
  }
  if (reject_->complaint.reason.empty()) {
    const bool is_json = text_.size() <= max_reject_piece && nlohmann::json::accept(text_);
    reject_->complaint = is_json ? no_object(text_) : stray(text_);
  }
}

// Returns the first part of a text that is too long for one piece.
Piece EntityReader::Impl::reject_part() {
  const auto& [reason, detail, hint] = reject_->complaint;
  Piece piece{text_.substr(0, max_reject_piece), start_, reason, reject_->position, detail, hint, true};
  start_ = model::position_after(piece.text, start_);
  text_.erase(0, max_reject_piece);
  return piece;
}

Piece EntityReader::Impl::end_reject() {
  while (!text_.empty() && is_space(static_cast<unsigned char>(text_.back()))) {
    text_.pop_back();
  }
  auto& [reason, detail, hint] = reject_->complaint;
  Piece piece{std::move(text_), start_, std::move(reason), reject_->position, std::move(detail),
              std::move(hint),  false};
  reject_.reset();
  return piece;
}

EntityReader::EntityReader(Source source) : impl_(std::make_unique<Impl>(std::move(source))) {}

EntityReader::EntityReader(EntityReader&&) noexcept = default;

EntityReader::~EntityReader() = default;

std::optional<Piece> EntityReader::next() {
  return impl_->next();
}

bool EntityReader::stopped_early() const {
  return impl_->stopped_early();
}

}  // namespace looseleaf

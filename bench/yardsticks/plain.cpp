// Sessions, literals and zlib, as one would write them down.
#include "bench/yardsticks/plain.hpp"

#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace looseleaf::bench {
namespace {

constexpr std::size_t header_size = 4;
constexpr int level = 6;

Bytef* bytes_of(std::string_view text) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
}

std::unique_ptr<::sql::Connection> connect(const Place& place) {
  static ::sql::Driver* const driver = ::get_driver_instance();
  ::sql::ConnectOptionsMap options;
  options["hostName"] = ::sql::SQLString("unix://" + place.socket);
  options["userName"] = ::sql::SQLString("root");
  options["schema"] = ::sql::SQLString(place.database);
  options["OPT_CHARSET_NAME"] = ::sql::SQLString("utf8mb4");
  return std::unique_ptr<::sql::Connection>(driver->connect(options));
}

}  // namespace

std::vector<Place> read_places(const std::string& cluster_file) {
  std::ifstream file(cluster_file);
  std::vector<Place> places;
  const nlohmann::json cluster = nlohmann::json::parse(file);
  for (const auto& shard : cluster.at("shards")) {
    places.push_back({shard.at("socket"), shard.at("database")});
  }
  return places;
}

Session::Session(const Place& place) : connection_(connect(place)) {}

void Session::execute(const std::string& sql) {
  const std::unique_ptr<::sql::Statement> statement(connection_->createStatement());
  if (statement->execute(sql)) {
    const std::unique_ptr<::sql::ResultSet> rows(statement->getResultSet());
  }
}

std::unique_ptr<::sql::ResultSet> Session::query(const std::string& sql) {
  const std::unique_ptr<::sql::Statement> statement(connection_->createStatement());
  return std::unique_ptr<::sql::ResultSet>(statement->executeQuery(sql));
}

void append_bytes(std::string& sql, std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  sql += "x'";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    sql += digits[byte >> 4];
    sql += digits[byte & 15];
  }
  sql += '\'';
}

void append_text(std::string& sql, std::string_view text) {
  sql += '\'';
  for (const char c : text) {
    if (c == '\'' || c == '\\') {
      sql += '\\';
    }
    sql += c;
  }
  sql += '\'';
}

Codec::Codec() {
  if (deflateInit(&deflate_, level) != Z_OK || inflateInit(&inflate_) != Z_OK) {
    throw std::bad_alloc();
  }
}

Codec::~Codec() {
  deflateEnd(&deflate_);
  inflateEnd(&inflate_);
}

std::string_view Codec::encode(std::string_view text) {
  deflateReset(&deflate_);
  buffer_.resize(header_size + deflateBound(&deflate_, text.size()));
  for (std::size_t i = 0; i < header_size; ++i) {
    buffer_[i] = static_cast<char>(text.size() >> (8 * i) & 255);
  }
  deflate_.next_in = bytes_of(text);
  deflate_.avail_in = static_cast<uInt>(text.size());
  deflate_.next_out = bytes_of(buffer_) + header_size;
  deflate_.avail_out = static_cast<uInt>(buffer_.size() - header_size);
  deflate(&deflate_, Z_FINISH);
  return std::string_view(buffer_).substr(0, buffer_.size() - deflate_.avail_out);
}

std::string_view Codec::decode(std::string_view body) {
  std::size_t size = 0;
  for (std::size_t i = header_size; i-- > 0;) {
    size = size * 256 + static_cast<unsigned char>(body.at(i));
  }
  buffer_.resize(size);
  inflateReset(&inflate_);
  inflate_.next_in = bytes_of(body.substr(header_size));
  inflate_.avail_in = static_cast<uInt>(body.size() - header_size);
  inflate_.next_out = bytes_of(buffer_);
  inflate_.avail_out = static_cast<uInt>(size);
  if (inflate(&inflate_, Z_FINISH) != Z_STREAM_END || inflate_.avail_out != 0) {
    throw std::runtime_error("a body does not inflate");
  }
  return buffer_;
}

}  // namespace looseleaf::bench

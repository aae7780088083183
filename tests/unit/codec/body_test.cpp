// The body column's format.
#include "codec/body.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <looseleaf/error.hpp>
#include <random>
#include <string>

#include "tests/support/errors.hpp"

using namespace looseleaf;
using codec::decode_body;
using codec::encode_body;
using namespace std::string_literals;

namespace {

constexpr std::size_t limit = 16 * 1024 * 1024;

std::string inflated_by_zlib(const std::string& body, std::size_t size) {
  std::string text(size, '\0');
  auto length = static_cast<uLongf>(size);
  CHECK(uncompress(reinterpret_cast<Bytef*>(text.data()), &length, reinterpret_cast<const Bytef*>(body.data()) + 4,
                   static_cast<uLong>(body.size() - 4)) == Z_OK);
  text.resize(length);
  return text;
}

// The body as others write it.
std::string encoded_by_zlib(const std::string& text, int level) {
  std::string stream(compressBound(static_cast<uLong>(text.size())), '\0');
  auto length = static_cast<uLongf>(stream.size());
  CHECK(compress2(reinterpret_cast<Bytef*>(stream.data()), &length, reinterpret_cast<const Bytef*>(text.data()),
                  static_cast<uLong>(text.size()), level) == Z_OK);
  stream.resize(length);
  return encode_body(text).substr(0, 4) + stream;
}

void check_corrupt(const std::string& body, std::size_t max_size = limit) {
  CHECK(test::error_of([&] { return decode_body(body, max_size); }).code() == ErrorCode::corrupt);
}

}  // namespace

TEST_CASE("the format is the one of MySQL's COMPRESS()") {
  const std::string body = encode_body(R"({"id":"a"})");
  CHECK(body.substr(0, 4) == "\x0a\0\0\0"s);
  CHECK(body[4] == '\x78');
  // SELECT HEX(COMPRESS('hello hello hello'))
  CHECK(decode_body("\x11\0\0\0\x78\x9c\xcb\x48\xcd\xc9\xc9\x57\xc8\x40\x90\0\x3a\x2e\x06\x7d"s, limit) ==
        "hello hello hello");
}

TEST_CASE("what was encoded, here or by zlib, is decoded to the same bytes, here and by zlib") {
  std::mt19937 random(2);
  for (std::size_t size = 1; size < 300'000; size = size * 3 / 2 + 1) {
    for (const unsigned alphabet : {1U, 4U, 256U}) {
      std::string text(size, ' ');
      for (char& c : text) {
        c = static_cast<char>(static_cast<unsigned char>(random() % alphabet + (alphabet < 256 ? 'a' : 0)));
      }
      const std::string body = encode_body(text);
      CHECK(decode_body(body, size) == text);
      CHECK(inflated_by_zlib(body, size) == text);
      for (const int level : {0, 1, 9}) {
        CHECK(decode_body(encoded_by_zlib(text, level), size) == text);
      }
    }
  }
}

TEST_CASE("a text that cannot be made shorter is stored as it is, whatever its length") {
  std::mt19937 random(4);
  for (std::size_t size = 1; size < 5000; ++size) {
    std::string text;
    while (text.size() < size) {
      text += static_cast<char>(static_cast<unsigned char>(random() % 256));
    }
    const std::string body = encode_body(text);
    CHECK(body.size() <= 4 + 2 + 5 + size + 4);  // length, header, that of a block as it is, checksum
    CHECK(decode_body(body, size) == text);
  }
}

TEST_CASE("a body is about as short as zlib's default makes it") {
  std::mt19937 random(3);
  for (const std::size_t size : {200U, 1000U, 2000U, 4096U, 4097U, 200'000U}) {
    std::string text;
    while (text.size() < size) {
      text += "\"property_" + std::to_string(random() % 50) + "\":" + std::to_string(random() % 1000) + ",";
    }
    const auto by_zlib = static_cast<double>(encoded_by_zlib(text, Z_DEFAULT_COMPRESSION).size());
    CHECK(static_cast<double>(encode_body(text).size()) < 1.06 * by_zlib);
  }
}

TEST_CASE("an empty text is no body") {
  CHECK_THROWS_AS(static_cast<void>(encode_body("")), Error);
  check_corrupt("");
  check_corrupt(std::string(4, '\0'));
}

TEST_CASE("every truncation is corrupt") {
  const std::string body =
      encode_body("{\"a\": [1, 2, 3, \"some text that is worth compressing, worth compressing\"]}");
  for (std::size_t size = 0; size < body.size(); ++size) {
    CAPTURE(size);
    check_corrupt(body.substr(0, size));
  }
}

TEST_CASE("a flipped byte is corrupt or, in the checksum's blind spots, never another text") {
  const std::string text = "{\"a\": [1, 2, 3, \"some text that is worth compressing, worth compressing\"]}";
  const std::string body = encode_body(text);
  for (std::size_t at = 0; at < body.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string changed = body;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      try {
        const std::string decoded = decode_body(changed, limit);
        CHECK(decoded == text);
      } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::corrupt);
      }
    }
  }
}

TEST_CASE("the recorded length bounds what is inflated") {
  std::string bomb = encode_body(std::string(1'000'000, 'x'));
  check_corrupt(bomb, 999'999);
  CHECK(decode_body(bomb, 1'000'000).size() == 1'000'000);
  bomb[0] = 10;
  bomb[1] = bomb[2] = 0;
  check_corrupt(bomb);
}

TEST_CASE("a recorded length longer than the stream is corrupt") {
  std::string body = encode_body("hello");
  body[0] = 6;
  check_corrupt(body);
}

TEST_CASE("bytes behind the stream are corrupt, but for the dot after a space") {
  const std::string body = encode_body("hello");
  for (const char* tail : {".", " ", "..", " .", "x"}) {
    CAPTURE(tail);
    check_corrupt(body + tail);
  }
  std::string text = "{\"n\":0}";
  std::string spaced;
  for (int i = 0; spaced.empty() || spaced.back() != ' '; ++i) {
    text = "{\"n\":" + std::to_string(i) + "}";
    spaced = encode_body(text);
  }
  CHECK(decode_body(spaced, limit) == text);
  CHECK(decode_body(spaced + ".", limit) == text);
  check_corrupt(spaced + "..");
  check_corrupt(spaced + "x");
}

// UUIDs.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <looseleaf/uuid.hpp>
#include <set>
#include <string>

using namespace looseleaf;

namespace {

std::int64_t now_millis() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

TEST_CASE("a UUID is read with or without dashes, in any case, and written in one way") {
  for (const char* text : {"f48b0440ca0c4d34b0f50123456789ab", "F48B0440CA0C4D34B0F50123456789AB",
                           "f48b0440-ca0c-4d34-b0f5-0123456789ab", "f4-8b0440ca0c4d34b0f5012345678-9ab"}) {
    CAPTURE(text);
    const auto uuid = Uuid::parse(text);
    REQUIRE(uuid);
    CHECK(to_string(*uuid) == "f48b0440ca0c4d34b0f50123456789ab");
    CHECK(uuid->bytes[0] == 0xf4);
    CHECK(uuid->bytes[15] == 0xab);
  }
}

TEST_CASE("what is no UUID is not read as one") {
  for (const char* text : {"", "-", "f48b0440ca0c4d34b0f50123456789a", "f48b0440ca0c4d34b0f50123456789abc",
                           "-f48b0440ca0c4d34b0f50123456789ab", "f48b0440ca0c4d34b0f50123456789ab-",
                           "f48b0440--ca0c4d34b0f50123456789ab", "g48b0440ca0c4d34b0f50123456789ab",
                           " f48b0440ca0c4d34b0f50123456789ab", "{f48b0440ca0c4d34b0f50123456789ab}"}) {
    CAPTURE(text);
    CHECK_FALSE(Uuid::parse(text));
  }
}

TEST_CASE("exactly 16 bytes are a UUID") {
  const std::string bytes = "0123456789abcde\xff";
  REQUIRE(Uuid::from_bytes(bytes));
  CHECK(to_string(*Uuid::from_bytes(bytes)) == "303132333435363738396162636465ff");
  CHECK_FALSE(Uuid::from_bytes("0123456789abcde"));
  CHECK_FALSE(Uuid::from_bytes("0123456789abcdef0"));
}

TEST_CASE("UUIDs are ordered as their bytes") {
  CHECK(*Uuid::parse("00000000000000000000000000000080") > *Uuid::parse("0000000000000000000000000000007f"));
  CHECK(*Uuid::parse("80000000000000000000000000000000") > *Uuid::parse("7fffffffffffffffffffffffffffffff"));
}

TEST_CASE("made UUIDs are version 7, carry the time and do not repeat") {
  std::set<Uuid> seen;
  const std::int64_t before = now_millis();
  for (int i = 0; i < 1000; ++i) {
    const Uuid uuid = Uuid::make_v7();
    CHECK((uuid.bytes[6] & 0xF0) == 0x70);
    CHECK((uuid.bytes[8] & 0xC0) == 0x80);
    std::int64_t millis = 0;
    for (std::size_t byte = 0; byte < 6; ++byte) {
      millis = millis * 256 + uuid.bytes[byte];
    }
    CHECK(millis >= before);
    CHECK(millis <= now_millis());
    CHECK(seen.insert(uuid).second);
  }
}

// Misspelt words.
#include "base/nearest.hpp"

#include <doctest/doctest.h>

#include <vector>

using looseleaf::base::nearest;

TEST_CASE("a misspelt word is matched to the nearest one, a strange word to none") {
  const std::vector<std::string_view> words{"get", "put", "query", "create-index", "--limit", "--ids", "ssl_mode"};
  CHECK(nearest("gett", words) == "get");
  CHECK(nearest("qurey", words) == "query");
  CHECK(nearest("create", words) == "create-index");
  CHECK(nearest("creat_index", words) == "create-index");
  CHECK(nearest("--lmit", words) == "--limit");
  CHECK(nearest("SSL-Mode", words) == "ssl_mode");
  CHECK(nearest("something", words) == std::nullopt);
  CHECK(nearest("index_num", std::vector<std::string_view>{"index_tag"}) == std::nullopt);
  CHECK(nearest("", words) == std::nullopt);
  CHECK(nearest("x", {}) == std::nullopt);
}

TEST_CASE("two letters swapped are one mistake, and two mistakes in a short word are another word") {
  const std::vector<std::string_view> words{"user", "each"};
  CHECK(nearest("usre", words) == "user");
  CHECK(nearest("suer", words) == "user");
  CHECK(nearest("acch", words) == std::nullopt);
  CHECK(nearest("u", words) == std::nullopt);
}

TEST_CASE("the nearest of several is taken, and the first of those that are as near") {
  const std::vector<std::string_view> words{"ssl_cert", "ssl_ca", "ssl_capath"};
  CHECK(nearest("ssl_cb", words) == "ssl_ca");
  CHECK(nearest("ssl_capth", words) == "ssl_capath");
  CHECK(nearest("ssl", words) == "ssl_cert");
}

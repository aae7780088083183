// The writer of lines: when it knows that nobody reads them any more.
#include "cli/terminal/output.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>

using namespace looseleaf::cli;

TEST_CASE("the reader of a pipe or a socket is gone once it has closed it, and not before") {
  std::array<int, 2> pipe{};
  std::array<int, 2> sockets{};
  REQUIRE(::pipe(pipe.data()) == 0);
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets.data()) == 0);
  for (const auto& [reads, writes] : {std::pair(pipe[0], pipe[1]), std::pair(sockets[0], sockets[1])}) {
    {
      LineWriter output(writes);
      CHECK_FALSE(output.reader_is_gone());
      CHECK(output.write_line("a line"));
      CHECK(output.flush());
      CHECK_FALSE(output.reader_is_gone());
      std::array<char, 7> line{};
      CHECK(::read(reads, line.data(), line.size()) == 7);  // a socket with unread data would be in error
      ::close(reads);
      CHECK(output.reader_is_gone());
    }
    ::close(writes);
  }
}

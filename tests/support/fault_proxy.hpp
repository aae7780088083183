// A network that fails when told to: a proxy before a server that sees the packets of the MySQL protocol.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "cli/files/descriptor.hpp"

namespace looseleaf::test {

enum class Direction { to_server, to_client };

// One packet that has arrived whole and was not passed on yet.
struct Packet {
  Direction direction;
  std::uint64_t number;          // among those in this direction since the last judge was set, from 1
  std::string_view statement;    // the SQL text that it holds or, to the client, answers, without START TRANSACTION;
                                 // empty for anything else
  bool ends_session = false;     // the client's last
  std::uint64_t connection = 0;  // which one, from 1
};

struct Verdict {
  enum class Kind {
    pass,
    cut,     // both ends of the connection are closed
    reset,   // the same, and the client sees a reset
    stall,   // nothing passes on this connection for a time; then all of it, even if the client has gone meanwhile
    down,    // from now on every connection is cut, until heal()
    silent,  // from now on nothing passes on any connection, and new ones are not answered, until heal()
  };
  Kind kind = Kind::pass;
  std::chrono::milliseconds time{0};  // of a stall
};

using Judge = std::function<Verdict(const Packet&)>;

// Listens on a port of loopback and leads to a server's socket. Plain text only: clients need ssl_mode disabled.
class FaultProxy {
 public:
  explicit FaultProxy(std::string socket);
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;
  ~FaultProxy();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // Asks `judge` about every packet from now on, in the proxy's own thread, and counts from 1 again.
  void judge_by(Judge judge);
  // No judge, a network that is up, and what was stalled goes on. Counts are kept.
  void heal();
  // New connections lead to another server.
  void lead_to(std::string socket);

  // Packets in this direction since the last judge was set.
  [[nodiscard]] std::uint64_t seen(Direction direction) const;
  // What the packet on which the last verdict other than `pass` was spoken held or answered.
  [[nodiscard]] std::string struck() const;

 private:
  struct Connection;
  enum class Network { up, down, silent };

  void run();
  void wake() const;
  void accept();
  void read(Connection& connection, Direction direction);
  void forward(Connection& connection, Direction direction);
  bool obey(const Verdict& verdict, Connection& connection, const std::string& statement);
  Verdict judge(const Packet& packet);

  cli::Descriptor listener_, wake_reader_, wake_writer_;
  std::uint16_t port_ = 0;
  std::list<std::unique_ptr<Connection>> connections_;  // of the thread alone, as is the next
  std::uint64_t accepted_ = 0;

  mutable std::mutex mutex_;  // guards everything below
  std::string socket_;
  Judge judge_;
  std::uint64_t to_server_ = 0, to_client_ = 0;
  std::uint64_t heals_ = 0;
  std::string struck_;
  Network network_ = Network::up;
  bool stopped_ = false;

  std::thread thread_;
};

// A judge that speaks this verdict on the packet `number` of a direction.
[[nodiscard]] Judge at_packet(Direction direction, std::uint64_t number, Verdict verdict);
// A judge that speaks this verdict the first time a packet holds (or, to the client, answers) a statement that begins
// so.
[[nodiscard]] Judge at_statement(Direction direction, std::string beginning, Verdict verdict);
// The same for the COMMIT of a transaction with such a statement.
[[nodiscard]] Judge at_commit_of(Direction direction, std::string beginning, Verdict verdict);

}  // namespace looseleaf::test

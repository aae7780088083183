// A port of loopback that leads to a server's socket, whatever is spoken: TLS too, which a FaultProxy cannot pass on.
// It can be as slow as a distant server.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "cli/files/descriptor.hpp"

namespace looseleaf::test {

// Counts how often a client waits for its servers, one time after the other, over all its connections. A request takes
// part in the round trip after the last one whose answer has arrived. So requests that are sent at about the same time,
// that is, within a round trip, count once.
using RoundTrips = std::atomic<int>;

class Relay {
 public:
  // What is sent arrives after `delay`, in each direction.
  explicit Relay(std::string socket, std::chrono::microseconds delay = {},
                 std::shared_ptr<RoundTrips> round_trips = std::make_shared<RoundTrips>(0));
  // The same with a listener of the caller's, such as listen_at().
  Relay(cli::Descriptor listener, std::string socket, std::chrono::microseconds delay,
        std::shared_ptr<RoundTrips> round_trips = std::make_shared<RoundTrips>(0));
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay();

  [[nodiscard]] std::uint16_t port() const;
  // The most connections that were open at the same moment.
  [[nodiscard]] std::size_t most_connections() const { return most_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Parcel {
    Clock::time_point due;
    std::string bytes;   // empty: the sender has closed the connection
    int round_trip = 0;  // that it ends; 0: none
  };
  struct Flow {
    int from, to;
    std::deque<Parcel> on_the_way = {};
    bool ended = false;
  };
  struct Link {
    cli::Descriptor client, server;
    Flow there, back;
    int round_trip = 0;  // of the last request
  };

  void run();
  void accept();
  void collect(Link& link, Flow& flow) const;
  // Returns false once the sender's end of the connection has arrived.
  [[nodiscard]] bool deliver(Flow& flow) const;
  // Returns how long poll() may wait.
  [[nodiscard]] std::chrono::nanoseconds patience() const;
  // Returns the number of links that their clients have not closed.
  [[nodiscard]] std::size_t open_links() const;

  std::string socket_;
  std::chrono::microseconds delay_;
  std::shared_ptr<RoundTrips> round_trips_;
  cli::Descriptor listener_, wake_reader_{-1}, wake_writer_{-1};
  std::list<Link> links_;  // of the thread alone
  std::atomic<std::size_t> most_ = 0;
  std::thread thread_;
};

}  // namespace looseleaf::test

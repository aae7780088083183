#include "tests/support/relay.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <stdexcept>
#include <vector>

#include "tests/support/sockets.hpp"

namespace looseleaf::test {
namespace {

constexpr short readable = POLLIN;
constexpr auto longest_wait = std::chrono::milliseconds(500);

}  // namespace

Relay::Relay(std::string socket, std::chrono::microseconds delay, std::shared_ptr<RoundTrips> round_trips)
    : Relay(listen_on_loopback(), std::move(socket), delay, std::move(round_trips)) {}

Relay::Relay(cli::Descriptor listener, std::string socket, std::chrono::microseconds delay,
             std::shared_ptr<RoundTrips> round_trips)
    : socket_(std::move(socket)), delay_(delay), round_trips_(std::move(round_trips)), listener_(std::move(listener)) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    throw std::runtime_error("no pipe for the relay");
  }
  wake_reader_ = cli::Descriptor(pipe[0]);
  wake_writer_ = cli::Descriptor(pipe[1]);
  thread_ = std::thread([this] { run(); });
}

Relay::~Relay() {
  wake_writer_.close();
  thread_.join();
}

std::uint16_t Relay::port() const {
  return port_of(listener_);
}

void Relay::accept() {
  cli::Descriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  cli::Descriptor server = connect_to(socket_);
  if (client.get() >= 0 && server.get() >= 0) {
    const int client_file = client.get(), server_file = server.get();
    links_.push_back({std::move(client), std::move(server), {client_file, server_file}, {server_file, client_file}});
    most_ = std::max<std::size_t>(most_, open_links());
  }
}

std::size_t Relay::open_links() const {
  std::size_t open = 0;
  for (const Link& link : links_) {
    pollfd file{link.client.get(), POLLRDHUP, 0};
    ::poll(&file, 1, 0);
    open += (file.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0 ? 1 : 0;
  }
  return open;
}

void Relay::collect(Link& link, Flow& flow) const {
  std::array<char, 65536> bytes{};
  const ssize_t got = ::recv(flow.from, bytes.data(), bytes.size(), 0);
  flow.ended = got <= 0;
  Parcel parcel{Clock::now() + delay_, {bytes.data(), flow.ended ? 0 : static_cast<std::size_t>(got)}};
  if (&flow == &link.there) {
    link.round_trip = *round_trips_ + 1;
  } else {
    parcel.round_trip = link.round_trip;
  }
  flow.on_the_way.push_back(std::move(parcel));
}

bool Relay::deliver(Flow& flow) const {
  while (!flow.on_the_way.empty() && flow.on_the_way.front().due <= Clock::now()) {
    if (flow.on_the_way.front().bytes.empty()) {
      return false;
    }
    const int ended = flow.on_the_way.front().round_trip;
    for (int known = *round_trips_; known < ended && !round_trips_->compare_exchange_weak(known, ended);) {
    }
    send_all(flow.to, flow.on_the_way.front().bytes);
    flow.on_the_way.pop_front();
  }
  return true;
}

std::chrono::nanoseconds Relay::patience() const {
  auto next = Clock::time_point::max();
  for (const Link& link : links_) {
    for (const Flow* flow : {&link.there, &link.back}) {
      next = flow->on_the_way.empty() ? next : std::min(next, flow->on_the_way.front().due);
    }
  }
  const std::chrono::nanoseconds left = std::min<std::chrono::nanoseconds>(next - Clock::now(), longest_wait);
  return std::max(left, std::chrono::nanoseconds(0));
}

void Relay::run() {
  while (true) {
    std::vector<pollfd> files{{wake_reader_.get(), readable, 0}, {listener_.get(), readable, 0}};
    for (const Link& link : links_) {
      for (const Flow* flow : {&link.there, &link.back}) {
        files.push_back({flow->ended ? -1 : flow->from, readable, 0});
      }
    }
    const timespec time{0, patience().count()};
    ::ppoll(files.data(), files.size(), &time, nullptr);
    if (files[0].revents != 0) {
      return;
    }
    std::size_t next = 2;
    for (auto link = links_.begin(); link != links_.end();) {
      bool open = true;
      for (Flow* flow : {&link->there, &link->back}) {
        if (files[next++].revents != 0) {
          collect(*link, *flow);
        }
        open = deliver(*flow) && open;
      }
      link = open ? std::next(link) : links_.erase(link);
    }
    if (files[1].revents != 0) {
      accept();
    }
  }
}

}  // namespace looseleaf::test

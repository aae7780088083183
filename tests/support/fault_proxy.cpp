// One thread that polls every connection; packets are judged when they are whole.
#include "tests/support/fault_proxy.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/support/sockets.hpp"

namespace looseleaf::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t header_size = 4;
constexpr char com_quit = 1, com_query = 3;

void close_with_reset(cli::Descriptor& file) {
  const linger at_once{1, 0};
  ::setsockopt(file.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  file.close();
}

// The length of the first packet with its header; 0 unless all of it is there.
std::size_t first_packet(std::string_view bytes) {
  if (bytes.size() < header_size) {
    return 0;
  }
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  const std::size_t size = header_size + byte(0) + (byte(1) << 8U) + (byte(2) << 16U);
  return bytes.size() < size ? 0 : size;
}

// A transaction begins with its first statement.
std::string statement_in(std::string text) {
  constexpr std::string_view begin = "START TRANSACTION; ";
  return text.starts_with(begin) ? text.substr(begin.size()) : text;
}

}  // namespace

struct FaultProxy::Connection {
  std::uint64_t number = 0;

  // What was read from one end and waits to be sent to the other.
  struct Flow {
    std::string bytes;
    bool ended = false;         // nothing more will come
    bool stall_judged = false;  // the first packet was judged already
  };

  [[nodiscard]] Flow& flow(Direction direction) { return direction == Direction::to_server ? to_server : to_client; }
  [[nodiscard]] int source(Direction direction) const {
    return direction == Direction::to_server ? client.get() : server.get();
  }
  [[nodiscard]] int target(Direction direction) const {
    return direction == Direction::to_server ? server.get() : client.get();
  }
  void cut() {
    client.close();
    server.close();
  }
  [[nodiscard]] bool is_cut() const { return server.get() < 0; }

  cli::Descriptor client{-1}, server{-1};
  Flow to_server, to_client;
  std::string statement;  // the last that the client sent
  std::optional<Clock::time_point> stalled_until;
  std::uint64_t heals = 0;  // when the stall began
};

FaultProxy::FaultProxy(std::string socket)
    : listener_(listen_on_loopback()),
      wake_reader_(-1),
      wake_writer_(-1),
      port_(port_of(listener_)),
      socket_(std::move(socket)) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::runtime_error("no pipe for the proxy");
  }
  wake_reader_ = cli::Descriptor(pipe[0]);
  wake_writer_ = cli::Descriptor(pipe[1]);
  thread_ = std::thread([this] { run(); });
}

FaultProxy::~FaultProxy() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake();
  thread_.join();
}

void FaultProxy::wake() const {
  static_cast<void>(!::write(wake_writer_.get(), "", 1));  // a full pipe wakes as well
}

void FaultProxy::judge_by(Judge judge) {
  const std::lock_guard lock(mutex_);
  judge_ = std::move(judge);
  to_server_ = to_client_ = 0;
  struck_.clear();
}

void FaultProxy::heal() {
  {
    const std::lock_guard lock(mutex_);
    judge_ = nullptr;
    network_ = Network::up;
    ++heals_;
  }
  wake();
}

void FaultProxy::lead_to(std::string socket) {
  const std::lock_guard lock(mutex_);
  socket_ = std::move(socket);
}

std::uint64_t FaultProxy::seen(Direction direction) const {
  const std::lock_guard lock(mutex_);
  return direction == Direction::to_server ? to_server_ : to_client_;
}

std::string FaultProxy::struck() const {
  const std::lock_guard lock(mutex_);
  return struck_;
}

void FaultProxy::run() {
  constexpr int tick = 20;  // milliseconds: how exactly stalls end
  while (true) {
    std::vector<pollfd> files;
    std::vector<std::pair<Connection*, Direction>> sources;
    files.push_back({wake_reader_.get(), POLLIN, 0});
    Network network{};
    std::uint64_t heals = 0;
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) {
        return;
      }
      network = network_;
      heals = heals_;
    }
    if (network != Network::silent) {
      files.push_back({listener_.get(), POLLIN, 0});
    }
    const std::size_t first = files.size();
    bool stalls = false;
    for (const auto& connection : connections_) {
      if (network == Network::down) {
        connection->cut();
        continue;
      }
      if (connection->stalled_until && (Clock::now() >= *connection->stalled_until || connection->heals != heals)) {
        connection->stalled_until.reset();
      }
      stalls = stalls || connection->stalled_until.has_value();
      for (const Direction direction : {Direction::to_server, Direction::to_client}) {
        if (network == Network::up && !connection->stalled_until && !connection->is_cut()) {
          forward(*connection, direction);
        }
        if (!connection->is_cut() && !connection->flow(direction).ended) {
          files.push_back({connection->source(direction), POLLIN, 0});
          sources.emplace_back(connection.get(), direction);
        }
      }
    }
    const bool any_cut = std::erase_if(connections_, [](const auto& connection) { return connection->is_cut(); }) > 0;
    if (any_cut) {
      continue;
    }
    if (::poll(files.data(), files.size(), stalls ? tick : -1) < 0) {
      continue;
    }
    std::array<char, 64> wakes{};
    while (::read(wake_reader_.get(), wakes.data(), wakes.size()) > 0) {
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (files[first + i].revents != 0) {
        read(*sources[i].first, sources[i].second);
      }
    }
    if (network != Network::silent && files[1].revents != 0) {
      accept();
    }
  }
}

void FaultProxy::accept() {
  cli::Descriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  std::string socket;
  {
    const std::lock_guard lock(mutex_);
    if (network_ != Network::down) {
      socket = socket_;
    }
  }
  auto connection = std::make_unique<Connection>();
  connection->server = connect_to(socket);
  if (connection->is_cut()) {
    close_with_reset(client);
    return;
  }
  connection->client = std::move(client);
  connection->number = ++accepted_;
  connections_.push_back(std::move(connection));
}

void FaultProxy::read(Connection& connection, Direction direction) {
  std::array<char, 65536> chunk{};
  const ssize_t got = ::recv(connection.source(direction), chunk.data(), chunk.size(), 0);
  Connection::Flow& flow = connection.flow(direction);
  if (got <= 0) {
    flow.ended = true;
  } else {
    flow.bytes.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

// Passes on every whole packet, until a verdict says otherwise.
void FaultProxy::forward(Connection& connection, Direction direction) {
  Connection::Flow& flow = connection.flow(direction);
  for (std::size_t size = 0; (size = first_packet(flow.bytes)) > 0;) {
    const std::string packet = flow.bytes.substr(0, size);
    const bool is_command = direction == Direction::to_server && size > header_size && packet[header_size - 1] == 0;
    if (direction == Direction::to_server) {
      const bool is_query = is_command && packet[header_size] == com_query;
      connection.statement = is_query ? statement_in(packet.substr(header_size + 1)) : std::string();
    }
    const bool is_last = is_command && size == header_size + 1 && packet[header_size] == com_quit;
    if (!flow.stall_judged && !obey(judge({direction, 0, connection.statement, is_last, connection.number}), connection,
                                    connection.statement)) {
      flow.stall_judged = true;
      return;
    }
    flow.stall_judged = false;
    flow.bytes.erase(0, size);
    send_all(connection.target(direction), packet);
  }
  if (flow.ended) {
    ::shutdown(connection.target(direction), SHUT_WR);
    if (direction == Direction::to_client || connection.to_client.ended) {
      connection.cut();
    }
  }
}

Verdict FaultProxy::judge(const Packet& packet) {
  Judge judge;
  Packet numbered = packet;
  {
    const std::lock_guard lock(mutex_);
    numbered.number = ++(packet.direction == Direction::to_server ? to_server_ : to_client_);
    judge = judge_;
  }
  return judge ? judge(numbered) : Verdict{};
}

// False if the packet must not be passed on now.
bool FaultProxy::obey(const Verdict& verdict, Connection& connection, const std::string& statement) {
  if (verdict.kind == Verdict::Kind::pass) {
    return true;
  }
  const std::lock_guard lock(mutex_);
  struck_ = statement.empty() ? "(no statement)" : statement;
  switch (verdict.kind) {
    case Verdict::Kind::pass:
      return true;
    case Verdict::Kind::cut:
      connection.cut();
      break;
    case Verdict::Kind::reset:
      close_with_reset(connection.client);
      connection.cut();
      break;
    case Verdict::Kind::stall:
      connection.stalled_until = Clock::now() + verdict.time;
      connection.heals = heals_;
      break;
    case Verdict::Kind::down:
      network_ = Network::down;
      connection.cut();
      break;
    case Verdict::Kind::silent:
      network_ = Network::silent;
      break;
  }
  return false;
}

Judge at_packet(Direction direction, std::uint64_t number, Verdict verdict) {
  return [=](const Packet& packet) {
    return packet.direction == direction && packet.number == number ? verdict : Verdict{};
  };
}

Judge at_statement(Direction direction, std::string beginning, Verdict verdict) {
  return [=, done = std::make_shared<bool>(false)](const Packet& packet) {
    if (*done || packet.direction != direction || !packet.statement.starts_with(beginning)) {
      return Verdict{};
    }
    *done = true;
    return verdict;
  };
}

Judge at_commit_of(Direction direction, std::string beginning, Verdict verdict) {
  return [=, connection = std::make_shared<std::uint64_t>(0)](const Packet& packet) {
    if (packet.direction == Direction::to_server && packet.statement.starts_with(beginning)) {
      *connection = packet.connection;
    }
    if (packet.connection != *connection || packet.direction != direction || packet.statement != "COMMIT") {
      return Verdict{};
    }
    *connection = 0;
    return verdict;
  };
}

}  // namespace looseleaf::test

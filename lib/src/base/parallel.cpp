// Runs a few independent blocking tasks at once.
#include "base/parallel.hpp"

#include <exception>
#include <thread>

namespace looseleaf::base {

void run_all(const std::vector<std::function<void()>>& tasks) {
  std::vector<std::exception_ptr> errors(tasks.size());
  const auto run = [&](std::size_t i) {
    try {
      tasks[i]();
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < tasks.size(); ++i) {
      threads.emplace_back(run, i);
    }
    if (!tasks.empty()) {
      run(0);
    }
  }
  for (const auto& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
}

}  // namespace looseleaf::base

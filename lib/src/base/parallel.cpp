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
    std::size_t started = 1;
    try {
      for (threads.reserve(tasks.size()); started < tasks.size(); ++started) {
        threads.emplace_back(run, started);
      }
    } catch (const std::exception&) {  // no memory or no thread: the others are run below
    }
    if (!tasks.empty()) {
      run(0);
    }
    for (; started < tasks.size(); ++started) {
      run(started);
    }
  }
  for (const auto& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
}

}  // namespace looseleaf::base

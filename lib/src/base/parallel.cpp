// Runs a few independent blocking tasks at once. The threads are kept, because starting one takes as long as a server's
// answer.
#include "base/parallel.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <looseleaf/error.hpp>
#include <memory>
#include <mutex>
#include <thread>

#include "base/pool.hpp"

namespace looseleaf::base {
namespace {

using Task = std::function<void()>;

void run(const Task& task, std::exception_ptr& error) noexcept {
  try {
    task();
  } catch (...) {
    error = std::current_exception();
  }
}

// A thread that runs one task at a time and is never stopped.
class Worker {
 public:
  Worker() {
    std::thread([this] { work(); }).detach();
  }

  // Starts a task. Both references must stay valid until finish() returns.
  void start(const Task& task, std::exception_ptr& error) {
    {
      const std::lock_guard lock(mutex_);
      task_ = &task;
      error_ = &error;
    }
    changed_.notify_one();
  }

  // Waits until the task has ended.
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return task_ == nullptr; });
  }

 private:
  [[noreturn]] void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return task_ != nullptr; });
      lock.unlock();
      run(*task_, *error_);
      lock.lock();
      task_ = nullptr;
      changed_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;  // notified by the thread and by its user; the other one waits
  const Task* task_ = nullptr;       // null when no task is running
  std::exception_ptr* error_ = nullptr;
};

using Workers = Pool<Worker>;  // the idle threads

// Without a `stop`, tasks for which there is no thread run on this one.
void run_tasks(const std::vector<Task>& tasks, const Task* stop) {
  std::vector<std::exception_ptr> errors(tasks.size());
  std::deque<Workers::Loan> borrowed;
  std::size_t started = 1;
  std::exception_ptr shortage;
  try {
    for (; started < tasks.size(); ++started) {
      borrowed.emplace_back(shared_pool<Worker>())->start(tasks[started], errors[started]);
    }
  } catch (const std::exception&) {  // out of memory or threads
    shortage = std::current_exception();
  }
  if (shortage && stop != nullptr) {
    (*stop)();
  } else if (!tasks.empty()) {
    run(tasks[0], errors[0]);
    for (; started < tasks.size(); ++started) {
      run(tasks[started], errors[started]);
    }
  }
  for (auto& worker : borrowed) {
    worker->finish();
  }
  if (shortage && stop != nullptr) {
    throw Error(ErrorCode::io, "this process ran out of memory or threads", {}, "give it more of them");
  }
  for (const auto& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
}

}  // namespace

void run_all(const std::vector<Task>& tasks) {
  if (tasks.size() == 1) {
    tasks.front()();
    return;
  }
  run_tasks(tasks, nullptr);
}

void run_together(const std::vector<Task>& tasks, const Task& stop) {
  run_tasks(tasks, &stop);
}

}  // namespace looseleaf::base

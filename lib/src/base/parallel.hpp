// Runs a few independent blocking tasks at once.
#pragma once

#include <functional>
#include <vector>

namespace looseleaf::base {

// Runs all tasks and returns when all have ended. The first task runs on the calling thread, each other task on a
// thread of its own; if no more threads can be started, the rest run one after another on the calling thread. Then
// rethrows the exception of the first task, in their order, that threw. The threads are kept for later calls.
void run_all(const std::vector<std::function<void()>>& tasks);

// The same for tasks that end only together: if no more threads can be started, calls `stop`, which must not throw,
// waits for those that have begun, and throws Error(io).
void run_together(const std::vector<std::function<void()>>& tasks, const std::function<void()>& stop);

}  // namespace looseleaf::base

// Runs a few independent blocking tasks at once.
#pragma once

#include <functional>
#include <vector>

namespace looseleaf::base {

// Runs all tasks, the first one on the calling thread, each of the others on a thread of its own, or one after another
// on the calling thread if no more threads can be had; returns when all have ended. Then rethrows the exception of the
// first task, in their order, that threw. The threads are kept for later calls.
void run_all(const std::vector<std::function<void()>>& tasks);

}  // namespace looseleaf::base

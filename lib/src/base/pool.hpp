// Lends objects that are expensive to make. They are not kept per thread: if no memory is left to register a thread's
// destructors, glibc ends the process.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

namespace looseleaf::base {

// Thread-safe. All loans must end before the pool is destroyed.
template <typename T>
class Pool {
  struct Node {
    T value;
    std::unique_ptr<Node> next;  // set while the object is idle
  };

 public:
  // Lends one object until the loan goes out of scope.
  class Loan {
   public:
    explicit Loan(Pool& pool) : pool_(pool), node_(pool.take()) {}
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { pool_.give_back(std::move(node_)); }

    T& operator*() const { return node_->value; }
    T* operator->() const { return &node_->value; }

   private:
    Pool& pool_;
    std::unique_ptr<Node> node_;
  };

 private:
  std::unique_ptr<Node> take() {
    const std::lock_guard lock(mutex_);
    if (!first_) {
      return std::make_unique<Node>();
    }
    return std::exchange(first_, std::move(first_->next));
  }

  void give_back(std::unique_ptr<Node> node) noexcept {
    const std::lock_guard lock(mutex_);
    node->next = std::move(first_);
    first_ = std::move(node);
  }

  std::mutex mutex_;
  std::unique_ptr<Node> first_;
};

// Returns the pool of this type that the whole process shares. It is never destroyed, because a thread may still run
// while the process ends. A forked child starts with an empty one: a thread that the child does not have may have held
// the lock of its parent's.
template <typename T>
Pool<T>& shared_pool() {
  static std::atomic<Pool<T>*> current{nullptr};
  [[maybe_unused]] static const int registered = ::pthread_atfork(nullptr, nullptr, [] { current = nullptr; });
  Pool<T>* pool = current;
  if (pool == nullptr) {
    auto made = std::make_unique<Pool<T>>();
    if (current.compare_exchange_strong(pool, made.get())) {
      pool = made.release();
    }
  }
  return *pool;
}

}  // namespace looseleaf::base

// Objects that are costly to make, lent to whoever needs one. They are not kept per thread because glibc ends a process
// that has no memory left to note what a thread must destroy at its end.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace looseleaf::base {

// Safe from any thread. What was lent must be back before the pool goes.
template <typename T>
class Pool {
  struct Node {
    T value;
    std::unique_ptr<Node> next;  // while it is idle
  };

 public:
  // One object, until it goes out of scope.
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

}  // namespace looseleaf::base

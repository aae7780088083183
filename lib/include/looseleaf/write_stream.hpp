// Many puts and deletes at full speed.
#pragma once

#include <functional>
#include <looseleaf/entity_reader.hpp>
#include <looseleaf/export.hpp>
#include <looseleaf/uuid.hpp>
#include <looseleaf/write.hpp>
#include <memory>
#include <string>

namespace looseleaf {

class Datastore;

// Writes a long sequence of puts and deletes at full speed with bounded memory: texts are parsed and compressed by a
// few threads, and one writer per shard stores them in batches as large as the input comes in fast. Writes of one id
// take effect in the order given.
class LOOSELEAF_EXPORT WriteStream {
 public:
  // `on_result` is called once per put() and remove(), in their order, from one thread of the stream's own.
  // It may block (nothing is lost, writing waits) but must not throw. Throws Error(io) if no threads can be had.
  WriteStream(Datastore& datastore, std::function<void(WriteResult)> on_result);
  // Finishes what was given; prefer finish().
  ~WriteStream();

  // Both block while too much is in flight. `position` comes back in the result and in error messages. If the stream
  // itself has failed, for want of memory or because on_result threw after all, every member function throws that:
  // what no result was given for may be stored or not.
  void put(std::string text, Position position = {});
  void remove(Uuid id, Position position = {});
  // Returns when the results of everything given so far were delivered; more may follow.
  void flush();
  // Returns when the last result was delivered.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace looseleaf

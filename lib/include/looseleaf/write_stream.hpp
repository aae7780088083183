// Many puts and deletes at full speed.
#pragma once

#include <functional>
#include <looseleaf/entity_reader.hpp>
#include <looseleaf/export.hpp>
#include <looseleaf/key.hpp>
#include <looseleaf/uuid.hpp>
#include <looseleaf/write.hpp>
#include <memory>
#include <string>

namespace looseleaf {

class Datastore;

// Writes a long sequence of puts and deletes at full speed in bounded memory. A few threads parse and compress the
// texts. One writer per server stores them in batches; batches grow when input arrives faster. Writes of one id take
// effect in the order in which they were given.
class LOOSELEAF_EXPORT WriteStream {
 public:
  // `on_result` is called once per put() and remove(), in their order, from one thread that the stream owns. It may
  // block, which slows writing down but loses nothing. It must not throw, and must not call the stream: that would wait
  // for itself. With a key, puts are as with Datastore::put. Throws Error(io) if threads cannot be started.
  WriteStream(Datastore& datastore, std::function<void(WriteResult)> on_result, Key key = {});
  // Waits for all writes, as finish() does, but cannot report an error. Call finish() first.
  ~WriteStream();

  // Both calls block while too many writes are waiting. `position` is returned in the result and in error messages.
  // Throws Error(usage) if the condition's stamp is malformed, or after finish(). If the stream itself has failed,
  // because memory ran out or `on_result` threw, every member function throws that error. Writes that have no result
  // yet may then be stored or not.
  void put(std::string text, Position position = {}, const WriteCondition& condition = {});
  void remove(Uuid id, Position position = {}, const WriteCondition& condition = {});
  // Returns when all results for the writes so far were delivered. More writes may follow, and other threads may write
  // meanwhile.
  void flush();
  // Waits for all writes and returns when the last result was delivered. No writes may follow. Only one thread may call
  // it.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace looseleaf

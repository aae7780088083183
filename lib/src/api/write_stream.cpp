// The public class WriteStream.
#include <looseleaf/write_stream.hpp>

#include "api/store.hpp"
#include "write/pipeline.hpp"

namespace looseleaf {

struct WriteStream::Impl {
  Impl(std::shared_ptr<Datastore::Impl> shared, std::function<void(WriteResult)> on_result, Key key)
      : store(std::move(shared)), pipeline(store->shards, store->writer, std::move(on_result), std::move(key)) {}

  const std::shared_ptr<Datastore::Impl> store;  // outlives the pipeline
  write::Pipeline pipeline;
};

WriteStream::WriteStream(Datastore& datastore, std::function<void(WriteResult)> on_result, Key key)
    : impl_(std::make_unique<Impl>(datastore.impl_, std::move(on_result), std::move(key))) {}

WriteStream::~WriteStream() = default;

void WriteStream::put(std::string text, Position position, const WriteCondition& condition) {
  impl_->pipeline.put(std::move(text), position, write::to_condition(condition));
}

void WriteStream::remove(Uuid id, Position position, const WriteCondition& condition) {
  impl_->pipeline.remove(id, position, write::to_condition(condition));
}

void WriteStream::flush() {
  impl_->pipeline.flush();
}

void WriteStream::finish() {
  impl_->pipeline.finish();
}

}  // namespace looseleaf

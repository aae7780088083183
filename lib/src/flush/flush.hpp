// Stores buffered writes once the shards that they need answer.
#pragma once

#include <looseleaf/buffer.hpp>

#include "job/job.hpp"
#include "shard/buffered_writes.hpp"
#include "shard/shards.hpp"

namespace looseleaf::flush {

using Counts = shard::BufferCountsByShard;

// Stores the buffered writes of these shards, those of each id in the order in which they were accepted, or notes why
// they are refused.
// Then deletes their copies and receipts. Any number of processes may do so at once: each write takes effect once. Does
// not throw for a server's error: the report has it. Throws what a checkpoint of the job throws; what was stored by
// then is in the report.
void flush(shard::Shards& shards, job::Job& job, const Counts& counts, FlushReport& report);
// See Datastore::flush.
void flush(shard::Shards& shards, JobControl& control, FlushReport& report);

}  // namespace looseleaf::flush

// The steps of the protocol. docs/protocol.md, the model in tests/model and the tests use the same names.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/failpoint.hpp"

namespace looseleaf::shard {

// clang-format off
namespace steps {
inline constexpr std::string_view
    put_fence = "put.fence",
    put_lock_entities = "put.lock_entities",
    put_check_condition = "put.check_condition",  // if there are conditions
    put_check_receipt = "put.check_receipt",  // if there are buffered writes
    put_write_entities = "put.write_entities",
    put_write_receipt = "put.write_receipt",
    put_check_copy = "put.check_copy",  // of buffered writes, on the shard that has the copy
    put_insert_index_rows = "put.insert_index_rows",  // for each index on each index shard
    put_make_durable = "put.make_durable",  // on each index shard
    put_write_cleanup = "put.write_cleanup",
    put_commit = "put.commit",
    put_resolve = "put.resolve",
    put_reconcile = "put.reconcile",
    buffer_copy = "buffer.copy",  // on each shard that gets copies
    buffer_commit = "buffer.commit",  // likewise
    flush_refuse = "flush.refuse",
    flush_delete_copies = "flush.delete_copies",  // on each shard that has some
    flush_settle = "flush.settle",
    refused_retry = "refused.retry",
    refused_drop = "refused.drop",
    reconcile_fence = "reconcile.fence",
    reconcile_lock_entities = "reconcile.lock_entities",
    reconcile_read_index_rows = "reconcile.read_index_rows",
    reconcile_change_index_rows = "reconcile.change_index_rows",  // on each index shard
    reconcile_prove = "reconcile.prove",
    reconcile_commit = "reconcile.commit",  // on each index shard
    sweep_look = "sweep.look",
    sweep_look_again = "sweep.look_again",
    fence_commit = "fence.commit",  // ends all work done with the fence held exclusively
    durable_commit = "durable.commit",  // in each step that makes something durable
    barrier_take = "barrier.take",
    freeze_change = "freeze.change",  // of the state of a shard, in freeze and in thaw
    intent_commit = "intent.commit",  // in create.intent and drop.intent
    create_intent = "create.intent",
    create_demote = "create.demote",
    create_table = "create.table",
    create_publish = "create.publish",
    create_ready = "create.ready",
    create_finish = "create.finish",
    backfill_claim = "backfill.claim",  // for each index
    backfill_read = "backfill.read",
    backfill_fence = "backfill.fence",
    backfill_insert_index_rows = "backfill.insert_index_rows",  // for each index on each index shard
    backfill_commit_index_rows = "backfill.commit_index_rows",  // within the previous step, with a limited rate
    backfill_advance = "backfill.advance",
    backfill_commit = "backfill.commit",
    backfill_reconcile = "backfill.reconcile",
    backfill_prove = "backfill.prove",
    backfill_prove_durable = "backfill.prove_durable",
    backfill_publish = "backfill.publish",
    backfill_finish = "backfill.finish",
    drop_intent = "drop.intent",
    drop_stop_queries = "drop.stop_queries",
    drop_stop_writers = "drop.stop_writers",
    drop_table = "drop.table",
    drop_catalog = "drop.catalog",
    drop_finish = "drop.finish",
    cleanup_delete = "cleanup.delete",  // in put.reconcile, in clean, and after reconcile.commit of a put
    purge_fence = "purge.fence",
    purge_lock_entities = "purge.lock_entities",
    purge_read_index_rows = "purge.read_index_rows",
    purge_note = "purge.note",
    purge_delete = "purge.delete",
    purge_commit = "purge.commit",
    query_read_index_rows = "query.read_index_rows",
    query_check_index = "query.check_index",
    query_read_entities = "query.read_entities",
    query_look_again = "query.look_again",
    query_find_changed = "query.find_changed",
    feed_scan = "feed.scan",
    feed_read = "feed.read",
    feed_conclude = "feed.conclude",
    trigger_claim = "trigger.claim",
    trigger_deliver = "trigger.deliver",
    trigger_store = "trigger.store",
    copy_claim = "copy.claim",
    copy_store = "copy.store",
    move_announce = "move.announce",
    move_freeze = "move.freeze",
    move_drain = "move.drain",
    move_compare = "move.compare",
    move_check_buffers = "move.check_buffers",
    move_prepare = "move.prepare",
    move_decide = "move.decide",
    move_mark = "move.mark",
    move_open = "move.open",
    move_undo = "move.undo";
}  // namespace steps
// clang-format on

using Step = base::FailpointScope;

}  // namespace looseleaf::shard

/* What fails from outside. */

inline cut_session(p) { cuts++; d_step { forget_locks(p) }; cut = cut | bit(p) }

#if CRASHES > 0
#define all_sessions 255
inline crash_index_shard(v) {
  row[v] = on_disk_row[v]; deleting[v] = 0; inserting[v] = 0; broken[v] = all_sessions
}
inline crash_entity_shard() {
  cut = cut | sfence | srow | unanswered;
  if :: xfence -> cut = cut | bit(xfence) :: else fi;
  if :: xrow -> cut = cut | bit(xrow) :: else fi;
  xfence = 0; sfence = 0; xrow = 0; srow = 0;
  body = on_disk_body; stamp = on_disk_stamp; records = on_disk_records; took_effect = on_disk_took_effect; overtaken = on_disk_overtaken;
  assert(body == ABSENT || stamp >= acknowledged_stamp)
}
#endif

proctype Faults() {
  do
#if CUTS > 0
#if RECONCILERS > 0
  :: atomic { !quiet && cuts < CUTS && holds(R1) -> cut_session(R1) }
#endif
#if RECONCILERS > 1
  :: atomic { !quiet && cuts < CUTS && holds(R2) -> cut_session(R2) }
#endif
  :: atomic { !quiet && cuts < CUTS && holds(W1) -> cut_session(W1) }
#if WRITERS > 1
  :: atomic { !quiet && cuts < CUTS && holds(W2) -> cut_session(W2) }
#endif
#if BACKFILLERS > 0
  :: atomic { !quiet && cuts < CUTS && holds(BACK) -> untidy = true; cut_session(BACK) }
#endif
#endif
#if FAILOVERS > 0
  :: atomic { !quiet && failovers < FAILOVERS && !(fence_free && row_free) -> failovers++;
       demoted = demoted | sfence | srow;
       if :: xfence -> demoted = demoted | bit(xfence) :: else fi;
       if :: xrow -> demoted = demoted | bit(xrow) :: else fi;
       exiled = exiled | (xfence -> bit(xfence) : 0);
#ifdef EVENTUAL
       if :: !lagging -> lagging = true; body_to_come = body; body = body_before :: else fi;
#endif
       xfence = 0; sfence = 0; xrow = 0; srow = 0 }
#ifdef EVENTUAL
  :: atomic { lagging && row_free -> lagging = false; body = body_to_come; assert(!missing) }
#endif
#endif
#if FAILBACKS > 0                       /* what was put on the other server meanwhile came by replication */
  :: atomic { !quiet && failbacks < FAILBACKS && exiled == bit(R1) && fence_free && row_free -> failbacks++;
       demoted = demoted & ~exiled; exiled = 0; xfence = R1 }
#endif
#if CRASHES > 0
  :: atomic { !quiet && crashes < CRASHES && (body != on_disk_body || stamp != on_disk_stamp) -> crashes++; untidy = true;
       crash_entity_shard(); assert(!missing) }
#ifdef ONE_INDEX_SHARD
  :: atomic { !quiet && crashes < CRASHES && (row[1] != on_disk_row[1] || row[2] != on_disk_row[2]) -> crashes++;
       untidy = true; crash_index_shard(1); crash_index_shard(2); assert(!missing) }
#else
  :: atomic { !quiet && crashes < CRASHES && row[1] != on_disk_row[1] -> crashes++; untidy = true;
       crash_index_shard(1); assert(!missing) }
  :: atomic { !quiet && crashes < CRASHES && row[2] != on_disk_row[2] -> crashes++; untidy = true;
       crash_index_shard(2); assert(!missing) }
#endif
#endif
#if LOST_LOCKS > 0 && ADMINS > 1
  :: atomic { !quiet && lost_locks < LOST_LOCKS && catalog_lock -> lost_locks++; catalog_lock = 0 }
#endif
#if LOST_LOCKS > 0 && BACKFILLERS > 1
  :: atomic { !quiet && lost_locks < LOST_LOCKS && backfill_lock -> lost_locks++; backfill_lock = 0 }
#endif
#if WIPES > 0
  :: atomic { !quiet && wipes < WIPES && catalog_lock == 0 && state[0] != NONE && state[1] != NONE -> wipes++;
       wiped = true; table = 0; row[1] = false; row[2] = false; roll_back_rows(R1);
       state[1] = NONE; generation[1] = 0; job[1] = 0; token[1] = 0 }
#endif
  :: atomic { quiet -> break }
  od
}

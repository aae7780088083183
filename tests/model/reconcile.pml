/* reconcile, the sweep of orphans, clean and purge: lib/src/reconcile/reconcile.cpp, clean.cpp, purge.cpp. */

#ifdef PURGE_DURING_BACKFILL
#define before_backfill true
#elif BACKFILLERS > 0
#define before_backfill (job[0] == 0 || stamp < job_barrier)
#else
#define before_backfill true
#endif
#ifdef PURGE_FRESH
#define old_enough true
#else
#define old_enough (recent == 0)
#endif
#define is_old_tombstone (body == TOMB && old_enough && before_backfill)
#ifdef PURGE_AS_FOUND
#define as_old_as(before) true
#else
#define as_old_as(before) (stamp < before)
#endif

/* Only conditions need this: no later version gets the stamp of one that was purged. */
#if defined(CONDITIONS) && !defined(PURGE_ABOVE_FLOOR)
#define below_floor (stamp < floor)
#else
#define below_floor true
#endif

#if ADMINS > 0
#define being_built(g) ((state[0] == BUILDING && generation[0] == g) || (state[1] == BUILDING && generation[1] == g))
#define forget_job(s, g) if :: job_generation[s] == g -> job[s] = 0 :: else fi
#endif
#define idle_rows(r) (deleting[1] != r && deleting[2] != r && inserting[1] != r && inserting[2] != r)
#if CRASHES > 0
#define to_delete(v, seen) (seen && row[v] && cur != v)
#define to_insert(v, seen) (!seen && !row[v] && cur == v)
#else  /* what is read just before it is changed */
#define to_delete(v, seen) (row[v] && cur != v)
#define to_insert(v, seen) (!row[v] && cur == v)
#endif
inline change_row(r, v, seen) {
  if :: is_broken(v, r) -> goto abandon :: else fi;
  if
  :: to_delete(v, seen) -> deleting[v] = r
  :: to_insert(v, seen) -> inserting[v] = r
  :: else
  fi
}
inline serve(from, to) {
#if BACKFILLERS > 0
  if :: wanted[1] == from -> wanted[1] = to :: else fi; if :: wanted[2] == from -> wanted[2] = to :: else fi
#else
  skip
#endif
}

#define abandons atomic { !quiet -> goto abandon }  /* it dies, gives up, or is refused */
inline end_of_pass() { if :: quiet -> last++ :: else fi }

proctype Reconciler(byte r) {
  byte cur, until, known = 1; bool seen1, seen2;
  byte listed;                        /* the records that clean is at */
idle:
  atomic { cur = 0; until = 0; known = 1; seen1 = false; seen2 = false; listed = 0; busy = busy & ~bit(r);
    connect(r); serve(2, 1) }
  atomic {
    if
    :: !quiet -> busy = busy | bit(r); serve(1, 2); goto reconcile
    :: !quiet && cleans < CLEANS && records != 0 -> busy = busy | bit(r); cleans++; goto clean
    :: !quiet && SWEEPS -> busy = busy | bit(r); goto sweep
    :: !quiet && PURGES && is_old_tombstone -> busy = busy | bit(r); until = stamp + 1;  /* seen without a lock */
#ifdef PURGE_UNRECONCILED
       goto purge
#else
       goto reconcile
#endif
    :: quiet && r == R1 && last == CLEAN -> goto clean
    :: quiet && r == R1 && last == RECONCILE -> goto reconcile
    :: quiet && r == R1 && last == SWEEP ->
#ifdef NO_SWEEP
       last = DONE; goto idle
#else
       goto sweep
#endif
    :: quiet && (r != R1 || last == DONE) -> goto stopped
    fi }
clean:
  atomic { listed = records;
#ifdef RECORD_FIRST
    records = 0;
#endif
    if :: listed == 0 -> end_of_pass(); goto idle :: else fi }
reconcile:
  atomic { /* reconcile.fence */ /* reconcile.lock_entities */
    xfence == 0 && xrow == 0 -> learn_catalog; cur = body; connect(r);
    if
    :: known == 0 -> goto end
    :: known != 0 && cur == ABSENT -> if :: listed != 0 -> goto sweep :: else -> goto end fi
    :: else
    fi;
#ifndef RECONCILE_WITHOUT_FENCE
    sfence = sfence | bit(r);
#endif
#ifndef RECONCILE_WITHOUT_LOCK
    srow = srow | bit(r);
#endif
    goto look }
sweep:
  atomic { /* sweep.look */
#ifdef SHARED_SWEEP
    xfence == 0 ->
#else
    fence_free ->
#endif
    learn_catalog; cur = body; connect(r);
#ifndef SWEEP_WITHOUT_LOOK
    if :: cur != ABSENT || known == 0 -> goto end :: else fi;
#else
    cur = ABSENT;
    if :: known == 0 -> goto end :: else fi;
#endif
#ifdef SHARED_SWEEP
    sfence = sfence | bit(r) }
#else
    xfence = r }
#endif
look:
#if defined(UNIQUE) || CRASHES > 0
  atomic { seen1 = row[1]; seen2 = row[2]; /* reconcile.read_index_rows */
    if :: seen1 == (cur == 1) && seen2 == (cur == 2) -> goto end :: else fi }
#endif
#ifdef UNIQUE
  if /* reconcile.change_index_rows: what was read and is extra goes, then what is missing comes */
  :: atomic { can_insert(1) ->
       if :: is_broken(1, r) -> goto abandon :: else fi;
       if :: seen1 && cur != 1 && row[1] -> deleting[1] = r :: else fi;
       if :: seen2 && cur != 2 && row[2] -> deleting[2] = r :: else fi;
       if
       :: has_value(cur) && row[3 - cur] && deleting[3 - cur] != r ->  /* a row nobody told us of */
#ifndef INSERT_BEHIND_UNREAD_ROW
            goto abandon
#else
            skip
#endif
       :: has_value(cur) && !row[3 - cur] && !row[cur] -> inserting[cur] = r
       :: has_value(cur) && row[3 - cur] && deleting[3 - cur] == r -> inserting[cur] = r
       :: else
       fi;
       seen1 = false; seen2 = false }
  :: abandons
  fi;
#elif defined(ONE_INDEX_SHARD)
  if /* reconcile.read_index_rows */ /* reconcile.change_index_rows */
  :: atomic { unlocked(1) && unlocked(2) ->
       if :: table == 0 -> goto abandon :: else fi;
       change_row(r, 1, seen1); change_row(r, 2, seen2);
       if :: idle_rows(r) -> goto end :: else fi }
  :: abandons
  fi;
#else
  if
  :: atomic { unlocked(1) -> change_row(r, 1, seen1) }
  :: abandons
  fi;
  if
  :: atomic { unlocked(2) -> change_row(r, 2, seen2); if :: idle_rows(r) -> goto end :: else fi }
  :: abandons
  fi;
#endif
#if defined(PROVE_BY_A_READ)           /* read_only does not tell that a primary is in a minority */
  if :: atomic { is_cut(r) -> goto abandon } :: else fi;
#elif !defined(RECONCILE_WITHOUT_PROOF)
  atomic { /* reconcile.prove */ /* sweep.look_again */ /* fence.commit */
    if
    :: lost(r) -> goto abandon
#ifndef SWEEP_WITHOUT_SECOND_LOOK
    :: !lost(r) && cur == ABSENT && body != ABSENT -> goto abandon
#endif
    :: else -> write_entity_log(); release(r)
    fi }
#endif
  if /* reconcile.commit: on the first index shard, or the only one */
  :: atomic { !is_broken(1, r) -> commit_row(r, 1);
#ifdef ONE_INDEX_SHARD
       commit_row(r, 2);
#endif
       assert(!missing) }
  :: atomic { !quiet && late_commits < LATE_COMMITS -> late_commits++; in_flight++; hand_rows_to_late(r); run LateCommit();
       goto abandon }
  :: abandons
  fi;
#if CRASHES > 0
  if :: atomic { !is_broken(1, r) -> write_index_log(1) } :: abandons fi;
#endif
#ifndef ONE_INDEX_SHARD
  if
  :: atomic { !is_broken(2, r) -> commit_row(r, 2); assert(!missing) }
  :: abandons
  fi;
#if CRASHES > 0
  if :: atomic { !is_broken(2, r) -> write_index_log(2) } :: abandons fi;
#endif
#endif
end:
  atomic { release(r);
    if
    :: listed != 0
    :: listed == 0 && until != 0 -> goto purge
    :: else -> serve(2, 0); end_of_pass(); goto idle
    fi }
  atomic { records = records & ~listed; write_entity_log(); end_of_pass(); goto idle } /* cleanup.delete */
purge:
  connect(r);                                          /* so that others come in between */
  atomic { /* purge.fence */ /* purge.lock_entities */
    xfence == 0 && row_free -> learn_catalog;
    if :: body == TOMB && as_old_as(until) :: else -> goto abandon fi;
#ifndef PURGE_WITHOUT_LOCK
    xrow = r;
#endif
#ifndef PURGE_WITHOUT_FENCE
    sfence = sfence | bit(r);
#endif
    skip }
#ifndef PURGE_BLIND
  atomic { if :: known != 0 && (row[1] || row[2] || table == 0) -> goto abandon :: else fi } /* purge.read_index_rows */
#endif
  if
  :: atomic { lost(r) -> goto abandon }
  :: atomic { !lost(r) && (xrow == r || xrow == 0) -> assert(body == TOMB); body = ABSENT; /* purge.delete */ /* purge.commit */
       write_entity_log();
#if CRASHES > 0
       acknowledged_stamp = 0;
#endif
       skip }
  fi;
abandon:
  atomic { assert(!quiet); roll_back_rows(r); release(r); goto idle }
stopped: skip
}

/* With RECONCILERS=0: passes of clean, and purge. */
proctype Cleaner() {
  byte before = 0;
#if BACKFILLERS > 0
  byte s, g;
#endif
  do
  :: atomic { cleans < CLEANS && records != 0 && can_reconcile -> cleans++; reconcile_at_once(); records = 0 }
#if BACKFILLERS > 0
  :: atomic { !quiet && cleans < CLEANS -> if :: s = 0 :: s = 1 fi;          /* forget the cursors of ended backfills */
       g = job_generation[s];
       if
       :: job[s] == 0 || being_built(g) -> s = 0; g = 0; goto kept
       :: else
       fi }
     atomic { forget_job(s, g); untidy = true; s = 0; g = 0 }
kept:
     skip
#endif
  :: atomic { !quiet && before == 0 && is_old_tombstone && below_floor -> before = stamp + 1 }
#if defined(CONDITIONS) && !defined(PURGE_ABOVE_FLOOR)
  :: atomic { !quiet && is_old_tombstone && !below_floor && fence_free -> floor = next_barrier } /* barrier.take */
#endif
  :: atomic { !quiet && before != 0 && fence_free && row_free ->
       if :: body == TOMB && as_old_as(before) && below_floor && !row[1] && !row[2] -> body = ABSENT :: else fi;
       before = 0 }
  :: atomic { quiet -> break }
  od
}

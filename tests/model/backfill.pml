/* backfill and query: lib/src/backfill/backfill.cpp, query.cpp. */

#define in_force(s, g) (generation[s] == g && (state[s] == BUILDING || state[s] == READY))
#define session (b == 1 -> BACK : 0)
#if CRASHES > 0
inline begin_witness() { release(WITNESS); connect(WITNESS); unanswered = unanswered | bit(WITNESS) }
#else
inline begin_witness() { skip }
#endif
#ifdef ADVANCE_WITHOUT_TOKEN
#define holds_job true
#else
#define holds_job (job[0] == b)
#endif
#ifdef PUBLISH_WITHOUT_TOKEN
#define may_publish(s) in_force(s, g)
#elif defined(PUBLISH_WITHOUT_STATE)
#define may_publish(s) (job[s] == b && generation[s] == g)
#else
#define may_publish(s) (job[s] == b && in_force(s, g))
#endif
inline publish(s) { /* backfill.publish */
  if
  :: atomic { exclusively(s) ->
       if :: may_publish(s) -> state[s] = READY; assert(!missing) :: else -> goto give_up fi;
       if :: s == 0 -> write_entity_log() :: else -> write_index_log(1) fi }
  :: atomic { may_die -> goto give_up }
  fi
}

proctype Backfill(byte b) {                  /* b is its token, too */
  byte g, barrier, seen; bool resumes, scanned, there;
  bool wrote;                         /* a row, to its own index */
  bool recorded;                      /* seen is what this run's scan has seen, and the witness is from before that */
#if CRASHES > 0
  bool found;                         /* the row was there before */
#endif
  do
  :: atomic { backfills < BACKFILLS && in_force(0, generation[1]) && in_force(1, generation[0]) &&
              !(state[0] == READY && state[1] == READY) ->
       g = generation[0] }
     if
     :: atomic { backfills < BACKFILLS && backfill_lock == 0 -> backfills++; backfill_lock = b }
     :: atomic { backfills >= BACKFILLS -> goto give_up }
     fi;
#ifdef RESUME_ANY_GENERATION
#define is_resumable(g) (job[0] != 0)
#else
#define is_resumable(g) (job[0] != 0 && job_generation[0] == g)
#endif
     atomic { resumes = is_resumable(g); scanned = resumes && job_scanned;
       barrier = (resumes -> job_barrier : 0) }
     if /* barrier.take */
     :: atomic { resumes }
#ifdef NO_BARRIER
     :: atomic { !resumes -> barrier = next_barrier }
#else
     :: atomic { !resumes && fence_free -> floor = next_barrier; barrier = floor; write_entity_log() }
#endif
     fi;
     atomic { job[0] = b; job_generation[0] = g; job_barrier = barrier; job_scanned = scanned; /* backfill.claim */
       write_entity_log() }
     if :: atomic { job[1] = b; job_generation[1] = g; write_index_log(1) } :: atomic { may_die -> goto give_up } fi;
     if
     :: scanned
     :: !scanned ->
        atomic { begin_witness(); recorded = true }
        atomic { seen = body } /* backfill.read */
        if /* backfill.fence */
        :: atomic {
#ifndef BACKFILL_WITHOUT_FENCE
             xfence == 0 -> sfence = sfence | bit(session);
#endif
             connect(BACK);
#ifdef CURSOR_FIRST
             job_scanned = true; write_entity_log();
#endif
#ifndef NO_GENERATION_CHECK
             if :: in_force(0, g) :: else -> goto give_up fi;
#endif
             skip }
        :: atomic { may_die -> goto give_up }
        fi;
        if /* backfill.insert_index_rows */ /* backfill.commit_index_rows */
        :: atomic { !has_value(seen) }
        :: atomic { has_value(seen) && can_insert(seen) ->
#if CRASHES > 0
             found = row[seen];
#endif
             if :: table == 0 || is_broken(1, BACK) -> goto give_up :: else -> wrote = (table == g); insert_into(g, seen) fi }
        :: atomic { has_value(seen) && zombies < ZOMBIES -> zombies++; untidy = true; in_flight++; run Zombie(g, seen);
             goto give_up }
        fi;
#if CRASHES > 0
        if /* the server answers: what is new is on its disk then, what was there may be forgotten */
        :: atomic { !has_value(seen) }
        :: atomic { has_value(seen) -> if :: is_broken(1, BACK) -> goto give_up :: else fi;
             if :: found :: else -> write_index_log(1) fi }
        fi;
#endif
        if
        :: atomic { holds_job && !lost(session) -> /* backfill.advance */ /* backfill.commit */
             job_scanned = true; write_entity_log(); release(session) }
        :: atomic { !holds_job || lost(session) -> goto give_up }
        :: atomic { may_die -> goto give_up }
        fi;
#ifdef UNIQUE
        if /* what stands in the way is for reconcile */
        :: atomic { has_value(seen) && !row[seen] && RECONCILERS == 0 && can_reconcile -> reconcile_at_once() }
        :: atomic { has_value(seen) && !row[seen] && RECONCILERS > 0 -> wanted[b] = 1 };
           if :: atomic { wanted[b] == 0 } :: atomic { may_die -> goto give_up } fi
        :: atomic { !has_value(seen) || row[seen] }
        fi
#endif
     fi;
#ifndef NO_RECONCILE_SINCE
#if RECONCILERS == 0
     if /* backfill.reconcile */
     :: atomic { fence_free && can_reconcile -> floor = next_barrier; if :: stamp >= barrier -> reconcile_at_once() :: else fi }
     :: atomic { may_die -> goto give_up }
     fi;
#else
     atomic { fence_free -> write_entity_log(); if :: body != ABSENT && stamp >= barrier -> wanted[b] = 1 :: else fi }
     if :: atomic { wanted[b] == 0 } :: atomic { may_die -> goto give_up } fi;
#endif
#endif
#ifndef NO_PROVE
prove: /* backfill.prove */
#ifdef RECORD_OF_ANY_SCAN
     atomic { begin_witness() };
#else
     if :: atomic { recorded } :: atomic { !recorded -> begin_witness() } fi;
#endif
     if
     :: atomic { recorded -> recorded = false; there = (has_value(seen) -> row[seen] : true) }
     /* the walk, which locks nothing, reads entities and index rows in any order */
     :: atomic { recorded = false; seen = body }; atomic { there = (has_value(seen) -> row[seen] : true) }
     :: atomic { recorded = false; seen = (row[1] -> 1 : 0) + (row[2] -> 2 : 0) }; atomic { there = (has_value(body) -> (seen & body) : true) }
     fi;
     if
     :: there
     :: !there ->
        atomic { can_reconcile -> /* a second look, with the locks of reconcile */
          if :: maintained != g || table == 0 -> goto give_up :: else fi;
#if RECONCILERS == 0
          if :: has_value(body) && !row[body] -> reconcile_at_once() :: else fi }
#else
          if :: has_value(body) && !row[body] -> wanted[b] = 1 :: else fi }
        if :: atomic { wanted[b] == 0 } :: atomic { may_die -> goto give_up } fi;
        goto prove
#endif
     fi;
     atomic { if :: maintained != g || table == 0 -> goto give_up :: else fi }
#if CRASHES > 0 && !defined(PROVE_WITHOUT_DURABLE) /* backfill.prove_durable */
     atomic { if :: is_cut(WITNESS) || is_broken(1, WITNESS) -> release(WITNESS); goto prove :: else fi;
       write_entity_log(); write_index_log(1) }
#endif
#endif
     publish(FIRST); publish(SECOND);
     atomic { forget_job(0, g) } /* backfill.finish */
     atomic { forget_job(1, g); goto end_of_backfill }
give_up:
     atomic { if :: wrote -> untidy = true :: else fi }; /* the row of a body that has changed since is for the next one */
end_of_backfill:
     atomic { release(session); wanted[b] = 0; g = 0; barrier = 0; seen = 0; resumes = false; scanned = false; there = false;
       recorded = false; wrote = false;
#if CRASHES > 0
       release(WITNESS); found = false;
#endif
       if :: backfill_lock == b -> backfill_lock = 0 :: else fi }
  :: atomic { backfills < BACKFILLS -> backfills++ }                         /* none is started */
  :: atomic { quiet || backfills >= BACKFILLS -> ended++; break }
  od
}

/* ---- query: for the entities of value q, on shard 1 */

#define shard_1_ready (state[1] == READY && generation[1] == g)
proctype Query() {
  byte q, g; bool missed;
  do
  :: atomic { queries < QUERIES -> queries++; if :: q = 1 :: q = 2 fi }
     atomic { if :: state[0] == READY -> g = generation[0] :: else -> goto refused fi }
#ifdef STATE_BEFORE_ROWS
     atomic { if :: shard_1_ready :: else -> goto refused fi }
#endif
     if /* query.read_index_rows */
     :: atomic { table == 0 -> goto refused }
     :: atomic { table != 0 && shard_1_ready -> missed = (body == q && !row[q]) }   /* others' rows came, and the state */
     :: atomic { table != 0 -> missed = (body == q && !row[q]) }                    /* no row came */
#ifndef STATE_BEFORE_ROWS
        atomic { if :: shard_1_ready :: else -> goto refused fi } /* query.check_index */
#endif
     fi;
     assert(!missed);
refused:
     atomic { q = 0; g = 0; missed = false }
  :: atomic { quiet || queries >= QUERIES -> break }
  od
}

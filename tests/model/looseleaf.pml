/* A model of the protocol of docs/protocol.md, for Spin (https://spinroot.com), written from lib/src.
 * run.sh checks it; every comment of the form / * put.commit * / names a step of the code (lib/src/shard/steps.hpp).
 * This file has the state of the servers and the parameters; write.pml, reconcile.pml, lifecycle.pml, backfill.pml and
 * faults.pml have the processes.
 *
 * WHAT IS MODELLED. One entity E. Its body is 1 or 2 (the value of its only indexed property), TOMB (a tombstone) or
 * ABSENT (no row, so nothing that could be locked). One index with the two possible rows (1, E) and (2, E): on two
 * index shards, or, if the table is UNIQUE (entity_id) or the index has a life cycle (ADMINS > 0), on one. With ADMINS
 * there are two catalogs: shard 0 is the entity's shard, shard 1 the one where the index rows are; FIRST says which of
 * them whoever goes through all shards begins with.
 *
 * A step is one statement, or several that nobody can tell from one: an atomic { } block. Steps of all processes
 * interleave in every order. A guard at the head of a block is a wait for a lock. What READ COMMITTED does:
 *   - a locking read of a row waits for whoever locked, inserted or deletes it; of an absent row it locks nothing;
 *   - a plain INSERT waits for an uncommitted insert or delete of the same row, and then fails if there is a row;
 *   - an insert of an index row waits for an uncommitted delete of it, in a UNIQUE table also of the other row.
 * What is visible to nobody but its own transaction (an uncommitted body) is in local variables of the process.
 *
 * FAULTS, each as often as a parameter says: a process may die between any two steps (its locks are released, what it
 * did not commit is gone; dying while nothing is visible yet is the same as not having begun); a connection is cut, so
 * that the server releases the locks and the client does not know; the entity shard fails over (the same, but the old
 * server still answers; it refuses writes, and its read_only tells, unless it is a group's primary in a minority), and
 * back again, when whoever held the fence exclusively holds it once more; a statement outlives its client; the outcome of a COMMIT is
 * unknown, while it may still be carried out (GHOST: the entity's, LATE: an index shard's); a named lock is lost
 * silently; shard 1 loses everything; a server crashes and forgets what others saw committed and it had not written yet
 * (CRASHES: what is on disk is in on_disk_*). Processes that have died are replaced by others: Writer is a sequence of
 * clients.
 *
 * CLAIMS (assertions)
 *   1   no ready index lacks the row of the committed body (`missing`), and no query that succeeds misses one;
 *   2   when all is quiet, clean with the full sweep leaves no extra row, and a plain clean, which looks only where there
 *       is a cleanup record, none either if no put ended between put.insert_index_rows and put.commit, or was overtaken
 *       there, every backfill came to its end, clean forgot no backfill's cursor, no statement outlived its client and no
 *       server crashed (`untidy`);
 *   3   no write takes effect a second time after another one did; none is acknowledged that never took effect, unless
 *       another one did in its time that it could have come just before; what was acknowledged survives a crash; only
 *       tombstones are purged; stamps grow;
 *   4   when create-index says that it is done, what a lost shard makes missing is not called ready any more;
 *   5   a table that was not of the index when it was looked at is never dropped.
 *
 * ABSTRACTIONS
 *   - The epoch: a writer compares it at put.fence with that of the catalog it loaded before, and starts over if it
 *     differs. So it goes on only with the catalog that is in force then; the model reads it there.
 *   - A step under the exclusive fence together with fence.commit is one block: nobody sees a part of it.
 *   - Two locks that are taken one after the other (fence, row) are taken at once: in between others can do only what
 *     they could do before.
 *   - With RECONCILERS=0 reconcile is one block too. Its own races are checked in the configurations with Reconciler.
 *   - A Reconciler works at any time and any number of times: for a put, for clean, verify or a backfill.
 *   - "Older than a day" (purge) means: every put that was under way when the tombstone was committed has ended.
 *   - The cursor of a backfill is one bit: E was dealt with.
 *   - A cleanup record is a bit, and all of them name E. No token is drawn twice.
 *   - Job rows, intents and tables of both shards are read in one step at the beginning of a command. A table is only on
 *     shard 1; DDL holds that shard's named lock.
 *   - What a crash can forget is bodies and index rows. Every run that changes catalogs begins with a commit of its own
 *     on every shard, which makes what it found there durable; so do a claim and a barrier, and a change that is repeated
 *     and finds itself made.
 *   - A delete that finds nothing and one that does are the same write: claim 3 does not tell them apart.
 *
 * TO READ A TRAIL: run.sh --trail CONFIGURATION [CONTROL] prints the shortest one, one line for each statement:
 * process, file and line, statement.
 */

/* Not modelled: query.read_entities (it can only leave out rows; that a body calls for its row is claim 1). */

/* ---- parameters, given by run.sh */

#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef PUTS            /* writes by all writers together */
#define PUTS 2
#endif
#ifndef TIDIES          /* times that a put itself deletes the row that only the old body called for */
#define TIDIES 0
#endif
#ifndef RECONCILERS
#define RECONCILERS 0
#endif
#ifndef SWEEPS          /* do Reconcilers look for orphans? */
#define SWEEPS 1
#endif
#ifndef PURGES          /* do they purge? */
#define PURGES 1
#endif
#ifndef CLEANS          /* passes of clean */
#define CLEANS 0
#endif
#ifndef ADMINS          /* processes that create and drop the index; 0: it is ready from the beginning */
#define ADMINS 0
#endif
#ifndef CREATES
#define CREATES 0
#endif
#ifndef DROPS
#define DROPS 0
#endif
#ifndef BACKFILLERS
#define BACKFILLERS 0
#endif
#ifndef BACKFILLS
#define BACKFILLS 0
#endif
#ifndef QUERIES
#define QUERIES 0
#endif
#ifndef CUTS            /* connections cut */
#define CUTS 0
#endif
#ifndef FAILOVERS
#define FAILOVERS 0
#endif
#ifndef FAILBACKS       /* of them, failovers after which the old server becomes the primary again */
#define FAILBACKS 0
#endif
#ifndef ZOMBIES         /* inserts that outlive their client */
#define ZOMBIES 0
#endif
#ifndef UNKNOWNS        /* COMMITs of a put whose outcome is unknown */
#define UNKNOWNS 0
#endif
#ifndef LATE_COMMITS    /* COMMITs of reconcile on an index shard that outlive their client */
#define LATE_COMMITS 0
#endif
#ifndef LATE_DDL        /* CREATE TABLE and DROP TABLE that outlive their client */
#define LATE_DDL 0
#endif
#ifndef LOST_LOCKS      /* named locks lost */
#define LOST_LOCKS 0
#endif
#ifndef WIPES           /* times that shard 1 loses everything and is set up anew, empty */
#define WIPES 0
#endif
#ifndef CRASHES         /* of servers that forget what was committed and not on disk */
#define CRASHES 0
#endif
#ifndef FIRST           /* of the two shards, in the order of their numbers */
#define FIRST 0
#endif
#define SECOND (1 - FIRST)
/* BODY: with ADMINS, E's body at the beginning; otherwise it is any of ABSENT, TOMB and 1. */
/* CREATED: with ADMINS, the state of the index at the beginning, if it is there already. */
#ifdef STEADY           /* admins and backfills do not die */
#define may_die quiet
#else
#define may_die true
#endif

/* ---- who holds locks: sessions by number */

#define W1 1
#define W2 2
#define R1 3
#define R2 4
#define GHOST 5         /* a session whose client is gone, with a COMMIT under way */
#define BACK 6          /* the first backfill; the second is session 0, which only takes shared locks */
#define LATE 7
#define WITNESS 0       /* what a backfill keeps open while it reads, where there is no second one */
#define bit(p) (1 << (p))

/* ---- the entity's shard */

#define TOMB 0
#define ABSENT 3
#define has_value(b) ((b) == 1 || (b) == 2)
byte body = ABSENT, stamp = 0;
byte floor = 1;                       /* clock_floor; the clock itself stands still, at 1 */
byte xfence = 0, sfence = 0;          /* who holds the fence exclusively; the set of those who share it */
byte xrow = 0, srow = 0;              /* likewise E's row; an uncommitted insert or delete of it counts as exclusive */
byte cut = 0, demoted = 0;            /* sessions whose locks are gone without their clients knowing */
#ifdef EVENTUAL                       /* a new primary answers before it has what was acknowledged last */
byte body_before = ABSENT, body_to_come = ABSENT; bool lagging = false;
#else
#define lagging false
#endif
byte exiled = 0;                      /* who held the fence exclusively on a server that was demoted */
byte records = 0, tickets = 0;        /* the cleanup records that are committed; tokens that were drawn */
#define next_barrier ((floor > stamp -> floor : stamp) + 1)   /* beyond what was written while the clock was ahead */

#define is_cut(p) (cut & bit(p))
#define lost(p) ((cut | demoted) & bit(p))
#define holds(p) (((sfence | srow) & bit(p)) || xfence == p || xrow == p)
#define fence_free (xfence == 0 && sfence == 0)
#define row_free (xrow == 0 && srow == 0)
#ifdef CONDITIONS                     /* puts have conditions; not with CRASHES or ADMINS */
byte writer = 0; bool conditional = false;  /* the number of the write that stored E's row; whether it had a condition */
byte version = 0;                     /* bookkeeping: writes of E that were committed */
byte conditions[3];                   /* of the writers' puts */
#endif
#if UNKNOWNS > 0 || CLEANS > 0 || BACKFILLERS > 0 || CRASHES > 0 || TIDIES > 0
#define STAMPS
#endif
#if UNKNOWNS > 0 || CRASHES > 0
#define DOUBTS
#endif

/* ---- the index shard, or both */

bool row[3];                          /* row[v]: (v, E) is committed */
byte deleting[3], inserting[3];       /* who has deleted or inserted (v, E) and not committed; 0: nobody */
#if defined(UNIQUE) || ADMINS > 0
#define ONE_INDEX_SHARD
#endif

#if ADMINS > 0
#define NONE 0
#define BUILDING 1
#define READY 2
#define DROPPING 3
#define DROPPED 4
byte state[2], generation[2];         /* the catalogs */
byte table = 0;                       /* generation in the comment of the index table; 0: there is none */
#define FOREIGN 9
byte generations = 0;
#define CREATE 1
#define DROP 2
byte intent = 0, intent_generation = 0;     /* on the first shard; 0: none */
byte token[2];                              /* of the intents on both */
byte job[2], job_generation[2];       /* the backfill's job rows: token (0: no row) and generation; on shard 0 also */
byte job_barrier = 0; bool job_scanned = false;
byte catalog_lock = 0, backfill_lock = 0;   /* named locks */
byte ddl_lock = 0;                          /* shard 1's, which DDL holds and a claim needs */
bool wiped = false;                   /* shard 1 lost its rows, and no create-index has dealt with that yet */
byte wanted[3];                       /* a backfill asks for a reconcile: 1; a Reconciler is at it: 2 */
#define maintained (state[0] != NONE && state[0] != DROPPED -> generation[0] : 0)
#define learn_catalog known = maintained
#define lacks(s) (state[s] == READY && !(table == generation[s] && row[body]))
#define incomplete (has_value(body) && (lacks(0) || lacks(1)))
#define missing (!wiped && incomplete)
#else
#define maintained 1
#define table 1
#define learn_catalog skip
#define missing (has_value(body) && !row[body])
#endif
#define extra ((row[1] && body != 1) || (row[2] && body != 2))

/* ---- bookkeeping of the model */

byte puts = 0, tidies = 0, cleans = 0, creates = 0, drops = 0, backfills = 0, queries = 0;
byte cuts = 0, failovers = 0, failbacks = 0, zombies = 0, unknowns = 0, late_commits = 0, late_ddl = 0, lost_locks = 0, wipes = 0;
byte ended = 0, busy = 0, in_flight = 0;   /* writers and admins that are through; Reconcilers at work; stray statements */
bool quiet = false, ghost = false, untidy = false, stuck = false;
byte last = 0;                        /* when all is quiet, which pass is due: */
#define CLEAN 1
#define CLEANED 2                     /*   none until the claim about a plain clean is checked */
#define RECONCILE 3
#define SWEEP 4
#define DONE 5
byte under_way = 0;                   /* writers with a put under way; of its present put, writer w: */
byte took_effect = 0;                 /*   has committed; */
byte overtaken = 0;                   /*   has been overtaken by one that it could have come just before */
byte last_writer = 0;
byte recent = 0;                      /* writers whose put was under way when the tombstone was committed */
#ifdef DOUBTS
byte wants[3];                        /* what their puts are to write */
#endif

inline forget_locks(p) {
  sfence = sfence & ~bit(p); srow = srow & ~bit(p);
  if :: xfence == p -> xfence = 0 :: else fi;
  if :: xrow == p -> xrow = 0 :: else fi
}

/* ---- what is on disk, where a crash can forget the rest */

#if CRASHES > 0
byte crashes = 0;
byte on_disk_body = ABSENT, on_disk_stamp = 0, on_disk_records = 0;
bool on_disk_row[3];
byte broken[3];                       /* sessions at the server of (v, E) from before it crashed */
byte on_disk_took_effect = 0, on_disk_overtaken = 0;
byte unanswered = 0;                  /* sessions that wait for the entity shard, and hold no lock */
byte acknowledged_stamp = 0;
#define is_broken(v, p) (broken[v] & bit(p))
inline connect(p) { broken[1] = broken[1] & ~bit(p); broken[2] = broken[2] & ~bit(p) }
inline write_entity_log() {
  d_step { on_disk_body = body; on_disk_stamp = stamp; on_disk_records = records;
    on_disk_took_effect = took_effect; on_disk_overtaken = overtaken }
}
inline write_index_log(v) {
#ifdef ONE_INDEX_SHARD
  on_disk_row[1] = row[1]; on_disk_row[2] = row[2]
#else
  on_disk_row[v] = row[v]
#endif
}
inline release(p) {
  d_step { forget_locks(p); cut = cut & ~bit(p); demoted = demoted & ~bit(p); exiled = exiled & ~bit(p);
    unanswered = unanswered & ~bit(p) }
}
#else
#define is_broken(v, p) false
inline connect(p) { skip }
inline write_entity_log() { skip }
inline write_index_log(v) { skip }
inline release(p) {
  d_step { forget_locks(p); cut = cut & ~bit(p); demoted = demoted & ~bit(p); exiled = exiled & ~bit(p) }
}
#endif

/* ---- statements on index rows */

#define unlocked(v) (deleting[v] == 0 && inserting[v] == 0)
#ifdef UNIQUE
#define can_insert(v) (unlocked(1) && unlocked(2))
#define in_the_way(v) row[3 - (v)]
#else
#define can_insert(v) unlocked(v)
#define in_the_way(v) false
#endif

/* INSERT ... ON DUPLICATE KEY UPDATE entity_id = entity_id, committed at once. */
inline insert_row(v) {
  if
  :: in_the_way(v) ->
#ifdef REPLACE
     row[3 - v] = false; row[v] = true; assert(!missing)
#else
     skip                             /* hidden by the duplicate clause */
#endif
  :: else -> row[v] = true
  fi
}
/* Made for generation g. In a table of another one it may mean another row, or fail. */
inline insert_into(g, v) {
  if
  :: table == g -> insert_row(v)
  :: table != g && table != 0 -> insert_row(v)
  :: table != g
  fi
}
proctype Zombie(byte g; byte v) { atomic { can_insert(v) -> insert_into(g, v); in_flight-- } }

inline roll_back_rows(p) {
  d_step {
    if :: deleting[1] == p -> deleting[1] = 0 :: else fi; if :: deleting[2] == p -> deleting[2] = 0 :: else fi;
    if :: inserting[1] == p -> inserting[1] = 0 :: else fi; if :: inserting[2] == p -> inserting[2] = 0 :: else fi
  }
}
inline commit_row(p, v) {
  if :: deleting[v] == p -> row[v] = false; deleting[v] = 0 :: else fi;
  if :: inserting[v] == p -> row[v] = true; inserting[v] = 0 :: else fi
}
inline hand_rows_to_late(p) {
  if :: deleting[1] == p -> deleting[1] = LATE :: else fi; if :: deleting[2] == p -> deleting[2] = LATE :: else fi;
  if :: inserting[1] == p -> inserting[1] = LATE :: else fi; if :: inserting[2] == p -> inserting[2] = LATE :: else fi
}
proctype LateCommit() {
  atomic {
    if
    :: commit_row(LATE, 1); commit_row(LATE, 2); assert(!missing)
    :: roll_back_rows(LATE)
    fi;
    in_flight--
  }
}

/* With RECONCILERS=0. */
#define can_reconcile (xfence == 0 && xrow == 0 && unlocked(1) && unlocked(2))
inline make_rows_right() {
  if
  :: (row[1] && body != 1) || (row[2] && body != 2) -> write_entity_log()
  :: else
  fi;
  row[1] = (body == 1); row[2] = (body == 2); write_index_log(1); write_index_log(2)
}
inline reconcile_at_once() {
  if
  :: body != ABSENT && maintained != 0 && table == maintained -> make_rows_right()
  :: else
  fi
}

#include "write.pml"
#include "reconcile.pml"
#if ADMINS > 0
#include "lifecycle.pml"
#include "backfill.pml"
#endif
#include "faults.pml"

/* ---- the end: everything is quiet, and clean runs, first without and then with the full sweep. The first Reconciler
 * does it, by its own steps, of which none fails any more; without one it is one block. There is an end to come to: it is
 * a broken claim if nobody can go on before it. */

proctype End() {
  if
  :: atomic {
       ended == WRITERS + ADMINS + BACKFILLERS && in_flight == 0 && busy == 0 -> quiet = true;
#if ADMINS > 0
       if :: maintained != 0 && table == maintained :: else -> last = DONE; goto no_index fi;
#endif
       last = (untidy -> RECONCILE : CLEAN) }
  :: atomic { timeout -> stuck = true; assert(!stuck) }
  fi;
#if RECONCILERS > 0
  if
  :: atomic { last == CLEANED -> assert(!extra); last = RECONCILE }
  :: atomic { last > CLEANED }
  :: atomic { timeout -> stuck = true; assert(!stuck) }
  fi;
  if
  :: atomic { last == DONE -> assert(!missing && !extra) }
  :: atomic { timeout -> stuck = true; assert(!stuck) }
  fi;
#else
  atomic {
    if
    :: last == CLEAN ->
       if :: records != 0 -> row[1] = (body == 1); row[2] = (body == 2) :: else fi;
       assert(!extra)
    :: else
    fi;
    row[1] = (body == 1); row[2] = (body == 2); last = DONE };
#endif
#ifdef END_IS_REACHED
  assert(false);
#endif
no_index: skip
}

init {
  atomic {
#if ADMINS > 0
#ifdef BODY
    body = BODY;
#else
    if :: true :: body = TOMB :: body = 1 fi;
#endif
#ifdef CREATED
    generations = 1; table = 1; state[0] = CREATED; state[1] = CREATED; generation[0] = 1; generation[1] = 1;
    if :: body == 1 -> row[1] = true :: body != 1 || CREATED == BUILDING fi;
#else
    if :: true :: table = FOREIGN; row[1] = true fi;  /* a table of that name that somebody else made */
#endif
    run Admin(1);
#if ADMINS > 1
    run Admin(2);
#endif
#if BACKFILLERS > 0
    run Backfill(1);
#endif
#if BACKFILLERS > 1
    run Backfill(2);
#endif
#if QUERIES > 0
    run Query();
#endif
#else
    if :: true :: body = TOMB :: body = 1; row[1] = true fi;
#ifdef CONDITIONS
    stamp = (body == ABSENT -> 0 : 1);
#endif
#endif
    write_entity_log(); write_index_log(1); write_index_log(2);
    run Writer(W1);
#if WRITERS > 1
    run Writer(W2);
#endif
#if RECONCILERS > 0
    run Reconciler(R1);
#endif
#if RECONCILERS > 1
    run Reconciler(R2);
#endif
#if RECONCILERS == 0 && CLEANS > 0
    run Cleaner();
#endif
    run Faults(); run End()
  }
}

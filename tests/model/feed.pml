/* The feed of one shard: docs/protocol.md, "The feed". Writers put and delete two entities, tombstones are purged, and the
   clock goes where it likes. A reader delivers what it reads, stores its position, and may die between the two. The server
   may crash, and then forgets commits that were not on disk yet. An older copy may take the shard's place; it is made
   while no put is in flight. In the end, unless the reader has refused to go on, its consumer, which keeps the greatest
   stamp of each entity, must have the last version of each. And it refuses only if a copy or a purge gave it a reason.
   Controls: NO_BARRIER, NO_FLOOR, NOT_DURABLE, PAGE_NOT_DURABLE, POSITION_FIRST, NO_NOTE, CHECK_FIRST, NO_WITNESS,
   PURGE_UNREAD. */
#ifndef PUTS
#define PUTS 2
#endif
#ifndef WRITERS
#define WRITERS 1
#endif
#ifndef TICKS
#define TICKS 1
#endif
#ifndef PURGES
#define PURGES 0
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef RESTORES
#define RESTORES 0
#endif
#ifndef DEATHS
#define DEATHS 0
#endif

#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* A shard: the stamp of each entity's row (0: no row), whether it is a tombstone, the clock floor, and the stamp below
   which tombstones were purged. */
typedef Shard {
  byte stamp[2];
  bool dead[2];
  byte floor;
  byte purged
};
Shard here, disk, copy;
#define COPY(to, from) \
  to.stamp[0] = from.stamp[0]; to.stamp[1] = from.stamp[1]; \
  to.dead[0] = from.dead[0]; to.dead[1] = from.dead[1]; \
  to.floor = from.floor; to.purged = from.purged

byte clock = 1;
byte life = 1;       /* of the server: a transaction that began in another one is gone */
byte shared = 0;     /* holders of the fence */
bool locked[2];
byte busy = WRITERS + 3;  /* processes that may still change something */

/* What the consumer has. */
byte seen[2];
bool seen_dead[2];
bool refused = false;

inline flush() { COPY(disk, here) }  /* a commit that is acknowledged: everything before it is on disk, too */

/* Is what was delivered still there? `seen` stands for the consumer, which outlives everything. */
#define FORGOTTEN(e) (seen[e] > here.stamp[e] && !(here.stamp[e] == 0 && seen[e] < here.purged))

proctype Writer() {
  byte put, e, stamp, mine;
  bool deletes;
  for (put : 1 .. PUTS) {
    if
    :: e = 0
    :: e = 1
    fi;
    if
    :: deletes = true
    :: deletes = false
    fi;
    atomic { shared++; mine = life; stamp = MAX(clock, here.floor) }  /* put.fence */
    atomic {  /* put.lock_entities */
      life != mine || !locked[e] ->
      if
      :: life == mine ->
        locked[e] = true;
        stamp = MAX(MAX(stamp, clock), here.stamp[e] + 1)
      :: else
      fi
    }
    atomic {  /* put.commit */
      if
      :: life == mine && !(deletes && here.stamp[e] == 0) ->
        here.stamp[e] = stamp;
        here.dead[e] = deletes;
      :: else
      fi;
      if
      :: life == mine -> shared--; locked[e] = false
      :: else
      fi
    }
    atomic { flush() }  /* now it is acknowledged */
  }
  busy--
}

proctype Clock() {
  byte tick;
  for (tick : 1 .. TICKS) {
    if
    :: clock = clock + 2
    :: clock > 1 -> clock = clock - 1
    fi
  }
}

/* The reader's position: all places up to (at_stamp, at_entity) are delivered; the entity counts from 1. */
byte at_stamp = 0, at_entity = 0, witness = 0, witness_stamp = 0;

#if defined(PROTECTED) && !defined(PURGE_UNREAD)
#define MAY_PURGE(e) (here.stamp[e] < at_stamp)  /* a trigger's position, which is on the shard */
#else
#define MAY_PURGE(e) true
#endif

proctype Purger() {
  byte purge = 0, e;
  do
  :: purge < PURGES ->
    purge++;
    if
    :: e = 0
    :: e = 1
    fi;
    atomic {
      if
      :: here.stamp[e] > 0 && here.dead[e] && !locked[e] && MAY_PURGE(e) ->
#ifndef NO_NOTE
        /* purge.note */
        here.purged = MAX(here.purged, here.stamp[e] + 1);
#endif
        here.stamp[e] = 0;
        flush()
      :: else
      fi
    }
  :: else -> break
  od;
  busy--
}

inline break_off() { life++; shared = 0; locked[0] = false; locked[1] = false }

proctype Crash() {
  byte crash = 0;
  do
  :: crash < CRASHES ->
    crash++;
    atomic {
      COPY(here, disk);
      break_off();
      assert(!FORGOTTEN(0) && !FORGOTTEN(1))
    }
  :: else -> break
  od;
  busy--
}

proctype Restore() {
#if RESTORES > 0
  atomic { shared == 0 -> COPY(copy, disk) };
  atomic {
    COPY(here, copy);
    COPY(disk, copy);
    break_off()
  };
#endif
  busy--
}

inline check() {
  if
  :: here.floor < at_stamp || here.purged > at_stamp -> refused = true
#ifndef NO_WITNESS
  :: witness > 0 && (here.stamp[witness - 1] > 0 -> here.stamp[witness - 1] < witness_stamp : witness_stamp >= here.purged) ->
    refused = true
#endif
  :: else
  fi
}

inline keep_witness() {
  if
  :: newest_stamp > 0 -> witness = newest; witness_stamp = newest_stamp
  :: else
  fi
}

#define NEW(e) (here.stamp[e] > 0 && \
  (here.stamp[e] > at_stamp || (here.stamp[e] == at_stamp && (e) + 1 > at_entity)))
#define BEHIND(e) (NEW(e) && here.stamp[e] < barrier)

inline take_barrier() {
#ifdef NO_BARRIER
  atomic { barrier = MAX(MAX(clock, here.floor), MAX(here.stamp[0], here.stamp[1])) + 1; here.floor = barrier; flush() };
#else
  atomic {
    shared == 0 ->
    barrier = MAX(MAX(clock, here.floor + 1), MAX(here.stamp[0], here.stamp[1]) + 1);
#ifndef NO_FLOOR
    here.floor = barrier;
#endif
#ifndef NOT_DURABLE
    flush()
#endif
  };
#endif
}

inline look() { check(); newest = (here.stamp[1] > here.stamp[0] -> 2 : 1); newest_stamp = here.stamp[newest - 1] }

inline conclude() {  /* feed.conclude */
#ifndef CHECK_FIRST
  atomic { look() };
#endif
#ifndef PAGE_NOT_DURABLE
  if  /* what has left the range since the barrier must not come back */
  :: newest_stamp >= barrier -> atomic { flush() }
  :: else
  fi;
#endif
}

inline deliver() {  /* trigger.deliver */
  atomic {
    if
    :: stamp > seen[e - 1] -> seen[e - 1] = stamp; seen_dead[e - 1] = dead
    :: else
    fi
  }
}

proctype Reader() {
  byte barrier, e, stamp, deaths = 0, mine, newest, newest_stamp;
  bool dead, last = false;
#ifdef SCAN
  take_barrier();
  at_stamp = barrier;
  e = 1;
  do
  :: !refused && e <= 2 ->
    atomic { mine = life; stamp = here.stamp[e - 1]; dead = here.dead[e - 1] };  /* feed.scan */
    conclude();
    if
    :: life == mine && !refused ->
      keep_witness();
      if
      :: stamp > 0 && !dead -> deliver()
      :: else
      fi;
      e++
    :: else
    fi
  :: else -> break
  od;
#endif
  do
  :: !refused && !last && (NEW(0) || NEW(1) || busy == 0) ->  /* a barrier only where there is something new */
    last = busy == 0;
    atomic { check() };
    if
    :: refused -> break
    :: else
    fi;
    take_barrier();
    do
    :: !refused ->
#ifdef CHECK_FIRST
      atomic { look() };
#endif
      atomic {  /* feed.read, a page of one row */
        if
        :: BEHIND(0) && (!BEHIND(1) || here.stamp[0] <= here.stamp[1]) -> e = 1
        :: BEHIND(1) && (!BEHIND(0) || here.stamp[1] < here.stamp[0]) -> e = 2
        :: else -> e = 0
        fi;
        mine = life;
        if
        :: e > 0 -> stamp = here.stamp[e - 1]; dead = here.dead[e - 1]
        :: else
        fi
      };
      conclude();
      if
      :: life != mine -> break  /* the session is lost, and the page is read again */
      :: else
      fi;
      if
      :: refused -> break
      :: else
      fi;
      if
      :: e == 0 -> atomic { at_stamp = barrier; at_entity = 0; keep_witness() }; break
      :: else
      fi;
#ifdef POSITION_FIRST
      atomic { at_stamp = stamp; at_entity = e; keep_witness() };
#endif
      if
      :: deaths < DEATHS -> deaths++; last = false; break  /* trigger.claim: another one goes on from the stored position */
      :: true
      fi;
      deliver();
      if
      :: deaths < DEATHS -> deaths++; last = false; break
      :: true
      fi;
#ifndef POSITION_FIRST
      atomic { at_stamp = stamp; at_entity = e; keep_witness() }  /* trigger.store */
#endif
    :: else -> break
    od
  :: refused || last -> break
  od;
#if defined(PROTECTED) || PURGES + RESTORES == 0
  assert(!refused);
#endif
#ifdef END_IS_REACHED
  assert(false)
#endif
}

#ifdef SCAN
#define NEVER_NEEDED(e) (here.dead[e] && seen[e] == 0)  /* a scan delivers no tombstones */
#else
#define NEVER_NEEDED(e) false
#endif
#define DELIVERED(e) (NEVER_NEEDED(e) || here.stamp[e] == seen[e] && (seen[e] == 0 || here.dead[e] == seen_dead[e]) || \
  here.stamp[e] == 0 && (seen_dead[e] || seen[e] == 0))

init {
  byte i;
  atomic {
    for (i : 1 .. WRITERS) {
      run Writer()
    }
    run Clock();
    run Purger();
    run Crash();
    run Restore();
    run Reader()
  }
  (_nr_pr == 1);
  assert(refused || (DELIVERED(0) && DELIVERED(1)))
}

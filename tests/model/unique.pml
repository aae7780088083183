/* A unique index: docs/protocol.md. Two entities A and B are on a server each. Each has the value V, the value W, or none.
   Each value has at most one row, also on a server of its own, which names an entity. Writers put either entity. A put
   inserts and commits the row of its value before it commits the entity. If another entity has the row, the put rolls back,
   looks at that entity under its lock, and is refused, or deletes the row and starts over. While the index is being built,
   both entities may have one value from before. A process may die between any two steps. The COMMIT of a put may be in doubt
   and happen late, an insert may outlive its client, a session may lose its locks silently, and a server may crash and
   forget what was not on disk. In the end, when all have stopped, one process puts an entity, fills the index, and cleans.
   - When a shard says that the index is ready, no row of a committed body is missing. So no two bodies have one value.
   - An acknowledged put is never forgotten, and none takes effect twice.
   - A put is refused only if the other entity's committed body had the value at some moment during the put.
   - A put in doubt that is acknowledged took effect, or could have taken effect just before another put of its entity.
   - In the end a value that no body has can be taken, an index without a conflict becomes ready, and no superfluous row is
     left.
   Controls, of a put: NO_READ_BACK, DURABLE_BEFORE_READ_BACK, FOUND_WITHOUT_DURABLE, COMMIT_BEFORE_ROW, REFUSE_BLINDLY,
   REFUSED_BY_FORMER, TAKE_OVER, EXCEPTION_FOR_ANY_BODY, OVERTAKEN_IS_DONE, OVERTAKEN_BY_OLD_BODY, DELETE_BEFORE_COMMIT, DELETE_BY_VALUES,
   SUPERSEDED_WITHOUT_STAMP; of a reconcile: HOLDER_WITHOUT_LOCK, HOLDER_GETS_ITS_ROWS, CONFLICT_KEEPS_ROWS, SHARED_SWEEP,
   RECONCILE_WITHOUT_PROOF; of a backfill: NO_PROVE, PROVE_WITHOUT_DURABLE. With EXCEPTION_IN_READY everything still holds. */
/* Not modelled: a batch, whose writes wait for each other's decision; an entity with several rows, and several indexes; the
   second look at a conflict, with both entities locked; cleanup records, and backfill.reconcile, for which see
   looseleaf.pml. */
#ifndef PUTS
#define PUTS 2
#endif
#ifndef RECONCILES     /* by a process of its own: clean or verify */
#define RECONCILES 0
#endif
#ifndef CUTS           /* sessions that lose their locks silently */
#define CUTS 0
#endif
#ifndef FAILOVERS      /* of an entity's server; the former one still answers */
#define FAILOVERS 0
#endif
#ifndef DOUBTS         /* COMMITs of puts that are not answered */
#define DOUBTS 0
#endif
#ifndef ZOMBIES        /* inserts that outlive their client */
#define ZOMBIES 0
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef LEFTOVERS      /* 1: there may be rows of earlier puts, which died */
#define LEFTOVERS 0
#endif
#ifndef BACKFILLS      /* 1: the index is being built */
#define BACKFILLS 0
#endif

#define A 0
#define B 1
#define NONE 0
#define V 1
#define W 2
#define ABSENT 3       /* no row of the entity, so nothing that can be locked; NONE is a tombstone then */
#define has_value(b) ((b) == V || (b) == W)

/* BODY_OF_A, BODY_OF_B: at the beginning; otherwise any. BODY_NOT_ON_DISK: the last put of A is not on disk yet then. */

/* Sessions. */
#define FILLER 3
#define LAST 4
#define GHOST 5
#define WITNESS 6
#define bit(s) (1 << (s))

/* On the entities' servers. Whoever locks an entity holds its shard's fence, too. The fence held exclusively counts as an
   exclusive lock of the entity. */
byte body[2], stamp[2], writer[2], exclusive[2], shared[2];
byte clock[2];         /* the greatest stamp of the entity so far, which a crash does not take back */
byte cut;              /* sessions that have lost their locks */
bool ready[2];
#define is_free(e) (exclusive[e] == 0 && shared[e] == 0)
#define lost(s) (cut & bit(s))
#define holds(s, e) (exclusive[e] == (s) || (shared[e] & bit(s)))

/* On the index servers: of each value, the entity whose row it is, plus 1; and an uncommitted change of it. */
byte row[3], changer[3], change[3];
#define is_of(e, v) (row[v] == (e) + 1)
#define holder(v) (row[v] - 1)

/* Bookkeeping: of the puts that are under way, and of the whole. */
byte at[5], wants[5];
byte under_way, took_effect, could_have, was_held;  /* sets of sessions; was_held: the other entity had the value */
byte puts, reconciles, cuts, doubts, zombies, crashes, in_flight, busy;
bool quiet, is_stuck = true;

#define lacks(e) (has_value(body[e]) && !is_of(e, body[e]))
#define is_wrong ((ready[A] || ready[B]) && (lacks(A) || lacks(B)))
#define have_conflict (has_value(body[A]) && body[A] == body[B])

#if FAILOVERS > 0
byte failovers, former[2];
bool has_former[2];
#endif
#if CRASHES > 0
byte disk_body[2], disk_stamp[2], disk_writer[2], disk_row[3], disk_took_effect, acknowledged[2];
byte waits[2];         /* sessions that wait for an answer of the entity's server */
byte broken[3];        /* sessions at the index server from before it crashed */
#define is_broken(s, v) (broken[v] & bit(s))
inline connect(s) { broken[V] = broken[V] & ~bit(s); broken[W] = broken[W] & ~bit(s) }
inline write_log(e) {
  disk_body[e] = body[e]; disk_stamp[e] = stamp[e]; disk_writer[e] = writer[e];
  if :: at[1] == e -> disk_took_effect = (disk_took_effect & ~bit(1)) | (took_effect & bit(1)) :: else fi;
  if :: at[2] == e -> disk_took_effect = (disk_took_effect & ~bit(2)) | (took_effect & bit(2)) :: else fi
}
inline write_row_log(v) { disk_row[v] = row[v] }
inline wait_for(s, e) { waits[e] = waits[e] | bit(s) }
#else
#define is_broken(s, v) false
inline connect(s) { skip }
inline write_log(e) { skip }
inline write_row_log(v) { skip }
inline wait_for(s, e) { skip }
#endif

inline forget_locks(s) {
  if :: exclusive[A] == s -> exclusive[A] = 0 :: else fi;
  if :: exclusive[B] == s -> exclusive[B] = 0 :: else fi;
  shared[A] = shared[A] & ~bit(s); shared[B] = shared[B] & ~bit(s)
}
inline release(s) {
  d_step {
    forget_locks(s); cut = cut & ~bit(s);
#if CRASHES > 0
    waits[A] = waits[A] & ~bit(s); waits[B] = waits[B] & ~bit(s);
#endif
    skip
  }
}
inline roll_back_rows(s) {
  d_step {
    if :: changer[V] == s -> changer[V] = 0; change[V] = 0 :: else fi;
    if :: changer[W] == s -> changer[W] = 0; change[W] = 0 :: else fi
  }
}
inline commit_row(s, v) {
  if
  :: changer[v] == s -> row[v] = change[v]; changer[v] = 0; change[v] = 0; assert(!is_wrong)
  :: else
  fi
}
inline insert_row(e, v) {  /* ON DUPLICATE KEY UPDATE entity_id = entity_id, and commit */
  if
  :: row[v] == 0 -> row[v] = e + 1
  :: else
  fi
}
proctype Zombie(byte e; byte v) {
  atomic { changer[v] == 0 -> insert_row(e, v); in_flight-- }
}

/* The other writer's put: it could have come just before this commit, or is refused with reason from now on. */
#define could_come_before(o, e) (at[o] == e && (!has_value(wants[o]) || body[1 - (e)] != wants[o] || !(ready[A] || ready[B])))
inline note(o, e, v) {
  if
  :: (under_way & bit(o)) && !(took_effect & bit(o)) && could_come_before(o, e) -> could_have = could_have | bit(o)
  :: else
  fi;
  if
  :: (under_way & bit(o)) && at[o] == 1 - e && wants[o] == v -> was_held = was_held | bit(o)
  :: else
  fi
}
inline commit_write(s, e, v, st) {
  assert(!(took_effect & bit(s)));
  if
  :: s != LAST -> note(3 - s, e, v)
  :: else
  fi;
  took_effect = took_effect | bit(s);
  body[e] = v; stamp[e] = st; clock[e] = st; writer[e] = s;
  assert(!is_wrong)
}
proctype Ghost(byte s; byte e; byte v; byte st) {
  atomic {
    if
    :: !lost(GHOST) -> commit_write(s, e, v, st)
    :: true
    fi;
    release(GHOST); in_flight--
  }
}

#define can_die !quiet
#define is_mine (writer[e] == me && stamp[e] == st)
/* If ours did not commit, the next one has the same number. Its stamp is greater, or the same if the clock stood still. */
#define is_overtaken (stamp[e] > st || (stamp[e] == st && writer[e] != me))
#define is_unwritten (stamp[e] < st || (stamp[e] == st && writer[e] != me))
#if defined(OVERTAKEN_IS_DONE)
#define is_harmless true
#elif defined(OVERTAKEN_BY_OLD_BODY)  /* which the server may have forgotten since */
#define is_harmless (v == NONE || old == v)
#else
#define is_harmless (v == NONE)
#endif

/* Where a reconcile goes on. */
#define TO_IDLE 0
#define TO_PUT 1       /* the put was blocked by a row of h */
#define TO_END 2       /* the put has committed, and deletes the row of its old body */
#define TO_SCAN 3
#define TO_PROVE 4

/* The holder of a row that blocks another entity only loses rows, and so does an entity with a conflict. */
#ifdef HOLDER_GETS_ITS_ROWS
#define inserts (!conflict && back != TO_END)
#else
#define inserts (!conflict && !is_inner && back != TO_PUT && back != TO_END)
#endif
#ifdef HOLDER_WITHOUT_LOCK
#define can_share(e) (exclusive[e] == 0 || back == TO_PUT)
#define share(e) shared[e] = (back == TO_PUT -> shared[e] : shared[e] | bit(me))
#else
#define can_share(e) (exclusive[e] == 0)
#define share(e) shared[e] = shared[e] | bit(me)
#endif
#ifdef SHARED_SWEEP
#define can_sweep(e) true
#define lock_sweep(e) shared[e] = shared[e] | bit(me)
#else
#define can_sweep(e) is_free(e)
#define lock_sweep(e) exclusive[e] = me
#endif

#ifdef DELETE_BY_VALUES
#define is_superfluous(v) (row[v] != 0 && cur != v && (is_of(h, v) || back == TO_END))
#else
#define is_superfluous(v) (is_of(h, v) && cur != v)
#endif

inline change_row(v) {
  if
  :: is_broken(me, v) -> goto abandon
  :: else
  fi;
  if
  :: is_superfluous(v) && (back != TO_END || v == old) -> changer[v] = me; change[v] = 0
  :: cur == v && inserts && row[v] == 0 -> changer[v] = me; change[v] = h + 1
  :: cur == v && inserts && row[v] != 0 && !is_of(h, v) -> goto blocked
  :: else
  fi
}
/* Rows that do not concern it are not waited for. */
#define concerns(v) (is_superfluous(v) || (cur == v && inserts && !is_of(h, v)))

proctype Client(byte me) {
  byte e, v, old, st;            /* of a put; e is also the entity that a backfill is at, and old what it has seen */
  bool fresh;
  byte h, cur, back;             /* of a reconcile */
  byte lacking;                  /* the value of the entity that was blocked, if h is the one that blocks it */
  bool is_inner, is_second, conflict;
  byte step;                     /* of the last one */
  atomic {
    me != LAST || (busy == 0 && in_flight == 0) ->
    quiet = quiet || me == LAST;
    assert(!is_wrong)
  }
idle:
  atomic {
    e = 0; v = 0; old = 0; st = 0; fresh = false; h = 0; cur = 0; back = 0; lacking = 0; is_inner = false; is_second = false;
    conflict = false; connect(me);
    if
    :: me <= 2 && puts < PUTS -> puts++; goto put
    :: me <= 2 && reconciles < RECONCILES -> reconciles++; goto clean
    :: me <= 2 && puts >= PUTS -> busy--; goto end
    :: me == FILLER && step == 0 -> step = 1; goto fill
    :: me == FILLER && step == 1 -> busy--; goto end
    :: me == LAST && step == 0 -> step = 1; goto put
    :: me == LAST && step == 1 -> step = 2;
#if BACKFILLS > 0
       goto fill
#else
       goto idle
#endif
    :: me == LAST && step == 2 -> assert(have_conflict || (ready[A] && ready[B])); step = 3; h = A; goto reconcile
    :: me == LAST && step == 3 -> step = 4; h = B; goto reconcile
    :: me == LAST && step == 4 -> goto last_end
    fi
  }
clean:
  atomic { if :: h = A :: h = B fi; goto reconcile }

put:
  atomic {
    if :: e = A :: e = B fi;
    if :: v = NONE :: v = V :: v = W fi;
    at[me] = e; wants[me] = v; under_way = under_way | bit(me);
    if :: has_value(v) && body[1 - e] == v -> was_held = was_held | bit(me) :: else fi
  }
again:
  atomic {  /* put.fence */ /* put.lock_entities */ /* put.write_entities */
    is_free(e) ->
    connect(me); is_inner = false; is_second = false; fresh = false;
    old = body[e]; st = clock[e] + 1;
    if
    :: v == NONE && !has_value(old) -> goto end_of_put  /* not found */
    :: else -> exclusive[e] = me
    fi;
#ifdef COMMIT_BEFORE_ROW
    goto commit;
#else
    if :: v == NONE -> goto commit :: else fi
#endif
  }
insert:
  if
  :: atomic {  /* put.insert_index_rows */
      changer[v] == 0 ->
      if
      :: is_broken(me, v) -> release(me); goto again
      :: else -> fresh = (row[v] == 0); insert_row(e, v)
      fi;
#ifdef NO_READ_BACK
      fresh = true
#endif
    }
  :: atomic { can_die && zombies < ZOMBIES -> zombies++; in_flight++; run Zombie(e, v);
      if :: release(me); goto again :: goto end_of_put fi }
  :: atomic { can_die && changer[v] != 0 -> goto end_of_put }
  fi;
#if defined(DURABLE_BEFORE_READ_BACK) && CRASHES > 0
  atomic {
    if :: is_broken(me, v) -> release(me); goto again :: else -> write_row_log(v) fi
  }
#endif
  atomic {  /* it reads the row back */
    if
    :: fresh || is_of(e, v)
    :: !fresh && row[v] == 0 -> release(me); goto again
    :: !fresh && row[v] != 0 && !is_of(e, v) ->
#ifdef TAKE_OVER
      row[v] = e + 1; fresh = true; assert(!is_wrong)
#else
      if
#ifdef EXCEPTION_FOR_ANY_BODY
      :: !ready[e] -> goto commit
#elif defined(EXCEPTION_IN_READY)
      :: old == v -> goto commit
#else
      :: !ready[e] && old == v -> goto commit
#endif
      :: else -> release(me); h = holder(v); back = TO_PUT;
#ifdef REFUSE_BLINDLY
        goto refused
#else
        goto reconcile
#endif
      fi
#endif
    fi
  }
#if CRASHES > 0 && !defined(DURABLE_BEFORE_READ_BACK)
#ifdef FOUND_WITHOUT_DURABLE
#define relies fresh
#else
#define relies (fresh || old != v)
#endif
  atomic {  /* put.make_durable */ /* durable.commit: or the answer to the commit of its own row */
    if
    :: can_die -> goto end_of_put
    :: relies && is_broken(me, v) -> release(me); goto again
    :: relies && !is_broken(me, v) -> write_row_log(v)
    :: !relies
    fi
  }
#endif
commit:
#ifdef DELETE_BEFORE_COMMIT
  atomic {
    if
    :: has_value(old) && old != v && is_of(e, old) -> changer[old] == 0; row[old] = 0; assert(!is_wrong)
    :: else
    fi
  }
#endif
  if
  :: atomic {  /* put.commit */
      !lost(me) ->
      commit_write(me, e, v, st); release(me); wait_for(me, e)
    }
  :: atomic {
      !lost(me) && can_die && doubts < DOUBTS ->
      doubts++; in_flight++; exclusive[e] = GHOST; run Ghost(me, e, v, st); goto resolve
    }
  :: atomic { lost(me) -> release(me); goto resolve }
  :: atomic { can_die -> goto end_of_put }
  fi;
#if CRASHES > 0
  atomic {
    if
    :: lost(me) -> release(me); goto resolve
    :: else -> write_log(e); release(me)
    fi
  }
#endif
  goto done;
resolve:
  atomic {  /* put.resolve */
    is_free(e) ->
    if
    :: is_mine
    :: is_overtaken && is_harmless
    :: is_overtaken && !is_harmless -> goto end_of_put  /* the outcome stays unknown */
    :: is_unwritten -> goto again
    fi;
    old = NONE;  /* the row of the old body is left to a reconcile */
    wait_for(me, e)
  }
#if CRASHES > 0
  atomic {
    if
    :: lost(me) -> release(me); goto resolve
    :: else -> write_log(e); release(me)
    fi
  }
#endif
done:
  atomic {
    assert((took_effect | could_have) & bit(me));
#if CRASHES > 0
    if :: (took_effect & bit(me)) && st > acknowledged[e] -> acknowledged[e] = st :: else fi;
#endif
#ifdef COMMIT_BEFORE_ROW
    if :: v != NONE -> insert_row(e, v) :: else fi;
#endif
    if
    :: has_value(old) && old != v -> h = e; back = TO_END; goto reconcile
    :: can_die || !has_value(old) || old == v
    fi
  }
end_of_put:
  atomic {
    assert(!quiet || (took_effect & bit(me)) || (v == NONE && !has_value(body[e])));
    goto put_ends
  }
refused:
  atomic {
    assert((was_held & bit(me)) && !(took_effect & bit(me)));
    assert(!quiet || body[1 - e] == v)
  }
put_ends:
  atomic {
    release(me);
    under_way = under_way & ~bit(me); took_effect = took_effect & ~bit(me); could_have = could_have & ~bit(me);
    was_held = was_held & ~bit(me); at[me] = 0; wants[me] = 0;
#if CRASHES > 0
    disk_took_effect = disk_took_effect & ~bit(me);
#endif
    goto idle
  }

/* The rows of h. */
reconcile:
  if
  :: atomic {  /* reconcile.fence */ /* reconcile.lock_entities */ /* put.reconcile */
      (body[h] != ABSENT || back == TO_END) && can_share(h) ->
      connect(me); cur = body[h];
      if
#ifdef SUPERSEDED_WITHOUT_STAMP
      :: back == TO_END -> cur = v
#else
      :: back == TO_END && !is_mine -> goto returned
#endif
      :: back == TO_PUT && !is_inner && cur == v -> goto refused
      :: is_inner && cur == lacking -> conflict = true;
#ifdef CONFLICT_KEEPS_ROWS
        is_inner = false; lacking = 0; goto returned
#endif
      :: else
      fi;
      share(h)
    }
  :: atomic {  /* sweep.look */
      body[h] == ABSENT && back != TO_END && can_sweep(h) ->
      connect(me); cur = NONE; lock_sweep(h)
    }
#if FAILOVERS > 0
  :: atomic {  /* over a session from before the failover */
      has_former[h] && !quiet ->
      connect(me); cur = former[h]; cut = cut | bit(me);
      if
#ifdef REFUSED_BY_FORMER
      :: back == TO_PUT && cur == v -> goto refused
#else
      :: back == TO_PUT && cur == v -> goto abandon  /* read_only is asked for after the read */
#endif
      :: else -> if :: cur == ABSENT -> cur = NONE :: else fi
      fi
    }
#endif
  :: atomic { can_die -> goto abandon }
  fi;
  if  /* reconcile.read_index_rows */ /* reconcile.change_index_rows */
  :: atomic { changer[V] == 0 || !concerns(V) -> if :: concerns(V) -> change_row(V) :: else fi }
  :: atomic { can_die -> goto abandon }
  fi;
  if
  :: atomic {
      changer[W] == 0 || !concerns(W) ->
      if :: concerns(W) -> change_row(W) :: else fi;
      if :: changer[V] != me && changer[W] != me -> release(me); goto returned :: else fi
    }
  :: atomic { can_die -> goto abandon }
  fi;
  atomic {  /* reconcile.prove */ /* sweep.look_again */ /* fence.commit */
    if
#ifndef RECONCILE_WITHOUT_PROOF
    :: lost(me) -> goto abandon
    :: !lost(me) -> write_log(h); release(me)
#else
    :: true -> release(me)
#endif
    fi
  }
  if  /* reconcile.commit */
  :: atomic { !is_broken(me, V) -> commit_row(me, V) }
  :: atomic { is_broken(me, V) || can_die -> goto abandon }
  fi;
  if
  :: atomic { !is_broken(me, W) -> commit_row(me, W) }
  :: atomic { is_broken(me, W) || can_die -> goto abandon }
  fi;
returned:
  atomic {
    if
    :: is_inner -> is_inner = false; is_second = true; lacking = 0; h = 1 - h; goto reconcile
    :: else
    fi;
    is_second = false; h = 0; cur = 0;
    if
    :: back == TO_PUT -> back = 0; goto again
    :: back == TO_END -> back = 0; goto end_of_put
    :: back == TO_SCAN -> back = 0; goto scanned
    :: back == TO_PROVE -> back = 0; goto prove
    :: back == TO_IDLE -> goto idle
    fi
  }
blocked:  /* by the other entity's row: that entity is reconciled first, once */
  atomic {
    roll_back_rows(me); release(me);
    if
    :: !is_inner && !is_second -> is_inner = true; lacking = cur; h = 1 - h; goto reconcile
    :: else
    fi;
    assert(!quiet);
    goto abandon
  }
abandon:
  atomic {
    assert(!quiet);
    roll_back_rows(me); release(me);
    if
    :: under_way & bit(me) -> goto put_ends
    :: else -> goto idle
    fi
  }

fill:
  atomic { e = A; if :: ready[A] && ready[B] -> goto idle :: else fi }
scan:
  atomic { old = body[e]; if :: has_value(old) :: else -> goto scanned fi }  /* backfill.read */
  if
  :: atomic {  /* backfill.fence */ /* backfill.insert_index_rows */ /* backfill.commit */
      changer[old] == 0 ->
      if :: is_broken(me, old) -> goto idle :: else fi;
      fresh = (row[old] == 0);
      insert_row(e, old);
      if
      :: is_of(e, old)
      :: else -> h = e; back = TO_SCAN; goto reconcile
      fi
    }
  :: atomic { can_die -> goto idle }
  fi;
#if CRASHES > 0
  atomic {  /* the answer to the commit: a row that was there already may not be on disk */
    if
    :: fresh && is_broken(me, old) -> goto idle
    :: fresh && !is_broken(me, old) -> write_row_log(old)
    :: !fresh
    fi
  }
#endif
scanned:
  atomic {
    old = 0; fresh = false;
    if :: conflict -> goto idle :: else fi;
    if
    :: e == A -> e = B; goto scan
    :: else -> e = A
    fi
  }
prove:
#ifndef NO_PROVE
  atomic {  /* backfill.prove */
    if :: conflict -> goto idle :: else fi;
    e = A; release(WITNESS); connect(WITNESS); wait_for(WITNESS, A); wait_for(WITNESS, B)
  }
prove_one:
  if  /* it locks nothing */
  :: atomic { old = body[e] };
    atomic { fresh = has_value(old) && !is_of(e, old) }
  :: atomic { old = (is_of(e, V) -> bit(V) : 0) + (is_of(e, W) -> bit(W) : 0) };
    atomic { fresh = has_value(body[e]) && !(old & bit(body[e])) }
  fi;
  atomic {
    old = 0;
    if
    :: fresh -> fresh = false; h = e; back = TO_PROVE; goto reconcile
    :: !fresh && e == A -> e = B; goto prove_one
    :: !fresh && e == B
    fi
  }
#if CRASHES > 0 && !defined(PROVE_WITHOUT_DURABLE)
  atomic {  /* backfill.prove_durable */
    if
    :: lost(WITNESS) || is_broken(WITNESS, V) || is_broken(WITNESS, W) -> goto prove
    :: else -> write_log(A); write_log(B); write_row_log(V); write_row_log(W)
    fi
  }
#endif
#endif
  if  /* backfill.publish */
  :: atomic { is_free(A) -> ready[A] = true; assert(!is_wrong) }
  :: atomic { can_die -> goto idle }
  fi;
  if
  :: atomic { is_free(B) -> ready[B] = true; assert(!is_wrong) }
  :: atomic { can_die -> goto idle }
  fi;
  goto idle;

last_end:
  atomic {
    assert(row[V] == 0 || body[holder(V)] == V);
    assert(row[W] == 0 || body[holder(W)] == W);
    assert(!lacks(A) || have_conflict);
    assert(!lacks(B) || have_conflict);
#ifdef END_IS_REACHED
    assert(false);
#endif
    is_stuck = false
  }
end:
}

#if FAILOVERS > 0
inline fail_over(e) {
  failovers++; former[e] = body[e]; has_former[e] = true;
  cut = cut | shared[e] | (exclusive[e] -> bit(exclusive[e]) : 0); exclusive[e] = 0; shared[e] = 0
}
#endif
#if CRASHES > 0
inline crash_entity(e) {
  cut = cut | shared[e] | waits[e] | (exclusive[e] -> bit(exclusive[e]) : 0);
  exclusive[e] = 0; shared[e] = 0; waits[e] = 0;
  body[e] = disk_body[e]; stamp[e] = disk_stamp[e]; writer[e] = disk_writer[e];
  if :: at[1] == e -> took_effect = (took_effect & ~bit(1)) | (disk_took_effect & bit(1)) :: else fi;
  if :: at[2] == e -> took_effect = (took_effect & ~bit(2)) | (disk_took_effect & bit(2)) :: else fi;
  if :: (under_way & bit(1)) && at[1] == 1 - e && wants[1] == body[e] -> was_held = was_held | bit(1) :: else fi;
  if :: (under_way & bit(2)) && at[2] == 1 - e && wants[2] == body[e] -> was_held = was_held | bit(2) :: else fi;
  assert(stamp[e] >= acknowledged[e]); assert(!is_wrong)
}
inline crash_index(v) {
  row[v] = disk_row[v]; changer[v] = 0; change[v] = 0; broken[v] = 255; assert(!is_wrong)
}
#define entity_log_behind(e) (body[e] != disk_body[e] || stamp[e] != disk_stamp[e])
#endif

proctype Faults() {
  do
#if CUTS > 0
  :: atomic { !quiet && cuts < CUTS && (holds(1, A) || holds(1, B)) -> cuts++; d_step { forget_locks(1) }; cut = cut | bit(1) }
  :: atomic { !quiet && cuts < CUTS && (holds(2, A) || holds(2, B)) -> cuts++; d_step { forget_locks(2) }; cut = cut | bit(2) }
#if BACKFILLS > 0
  :: atomic { !quiet && cuts < CUTS && (holds(FILLER, A) || holds(FILLER, B)) -> cuts++; d_step { forget_locks(FILLER) };
      cut = cut | bit(FILLER) }
#endif
#endif
#if FAILOVERS > 0
  :: atomic { !quiet && failovers < FAILOVERS -> fail_over(A) }
  :: atomic { !quiet && failovers < FAILOVERS -> fail_over(B) }
#endif
#if CRASHES > 0
  :: atomic { !quiet && crashes < CRASHES && entity_log_behind(A) -> crashes++; crash_entity(A) }
  :: atomic { !quiet && crashes < CRASHES && entity_log_behind(B) -> crashes++; crash_entity(B) }
  :: atomic { !quiet && crashes < CRASHES && row[V] != disk_row[V] -> crashes++; crash_index(V) }
  :: atomic { !quiet && crashes < CRASHES && row[W] != disk_row[W] -> crashes++; crash_index(W) }
#endif
  :: quiet -> break
  od
}

init {
  atomic {
#ifdef BODY_OF_A
    body[A] = BODY_OF_A;
#else
    if :: body[A] = ABSENT :: body[A] = NONE :: body[A] = V fi;
#endif
#ifdef BODY_OF_B
    body[B] = BODY_OF_B;
#else
    if
    :: body[B] = ABSENT
    :: body[B] = NONE
#if BACKFILLS > 0
    :: body[B] = V
#endif
    :: body[B] = W
    fi;
#endif
#if LEFTOVERS > 0
    if :: row[V] = 0 :: row[V] = A + 1 :: row[V] = B + 1 fi;
    if :: row[W] = 0 :: row[W] = A + 1 :: row[W] = B + 1 fi;
#endif
#if BACKFILLS == 0
    ready[A] = true; ready[B] = true;
    if :: has_value(body[A]) -> row[body[A]] = A + 1 :: else fi;
    if :: has_value(body[B]) -> row[body[B]] = B + 1 :: else fi;
#endif
    stamp[A] = 1; stamp[B] = 1; clock[A] = 1; clock[B] = 1;
#if CRASHES > 0
    write_log(A); write_log(B); write_row_log(V); write_row_log(W);
#ifdef BODY_NOT_ON_DISK
    disk_body[A] = NONE; disk_stamp[A] = 0;
#endif
#endif
    busy = 2 + BACKFILLS;
    run Client(1);
    run Client(2);
#if BACKFILLS > 0
    run Client(FILLER);
#endif
    run Client(LAST);
    run Faults()
  }
  timeout -> assert(!is_stuck)
}

/* put and delete: lib/src/write/put.cpp. */

/* Would a body that follows another one change an immutable property? */
#ifdef UNIQUE
#define refused(before, after) (has_value(before) && has_value(after) && before != after)
#else
#define refused(before, after) false
#endif

/* May those that overtook a put of v, of which only the last can be seen, include one that could not have followed it? */
#if defined(RESOLVE_UNLIKE_IMMUTABLE) || !defined(UNIQUE)
#define may_have_refused(v) false
#elif defined(RESOLVE_BY_TOMBSTONE)
#define may_have_refused(v) refused(v, body)
#else
#define may_have_refused(v) (has_value(v) && body != v)
#endif

/* What a stamp is at least. */
#ifdef PUT_WITHOUT_FLOOR
#define clock 1
#else
#define clock (floor > 1 -> floor : 1)
#endif
#ifdef STAMPS_OF_THE_CLOCK
#define stamp_after(before) clock
#else
#define stamp_after(before) (before + 1 > clock -> before + 1 : clock)
#endif

inline draw_ticket(ticket) {
#if RECONCILERS > 0 && TIDIES == 0 && CLEANS == 0  /* only clean in the end deletes records, all of them */
  ticket = 1
#else
  ticket = 1 << tickets; tickets++
#endif
}

/* The condition of a put. It is decided where the row is locked; the plain insert of a new id decides it, too. */
#define NOTHING 0
#define IS_ABSENT 1
#define HAS_STAMP 2
#ifdef CONDITIONS
#define condition_of(w) conditions[w]
#define both_without_condition(w) (conditions[1] == NOTHING && conditions[2] == NOTHING)
#define its_condition , me, conditions[w], seen_version
#define condition_parameters ; byte me; byte condition; byte seen_version
#define passed_condition , me, condition, seen_version
inline check_condition(w) { /* put.check_condition */
  if
  :: (conditions[w] == IS_ABSENT && has_value(old)) || (conditions[w] == HAS_STAMP && (old == ABSENT || stamp != seen)) ->
     assert(!(took_effect & bit(w)));
     goto end_of_put                                                 /* exists, or changed */
  :: else
  fi
}
inline commit_condition(number, condition, version_seen) {
  assert(condition != IS_ABSENT || !has_value(body));
  assert(condition != HAS_STAMP || version == version_seen);
  version++; writer = number; conditional = (condition != NOTHING)
}
#else
#define condition_of(w) NOTHING
#define both_without_condition(w) true
#define its_condition , 0, 0, 0
#define condition_parameters
#define passed_condition , 0, 0, 0
inline check_condition(w) { skip }
inline commit_condition(number, condition, version_seen) { skip }
#endif

/* The entity transaction of writer w commits body v with stamp st, and writes its record. */
#ifdef PUT_WITHOUT_RECORD
#define its_record 0
#else
#define its_record ticket
#endif
inline commit_write(w, v, st, record, number, condition, version_seen) {
  commit_condition(number, condition, version_seen);
#ifdef DOUBTS
  assert(!(took_effect & bit(w)) || last_writer == w);
  if
  :: (under_way & ~took_effect & bit(3 - w)) && both_without_condition(w) && !refused(body, wants[3 - w]) && !refused(wants[3 - w], v) ->
     overtaken = overtaken | bit(3 - w)
  :: else
  fi;
  took_effect = took_effect | bit(w); last_writer = w;
  if :: v == TOMB -> recent = under_way :: else -> recent = 0 fi;
#endif
#ifdef STAMPS
  assert(body == ABSENT || st > stamp);
  stamp = st;
#endif
#ifdef EVENTUAL
  body_before = body;
#endif
  body = v; records = records | record;
  assert(!missing)
}
inline acknowledge(w, st) {
#ifdef DOUBTS
  assert((took_effect | overtaken) & bit(w));
#endif
#if CRASHES > 0
  acknowledged_stamp = (st > acknowledged_stamp -> st : acknowledged_stamp);
#endif
  skip
}

/* A COMMIT that was sent over a connection that broke: its session still holds the locks, and ends one way or other. */
proctype Ghost(byte w; byte v; byte st; byte record condition_parameters) {
  atomic {
    if
    :: !lost(GHOST) -> commit_write(w, v, st, record passed_condition)
    :: true
    fi;
    release(GHOST); ghost = false; in_flight--
  }
}

#ifdef CONDITIONS
#define ghost_of(w, v, st, record) run Ghost(w, v, st, record, me, conditions[w], seen_version)
#else
#define ghost_of(w, v, st, record) run Ghost(w, v, st, record)
#endif

/* How put.resolve knows its write, and when it cannot tell whether the write came before the one that it finds. */
#if defined(CONDITIONS) && !defined(RESOLVE_BY_STAMP)
#define is_mine (writer == me)
#define is_overtaken (stamp > st && writer != me)
#else
#define is_mine (stamp == st && body == v)
#define is_overtaken (stamp > st)
#endif
#if !defined(CONDITIONS) || defined(RESOLVE_CONDITIONS_ALIKE)
#define knows_nothing false
#elif defined(RESOLVE_OWN_CONDITION)
#define knows_nothing (conditions[w] != NOTHING)
#elif defined(RESOLVE_OTHER_CONDITION)
#define knows_nothing conditional
#else
#define knows_nothing (conditions[w] != NOTHING || conditional)
#endif

#define tidies_itself (tidies < TIDIES && known != 0 && has_value(old) && old != v)

proctype Writer(byte w) {
  byte v, old, st, known = 1; bool inserted;
#ifdef CONDITIONS
  byte me, seen, seen_version;        /* the number of its write; what it knows of an earlier version */
#endif
  byte ticket;                        /* the token of its record, if a row will be there that only the old body calls for */
#if CRASHES > 0
  bool fresh;                         /* it inserted the row itself */
#endif
  do
#ifdef CONDITIONS
  :: atomic { puts < PUTS && seen == 0 && has_value(body) -> seen = stamp; seen_version = version }   /* get */
#endif
  :: atomic {
       puts < PUTS -> puts++;
#ifdef CONDITIONS
       me = puts;
       if
       :: conditions[w] = NOTHING
       :: conditions[w] = IS_ABSENT
       :: seen != 0 -> conditions[w] = HAS_STAMP
       fi;
#endif
       if :: v = 1 :: v = 2 :: v = TOMB fi;
#ifdef DOUBTS
       under_way = under_way | bit(w); took_effect = took_effect & ~bit(w); overtaken = overtaken & ~bit(w);
       wants[w] = v;
#endif
#if CRASHES > 0
       on_disk_took_effect = on_disk_took_effect & ~bit(w); on_disk_overtaken = on_disk_overtaken & ~bit(w);
#endif
       skip }
again:
#ifdef NO_EPOCH
     atomic { learn_catalog };
#endif
     if
     :: atomic { /* put.fence; the id is taken for a new one, which the insert proves or disproves */
          v != TOMB && condition_of(w) != HAS_STAMP && xfence == 0 && !lagging -> connect(w); old = ABSENT; ticket = 0;
#ifndef NO_EPOCH
          learn_catalog;
#endif
#ifndef PUT_WITHOUT_FENCE
          sfence = sfence | bit(w);
#endif
#ifdef STAMPS
          st = clock;
#endif
          skip }
     :: atomic { /* put.fence */ /* put.lock_entities */
#ifdef PUT_WITHOUT_LOCK
       xfence == 0 -> connect(w); old = body;
#else
       xfence == 0 && row_free && !lagging -> connect(w); old = body;
#endif
#ifndef NO_EPOCH
       learn_catalog;
#endif
       if
       :: v == TOMB && !has_value(old) -> goto end_of_put            /* not found */
       :: else
       fi;
       check_condition(w);
       if
       :: refused(old, v) -> goto end_of_put                         /* an immutable property would change */
       :: else
       fi;
       if
       :: known != 0 && has_value(old) && old != v -> draw_ticket(ticket)
       :: else -> ticket = 0
       fi;
#ifndef PUT_WITHOUT_FENCE
       sfence = sfence | bit(w);
#endif
#ifdef STAMPS
       if
       :: old == ABSENT -> st = clock
       :: else -> st = stamp_after(stamp)
       fi;
#endif
       if
       :: old != ABSENT ->
#ifdef PUT_WITHOUT_LOCK
          row_free;
#endif
          xrow = w;                                                  /* put.write_entities: an update */
#if !defined(NAIVE) && !defined(CHANGED_ROWS_ONLY) && CRASHES == 0 && TIDIES == 0
          old = 0;
#endif
          goto written
       :: else
       fi }
     fi;
     if
     :: atomic { lost(w) -> release(w); goto again }
     :: atomic { !lost(w) && row_free ->                             /* put.write_entities: an insert */
#ifdef BLIND_UPSERT
          xrow = w }
#else
          if :: body == ABSENT -> xrow = w :: else -> release(w); goto again fi }
#endif
     fi;
written:
#ifndef INDEX_AFTER_COMMIT
     if /* put.insert_index_rows */ /* put.write_cleanup */
#ifdef CHANGED_ROWS_ONLY
     :: atomic { v != TOMB && old == v -> skip }
#endif
     :: atomic { v == TOMB || known == 0 -> skip }
     :: atomic { v != TOMB && known != 0 && can_insert(v) ->
          if :: is_broken(v, w) -> release(w); goto again :: else fi;
          if :: table == 0 -> release(w); goto end_of_put :: else fi;
#if CRASHES > 0
          fresh = !row[v];
#endif
          inserted = !in_the_way(v);
          insert_into(known, v) }
     :: atomic { v != TOMB && known != 0 && zombies < ZOMBIES -> zombies++; in_flight++; untidy = true;
          run Zombie(known, v); release(w);
          if :: goto again :: goto end_of_put fi }
     fi;
#if CRASHES > 0
#ifdef PUT_WITHOUT_DURABLE
#define relies false
#else
#define relies (old != v)
#endif
     if /* durable.commit */ /* put.make_durable: one more commit of a put that relies on a row which it found; or else the server answers */
     :: atomic { v == TOMB || known == 0 || !(fresh || relies) -> skip }
     :: atomic { v != TOMB && known != 0 && (fresh || relies) ->
          if :: is_broken(v, w) -> release(w); goto again :: else -> write_index_log(v) fi }
     :: atomic { v != TOMB && known != 0 -> untidy = true; release(w); goto end_of_put }
     fi;
#endif
#if defined(UNIQUE) && !defined(NO_READ_BACK)
     if
     :: atomic { v != TOMB && known != 0 && !inserted && !row[v] -> untidy = true; release(w) };
#if RECONCILERS == 0
        atomic { fence_free && can_reconcile -> make_rows_right() };
#endif
        goto again
     :: else
     fi;
#endif
#endif
     if
     :: atomic { !lost(w) -> commit_write(w, v, st, its_record its_condition); release(w); /* put.commit */
#if CRASHES > 0
          unanswered = unanswered | bit(w);
#endif
          skip }
     :: atomic { !lost(w) && unknowns < UNKNOWNS && !ghost -> unknowns++; ghost = true; in_flight++;
          sfence = (sfence & ~bit(w)) | bit(GHOST);
          if :: xrow == w -> xrow = GHOST :: else fi;
          ghost_of(w, v, st, its_record); goto resolve }
     :: atomic { lost(w) -> release(w); goto resolve }
     :: atomic { untidy = true; release(w); goto end_of_put }        /* dies, or gives up */
     fi;
#if CRASHES > 0
     if
     :: atomic { is_cut(w) -> release(w); goto resolve }
     :: atomic { !is_cut(w) -> write_entity_log(); release(w) }
     :: atomic { release(w); goto end_of_put }
     fi;
#endif
     goto acknowledged;
resolve:
#ifdef BLIND_REPLAY
     goto again;
#endif
     atomic { /* put.resolve */
#ifndef RESOLVE_WITHOUT_LOCK
       row_free ->
#endif
       if
#ifndef RESOLVE_BY_BODY
       :: body != ABSENT && is_overtaken && (may_have_refused(v) || knows_nothing) -> untidy = true; goto end_of_put   /* still unknown */
       :: body != ABSENT && is_overtaken && !(may_have_refused(v) || knows_nothing) -> untidy = true
#endif
       :: body != ABSENT && is_mine
       :: else -> untidy = true; goto again
       fi;
#if CRASHES > 0
       unanswered = unanswered | bit(w);
#endif
       skip }
#if CRASHES > 0 && !defined(RESOLVE_WITHOUT_DURABLE)
     if
     :: atomic { is_cut(w) -> release(w); goto resolve }
     :: atomic { !is_cut(w) -> write_entity_log() }
     fi;
#endif
#if CRASHES > 0
     atomic { release(w) };
#endif
#if TIDIES > 0
     old = ABSENT;                                                   /* leaves the old row to a reconcile */
#endif
acknowledged:
     atomic { acknowledge(w, st) }
#if TIDIES > 0
     if
     :: atomic { !tidies_itself }
     :: atomic { tidies_itself && xfence == 0 && xrow == 0 -> tidies++; connect(w);
          /* reconcile.fence */ /* reconcile.lock_entities */
#ifndef TIDY_WITHOUT_EPOCH
          if :: maintained != known -> goto end_of_put :: else fi;
#endif
#ifndef TIDY_WITHOUT_STAMP
          if :: body == ABSENT || stamp != st -> goto end_of_put :: else fi;
#endif
          sfence = sfence | bit(w);
#ifndef TIDY_WITHOUT_LOCK
          srow = srow | bit(w);
#endif
          skip };
        if /* reconcile.change_index_rows */
        :: atomic { unlocked(1) && unlocked(2) ->
             if :: table == 0 || is_broken(old, w) -> release(w); goto end_of_put :: else fi;
             if
             :: table != known && has_value(v) && row[v] -> deleting[v] = w   /* the row may mean another one there */
             :: table == known && row[old] -> deleting[old] = w
             :: else
             fi;
#ifdef RECORD_FIRST
             records = records & ~ticket;
#endif
             skip }
        :: atomic { release(w); goto end_of_put }
        fi;
#ifndef TIDY_WITHOUT_PROOF
        atomic { /* reconcile.prove */
          if
          :: lost(w) -> roll_back_rows(w); release(w); goto end_of_put
          :: else -> write_entity_log(); release(w)
          fi };
#endif
        if /* reconcile.commit */
        :: atomic { !is_broken(old, w) -> commit_row(w, 1); commit_row(w, 2); assert(!missing) };
           atomic { /* cleanup.delete */
             if :: records = records & ~ticket :: true fi;
             release(w) }
        :: atomic { late_commits < LATE_COMMITS -> late_commits++; in_flight++; hand_rows_to_late(w); run LateCommit();
             release(w) }
        :: atomic { roll_back_rows(w); release(w) }
        fi
     fi;
#endif
#ifdef INDEX_AFTER_COMMIT
     if
     :: atomic { v == TOMB -> skip }
     :: atomic { v != TOMB && can_insert(v) -> insert_row(v) }
     fi;
#endif
#if RECONCILERS == 0
     if
     :: atomic { can_reconcile -> reconcile_at_once() }; /* put.reconcile */
        if :: atomic { records = records & ~ticket } :: true fi
     :: true
     fi;
#endif
#ifdef NAIVE
     if :: has_value(old) && old != v -> atomic { unlocked(old) -> row[old] = false; assert(!missing) } :: else fi;
#endif
end_of_put:
     atomic { under_way = under_way & ~bit(w); recent = recent & ~bit(w); v = 0; old = 0; st = 0; inserted = false;
       ticket = 0;
#ifdef CONDITIONS
       me = 0; seen = 0; seen_version = 0; conditions[w] = NOTHING;
#endif
#if CRASHES > 0
       fresh = false;
#endif
       skip }
  :: atomic { puts >= PUTS -> ended++; break }
  od
}

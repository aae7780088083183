/* The move of a store to another cluster: docs/protocol.md, "Moving a store". The store S has two shards, each with a fence
   that has its state, and one entity on each. The other store, O, has one shard or two. Writers put into S and, when it
   is open, into O. Finishers move S to O. Each may sleep at any step, for good or until another one has taken over.
   Undoers, who may be writers that have waited too long, open S again at any moment while it is `moving`. A server of S
   may crash, and forgets what was not on disk.
   - S and O never both take writes, no acknowledged write is missing in O when it is open, and none is overwritten.
   - A read of S finds the newest acknowledged version, or is refused because S has moved. Then O has this version, and
     takes writes or lets them wait.
   - What the users of O do when it is open, no finisher undoes.
   - If everybody dies, at any moment, one more finish completes the move. A thaw opens S, or finds that it has moved.
   - Once O was detached as a store of its own, S does not move to it (DETACHER).
   Controls, in the order of the steps: CLAIM_WHAT_IS_OPEN, CLAIM_WHAT_IS_OPENING, LOOK_WITHOUT_DURABLE,
   FREEZE_UNANNOUNCED, FREEZE_FROM_THE_END, FREEZE_WITHOUT_FENCE, DRAIN_BEFORE_FREEZE, WRITE_WITHOUT_TOKEN,
   PREPARE_WITHOUT_TOKEN, TRIGGERS_WITHOUT_TOKEN, DECIDE_BLINDLY, DECIDE_WITHOUT_TOKEN, MARK_WITHOUT_DURABLE,
   OPEN_BEFORE_MARK,
   OPEN_WITHOUT_TOKEN; of an undo UNDO_WITHOUT_TOKEN, UNDO_WITHOUT_SHARD_0, UNDO_FROM_THE_END, ASK_BEFORE_LOOK,
   UNDO_WITHOUT_DURABLE, SAME_TOKEN_AGAIN; of readers READ_BY_KNOWN_STATE; of a detach DETACH_BLINDLY. With OWN_UNDO_FROM_THE_END and with
   STATE_IN_EARLIER_STATEMENT everything still holds. */
/* Not modelled: move.compare. */
#ifndef PUTS
#define PUTS 2       /* into both stores */
#endif
#ifndef OTHERS
#define OTHERS 1     /* shards of O */
#endif
#ifndef FINISHERS
#define FINISHERS 2
#endif
#ifndef UNDOERS
#define UNDOERS 1
#endif
#ifndef CRASHES
#define CRASHES 0
#endif

/* The states of the shards. A finisher has one token, for S and for O. */
#define OPEN 0
#define MOVING(f) (f)       /* of S */
#define MOVED(f) (8 + (f))
#define FROZEN(c) (c)       /* of O */
#define OPENING(c) (8 + (c))
#define TOKEN(state) ((state) & 7)
#define LAST (FINISHERS + 1)
#define USERS 6             /* the token of a freeze by the users of O */
#define COPIER 7            /* the token of the process that has made the copy */

#define IS_MOVING(k) (s[k] != OPEN && s[k] < 8)
#define HAS_MOVED(k) (s[k] > 8)
#define IS_OPEN(m) (o[m] == OPEN)
#define IS_OPENING(m) (o[m] > 8)
#define IS_IN_USE(m) (o[m] == OPEN || o[m] == FROZEN(USERS))
#define IS_OURS(m) (TOKEN(o[m]) == me)

#if OTHERS == 1
#define PLACE(e) 0  /* the shard of O that has the entity */
#define EACH_OF_O(step) step(0)
#define ALL_OF_O(condition) (condition(0))
#else
#define PLACE(e) (1 - (e))
#define EACH_OF_O(step) step(0); step(1)
#define ALL_OF_O(condition) (condition(0) && condition(1))
#endif

byte s[2];
byte shared[2];  /* holders of the fence */
byte has[2];     /* the version of the entity in S */
byte o[OTHERS];
byte there[2];   /* the version of the entity in O */
byte newest[2];  /* the acknowledged version */
bool reads_ask[2];  /* whether S has moved */
bool triggers;   /* O has those of S */
byte begun;      /* finishers */
bool detached;   /* O was opened as a store of its own */

#define REQUIRE(condition, label) if :: condition :: else -> goto label fi

/* Others see a commit before it is on disk. AND_DURABLE is the answer to it: everything that this server has committed
   is on disk. A process dies if the server has crashed meanwhile. What a process finds may not be on disk, either, so
   it commits something there, too. */
#if CRASHES
byte disk_s[2], disk_has[2], life[2], crashes;
#define NO_COMMIT 255
#define IS_ALIVE(k) (life[k] == mine)
#define COMMIT(k) mine = life[k]
#define AND_DURABLE(k) \
  ; atomic { \
    if \
    :: mine == NO_COMMIT \
    :: IS_ALIVE(k) -> disk_s[k] = s[k]; disk_has[k] = has[k] \
    :: else -> goto done \
    fi; \
    mine = 0 \
  }
#else
#define NO_COMMIT 0
#define IS_ALIVE(k) true
#define COMMIT(k) skip
#define AND_DURABLE(k)
#endif
#ifdef LOOK_WITHOUT_DURABLE
#define FOUND(k) mine = NO_COMMIT
#else
#define FOUND(k) COMMIT(k)
#endif
#ifdef UNDO_WITHOUT_DURABLE
#define FOUND_OPEN(k) mine = NO_COMMIT
#else
#define FOUND_OPEN(k) COMMIT(k)
#endif
#ifdef MARK_WITHOUT_DURABLE
#define FOUND_MOVED(k) mine = NO_COMMIT
#else
#define FOUND_MOVED(k) COMMIT(k)
#endif

#define MAY_PUT (newest[0] + newest[1] < PUTS)

proctype Writer(byte e) {
  byte mine;
  do
  :: atomic { s[e] == OPEN && MAY_PUT -> shared[e]++; COMMIT(e) }  /* put.fence */
    atomic {  /* put.commit */
      REQUIRE(IS_ALIVE(e), done);
      assert(detached || (o[0] != OPEN && o[OTHERS - 1] != OPEN));
      has[e]++;
      shared[e]--;
#if CRASHES
    }
    AND_DURABLE(e);
    atomic {
#endif
      newest[e] = has[e]
    }
  :: atomic {
      IS_OPEN(PLACE(e)) && MAY_PUT && !detached ->
      assert(there[e] >= newest[e]);
      there[e]++;
      newest[e] = there[e]
    }
  od;
done:
}

/* A read that begins earlier demands less. It asks for the state once a move was announced. */
inline read_entity(e) {
  if
  :: reads_ask[e] && HAS_MOVED(e) -> assert(there[e] >= newest[e] && (IS_IN_USE(PLACE(e)) || IS_OPENING(PLACE(e))))
  :: else -> assert(has[e] >= newest[e])
  fi
}

proctype Reader() {
#if defined(READ_BY_KNOWN_STATE) || defined(STATE_IN_EARLIER_STATEMENT)
  bool moved;
  byte demanded;
#ifdef READ_BY_KNOWN_STATE
  moved = HAS_MOVED(1);
  demanded = newest[1];  /* the read begins */
#else
  demanded = newest[1];
  moved = HAS_MOVED(1);
#endif
  assert(moved || has[1] >= demanded);
#endif
  do
  :: d_step { read_entity(0); read_entity(1) }  /* query.read_entities */
  od
}

/* Opens shard k of S, if it still has the token f that was read there. Shard 0 comes first. */
#ifdef UNDO_WITHOUT_TOKEN
#define IS_TO_OPEN(k, f) IS_MOVING(k)
#else
#define IS_TO_OPEN(k, f) (s[k] == MOVING(f))
#endif
#define OPEN_FIRST(f, if_moved) \
  atomic { \
    if \
    :: s[0] == MOVING(f) -> s[0] = OPEN; COMMIT(0) \
    :: HAS_MOVED(0) -> if_moved \
    :: else -> FOUND_OPEN(0) \
    fi \
  } \
  AND_DURABLE(0)
#define OPEN_AGAIN(f, k) \
  atomic { \
    if \
    :: IS_TO_OPEN(k, f) -> s[k] = OPEN \
    :: else \
    fi; \
    COMMIT(k) \
  } \
  AND_DURABLE(k)
#ifdef UNDO_WITHOUT_SHARD_0
#define UNDO(f, k, if_moved) OPEN_AGAIN(f, k)
#elif defined(UNDO_FROM_THE_END)
#define UNDO(f, k, if_moved) OPEN_AGAIN(f, k); OPEN_FIRST(f, if_moved)
#else
#define UNDO(f, k, if_moved) OPEN_FIRST(f, if_moved); OPEN_AGAIN(f, k)  /* move.undo */
#endif

proctype Undoer() {
  byte k, f, mine;
  do
  :: atomic {
      if :: IS_MOVING(0) -> k = 0 :: IS_MOVING(1) -> k = 1 fi;
      f = s[k]
    }
    UNDO(f, k, goto done)
#ifdef ASK_BEFORE_LOOK
  :: k = s[0];
    atomic { IS_MOVING(1) -> f = s[1] }
    if
    :: k > 8 || k == MOVING(f)
    :: else -> OPEN_AGAIN(f, 1)
    fi
#endif
  od;
done:
}

/* Takes a shard of O over, unless its users have it. What is opening stays so: S may have moved. */
inline claim(m) {
  atomic {  /* copy.claim */
    if
#ifdef CLAIM_WHAT_IS_OPEN
    :: o[m] == FROZEN(USERS)
#else
    :: IS_IN_USE(m)
#endif
#ifdef CLAIM_WHAT_IS_OPENING
    :: else -> o[m] = FROZEN(me)
#else
    :: else -> o[m] = o[m] - TOKEN(o[m]) + me
#endif
    fi
  }
}

inline freeze_other(m) {
  atomic { REQUIRE(IS_OURS(m), done); o[m] = FROZEN(me) }
}

#ifdef FREEZE_WITHOUT_FENCE
#define IS_EXCLUSIVE(k) true
#else
#define IS_EXCLUSIVE(k) (shared[k] == 0)
#endif
inline announce(k) {
#ifdef FREEZE_UNANNOUNCED
  skip
#else
  reads_ask[k] = true  /* move.announce */
#endif
}

inline freeze(k) {
  do
  :: atomic {  /* move.freeze */
      if
      :: s[k] == OPEN && IS_EXCLUSIVE(k) -> s[k] = MOVING(me); f = me
      :: s[k] != OPEN -> f = s[k]
      :: me != LAST -> goto give_up  /* it takes too long */
      fi;
      COMMIT(k)
    }
    AND_DURABLE(k);
    if
    :: f == me -> break
    :: f != me && (k == 0 || f > 8) -> goto give_up
    :: f != me && k != 0 && f < 8 -> UNDO(f, k, goto give_up)  /* of a former finisher, which froze it late */
    fi
  od
}

inline copy(e) {  /* move.drain */
  atomic { read = has[e]; COMMIT(e) }
  AND_DURABLE(e);
  atomic {
#ifndef WRITE_WITHOUT_TOKEN
    REQUIRE(IS_OURS(PLACE(e)), give_up);
#endif
    assert(read >= there[e]);
    there[e] = read;
    read = 0
  }
}

inline prepare(m) {
  atomic {  /* move.prepare */
#ifndef PREPARE_WITHOUT_TOKEN
    REQUIRE(IS_OURS(m), give_up);
#endif
    o[m] = OPENING(me)
  }
}

inline write_triggers() {
  atomic {
#ifndef TRIGGERS_WITHOUT_TOKEN
    REQUIRE(IS_OURS(0), give_up);
#endif
    assert(!IS_IN_USE(0));
    triggers = true
  }
}

#ifdef DECIDE_BLINDLY
#define MAY_DECIDE true
#elif defined(DECIDE_WITHOUT_TOKEN)
#define MAY_DECIDE IS_MOVING(0)
#else
#define MAY_DECIDE (s[0] == MOVING(me))
#endif
inline decide() {
  atomic {  /* move.decide */
    if
    :: MAY_DECIDE -> assert(!detached); s[0] = MOVED(me)
    :: !MAY_DECIDE || me != LAST -> goto give_up
    fi;
    COMMIT(0)
  }
  AND_DURABLE(0)
}

inline mark() {
  atomic {  /* move.mark */
    if
    :: s[1] == MOVING(f) -> s[1] = MOVED(f); COMMIT(1)
    :: s[1] == MOVED(f) -> FOUND_MOVED(1)
    :: else -> assert(false)  /* stuck: this shard can never move */
    fi
  }
  AND_DURABLE(1)
}

#ifdef OPEN_WITHOUT_TOKEN
#define IS_NOT_OURS(m) false
#else
#define IS_NOT_OURS(m) !IS_OURS(m)
#endif
inline open(m) {
  atomic {  /* move.open */
    if
    :: IS_NOT_OURS(m) && IS_IN_USE(m)
    :: IS_NOT_OURS(m) && !IS_IN_USE(m) -> goto done
    :: else ->
      assert(triggers && o[m] != FROZEN(USERS));
      o[m] = OPEN
    fi
  }
}

inline finish() {
  EACH_OF_O(claim);
  do
  :: atomic { f = s[0]; FOUND(0) }
    AND_DURABLE(0);
    if
    :: f > 8 -> f = TOKEN(f); goto moved
    :: f != OPEN && f < 8 -> OPEN_FIRST(f, skip)
    :: f == OPEN -> break
    fi
  od;
  EACH_OF_O(freeze_other);
again:
#if !CRASHES
  copy(0);  /* while S is open */
  copy(1);
#endif
  announce(0);
  announce(1);
#ifdef FREEZE_FROM_THE_END
  freeze(1);
  freeze(0);
#else
  freeze(0);
  freeze(1);
#endif
#ifndef DRAIN_BEFORE_FREEZE
  copy(0);
  copy(1);
#endif
  EACH_OF_O(prepare);
  write_triggers();
  decide();
moved:
#ifdef OPEN_BEFORE_MARK
  EACH_OF_O(open);
  mark();
#else
  mark();
  EACH_OF_O(open);
#endif
  assert(HAS_MOVED(0) && HAS_MOVED(1) && ALL_OF_O(IS_IN_USE));
  goto done;
give_up:
#ifdef OWN_UNDO_FROM_THE_END
  OPEN_AGAIN(me, 1);
  OPEN_FIRST(me, skip)
#else
  UNDO(me, 1, goto done)
#endif
#ifdef SAME_TOKEN_AGAIN
  ; goto again
#endif
}

proctype Finisher(byte me) {
  byte f, read, mine;
  atomic { begun == me - 1 -> begun = me }
  finish();
done:
#ifdef END_IS_REACHED
  assert(me < FINISHERS || !ALL_OF_O(IS_OPEN))
#endif
}

/* Opens O as a store of its own, and gives up a move that has come so far that it could still be decided. */
#ifdef DETACHER
inline look_and_claim(m) {
  atomic { announced = announced || IS_OPENING(m); claim(m) }
}

inline detach(m) {
  atomic {
    if
    :: IS_OURS(m) -> o[m] = OPEN; detached = true
    :: else
    fi
  }
}

proctype Detacher() {
  byte me = LAST;
  byte f, mine;
  bool announced;
  EACH_OF_O(look_and_claim);
  do
#ifdef DETACH_BLINDLY
  :: break
#else
  :: !announced -> break
  :: announced ->
    atomic { f = s[0]; FOUND(0) }
    AND_DURABLE(0);
    if
    :: f > 8 -> goto done
    :: f == OPEN -> break
    :: f != OPEN && f < 8 -> OPEN_FIRST(f, goto done)
    fi
#endif
  od;
  EACH_OF_O(detach);
done:
}
#endif

proctype Users() {
  atomic { ALL_OF_O(IS_OPEN) -> o[0] = FROZEN(USERS) }
}

#if CRASHES
proctype Crash() {
  byte k;
  do
  :: atomic {
      crashes < CRASHES -> crashes++;
      if :: k = 0 :: k = 1 fi;
      s[k] = disk_s[k]; has[k] = disk_has[k]; shared[k] = 0; life[k]++; k = 0
    }
  od
}
#endif

/* Everybody else has died, and somebody finishes the move, or thaws S. Afterwards everything is put back. So this can
   be tried at every moment, and adds no states. */
byte old_s[2], old_shared[2], old_o[2], old_there[2], old_disk_s[2], old_disk_has[2], old_triggers;
bool old_reads_ask[2];

inline keep(k) {
  old_s[k] = s[k]; old_shared[k] = shared[k]; old_there[k] = there[k]; old_o[k % OTHERS] = o[k % OTHERS];
  old_reads_ask[k] = reads_ask[k];
#if CRASHES
  old_disk_s[k] = disk_s[k]; old_disk_has[k] = disk_has[k];
#endif
  shared[k] = 0
}

inline put_back(k) {
  s[k] = old_s[k]; shared[k] = old_shared[k]; there[k] = old_there[k]; o[k % OTHERS] = old_o[k % OTHERS];
#if CRASHES
  disk_s[k] = old_disk_s[k]; disk_has[k] = old_disk_has[k]; old_disk_s[k] = 0; old_disk_has[k] = 0;
#endif
  reads_ask[k] = old_reads_ask[k];
  old_s[k] = 0; old_shared[k] = 0; old_there[k] = 0; old_reads_ask[k] = 0
}

proctype LastFinish() {
  byte me = LAST;
  byte f, read, mine;
  do
  :: d_step {
      keep(0); keep(1); old_triggers = triggers;
      finish();
done:
      assert(HAS_MOVED(0) && HAS_MOVED(1) && ALL_OF_O(IS_IN_USE) && there[0] >= newest[0] && there[1] >= newest[1]);
      put_back(0); put_back(1); triggers = old_triggers;
      old_o[0] = 0; old_o[OTHERS - 1] = 0; old_triggers = 0; f = 0; read = 0; mine = 0
    }
  od
}

inline thaw(k) {
  f = s[k];
  if
  :: IS_MOVING(k) -> UNDO(f, k, goto done)
  :: else
  fi
}

proctype LastThaw() {
  byte f, mine;
  do
  :: d_step {
      keep(0); keep(1);
      thaw(1); thaw(0);
done:
      assert(HAS_MOVED(0) || s[0] == OPEN && s[1] == OPEN && !IS_IN_USE(0) && !IS_IN_USE(OTHERS - 1));
      put_back(0); put_back(1); old_o[0] = 0; old_o[OTHERS - 1] = 0; f = 0; mine = 0
    }
  od
}

init {
  byte i;
  atomic {
    o[0] = FROZEN(COPIER);
    o[OTHERS - 1] = FROZEN(COPIER);
#if !CRASHES
    run Writer(0);
    run Users();
#else
    run Crash();
#endif
    run Writer(1);
    run Reader();
#ifdef DETACHER
    run Detacher();
#else
    run LastFinish();
    run LastThaw();
#endif
#if UNDOERS
    for (i : 1 .. UNDOERS) { run Undoer() }
#endif
    for (i : 1 .. FINISHERS) { run Finisher(i) }
    i = 0
  }
}

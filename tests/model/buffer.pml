/* One buffered write: docs/protocol.md, "Buffered writes". Its entity is on the server E. Copies of it go to the servers A
   and B. A putter inserts both, commits them, and may get no answer to a COMMIT, which happens later, or never. Flushers
   store the write; each of their statements may fail because a server is down, and they may die, or sleep, between any
   two steps. A client deletes the entity, or puts the same text or another one. A user drops the refused write, or retries
   it, which hands it over to another write. A mover freezes the store and decides that it has moved. A server may crash,
   and forgets what was not on disk. In the end everybody has stopped, all servers answer, and one flush runs to its end.
   - An acknowledged write is at every moment on some disk: as a copy, or decided.
   - It is decided once: stored, found stored, or refused. A refused write is dropped or retried once, and then stays away.
   - A write that was reported as failed never takes effect.
   - When the store moves, no acknowledged write is left behind.
   - In the end an acknowledged write is decided, no copy is left, and no receipt but that of a refused write.
   Controls, of the putter: COPY_AFTER_COPY, PLACES_CHOSEN_LATE, COPY_WITHOUT_FENCE, COPY_WITHOUT_STATE, FAILED_IN_DOUBT; of
   the flush: RECEIPT_IGNORED, INSERT_IGNORED, RECEIPT_LATER, STORE_WITHOUT_CHECK, REFUSE_WITHOUT_CHECK, CHECK_BEFORE_RECEIPT,
   SAME_TEXT_LATER, REFUSE_WITHOUT_STATE, DELETE_WITHOUT_WAIT, DELETE_BEFORE_DURABLE, GONE_WITHOUT_DURABLE,
   SETTLE_WITH_COPIES, SETTLE_DELETES_FIRST; of others: DROP_WITH_COPIES, DROP_DELETES_FIRST, MOVE_WITHOUT_CHECK,
   CHECK_BEFORE_FREEZE. With RECEIPT_NOT_CHECKED everything still holds. */
/* Not modelled: the order of several writes; and what put.resolve does about a COMMIT of a flush, for which see write.pml. */
#ifndef FLUSHERS
#define FLUSHERS 2
#endif
#ifndef CLIENTS
#define CLIENTS 1    /* writes of the client */
#endif
#ifndef DROPS
#define DROPS 0
#endif
#ifndef MOVES
#define MOVES 0
#endif
#ifndef CRASHES
#define CRASHES 0
#endif

#define A 0
#define B 1
#define E 2

/* A copy. One that is inserted is locked by the putter's transaction, which holds the fence, too. */
#define NONE 0
#define INSERTED 1
#define THERE 2
byte copy[2];
bool late[2];  /* the putter got no answer to its COMMIT, which may happen yet */

/* The entity, and the receipt: its bits say that there is one, that copies may be left, and that it is a refusal. */
#define ABSENT 0
#define SAME 1
#define OTHER 2
#define RECEIPT 1
#define COPIES 2
#define REASON 4
byte entity, receipt;
bool entity_locked, receipt_locked;  /* whoever holds one of them holds the fence of E, too */
#ifdef PLACES_CHOSEN_LATE
bool leads_to_b;
#endif

/* What became of the write, which is on E. */
#define WAITING 0
#define STORED 1
#define REFUSED 2
#define DROPPED 3
byte fate;
#define IS_SETTLED (fate == STORED || fate == DROPPED)

bool acknowledged, failed;
bool frozen[3], moved, is_last, is_stuck = true;
byte busy = FLUSHERS + 1 + (CLIENTS > 0) + (DROPS > 0) + (MOVES > 0) + (CRASHES > 0);

/* The text has been stored on E. */
#ifdef SAME_TEXT_LATER
bool was_same, disk_was_same;
#define NOTE_SAME was_same = true
#define KEEP_SAME disk_was_same = was_same
#define FORGET_SAME was_same = disk_was_same
#else
#define NOTE_SAME skip
#define KEEP_SAME skip
#define FORGET_SAME skip
#endif

#if CRASHES
byte disk_copy[2], disk_entity, disk_receipt, disk_fate, life[3], crashes;
#define COMMIT(s) mine = life[s]
#define IS_ALIVE(s) (life[s] == mine)
#define NO_COMMIT 255
#define DURABLE_FATE disk_fate
#define DURABLE_COPY(p) (disk_copy[p] == THERE)
#else
#define COMMIT(s) skip
#define IS_ALIVE(s) true
#define NO_COMMIT 0
#define DURABLE_FATE fate
#define DURABLE_COPY(p) (copy[p] == THERE)
#endif

inline check_not_lost() {
  assert(!acknowledged || DURABLE_FATE != WAITING || DURABLE_COPY(A) || DURABLE_COPY(B))
}

inline write_log(s) {  /* everything that the server has committed is on disk */
#if CRASHES
  if
  :: s == E -> disk_entity = entity; disk_receipt = receipt; disk_fate = fate; KEEP_SAME
  :: else -> disk_copy[s] = (copy[s] == THERE -> THERE : NONE)
  fi;
#endif
  check_not_lost()
}

/* The answer to the COMMIT of this session, or to a commit that makes durable what it has found. */
#define AND_DURABLE(s) \
  atomic { \
    if \
    :: mine == NO_COMMIT && CRASHES \
    :: !(mine == NO_COMMIT && CRASHES) && IS_ALIVE(s) -> write_log(s) \
    :: else -> goto next \
    fi; \
    mine = 0 \
  }

#ifdef COPY_WITHOUT_STATE
#define TAKES_COPIES(p) true
#else
#define TAKES_COPIES(p) (!frozen[p])
#endif
#if CRASHES
#define BEGIN(p) begun[p] = life[p]
#define HAS_BEGUN(p) (begun[p] == life[p])
#else
#define BEGIN(p) skip
#define HAS_BEGUN(p) true
#endif
#define INSERT(p) \
  atomic { \
    if \
    :: TAKES_COPIES(p) -> copy[p] = INSERTED; inserted[p] = true; BEGIN(p) \
    :: true  /* it fails */ \
    fi \
  }
#define COMMIT_COPY(p) \
  if \
  :: inserted[p] -> \
    atomic { \
      if \
      :: HAS_BEGUN(p) -> copy[p] = THERE \
      :: HAS_BEGUN(p) -> late[p] = true; inserted[p] = false; doubt = true \
      :: else -> inserted[p] = false; doubt = true \
      fi \
    } \
    atomic { \
      if \
      :: inserted[p] && HAS_BEGUN(p) -> any = true; write_log(p)  /* it is answered */ \
      :: inserted[p] && !HAS_BEGUN(p) -> doubt = true \
      :: else \
      fi; \
      inserted[p] = false \
    } \
  :: else \
  fi

proctype Putter() {  /* buffer.copy */
  bool inserted[2], any, doubt;
#if CRASHES
  byte begun[2];
#endif
  INSERT(A);
#ifdef COPY_AFTER_COPY
  COMMIT_COPY(A);
  INSERT(B);
#else
  INSERT(B);
  COMMIT_COPY(A);
#endif
  COMMIT_COPY(B);  /* buffer.commit, once both are inserted */
  atomic {
    if
    :: any -> acknowledged = true; assert(!moved || IS_SETTLED)
#ifndef FAILED_IN_DOUBT
    :: !any && doubt
#endif
    :: else -> failed = true; assert(fate == WAITING)
    fi;
    check_not_lost();
#if CRASHES
    begun[A] = 0; begun[B] = 0;
#endif
    any = false; doubt = false;
    busy--
  }
}

/* A COMMIT that was sent and that nobody waits for. */
proctype Late() {
  do
  :: atomic { late[A] -> late[A] = false; if :: copy[A] = THERE :: copy[A] = NONE fi }
  :: atomic { late[B] -> late[B] = false; if :: copy[B] = THERE :: copy[B] = NONE fi }
  :: is_last -> break
  od
}

proctype Client() {
  byte n;
  do
  :: atomic {
      n < CLIENTS && !entity_locked && !frozen[E] ->
      n++;
      if
      :: entity != ABSENT -> entity = ABSENT
      :: entity != OTHER -> entity = OTHER
      :: entity != SAME -> entity = SAME; NOTE_SAME
      fi
    }
  :: atomic { true -> n = 0; busy--; break }
  od
}

#define IS_LISTED ((receipt & REASON) && !receipt_locked && !frozen[E])

proctype User() {
  if
  :: IS_LISTED ->
#ifdef DROP_DELETES_FIRST
    atomic {  /* a row that does not match is not locked */
      if
      :: IS_LISTED && !(receipt & COPIES) -> receipt = 0; fate = DROPPED
      :: else
      fi
    }
#endif
    atomic {  /* refused.drop */ /* refused.retry */
      if
      :: IS_LISTED ->
        receipt = receipt - REASON;
        fate = DROPPED;
#if defined(DROP_WITH_COPIES)
        receipt = 0
#elif !defined(DROP_DELETES_FIRST)
        if
        :: !(receipt & COPIES) -> receipt = 0
        :: else
        fi
#endif
      :: else
      fi
    }
  :: true
  fi;
  busy--
}

/* A plain INSERT fails where there is a receipt. */
#if defined(RECEIPT_IGNORED) || defined(INSERT_IGNORED)
#define HAS_RECEIPT false
#else
#define HAS_RECEIPT (receipt != 0)
#endif
#if defined(RECEIPT_NOT_CHECKED) || defined(RECEIPT_IGNORED)
#define IS_DECIDED false
#else
#define IS_DECIDED (receipt != 0)
#endif

inline roll_back() {
  if
  :: IS_ALIVE(E) ->
    receipt_locked = receipt_locked && !has_receipt;
    entity_locked = entity_locked && !has_entity
  :: else
  fi
}

/* The receipt is inserted and not committed, so nobody else can insert or delete one. If the copy is still there whose body
   was read, no receipt was deleted before: nobody has decided the write. */
inline check_copy() {
  atomic {  /* put.check_copy */
    if
    :: copy[from] == THERE
    :: copy[from] != THERE || step == 0 -> roll_back(); goto next  /* or it dies */
    fi
  }
}

#ifdef REFUSE_WITHOUT_STATE
#define MAY_REFUSE true
#else
#define MAY_REFUSE (!frozen[E])
#endif
#ifdef PLACES_CHOSEN_LATE
#define LEADS_TO(p) (p == A || leads_to_b)
#else
#define LEADS_TO(p) true
#endif
#ifdef DELETE_WITHOUT_WAIT
#define CAN_DELETE(p) true
#else
#define CAN_DELETE(p) (copy[p] != INSERTED)
#endif
#ifdef SETTLE_WITH_COPIES
#define PASS_OVER(p) (step == 0)
#else
#define PASS_OVER(p) false
#endif
#define DELETE(p) \
  atomic {  /* flush.delete_copies */ \
    if \
    :: !LEADS_TO(p) || PASS_OVER(p) -> mine = NO_COMMIT \
    :: LEADS_TO(p) && CAN_DELETE(p) -> \
      if \
      :: copy[p] == THERE -> copy[p] = NONE; COMMIT(p) \
      :: else -> COMMIT_OF_OTHERS(p) \
      fi \
    :: step == 0 -> goto next \
    fi \
  } \
  AND_DURABLE(p)
#ifdef GONE_WITHOUT_DURABLE
#define COMMIT_OF_OTHERS(p) mine = NO_COMMIT
#else
#define COMMIT_OF_OTHERS(p) COMMIT(p)
#endif

/* Step 0 is that of flushers who do something until they die. The last one makes the steps from 1 to 5. */
proctype Flusher(byte step) {
  byte from, verdict, mine;
  bool has_entity, has_receipt;
  atomic { step == 0 || (busy == 0 && !late[A] && !late[B]) -> is_last = is_last || step != 0 }
next:
  atomic {
    from = A; verdict = WAITING; mine = 0; has_entity = false; has_receipt = false;
    if
    :: step == 0 && copy[A] == THERE
    :: step == 0 && copy[B] == THERE -> from = B
    :: step == 0 && (receipt & COPIES) -> goto settle
    :: step == 0 -> busy--; goto end
    :: step == 1 || step == 4 -> step++; goto settle
    :: step == 2 || step == 3 ->
      from = (step == 2 -> A : B);
      step++;
      if
      :: copy[from] != THERE -> goto next
      :: else
      fi
    :: step == 5 -> goto last_end
    fi
  }
  /* It has the body now. */
  atomic {  /* put.check_receipt */ /* put.write_entities */
    if
    :: !entity_locked && !frozen[E] && !IS_DECIDED ->
      if
      :: entity == OTHER -> verdict = REFUSED; goto refuse
#ifdef SAME_TEXT_LATER
      :: entity == SAME -> verdict = STORED; goto refuse
#endif
      :: else -> verdict = STORED
      fi;
      entity_locked = true; has_entity = true; COMMIT(E)
    :: step == 0 || frozen[E] || IS_DECIDED -> goto next
    fi
  }
#ifdef CHECK_BEFORE_RECEIPT
  check_copy();
#endif
  atomic {  /* put.write_receipt */
    if
    :: !receipt_locked && IS_ALIVE(E) && !HAS_RECEIPT -> receipt_locked = true; has_receipt = true
    :: HAS_RECEIPT || step == 0 -> roll_back(); goto next
    fi
  }
#if !defined(CHECK_BEFORE_RECEIPT) && !defined(STORE_WITHOUT_CHECK)
  check_copy();
#endif
  goto commit;
refuse:
#ifdef CHECK_BEFORE_RECEIPT
  check_copy();
#endif
  atomic {  /* flush.refuse */
    if
    :: !receipt_locked && MAY_REFUSE && !HAS_RECEIPT -> receipt_locked = true; has_receipt = true; COMMIT(E)
    :: HAS_RECEIPT || frozen[E] || step == 0 -> goto next
    fi
  }
#if !defined(CHECK_BEFORE_RECEIPT) && !defined(REFUSE_WITHOUT_CHECK)
  check_copy();
#endif
commit:
  atomic {  /* put.commit */
    if
    :: IS_ALIVE(E) ->
      assert(!failed && (fate == WAITING || (fate == STORED && verdict == STORED && entity == SAME)));
#ifdef SAME_TEXT_LATER
      assert(verdict == REFUSED || has_entity || was_same);
#endif
      fate = verdict;
      if
      :: has_entity -> entity = SAME; NOTE_SAME
      :: else
      fi;
#ifdef RECEIPT_LATER
      roll_back();
    :: else -> goto next
    fi
  }
  atomic {
    if
    :: true ->
#endif
      receipt = RECEIPT | COPIES | (verdict == REFUSED -> REASON : 0);
#ifdef PLACES_CHOSEN_LATE
      leads_to_b = from == B;
#endif
      roll_back()
    :: else
    fi
  }
  goto next;

settle:
  atomic {
    if
    :: receipt & COPIES -> COMMIT(E)
    :: else -> goto next
    fi
  }
#ifndef DELETE_BEFORE_DURABLE
  AND_DURABLE(E);
#endif
  DELETE(A);
  DELETE(B);
#ifdef SETTLE_DELETES_FIRST
  atomic {
    !receipt_locked ->
    if
    :: (receipt & COPIES) && !(receipt & REASON) -> receipt = 0; goto next
    :: else
    fi
  }
#endif
  atomic {  /* flush.settle */
    !receipt_locked ->
    if
    :: receipt & COPIES ->
      receipt = receipt - COPIES;
#ifndef SETTLE_DELETES_FIRST
      if
      :: !(receipt & REASON) -> receipt = 0
      :: else
      fi
#endif
    :: else
    fi
  }
  goto next;

last_end:
  atomic {
    assert(copy[A] == NONE && copy[B] == NONE);
    assert(!acknowledged || fate != WAITING);
    assert(!failed || fate == WAITING);
    assert(receipt == (fate == REFUSED -> (RECEIPT | REASON) : 0));
    assert(!moved || !acknowledged || IS_SETTLED);
#ifdef END_IS_REACHED
#if MOVES > 0
    assert(!(acknowledged && moved));
#elif DROPS > 0
    assert(!(acknowledged && fate == DROPPED));
#else
    assert(!(acknowledged && fate == STORED))
#endif
#endif
  }
  is_stuck = false;
end:
}

#ifdef COPY_WITHOUT_FENCE
#define IS_FREE(p) true
#else
#define IS_FREE(p) (copy[p] != INSERTED)
#endif

inline count() {  /* move.check_buffers */
#ifndef MOVE_WITHOUT_CHECK
  if :: receipt != 0 -> goto undo :: else fi;
  if :: copy[A] == THERE -> goto undo :: else fi;
  if :: copy[B] == THERE -> goto undo :: else fi
#else
  skip
#endif
}

proctype Mover() {
#ifdef CHECK_BEFORE_FREEZE
  count();
#endif
  if
  :: atomic { !entity_locked && !receipt_locked -> frozen[E] = true }
  :: goto undo
  fi;
  if
  :: atomic { IS_FREE(A) -> frozen[A] = true }
  :: goto undo
  fi;
  if
  :: atomic { IS_FREE(B) -> frozen[B] = true }
  :: goto undo
  fi;
  atomic { write_log(E) }  /* move.drain */
#ifndef CHECK_BEFORE_FREEZE
  count();
#endif
  atomic { moved = true; assert(!acknowledged || IS_SETTLED); busy-- }  /* move.decide */
  goto end;
undo:
  frozen[E] = false;
  frozen[A] = false;
  atomic { frozen[B] = false; busy-- }
end:
}

#if CRASHES
proctype Crash() {
  byte s;
  do
  :: atomic {
      crashes < CRASHES ->
      if
#ifdef ONE_CRASHES
      :: s = ONE_CRASHES
#else
      :: s = A
      :: s = B
      :: s = E
#endif
      fi;
      if
      :: true
      :: write_log(s)
      fi;
      if
      :: true -> crashes++; life[s]++;
        if
        :: s == E ->
          entity = disk_entity; receipt = disk_receipt; fate = disk_fate; FORGET_SAME;
          entity_locked = false; receipt_locked = false
        :: else -> copy[s] = disk_copy[s]; late[s] = false
        fi;
        check_not_lost()
      :: true  /* its log was written, no more */
      fi;
      s = 0
    }
  :: atomic { true -> busy--; break }
  od
}
#endif

init {
  byte i;
  atomic {
    run Putter();
    run Late();
    for (i : 1 .. FLUSHERS) {
      run Flusher(0)
    }
    run Flusher(1);
#if CLIENTS > 0
    run Client();
#endif
#if DROPS > 0
    run User();
#endif
#if MOVES > 0
    run Mover();
#endif
#if CRASHES > 0
    run Crash();
#endif
    i = 0
  }
  timeout -> assert(!is_stuck)
}

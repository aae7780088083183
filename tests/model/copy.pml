/* A copy to another cluster: docs/protocol.md, "Copy". A writer changes an entity of the original. Copiers write its
   latest version into the other cluster, each from the position that is stored there, and store how far they have come.
   One that has caught up may open the other cluster, which ends the copy. A copier may die, and it may sleep at any step
   while another one takes the copy over, or even ends it. What the other cluster has never goes back, everything before
   a stored position is there, and a copier that runs to its end makes both the same. Nobody freezes a cluster that was
   opened, or leaves a row there.
   Controls: WRITE_WITHOUT_TOKEN, STORE_FIRST, CLAIM_ANY_OPEN, TAKE_ANY_ROW, LOOK_LATER, LEAVE_ROW. */
#ifndef PUTS
#define PUTS 2
#endif
#ifndef COPIERS
#define COPIERS 2
#endif

byte version = 1;      /* of the entity in the original, where it is on disk */
byte there = 0;        /* the version in the other cluster */
bool is_open = true;   /* the state of its shard, */
byte since = 0;        /* how often that was opened, */
byte token = 0;        /* and the copier that may write; 0 if it is open */
byte row = 0;          /* the copier that has the row of the copy; 0 if there is none */
bool begun = false;    /* what the row says: something may have been written */
byte position = 0;     /* every version up to this one, or a later one, was delivered */
bool ended = false;    /* the copy is complete, and the cluster was opened */
byte busy = COPIERS + 1;

inline write() {
  atomic {  /* the state of the shard is read with its fence */
#ifndef WRITE_WITHOUT_TOKEN
    if
    :: token != me -> goto end
    :: else
    fi;
#endif
    assert(read >= there);
    there = read
  }
}

inline store() {
  atomic {  /* copy.store */
    if
    :: row != me -> goto end
    :: else
    fi;
    position = read
  }
}

inline look() { atomic { was_open = is_open; its_token = token; its_since = since } }

inline claim() {  /* copy.claim */
  look();
  atomic {
    its_row = row;
    fresh = !begun;
    if
    :: fresh && (there > 0 || (row == 0 && !was_open)) -> goto end  /* it is not empty */
    :: row != 0 && was_open && !fresh -> goto end      /* it was opened */
    :: else
    fi
  };
  atomic {
    if
#ifndef TAKE_ANY_ROW
    :: row != its_row || begun == fresh -> goto end
#endif
    :: else
    fi;
    row = me
  };
#ifdef LOOK_LATER
  look();
#endif
  atomic {
    if
    :: is_open != was_open || token != its_token -> goto give_up
#ifndef CLAIM_ANY_OPEN
    :: else -> if :: was_open && since != its_since -> goto give_up :: else fi
#else
    :: else
#endif
    fi;
    assert(!ended);
    is_open = false;
    token = me
  };
  atomic {
    if
    :: row != me -> goto end
    :: else
    fi;
    assert(!fresh || there == 0);
    at = position
  };
  atomic {
    if
    :: row != me -> goto end
    :: else
    fi;
    begun = true
  }
}

inline open() {
  atomic {  /* move.open */
    if
    :: token != me -> goto end
    :: else
    fi;
    assert(there >= 1);
    is_open = true;
    token = 0;
    since++;
    ended = true
  };
  atomic {
    if
    :: row == me -> row = 0; begun = false
    :: else
    fi
  }
}

proctype Copier(byte me) {
  byte at, read, its_token, its_since, its_row;
  bool was_open, fresh;
  claim();
  do
  :: version > at ->
    read = version;
#ifdef STORE_FIRST
    store();
    write();
#else
    write();
    assert(position <= there);
    store();
#endif
    at = read
  :: at > 0 -> open(); break
  :: break  /* it ends, or dies */
  od;
  goto end;
give_up:
#ifndef LEAVE_ROW
  atomic {
    if
    :: row == me -> row = its_row
    :: else
    fi
  };
  atomic {  /* whoever has opened it could not remove the row */
    if
    :: is_open && row == its_row -> row = 0; begun = false
    :: else
    fi
  };
#endif
end:
  busy--
}

proctype Writer() {
  byte put;
  for (put : 1 .. PUTS) {
    version++
  }
  busy--
}

/* The last run, unless the copy has ended. */
proctype Last() {
  byte at;
  busy == 0 ->
  at = position;
  if
  :: ended
  :: !ended && version > at -> there = version
  :: else
  fi;
  assert(ended -> row == 0 : there == version);
  assert(is_open || row != 0);
#ifdef END_IS_REACHED
  assert(false)
#endif
}

init {
  byte copier;
  atomic {
    run Writer();
    for (copier : 1 .. COPIERS) {
      run Copier(copier)
    }
    run Last()
  }
}

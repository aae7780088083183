/* A copy to another cluster: docs/protocol.md, "Copy". A writer changes an entity of the original. Copiers write its
   latest version into the other cluster, each from the position that is stored there, and store how far they have come.
   A copier may die, and it may sleep while another one takes the copy over. What the other cluster has never goes back,
   everything before a stored position is there, and a copier that runs to its end makes both the same.
   Controls: WRITE_WITHOUT_TOKEN, STORE_FIRST. */
#ifndef PUTS
#define PUTS 2
#endif
#ifndef COPIERS
#define COPIERS 2
#endif

byte version = 1;   /* of the entity in the original, where it is on disk */
byte there = 0;     /* the version in the other cluster */
byte token = 0;     /* of its shard */
byte row_token = 0; /* of the row that holds the position */
byte position = 0;  /* every version up to this one, or a later one, was delivered */
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
    :: row_token != me -> goto end
    :: else
    fi;
    position = read
  }
}

proctype Copier(byte me) {
  byte at, read;
  atomic { token = me }  /* copy.claim */
  atomic { row_token = me; at = position }
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
  :: break  /* it ends, or dies */
  od;
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

/* The last run. */
proctype Last() {
  byte at;
  busy == 0 ->
  at = position;
  if
  :: version > at -> there = version
  :: else
  fi;
  assert(there == version);
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

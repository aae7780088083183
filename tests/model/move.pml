/* A freeze beside writers: docs/protocol.md, "Who may write". Two shards, each with a fence, which has the state. Each
   put goes to one of them, and a process freezes one after the other. When the freeze has returned, no write commits.
   Control: STATE_BEFORE_FENCE. */
#ifndef PUTS
#define PUTS 2
#endif

byte shared[2];        /* holders of a shard's fence */
bool frozen[2];
bool returned = false; /* the freeze has */

proctype Writer() {
  byte put, s;
  bool refused;
  for (put : 1 .. PUTS) {
    if
    :: s = 0
    :: s = 1
    fi;
#ifdef STATE_BEFORE_FENCE
    refused = frozen[s];
    shared[s]++;
#else
    atomic { shared[s]++; refused = frozen[s] }  /* put.fence: one statement locks the row and reads it */
#endif
    if
    :: refused
    :: else -> assert(!returned)  /* put.commit */
    fi;
    shared[s]--
  }
}

proctype Freezer() {
  byte s;
  for (s : 0 .. 1) {
    atomic { shared[s] == 0 -> frozen[s] = true }  /* freeze.change: the fence is held exclusively */
  }
  returned = true;
#ifdef END_IS_REACHED
  assert(false)
#endif
}

init {
  atomic {
    run Writer();
    run Writer();
    run Freezer()
  }
}

/* A query beside writers: docs/protocol.md, "Queries beside writers". One entity matches in all its versions. Its row is on
   one of two shards, and every put may move it. A query reads both shards at different moments, and must see a row of the
   entity, or that the entity has changed since the query began. (A stale row is as good: the entity is read, and matches.)
   Two parts of one shard's rows that two statements read, because of the number of values, are the same as two shards.
   Controls: LOOK_ONCE, WITHOUT_CHANGED, STAMP_OF_FENCE. */
#ifndef PUTS
#define PUTS 2
#endif

bool row[2];          /* the index rows; shard 0 has the first one */
byte place = 0;       /* where the row of the committed version is */
byte version = 0;
bool is_new = false;  /* the committed stamp is not older than the query */
bool begun = false;   /* the query has */
bool locked = false;  /* the entity */

proctype Writer() {
  byte put, old, next, mine;
  bool stamp;
  for (put : 1 .. PUTS) {
    stamp = begun;  /* put.fence: the clock is read before the lock is waited for */
    atomic { !locked -> locked = true }  /* put.lock_entities */
#ifndef STAMP_OF_FENCE
    stamp = begun;
#endif
    old = place;
    if
    :: next = 0
    :: next = 1
    fi;
    row[next] = true;  /* put.insert_index_rows */
    atomic {  /* put.commit */
      place = next;
      version++;
      mine = version;
      is_new = is_new || stamp;  /* stamps only grow */
      locked = false
    }
    if
    :: old != next ->
      atomic { !locked -> locked = true }  /* reconcile.lock_entities */
      if
      :: version == mine -> row[old] = false  /* reconcile.change_index_rows */
      :: else
      fi;
      locked = false
    :: else
    fi
  }
}

proctype Query() {
  bool seen = false;
  begun = true;
  if  /* query.read_index_rows */
  :: seen = seen || row[0]; seen = seen || row[1]
  :: seen = seen || row[1]; seen = seen || row[0]
  fi;
#ifndef LOOK_ONCE
  if  /* query.look_again */
  :: seen = seen || row[0]; seen = seen || row[1]
  :: seen = seen || row[1]; seen = seen || row[0]
  fi;
#endif
#ifndef WITHOUT_CHANGED
  seen = seen || is_new;  /* query.find_changed */
#endif
  assert(seen);
#ifdef END_IS_REACHED
  assert(false)
#endif
}

init {
  atomic {
    row[0] = true;
    run Writer();
    run Writer();
    run Query()
  }
}

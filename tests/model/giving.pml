/* How often a query beside writers gives an entity: docs/protocol.md, "Queries beside writers". One entity matches in all
   its versions. A version has one or two index rows. Two rows have the same place in the order of the query: they differ
   only in the properties before that of --order-by. The query reads the rows in two chunks, and the entity when it comes
   to a row of it. It must give the entity exactly once.
   Controls: GIVE_TWICE, LOOK_ONCE, FORGET_DECIDED. */
#ifndef PUTS
#define PUTS 2
#endif
#define ROWS 6
#define HALF 4          /* the first chunk ends before this row */
#define NOWHERE 255
#define PLACE(row) ((row) / 2)
#define FIRST(a, b) PLACE((a) < (b) -> (a) : (b))

bool row[ROWS];
byte one = 0, other = 0;  /* the rows of the committed version */

proctype Writer() {
  byte put, a, b, old_one, old_other;
  for (put : 1 .. PUTS) {
    atomic {  /* put.insert_index_rows */
      select(a : 0 .. ROWS - 1);
      select(b : 0 .. a);
      row[a] = true;
      row[b] = true
    }
    if
    :: true  /* dies; the rows stay */
    :: atomic { old_one = one; old_other = other; one = a; other = b }  /* put.commit */
      if
      :: true
      :: d_step {  /* reconcile.change_index_rows */
          row[old_one] = (old_one == one || old_one == other);
          row[old_other] = (old_other == one || old_other == other)
        }
      fi
    fi;
    d_step { a = 0; b = 0; old_one = 0; old_other = 0 }
  }
}

bool got[ROWS];          /* the rows that were read */
byte given = 0;
bool decided = false;
byte waits_for = NOWHERE;  /* the place ahead at which the entity is given */

inline read_chunk(from, end) {  /* query.read_index_rows */
  d_step {
    at = from;
    do
    :: at < end -> got[at] = row[at]; at++
    :: else -> break
    od;
    at = 0
  }
}

inline give_at(place, position) {  /* the entity was found, and its place is known, when the query is at a position */
  if
  :: place > position -> waits_for = place
  :: else ->
    given++;
#ifndef FORGET_DECIDED
    decided = true
#endif
  fi
}

inline give_moved(position) {
  if
  :: waits_for < position ->
    waits_for = NOWHERE;
    if
    :: !decided ->
      atomic { place = FIRST(one, other) }  /* query.read_entities */
      give_at(place, position)
    :: else
    fi
  :: else
  fi
}

inline give_chunk(from, end) {
  atomic { seen = FIRST(one, other) }  /* query.read_entities */
  current = from;
  do
  :: current < end ->
    if
    :: got[current] && !decided ->
      give_moved(PLACE(current));
#ifndef GIVE_TWICE
      if
      :: decided
      :: else -> give_at(seen, PLACE(current))
      fi
#else
      give_at(seen, PLACE(current))
#endif
    :: else
    fi;
    current++
  :: else -> break
  od
}

proctype Query() {
  byte at, current, place, seen;
  read_chunk(0, HALF);
  if
  :: read_chunk(HALF, ROWS); give_chunk(0, HALF)  /* a chunk that was read with the one before */
  :: give_chunk(0, HALF); read_chunk(HALF, ROWS)
  fi;
  give_chunk(HALF, ROWS);
  give_moved(NOWHERE);
#ifndef LOOK_ONCE
  if  /* query.look_again */
  :: !decided -> given++
  :: else
  fi;
#endif
  assert(given == 1);
#ifdef END_IS_REACHED
  assert(false)
#endif
}

init {
  atomic {
    row[0] = true;
    run Writer();
    run Query()
  }
}

/* create-index and drop-index: lib/src/index/create_index.cpp, drop_index.cpp, index_change.cpp. */

/* fence.commit ends what is done with the fence held exclusively, in the same block. */
#ifdef NO_FENCE
#define exclusively(s) true
#else
#define exclusively(s) (s == 1 || fence_free)
#endif
#ifdef CHANGE_WITHOUT_TOKEN
#define is_ours(s) true
#else
#define is_ours(s) (token[s] == a)
#endif
#define in_force_everywhere (state[0] != NONE && state[1] != NONE)
#define in_any_catalog (state[0] != NONE || state[1] != NONE)
#define dropping(s) (state[s] == DROPPING || state[s] == DROPPED)
#ifdef DROP_FORGOTTEN
#define is_being_dropped (intent == DROP)
#else
#define is_being_dropped (intent == DROP || dropping(0) || dropping(1))
#endif
#define differ(x, y) (x != 0 && y != 0 && x != y)
#define generation_of_index \
  (state[FIRST] != NONE -> generation[FIRST] : (state[SECOND] != NONE -> generation[SECOND] : intent_generation))

/* The first look at an intent of each shard, which says what is to be created or dropped, is not needed any more: who
 * claims replaces it, when no DDL of another run is under way there. */
#ifdef FIRST_INTENT_FIRST
#define SOONER FIRST
#else
#define SOONER SECOND
#endif
#define LATER (1 - SOONER)
inline claim(s, kind) { /* create.intent */ /* drop.intent */ /* intent.commit */
  if
  :: atomic { s == 0 || ddl_lock == 0 -> token[s] = a;
       if :: s == FIRST -> intent = kind; intent_generation = g :: else fi }
  :: atomic { may_die -> goto give_up }
  fi
}
inline remove_intent(s) {
  if
  :: token[s] == a -> token[s] = 0; if :: s == FIRST -> intent = 0; intent_generation = 0 :: else fi
  :: else
  fi
}
/* Another run began at the first shard while this one was on its way. */
#ifdef CLAIM_NOT_LOOKED_AT
inline look_at_claim() { skip }
#else
inline look_at_claim() { atomic { if :: token[FIRST] != a -> remove_intent(SECOND); goto give_up :: else fi } }
#endif

inline set_state(s, from, to) { /* drop.stop_queries */ /* drop.stop_writers */
  if
  :: atomic { exclusively(s) && is_ours(s) ->
       if :: generation[s] == g && state[s] != NONE && state[s] <= from -> state[s] = to :: else fi;
       assert(!missing) }
  :: atomic { !is_ours(s) || may_die -> goto give_up }
  fi
}
inline publish_definition(s) { /* create.publish */
#ifdef VACANT_BEFORE_FENCE
  if :: atomic { s == 0 -> vacant = (body == ABSENT) } :: s != 0 fi;
#endif
  if
  :: atomic { exclusively(s) && is_ours(s) ->
#ifndef VACANT_BEFORE_FENCE
       if :: s == 0 -> vacant = (body == ABSENT) :: else fi;
#endif
       if :: state[s] == NONE -> state[s] = BUILDING; generation[s] = g :: else fi }
  :: atomic { !is_ours(s) || may_die -> goto give_up }
  fi
}
inline demote_on(s) { /* create.demote */
  if
  :: atomic { exclusively(s) && is_ours(s) ->
       if :: state[s] == READY && generation[s] == g -> state[s] = BUILDING :: else fi;
       forget_job(s, g) }
  :: atomic { !is_ours(s) || may_die -> goto give_up }
  fi
}
inline demote() {
  if :: again -> demote_on(FIRST); demote_on(SECOND) :: else fi
}
inline remove_definition(s) { /* drop.catalog */
  if
  :: atomic { exclusively(s) && is_ours(s) ->
       if :: generation[s] == g -> state[s] = NONE; generation[s] = 0 :: else fi;
       forget_job(s, g) }
  :: atomic { !is_ours(s) || may_die -> goto give_up }
  fi
}

/* DDL: look at the intent and at the table's comment, then the statement, which can outlive its client. */
#ifdef DDL_WITHOUT_LOCK
#define begin_ddl skip
#define end_ddl skip
#else
#define begin_ddl ddl_lock = a
#define end_ddl ddl_lock = 0
#endif
inline drop_statement() { assert(table != FOREIGN); table = 0; row[1] = false; row[2] = false; assert(!missing); end_ddl }
inline create_statement(g) { if :: table == 0 -> table = g :: else fi; end_ddl }
proctype LateDrop() { atomic { unlocked(1) && unlocked(2) -> drop_statement(); in_flight-- } }
proctype LateCreate(byte g) { atomic { create_statement(g); in_flight-- } }

#ifdef DROP_ANY_TABLE
#define is_to_go(made_for) (table != 0)
#else
#define is_to_go(made_for) (table == made_for)
#endif
inline drop_table(made_for) { /* drop.table */
  if
  :: atomic { is_ours(1) && ddl_lock == 0 && is_to_go(made_for) -> begin_ddl };
     if
     :: atomic { unlocked(1) && unlocked(2) -> drop_statement() }
     :: atomic { late_ddl < LATE_DDL && may_die -> late_ddl++; in_flight++; run LateDrop(); goto give_up }
     :: atomic { may_die -> end_ddl; goto give_up }
     fi
  :: atomic { is_ours(1) && ddl_lock == 0 && !is_to_go(made_for) }
  :: atomic { !is_ours(1) || may_die -> goto give_up }
  fi
}
inline create_table() { /* create.table */
  if
  :: atomic { is_ours(1) && ddl_lock == 0 && table == 0 -> begin_ddl };
     if
     :: atomic { create_statement(g); if :: table != g -> goto give_up :: else fi }
     :: atomic { late_ddl < LATE_DDL && may_die -> late_ddl++; in_flight++; run LateCreate(g); goto give_up }
     :: atomic { may_die -> end_ddl; goto give_up }
     fi
  :: atomic { is_ours(1) && ddl_lock == 0 && table == g }
  :: atomic { is_ours(1) && ddl_lock == 0 && table != 0 && table != g ->
#ifdef ADOPT_TABLE
       table = g }
#else
       goto give_up }
#endif
  :: atomic { !is_ours(1) || may_die -> goto give_up }
  fi
}

proctype Admin(byte a) {                /* a is its token, too: no two runs of one Admin are alive */
  byte g, leftover; bool vacant, again;
  do
  :: atomic { creates < CREATES && catalog_lock == 0 -> creates++; catalog_lock = a }
     atomic {
       if
       :: is_being_dropped || differ(generation[0], generation[1]) -> goto give_up
       :: intent == NONE && in_force_everywhere -> goto give_up            /* done */
       :: else
       fi;
       if
       :: in_any_catalog || intent == CREATE -> g = generation_of_index
       :: !in_any_catalog && intent == CREATE -> leftover = intent_generation; g = leftover  /* of another definition */
       :: !in_any_catalog && intent == NONE -> generations++; g = generations
       fi }
     if
     :: leftover != 0 -> claim(FIRST, CREATE); claim(SECOND, CREATE); look_at_claim();
#ifndef LEFTOVER_NOT_LOOKED_AT_AGAIN
        atomic { if :: in_any_catalog -> goto give_up :: else fi };
#endif
        drop_table(leftover);
        atomic { generations++; g = generations }
     :: else
     fi;
     claim(FIRST, CREATE); claim(SECOND, CREATE); look_at_claim();
     atomic {                           /* again, now that nobody else can change it */
       if :: is_being_dropped || generation_of_index != g || differ(generation[0], generation[1]) -> goto give_up :: else fi;
       again = in_any_catalog && !in_force_everywhere }
#ifndef PUBLISH_BEFORE_DEMOTING
     demote();
#endif
     create_table();
     publish_definition(FIRST); publish_definition(SECOND);
     if
     :: vacant -> /* create.ready */
        set_state(FIRST, BUILDING, READY); set_state(SECOND, BUILDING, READY)
     :: else ->
#ifdef PUBLISH_BEFORE_DEMOTING
        demote()
#else
        skip
#endif
     fi;
     if :: atomic { remove_intent(SOONER) } :: atomic { may_die -> goto give_up } fi; /* create.finish */
     atomic { if :: token[LATER] == a -> remove_intent(LATER); wiped = false; assert(!missing) :: else fi; goto give_up }

  :: atomic { drops < DROPS && catalog_lock == 0 -> drops++; catalog_lock = a }
drop_next:
     atomic { if :: in_any_catalog || intent != NONE -> g = generation_of_index :: else -> goto give_up fi }
     claim(FIRST, DROP); claim(SECOND, DROP); look_at_claim();
#ifdef ONE_STATE
     set_state(FIRST, DROPPING, DROPPED); set_state(SECOND, DROPPING, DROPPED);
#else
     set_state(FIRST, READY, DROPPING); set_state(SECOND, READY, DROPPING);
#ifdef DROP_BEFORE_WRITERS_STOP
     drop_table(g);
#endif
     set_state(FIRST, DROPPING, DROPPED); set_state(SECOND, DROPPING, DROPPED);
#endif
     drop_table(g);
     remove_definition(FIRST); remove_definition(SECOND);
     if :: atomic { remove_intent(SOONER) } :: atomic { may_die -> goto give_up } fi; /* drop.finish */
     atomic { remove_intent(LATER); wiped = false; goto drop_next }
give_up:
     atomic { g = 0; leftover = 0; vacant = false; again = false;
       if :: catalog_lock == a -> catalog_lock = 0 :: else fi }
  :: atomic { quiet || (creates >= CREATES && drops >= DROPS) -> ended++; break }
  od
}

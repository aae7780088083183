#!/bin/bash
# Checks the models of the protocol, looseleaf.pml and those beside it: each configuration must hold, and each control, which leaves a safeguard
# out, must be found to break a claim. Two searches at a time; each is exhaustive, one that was cut short is a failure.
# A search ends as it ended before unless the models change. `checked` has their fingerprint, from a run of all searches.
# usage: run.sh                                  40 searches, chosen at random, if the models are those of `checked`, else all
#        run.sh --all                            all of them; writes `checked`
#        run.sh --full                           all, with larger bounds of the configurations; writes build/proof/model.md.
#                                                So does LOOSELEAF_FULL=1
#        run.sh --trail CONFIGURATION [CONTROL]  the shortest way to a broken claim, one line for each statement
# Ends with status 77 where spin, tcc or gcc is not installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
index_is_ready='-DADMINS=1 -DCREATED=READY'
index_is_built='-DADMINS=1 -DCREATED=BUILDING'
one_put='-DWRITERS=1 -DPUTS=1'

# NAME | parameters | more of them with --full
configurations="
write         | -DRECONCILERS=1 -DCUTS=1 -DZOMBIES=1 -DLATE_COMMITS=1                                                            | -DFAILOVERS=1
unique        | -DUNIQUE -DRECONCILERS=1 -DCUTS=1 -DZOMBIES=1 -DLATE_COMMITS=1                                                   | -DFAILOVERS=1 -DCUTS=0
two           | -DRECONCILERS=2 -DWRITERS=1 -DCUTS=1 -DLATE_COMMITS=1                                                            | -DPUTS=3
tidy          | -DTIDIES=2 -DPUTS=3 -DCUTS=1 -DLATE_COMMITS=1                                                                    | -DFAILOVERS=1
tidy_unique   | -DUNIQUE -DTIDIES=2 -DPUTS=3 -DCUTS=1 -DLATE_COMMITS=1                                                           | -DFAILOVERS=1
tidy_unknown  | -DTIDIES=2 -DPUTS=3 -DUNKNOWNS=1 -DFAILOVERS=1                                                                   | -DCUTS=1
tidy_crash    | -DTIDIES=1 -DCRASHES=1                                                                                           | -DPUTS=3
tidy_recreate | $index_is_ready -DBODY=1 -DTIDIES=1 -DCREATES=1 -DDROPS=1 -DBACKFILLERS=1 -DBACKFILLS=1 $one_put -DSTEADY          | -DFIRST=1
clean         | -DRECONCILERS=1 -DCLEANS=2 -DCUTS=1                                                                              | -DCLEANS=3
failback      | -DRECONCILERS=1 -DPUTS=2 -DFAILOVERS=1 -DFAILBACKS=1                                                              | -DCUTS=1
unknown       | -DRECONCILERS=1 -DUNKNOWNS=1 -DFAILOVERS=1                                                                       | -DCUTS=1
immutable     | -DUNIQUE -DRECONCILERS=1 -DPUTS=3 -DUNKNOWNS=1 -DPURGES=0 -DSWEEPS=0                                             | -DPURGES=1
crash         | -DRECONCILERS=1 -DCRASHES=1 -DPURGES=0 -DSWEEPS=0                                                                | -DSWEEPS=1
crash_unique  | -DUNIQUE -DRECONCILERS=1 -DCRASHES=1 -DPURGES=0 -DSWEEPS=0                                                       | -DSWEEPS=1
crash_unknown | -DCRASHES=1 -DUNKNOWNS=1                                                                                         | -DPUTS=3
conditions    | -DCONDITIONS -DPUTS=3 -DUNKNOWNS=1                                                                               | -DPUTS=4
cond_unique   | -DCONDITIONS -DUNIQUE -DPUTS=2 -DUNKNOWNS=1                                                                      | -DPUTS=3
cond_purge    | -DCONDITIONS -DPUTS=3 -DCLEANS=1                                                                                 | -DUNKNOWNS=1
fill          | -DADMINS=1 -DBODY=1 -DCREATES=1 -DBACKFILLERS=1 -DBACKFILLS=1 -DWRITERS=1 -DCLEANS=1 -DSTEADY                    | -DFIRST=1
fill_unique   | -DUNIQUE -DADMINS=1 -DBODY=1 -DCREATES=1 -DBACKFILLERS=1 -DBACKFILLS=1 -DWRITERS=1 -DCLEANS=1 -DSTEADY           | -DFIRST=1
fill_purge    | -DADMINS=1 -DBODY=TOMB -DCREATES=1 -DBACKFILLERS=1 -DBACKFILLS=1 -DWRITERS=1 -DCLEANS=1 -DSTEADY                 | -DFIRST=1
fill_two      | $index_is_built -DBODY=1 -DBACKFILLERS=1 -DBACKFILLS=1 -DSTEADY                                                  | -DCLEANS=1 -DCUTS=1
fill_failover | $index_is_built -DBODY=1 -DBACKFILLERS=1 -DBACKFILLS=1 -DFAILOVERS=1                                             | -DSTEADY -DCLEANS=1
fill_unknown  | $index_is_built -DBODY=1 -DBACKFILLERS=1 -DBACKFILLS=1 -DUNKNOWNS=1 -DSTEADY                                     | -DCLEANS=1
fill_unique_2 | -DUNIQUE $index_is_built -DBODY=1 -DBACKFILLERS=1 -DBACKFILLS=1 -DCLEANS=1                                       | -DZOMBIES=1
fill_unique_n | -DUNIQUE $index_is_built -DBODY=ABSENT -DBACKFILLERS=1 -DBACKFILLS=1 -DCLEANS=1                                  | -DUNKNOWNS=1
fill_unique_r | -DUNIQUE $index_is_built -DBODY=1 -DBACKFILLERS=1 -DBACKFILLS=1 -DRECONCILERS=1 -DPURGES=0 -DSWEEPS=0 -DCUTS=1   | -DPURGES=1
fill_steps    | -DADMINS=1 -DBODY=1 -DCREATES=1 -DBACKFILLERS=1 -DBACKFILLS=1 -DWRITERS=1 -DRECONCILERS=1 -DSWEEPS=0 -DSTEADY    | -DFIRST=1
fill_crash    | -DADMINS=1 -DCREATES=1 -DBACKFILLERS=1 -DBACKFILLS=1 $one_put -DCRASHES=1 -DSTEADY                               | -DFIRST=1
prove_crash   | $index_is_built -DBODY=1 -DBACKFILLERS=1 -DBACKFILLS=1 -DWRITERS=1 -DCRASHES=2 -DFIRST=1 -DSTEADY                | -DFIRST=0
resume        | -DADMINS=1 -DBODY=1 -DCREATES=2 -DBACKFILLERS=1 -DBACKFILLS=2 $one_put -DZOMBIES=1                               | -DFIRST=1
takeover      | $index_is_built -DBODY=1 -DBACKFILLERS=2 -DBACKFILLS=2 -DLOST_LOCKS=1 $one_put -DSTEADY                          | -DFIRST=1
recreate      | $index_is_built -DBODY=1 -DCREATES=1 -DDROPS=1 -DBACKFILLERS=1 -DBACKFILLS=1 $one_put -DCLEANS=1 -DSTEADY        | -DBACKFILLS=2
recreate_cut  | -DADMINS=1 -DCREATES=2 -DDROPS=1 -DRECONCILERS=1 $one_put -DCUTS=1 -DSTEADY                                      | -DFIRST=1
drop          | -DADMINS=1 -DCREATES=1 -DDROPS=2 -DBACKFILLERS=1 -DBACKFILLS=1 $one_put                                          | -DFIRST=1
query         | $index_is_ready -DWRITERS=1 -DCREATES=1 -DDROPS=1 -DQUERIES=1 -DSTEADY                                           | -DWRITERS=2
moving        | -DMODEL=moving                                                                                                    | -DPUTS=3
giving        | -DMODEL=giving                                                                                                    | -DPUTS=3
feed          | -DMODEL=feed -DCRASHES=1                                                                                         | -DTICKS=2 -DPURGES=1
feed_purge    | -DMODEL=feed -DPURGES=1                                                                                          | -DPUTS=3
feed_two      | -DMODEL=feed -DWRITERS=2 -DPUTS=1                                                                                | -DTICKS=2
feed_scan     | -DMODEL=feed -DSCAN -DCRASHES=1                                                                                  | -DTICKS=2
feed_trigger  | -DMODEL=feed -DPROTECTED -DPURGES=1 -DDEATHS=1                                                                   | -DTICKS=2
copy          | -DMODEL=copy                                                                                                      | -DPUTS=3 -DCOPIERS=3
feed_restore  | -DMODEL=feed -DRESTORES=1                                                                                        | -DPURGES=1
freeze        | -DMODEL=move                                                                                                      | -DPUTS=3
finish        | -DMODEL=finish -DOTHERS=2                                                                                         | -DPUTS=3
finish_one    | -DMODEL=finish                                                                                                    | -DUNDOERS=2
finish_detach | -DMODEL=finish -DDETACHER -DUNDOERS=0                                                                             | -DUNDOERS=1
finish_crash  | -DMODEL=finish -DCRASHES=1 -DUNDOERS=0 -DPUTS=1                                                                   | -DUNDOERS=1
finish_undo   | -DMODEL=finish -DCRASHES=1 -DFINISHERS=1 -DUNDOERS=2 -DPUTS=1                                                     | -DPUTS=2
buffer        | -DMODEL=buffer                                                                                                    | -DCLIENTS=3
buffer_refuse | -DMODEL=buffer -DDROPS=1                                                                                          | -DCLIENTS=2 -DMOVES=1
buffer_move   | -DMODEL=buffer -DMOVES=1 -DFLUSHERS=1                                                                             | -DFLUSHERS=2
buffer_crash  | -DMODEL=buffer -DCRASHES=1 -DFLUSHERS=1                                                                           | -DFLUSHERS=2
buffer_delete | -DMODEL=buffer -DCRASHES=1 -DONE_CRASHES=B                                                                        | -DCLIENTS=2
value         | -DMODEL=unique -DLEFTOVERS=1                                                                                      | -DPUTS=3
value_cut     | -DMODEL=unique -DCUTS=1 -DZOMBIES=1 -DBODY_OF_A=V                                                                 | -DLEFTOVERS=1 -DDOUBTS=1
value_doubt   | -DMODEL=unique -DPUTS=3 -DDOUBTS=1 -DBODY_OF_A=NONE                                                               | -DRECONCILES=1
value_former  | -DMODEL=unique -DFAILOVERS=1 -DBODY_OF_A=V                                                                        | -DFAILOVERS=2
value_crash   | -DMODEL=unique -DPUTS=3 -DCRASHES=1 -DBODY_OF_A=V -DBODY_OF_B=NONE -DBODY_NOT_ON_DISK                               | -DDOUBTS=1
value_zombie  | -DMODEL=unique -DCRASHES=1 -DZOMBIES=1 -DBODY_OF_A=NONE -DBODY_OF_B=V                                             | -DDOUBTS=1
value_fill    | -DMODEL=unique -DBACKFILLS=1 -DPUTS=1 -DLEFTOVERS=1 -DBODY_OF_A=V                                                 | -DPUTS=2 -DBODY_OF_B=V
value_forget  | -DMODEL=unique -DBACKFILLS=1 -DPUTS=1 -DCRASHES=1 -DBODY_OF_A=V -DBODY_OF_B=V                                     | -DLEFTOVERS=1
wipe          | $index_is_ready -DCREATES=2 -DBACKFILLERS=1 -DBACKFILLS=1 $one_put -DWIPES=1                                     | -DBACKFILLS=2
wipe_building | $index_is_built -DBODY=1 -DCREATES=1 -DBACKFILLERS=1 -DBACKFILLS=2 $one_put -DWIPES=1                            | -DCREATES=2
admins        | -DADMINS=2 -DBODY=ABSENT -DCREATES=2 -DDROPS=1 -DLOST_LOCKS=1 $one_put                                           | -DFIRST=1
ddl           | -DADMINS=2 -DCREATED=READY -DBODY=ABSENT -DCREATES=1 -DDROPS=2 -DLATE_DDL=1 -DLOST_LOCKS=1 $one_put              | -DCREATES=2
"

# NAME OF THE SAFEGUARD LEFT OUT | configuration that must notice
controls='
PUT_WITHOUT_FENCE             | write
PUT_WITHOUT_LOCK              | clean
INDEX_AFTER_COMMIT            | write
NAIVE                         | unknown
BLIND_UPSERT                  | unknown
PUT_WITHOUT_DURABLE           | crash
REPLACE                       | unique
NO_READ_BACK                  | unique
NO_EPOCH                      | fill
BLIND_REPLAY                  | unknown
RESOLVE_BY_BODY               | unknown
RESOLVE_WITHOUT_LOCK          | unknown
RESOLVE_UNLIKE_IMMUTABLE      | immutable
RESOLVE_BY_TOMBSTONE          | immutable
RESOLVE_WITHOUT_DURABLE       | crash_unknown
RESOLVE_BY_STAMP              | conditions
RESOLVE_CONDITIONS_ALIKE      | conditions
RESOLVE_OWN_CONDITION         | conditions
RESOLVE_OTHER_CONDITION       | conditions
PURGE_ABOVE_FLOOR             | cond_purge
RECONCILE_WITHOUT_PROOF       | write
RECONCILE_WITHOUT_PROOF       | crash
PROVE_BY_A_READ               | unknown
EVENTUAL                      | failback
SWEEP_WITHOUT_SECOND_LOOK     | failback
RECONCILE_WITHOUT_LOCK        | write
TIDY_WITHOUT_STAMP            | tidy
TIDY_WITHOUT_LOCK             | tidy
TIDY_WITHOUT_PROOF            | tidy
TIDY_WITHOUT_EPOCH            | tidy_recreate
SHARED_SWEEP                  | write
SWEEP_WITHOUT_LOOK            | write
NO_SWEEP                      | write
RECORD_FIRST                  | tidy
RECORD_FIRST                  | clean
PUT_WITHOUT_RECORD            | clean
PURGE_UNRECONCILED+PURGE_BLIND | clean
PURGE_WITHOUT_LOCK            | clean
PURGE_FRESH                   | unknown
PURGE_DURING_BACKFILL         | fill
PURGE_AS_FOUND                | unknown
PURGE_AS_FOUND                | fill_purge
NO_FENCE                      | fill
ADOPT_TABLE                   | recreate_cut
CHANGE_WITHOUT_TOKEN          | admins
LEFTOVER_NOT_LOOKED_AT_AGAIN  | admins
RECONCILE_WITHOUT_FENCE       | recreate_cut
PUT_WITHOUT_FLOOR             | fill
STAMPS_OF_THE_CLOCK           | clean
VACANT_BEFORE_FENCE           | fill
CURSOR_FIRST+NO_PROVE         | resume
DROP_FORGOTTEN                | admins
DDL_WITHOUT_LOCK              | ddl
DROP_ANY_TABLE                | drop
PUBLISH_BEFORE_DEMOTING       | wipe
ONE_STATE                     | query
STATE_BEFORE_ROWS             | query
LOOK_ONCE                     | moving
WITHOUT_CHANGED               | moving
STAMP_OF_FENCE                | moving
GIVE_TWICE                    | giving
LOOK_ONCE                     | giving
FORGET_DECIDED                | giving
NO_BARRIER                    | fill
NO_BARRIER                    | feed_two
NO_FLOOR                      | feed_two
NOT_DURABLE                   | feed
PAGE_NOT_DURABLE              | feed_scan
POSITION_FIRST                | feed_trigger
PURGE_UNREAD                  | feed_trigger
NO_NOTE                       | feed_purge
CHECK_FIRST                   | feed_purge
NO_WITNESS                    | feed_restore
WRITE_WITHOUT_TOKEN           | copy
STORE_FIRST                   | copy
CLAIM_ANY_OPEN                | copy
TAKE_ANY_ROW                  | copy
LOOK_LATER                    | copy
LEAVE_ROW                     | copy
STATE_BEFORE_FENCE            | freeze
CLAIM_WHAT_IS_OPEN            | finish
CLAIM_WHAT_IS_OPENING         | finish
LOOK_WITHOUT_DURABLE          | finish_crash
FREEZE_UNANNOUNCED            | finish
FREEZE_FROM_THE_END           | finish
FREEZE_WITHOUT_FENCE          | finish
DRAIN_BEFORE_FREEZE           | finish
WRITE_WITHOUT_TOKEN           | finish
PREPARE_WITHOUT_TOKEN         | finish
TRIGGERS_WITHOUT_TOKEN        | finish
DECIDE_BLINDLY                | finish
DECIDE_WITHOUT_TOKEN          | finish
MARK_WITHOUT_DURABLE          | finish_crash
OPEN_BEFORE_MARK              | finish
OPEN_WITHOUT_TOKEN            | finish
UNDO_WITHOUT_TOKEN            | finish
UNDO_WITHOUT_SHARD_0          | finish
UNDO_FROM_THE_END             | finish
ASK_BEFORE_LOOK               | finish
UNDO_WITHOUT_DURABLE          | finish_undo
SAME_TOKEN_AGAIN              | finish
READ_BY_KNOWN_STATE           | finish_undo
DETACH_BLINDLY                | finish_detach
COPY_AFTER_COPY               | buffer
PLACES_CHOSEN_LATE            | buffer
FAILED_IN_DOUBT               | buffer
RECEIPT_IGNORED               | buffer
INSERT_IGNORED                | buffer
RECEIPT_LATER                 | buffer
STORE_WITHOUT_CHECK           | buffer
REFUSE_WITHOUT_CHECK          | buffer
CHECK_BEFORE_RECEIPT          | buffer_refuse
SAME_TEXT_LATER               | buffer_crash
DELETE_WITHOUT_WAIT           | buffer
DELETE_BEFORE_DURABLE         | buffer_crash
GONE_WITHOUT_DURABLE          | buffer_delete
SETTLE_WITH_COPIES            | buffer
SETTLE_DELETES_FIRST          | buffer_refuse
DROP_WITH_COPIES              | buffer_refuse
DROP_DELETES_FIRST            | buffer_refuse
COPY_WITHOUT_FENCE            | buffer_move
COPY_WITHOUT_STATE            | buffer_move
REFUSE_WITHOUT_STATE          | buffer_move
MOVE_WITHOUT_CHECK            | buffer_move
CHECK_BEFORE_FREEZE           | buffer_move
NO_READ_BACK                  | value
COMMIT_BEFORE_ROW             | value
REFUSE_BLINDLY                | value
TAKE_OVER                     | value
DELETE_BEFORE_COMMIT          | value
DELETE_BY_VALUES              | value
SUPERSEDED_WITHOUT_STAMP      | value
HOLDER_WITHOUT_LOCK           | value
SHARED_SWEEP                  | value
RECONCILE_WITHOUT_PROOF       | value_cut
RECONCILE_WITHOUT_PROOF       | value_zombie
OVERTAKEN_IS_DONE             | value_doubt
OVERTAKEN_BY_OLD_BODY         | value_crash
REFUSED_BY_FORMER             | value_former
FOUND_WITHOUT_DURABLE         | value_zombie
DURABLE_BEFORE_READ_BACK      | value_zombie
HOLDER_GETS_ITS_ROWS          | value_fill
CONFLICT_KEEPS_ROWS           | value_fill
EXCEPTION_FOR_ANY_BODY        | value_fill
NO_PROVE                      | value_forget
PROVE_WITHOUT_DURABLE         | value_forget
BACKFILL_WITHOUT_FENCE        | recreate
NO_GENERATION_CHECK           | recreate
NO_RECONCILE_SINCE            | fill
NO_PROVE                      | fill_crash
PROVE_WITHOUT_DURABLE         | prove_crash
RECORD_OF_ANY_SCAN            | prove_crash
PUBLISH_WITHOUT_TOKEN         | wipe_building
PUBLISH_WITHOUT_STATE         | drop
'

# Likewise, but of these no claim is broken: something else mends, or prevents, what would go wrong.
redundant='
ADVANCE_WITHOUT_TOKEN         | takeover
ADVANCE_WITHOUT_TOKEN+NO_PROVE | takeover
CURSOR_FIRST                  | resume
NO_PROVE                      | resume
CHANGED_ROWS_ONLY             | write
RESUME_ANY_GENERATION         | drop
PURGE_UNRECONCILED            | clean
PURGE_BLIND                   | clean
PURGE_WITHOUT_FENCE           | recreate_cut
DROP_BEFORE_WRITERS_STOP      | recreate
CLAIM_NOT_LOOKED_AT           | admins
FIRST_INTENT_FIRST            | admins
INSERT_BEHIND_UNREAD_ROW      | unique
OWN_UNDO_FROM_THE_END         | finish_crash
STATE_IN_EARLIER_STATEMENT    | finish_undo
RECEIPT_NOT_CHECKED           | buffer_refuse
EXCEPTION_IN_READY            | value_fill
'
redundant_in_full='
CHANGED_ROWS_ONLY             | fill
CHANGED_ROWS_ONLY             | resume
INSERT_BEHIND_UNREAD_ROW      | fill_unique_r
'

# Searches of so many states that gcc, which takes far longer to compile them, is sooner done with them.
large=' conditions cond_purge crash fill_failover fill_unique_2 fill_unique_r fill_unknown takeover tidy_unknown unique write '

for program in spin tcc gcc; do
  if ! command -v $program > /dev/null; then
    echo "model: skipped: $program is not installed (Debian packages spin, tcc and gcc)"
    exit 77
  fi
done

parameters_of() {  # NAME FULL, which may be empty
  awk -F ' *[|] *' -v name="$1" -v full="$2" '$1 == name { print $2, (full ? $3 : "") }' <<< "$configurations"
}

model_of() {  # DEFINITION...: the file, without its ending
  local model
  model=$(printf '%s\n' "$@" | sed -n 's/^-DMODEL=//p')
  echo "${model:-looseleaf}"
}

# -D options of which the last of each name counts: spin's preprocessor warns about a second one.
last_of_each() {
  printf '%s\n' "$@" | awk -F = '{ if (!($1 in value)) names[++n] = $1; value[$1] = $0 } END { for (i = 1; i <= n; ++i) print value[names[i]] }'
}

build() {  # COMPILER DEFINITION... in the current folder
  local compiler=$1
  shift
  spin -a $(last_of_each "$@") "$here/$(model_of "$@").pml" > spin.log 2>&1 && [ -f pan.c ] || { cat spin.log; return 1; }
  $compiler -DSAFETY $storage -DMEMLIM=$memory -w -o pan pan.c ${bfs:-}
}

# One search. Prints a line of the table; fails if it does not end as expected.
search() {  # CONFIGURATION CONTROL EXPECTED, CONTROL and EXPECTED may be -
  local compiler=tcc larger='' got=unclear states start end folder
  if [ -n "$full" ] && [ "$2" = - ]; then
    compiler='gcc -O2' larger=yes
  elif [ "$2" = - ] && [[ $large == *" $1 "* ]]; then
    compiler='gcc -O1'
  fi
  folder=$(mktemp -d "$work/XXXXXX")
  cd "$folder"
  start=$(date +%s%N)
  if build "$compiler" $(parameters_of "$1" "$larger") $([ "$2" = - ] || echo "-D${2//+/ -D}") > build.log 2>&1; then
    ./pan -E -m100000 > out 2>&1 || true
    if grep -q 'assertion violated.*stuck' out; then
      got=stuck
    elif grep -q 'assertion violated' out; then
      got='claim broken'
    elif grep -qE 'max search depth too small|out of memory|memory limit|not completed|aborted|pan:1:|unreached code \(' out; then
      got=$(grep -oE 'max search depth too small|out of memory|memory limit|not completed|aborted|pan:1:.*' out | head -1)
    elif grep -q '^Full statespace search' out && grep -q 'errors: 0$' out; then
      got=holds
    fi
  fi
  end=$(date +%s%N)
  states=$(awk '/states, stored/ { print $1 }' out 2> /dev/null) || true
  printf '%-14s %-30s %10s %7s  %-13s %s\n' "$1" "$2" "${states:--}" \
    "$(((end - start) / 1000000000)).$((((end - start) / 100000000) % 10))" "$3" "$got" | tee -a "$work/table"
  if [ "$got" != "$3" ]; then
    { echo "model: $1 $2: expected: $3, got: $got"; tail -n 5 build.log; } >> "$work/failed"
  fi
  rm -rf "$folder"
}

trail() {  # CONFIGURATION [CONTROL]
  local definitions
  definitions="$(parameters_of "$1" "") ${2:+-D$2}"
  [ -n "$(parameters_of "$1" "")" ] || { echo "run.sh: no such configuration: $1" >&2; exit 2; }
  cd "$work"
  bfs=-DBFS build 'gcc -O2' $definitions
  ./pan -E -m10000 > out || true
  grep -E 'assertion violated|errors:' out
  local model
  model=$(model_of $definitions).pml
  if [ ! -f "$model.trail" ]; then
    ! grep -qE 'out of memory|memory limit|not completed|aborted|too small' out || { echo "run.sh: the search was cut short" >&2; exit 1; }
    echo "no claim is broken"
    return
  fi
  cp "$here"/*.pml .
  spin -t -p $(last_of_each $definitions) "$model" | grep -E '^ *[0-9]+:.*proc' | grep -vE '\[(\(1\)|else|\.\(goto\))\]'
}

write_report() {
  mkdir -p "$here/../../build/proof"
  {
    echo "# The model"
    echo
    echo "\`tests/model/run.sh --full\`, at commit $(git -C "$here" rev-parse --short HEAD), with $(spin -V | head -1), on $(date -u +%F)."
    echo "docs/protocol.md describes the model. Every search was exhaustive. A control leaves the safeguard of"
    echo "that name out; END_IS_REACHED shows that the last claims, about what clean leaves, are come to at all."
    echo
    echo '```'
    cat "$work/sorted"
    echo '```'
  } > "$here/../../build/proof/model.md"
}

full=${LOOSELEAF_FULL:+yes} all=''
case ${1:-} in
  --all) all=yes ;;
  --full) full=yes ;;
  --search) shift; search "$@"; exit ;;
esac
memory=1900 storage=-DSFH  # MiB for each search; a few million states fit as they are, which is sooner than compressing them
[ -z "$full" ] || { memory=8000 storage=-DCOLLAPSE; redundant+=$redundant_in_full; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case ${1:-} in
  --trail) memory=8000 storage=-DCOLLAPSE; trail "${@:2}"; exit ;;
  --all | --full | '') ;;
  *) sed -n '/^# usage/,/^# Ends/s/^# //p' "$0" >&2; exit 2 ;;
esac
export work memory storage
export LOOSELEAF_FULL=$full

names() { awk -F ' *[|] *' 'NF > 1 { print $1 }' <<< "$1"; }
{
  for name in $(names "$configurations"); do
    echo "$name - holds"
    echo "$name END_IS_REACHED claim broken"
  done
  awk -F ' *[|] *' 'NF > 1 { print $2, $1, "claim broken" }' <<< "$controls"
  awk -F ' *[|] *' 'NF > 1 { print $2, $1, "holds" }' <<< "$redundant"
} > "$work/searches"
# What every search depends on, but for the tools.
fingerprint=$({ cat "$here"/*.pml; echo "$configurations$controls$redundant"; } | sha256sum | cut -d ' ' -f 1)
if [ -z "$full$all" ] && grep -q "^$fingerprint " "$here/checked"; then
  echo "model: as on $(cut -d ' ' -f 2- "$here/checked"); a random sample of these is repeated now"
  shuf -n 40 "$work/searches" -o "$work/searches"
fi
header=$(printf '%-14s %-30s %10s %7s  %-13s %s' configuration control states seconds expected got)
echo "$header"
sed -E 's/^(\S+) (\S+) (.*)$/--search\n\1\n\2\n\3/' "$work/searches" | tr '\n' '\0' | xargs -0 -n 4 -P 2 "$here/run.sh" || true  # what failed is in $work
{
  echo "$header"
  awk 'NR == FNR { order[$1 " " $2] = NR; next } { print order[$1 " " $2] "\t" $0 }' "$work/searches" "$work/table" | sort -n | cut -f 2-
} > "$work/sorted"
if [ "$(wc -l < "$work/table")" -ne "$(wc -l < "$work/searches")" ]; then
  echo "model: some searches have no result" >> "$work/failed"
fi
if [ -e "$work/failed" ]; then
  cat "$work/failed" >&2
  exit 1
fi
[ -z "$full" ] || write_report
[ -z "$all" ] || echo "$fingerprint $(date -u +%F), when all $(wc -l < "$work/searches") searches ended as expected" > "$here/checked"
echo "model: $(grep -c ' - holds$' "$work/searches" || true) configurations hold, and $(grep -c 'claim broken$' "$work/searches" || true) controls are noticed"

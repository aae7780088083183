#!/usr/bin/python3
"""Runs every command with --output json on a sandbox and checks each line against schemas/output.
usage: output_test.py PROGRAM"""
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import schema_files

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))
import sandbox

PROGRAM = os.path.realpath(sys.argv[1])
SEEN = set()  # (command, definition)
SLOW = 20  # seconds that a step may take on a busy machine


class Box(sandbox.Sandbox):
    """Runs commands whose output is judged."""

    def command(self, command, *arguments):
        cluster = ["--cluster", self.cluster] if self.cluster and command != "sandbox" else []
        return [PROGRAM, *cluster, "--output", "json", command, *arguments]

    def run(self, *arguments, stdin="", status=0, lines=()):
        """Runs a command; its lines must be of these definitions (one that ends in * may be there once or more)."""
        done = subprocess.run(self.command(*arguments), input=stdin, capture_output=True, text=True, timeout=120)
        what = f"{' '.join(arguments)}: status {done.returncode}\n{done.stdout}{done.stderr}"
        assert done.returncode == status, what
        judge_messages(done.stderr, done.returncode)
        return judge(arguments[0], done.stdout.split("\n")[:-1], lines, what)

    def servers(self):
        return self.run("sandbox", "status", "--dir", self.box, lines=["server", "server", "status"])


def judge_messages(text, status):
    """Every line of standard error is a message. If one ends the command, it has its exit status."""
    assert text == "" or text.endswith("\n"), text
    for line in text.split("\n")[:-1]:
        value = json.loads(line)
        schema_files.validator("output/messages.schema.json", value["event"]).validate(value)
        assert value.get("exit_status", status) == status, text
        SEEN.add(("messages", value["event"]))


def judge(command, lines, definitions, what):
    """The lines as values, once each is known to be of its definition."""
    order = "".join(f"(?:{name[:-1]} )+" if name.endswith("*") else f"{name} " for name in definitions)
    values = [json.loads(line) for line in lines]
    wanted = {name.rstrip("*") for name in definitions}
    found = []
    for value in values:
        fits = [name for name in wanted if schema_files.validator(f"output/{command}.schema.json", name).is_valid(value)]
        if not fits and wanted:
            name = sorted(wanted)[-1]
            schema_files.validator(f"output/{command}.schema.json", name).validate(value)
        fits = [name for name in fits if name != "entity"] or fits  # every object could be an entity
        assert len(fits) == 1, f"{fits} describe {value}\n{what}"
        assert schema_files.validator(f"output/{command}.schema.json").is_valid(value), value
        SEEN.add((command, fits[0]))
        found.append(fits[0])
    assert re.fullmatch(order, "".join(f"{name} " for name in found)), f"{found} came, not {definitions}: {what}"
    return values


def uuid_of(number):
    return f"{number:032x}"


def entity(number, **members):
    return json.dumps({"id": uuid_of(number), **members}) + "\n"


def definition(box, table, **keys):
    properties = [{"name": "n", "type": "int"}]
    return box.write(f"{table}.json", json.dumps({"table": table, "properties": properties, **keys}))


def version_and_servers(box):
    for word in ("--version", "version"):
        done = subprocess.run([PROGRAM, word, "--output", "json"], capture_output=True, text=True, check=True)
        judge("version", done.stdout.split("\n")[:-1], ["summary"], done.stdout)
    started = box.run("sandbox", "start", "--shards", "2", "--dir", box.box, lines=["started"])
    box.cluster = started[0]["cluster_file"]
    box.servers()
    box.run("sandbox", "status", "--dir", box.folder + "/nothing", status=2)


def before_and_after_init(box):
    fresh = box.run("status", status=2, lines=["shard", "shard", "summary"])
    assert fresh[0]["error"]["hint"] and fresh[0]["state"] == "uninitialised", fresh
    assert fresh[1]["error"]["context"]["shard"] == 1, fresh
    assert fresh[2] == {**fresh[2], "uninitialised": 2, "refused": 0, "down": 0, "cluster_id": None}, fresh
    box.run("put", stdin=entity(1), status=2)
    assert box.run("init", lines=["summary"])[0]["created"]
    assert not box.run("init", lines=["summary"])[0]["created"]
    box.run("init", "--accept-empty-shard", "7", status=2)
    box.run("init", "--cluster", box.write("bad.json", "{}"), status=2)


def putting(box):
    results = box.run("put", stdin=entity(1, n=1) + '{"n": 2}\n{"id": 7}\n{"n":,}\n', status=1,
                          lines=["result"] * 4 + ["summary"])
    assert [result["status"] for result in results[:4]] == ["stored", "stored", "rejected", "rejected"]
    assert (results[2]["id"], results[2]["line"], results[3]["line"]) == (None, 3, 4)
    assert results[2]["error"] == "id is not a UUID", results
    assert results[4] == {"schema_version": 1, "stored": 2, "rejected": 2, "failed": 0, "unknown": 0}
    box.run("put", "--quiet", stdin=entity(2, n=2), lines=["summary"])
    there = box.run("put", "--if-absent", stdin=entity(2, n=3), status=1, lines=["result", "summary"])
    assert (there[0]["status"], there[0]["text"], there[1]["exists"]) == ("exists", "different", 1)
    merged = box.run("put", "--merge", stdin=entity(2, n=2) + entity(2, n=3) + entity(98) + '{}', status=1,
                     lines=["result"] * 4 + ["summary"])
    assert [result["status"] for result in merged[:4]] == ["unchanged", "stored", "not_found", "rejected"]
    updated = box.run("update", uuid_of(2), uuid_of(98), "--", "sed", "s/3/4/", status=1,
                      lines=["result"] * 2 + ["summary"])
    assert [result["status"] for result in updated[:2]] == ["stored", "not_found"]
    box.run("update", uuid_of(2), "--", "false", status=3, lines=["result", "summary"])
    box.run("put", "--quiet", stdin=entity(2, n=2), lines=["summary"])
    box.run("put", "/nonexistent.jsonl", status=3)
    box.run("put", f"{box.box}/s0.sock", status=3, lines=["summary"])  # which cannot be opened, but looks readable
    box.run("put", "--no-such-option", status=2)
    box.run("no-such-command", status=2)
    named = box.run("put", box.write("bad.jsonl", "7\n"), status=1, lines=["result", "summary"])
    assert named[0]["file"].endswith("bad.jsonl")
    of_csv = box.run("put", "--csv", "--types", "n=int", stdin="n,s\nx,y\n1\n", status=1,
                     lines=["result", "result", "summary"])
    assert [result.get("field") for result in of_csv[:2]] == ["n", None], of_csv
    assert (of_csv[0]["line"], of_csv[0]["column"]) == (2, 1), of_csv


def getting(box):
    box.run("get", uuid_of(1), lines=["entity", "summary"])
    box.run("get", "--stamps", uuid_of(1), lines=["version", "summary"])
    end = box.run("get", "-", stdin=f"{uuid_of(2)}\nx\n{uuid_of(99)}\n", status=1, lines=["entity", "summary"])[1]
    assert end == {"schema_version": 1, "found": 1, "missing": 1, "rejected": 1, "failed": 0}
    box.run("put", "--quiet", stdin=entity(4), lines=["summary"])
    box.sql(0, f"UPDATE entities SET body = 'damaged' WHERE id = X'{uuid_of(4)}'")
    assert box.run("get", uuid_of(4), status=3, lines=["summary"])[0]["failed"] == 1
    found = box.run("verify", "--grace", "0", status=1, lines=["finding", "summary"])
    assert (found[0]["kind"], found[0]["index"], found[0]["entity_id"]) == ("unreadable", None, uuid_of(4))
    box.run("get", "x", status=2)
    deleted = box.run("delete", "-", stdin=f"{uuid_of(4)}\nx\n{uuid_of(99)}\n", status=1,
                          lines=["result"] * 3 + ["summary"])
    assert sorted(result["status"] for result in deleted[:3]) == ["deleted", "not_found", "rejected"]
    assert [result["id"] for result in deleted[:3] if result["status"] != "rejected"] == [uuid_of(4), uuid_of(99)]
    assert deleted[3] == {"schema_version": 1, "deleted": 1, "not_found": 1, "rejected": 1, "failed": 0, "unknown": 0}
    box.run("delete", uuid_of(99), "--quiet", status=1, lines=["summary"])


def indexes(box):
    by_n = definition(box, "by_n", shard_on="n", where={"hidden": None})
    plain = definition(box, "plain", immutable=True)
    steps = box.run("create-index", "--dry-run", plain, lines=["step*", "summary"])
    assert steps[0]["sql"] and steps[-2]["shards"] == [0, 1] and steps[-2]["note"], steps
    created = box.run("create-index", plain, by_n, lines=["index", "index", "summary"])
    assert created[2]["building"] == ["plain", "by_n"]
    dropped = box.run("drop-index", "by_n", "--yes", "--keep-table", lines=["index", "summary"])[0]
    assert dropped["table_kept"] and [name.rpartition("_")[0] for name in dropped["kept_as"]] == ["by_n_dropped"], dropped
    box.run("query", "plain", status=2)
    definition(box, "by_n")
    filled = box.run("create-index", plain, by_n, "--backfill", lines=["index", "index", "progress*", "summary"])
    assert sorted(filled[-1]["ready"]) == ["by_n", "plain"] and filled[-1]["building"] == []
    assert box.run("backfill", lines=["summary"])[0]["ready"] == []
    definition(box, "by_n", immutable=True)
    box.run("create-index", by_n, status=2)
    definition(box, "by_n")
    refused = box.run("put", stdin=entity(1, n=9), status=1, lines=["result", "summary"])[0]
    assert (refused["status"], refused["id"], refused["index"]) == ("rejected", uuid_of(1), "plain")
    box.run("drop-index", "plain", "--yes", lines=["index", "summary"])
    box.run("drop-index", "plain", "--yes", status=2)
    box.run("drop-index", "by_n", status=2)
    answered_no(box)


def folders(box):
    folder = os.path.join(box.folder, "declared")
    os.mkdir(folder)
    shutil.copy(definition(box, "new"), folder)
    compared = box.run("diff", folder, status=1, lines=["index", "index", "summary"])
    assert [index["kind"] for index in compared[:2]] == ["extra", "missing"] and compared[2]["missing"] == 1, compared
    planned = box.run("apply", folder, "--prune", "--dry-run", lines=["step*", "summary"])[-1]
    assert (planned["created"], planned["dropped"], planned["dry_run"]) == (["new"], ["by_n"], True), planned
    applied = box.run("apply", folder, lines=["index", "progress*", "summary"])[-1]
    assert (applied["created"], applied["ready"], applied["extra"]) == (["new"], ["new"], ["by_n"]), applied
    shown = box.run("show-index", "new", "by_n", lines=["index", "index", "summary"])
    assert shown[0]["definition"]["table"] == "new" and shown[0]["shard_on"] is None, shown
    box.run("show-index", "nothing", status=2)
    shutil.copy(definition(box, "by_n"), folder)
    os.remove(os.path.join(folder, "new.json"))
    pruned = box.run("apply", folder, "--prune", "--yes", lines=["dropped", "summary"])[-1]
    assert (pruned["created"], pruned["dropped"], pruned["extra"]) == ([], ["new"], []), pruned
    assert box.run("diff", folder, lines=["index", "summary"])[-1]["equal"]
    box.run("apply", folder, lines=["summary"])
    box.run("verify", "--definitions", folder, "--definitions-only", lines=["summary"])


def answered_no(box):
    terminal, program_side = pty.openpty()
    asking = subprocess.Popen(box.command("drop-index", "by_n"), stdin=program_side, stderr=program_side,
                              stdout=subprocess.PIPE, text=True)
    os.close(program_side)
    os.write(terminal, b"n\n")
    out = asking.communicate(timeout=SLOW)[0]
    os.close(terminal)
    assert asking.returncode == 1
    assert judge("drop-index", out.split("\n")[:-1], ["summary"], out)[0]["indexes"] == 0


def queries(box):
    box.run("put", "--quiet", stdin="".join(entity(number, n=number) for number in range(10, 20)), lines=["summary"])
    page = box.run("query", "by_n", "n>=10", "--limit", "3", lines=["entity"] * 3 + ["summary"])[3]
    box.run("query", "by_n", "n>=10", "--after", page["next"], "--limit", "3", lines=["entity"] * 3 + ["summary"])
    assert box.run("query", "by_n", "n=77", lines=["summary"])[0]["next"] is None
    box.run("query", "by_n", "n>17", "--ids", lines=["id", "id", "summary"])
    fields = box.run("query", "by_n", "n>17", "--fields", "n", lines=["entity", "entity", "summary"])
    assert fields[:2] == [{"n": 18}, {"n": 19}], fields
    box.run("query", "by_n", "n>17", "--count", lines=["count"])
    explained = box.run("query", "by_n", "n>17", "--where", "n=19", "--explain", lines=["explanation"])[0]
    assert (explained["entities"], explained["filtered"], len(explained["shards"])) == (1, 1, 2)
    box.run("explain", uuid_of(10), lines=["entity*", "summary"])
    for value, why in ("[]", "array_without_each"), ("9223372036854775808", "out_of_range"):
        assert box.run("explain", "-", stdin=f'{{"n": {value}}}', lines=["entity*", "summary"])[0]["why"] == why
    box.run("query", "by_m", status=2)
    box.run("query", "by_n", "m=1", status=2)


def feed(box):
    ids = box.run("export", "--ids", lines=["id*", "summary"])
    assert ids[-1]["entities"] == len(ids) - 1
    all_entities = box.run("export", lines=["entity*", "summary"])
    position = all_entities[-1]["position"]
    box.run("put", "--quiet", stdin=entity(10, n=10) + entity(11, n=11), lines=["summary"])
    box.run("put", "--quiet", stdin=entity(70), lines=["summary"])
    box.run("delete", "--quiet", uuid_of(70), lines=["summary"])
    box.run("put", "--quiet", stdin=entity(71), lines=["summary"])
    box.sql(1, f"UPDATE entities SET body = 'damaged' WHERE id = X'{uuid_of(71)}'")
    done = subprocess.run(box.command("changes", "--where", "n=10", "--after", position), capture_output=True, text=True)
    values = [json.loads(line) for line in done.stdout.split("\n")[:-1]]
    kinds = ["unreadable", "deleted", "entity", "matches", "position"]  # shards, and so their lines, come in any order
    values[:-1] = sorted(values[:-1], key=lambda value: [kind not in value for kind in kinds])
    lines = [json.dumps(value) for value in values]
    expected = ["unreadable", "deleted", "stored", "no_match", "position*", "summary"]
    changed = judge("changes", lines, expected, done.stdout)[-1]
    assert (changed["stored"], changed["deleted"], changed["no_match"], changed["unreadable"]) == (1, 1, 1, 1)
    box.run("delete", "--quiet", uuid_of(71), lines=["summary"])
    box.run("changes", "--after", "x", status=2)


def copies(box):
    with Box(PROGRAM) as other:
        started = other.run("sandbox", "start", "--shards", "1", "--dir", other.box, lines=["started"])
        other.cluster = started[0]["cluster_file"]
        other.run("init", lines=["summary"])
        copied = box.run("copy", "--to", other.cluster, lines=["summary"])[0]
        assert copied["written"] > 0 and copied["unreadable"] == 0, copied
        box.run("copy", "--to", other.cluster, "--detach", lines=["summary"])
        box.run("copy", "--to", other.cluster, status=2)


def triggers(box):
    """COMMAND ends the process that runs it, which takes the batch first."""
    ran = box.run("trigger", "run", "t", "--output", "json", "--", "sh", "-c", "kill $PPID", status=143, lines=["ran"])
    assert ran[0]["delivered"] > 0 and ran[0]["failures"] == 0, ran
    listed = box.run("trigger", "list", lines=["trigger", "listed"])[0]
    assert listed["trigger"] == "t" and [shard["shard"] for shard in listed["shards"]] == [0, 1], listed
    assert not box.run("trigger", "reset", "t", lines=["changed"])[0]["dropped"]
    assert box.run("trigger", "drop", "t", lines=["changed"])[0]["dropped"]
    box.run("trigger", "drop", "t", status=2)


def verification(box):
    assert box.run("verify", "--grace", "0", lines=["summary"])[0]["consistent"]
    box.sql(0, "DELETE FROM by_n WHERE n = 10")
    box.sql(0, f"INSERT INTO by_n VALUES (12, X'{uuid_of(98)}'), (99, X'{uuid_of(14)}')")
    box.sql(1, f"INSERT INTO by_n VALUES (16, X'{uuid_of(16)}')")
    found = box.run("verify", "--grace", "0", status=1, lines=["finding"] * 4 + ["summary"])
    kinds = ["misplaced", "missing", "orphan", "stale"]
    assert sorted(finding["kind"] for finding in found[:4]) == kinds and found[4]["findings"] == 4
    folder = os.path.join(box.folder, "definitions")
    os.mkdir(folder)
    shutil.copy(definition(box, "other"), folder)
    found = box.run("verify", "--definitions", folder, "--grace", "0", status=1, lines=["finding*", "summary"])
    differing = [finding for finding in found if finding.get("kind") == "definition_differs"]
    assert {finding["index"] for finding in differing} == {"by_n", "other"}
    assert [finding["file"] for finding in differing if finding["index"] == "other"]
    repaired = box.run("verify", "--repair", "--grace", "0", lines=["repaired"] * 4 + ["summary"])
    assert repaired[-1]["consistent"] and repaired[-1]["repaired"] > 0
    assert sorted(line["finding"]["kind"] for line in repaired[:4]) == kinds
    box.sql(1, "ALTER TABLE by_n ADD COLUMN more INT")
    found = box.run("verify", "--grace", "0", status=1, lines=["finding", "summary"])
    assert (found[0]["kind"], found[0]["entity_id"]) == ("table_differs", None)
    assert [place["verified"] for place in found[1]["indexes"] if place["index"] == "by_n"] == [False, False]
    box.sql(1, "ALTER TABLE by_n DROP COLUMN more")
    box.run("verify", "nothing", status=2)


def comparison(box):
    """A second store on other servers, with one entity in place of all, and without the index."""
    with Box(PROGRAM) as other:
        other.cluster = other.run("sandbox", "start", "--shards", "1", "--dir", other.box, lines=["started"])[0]["cluster_file"]
        other.run("init", lines=["summary"])
        other.run("put", "--quiet", stdin=entity(5000), lines=["summary"])
        found = box.run("verify", "--against", other.cluster, "--grace", "0", status=1, lines=["difference*", "comparison"])
        assert {line["kind"] for line in found[:-1]} == {"missing", "extra"}, found
        assert found[-1]["findings"] == len(found) - 1 and found[-1]["other_entities"] == 1, found
        assert [index["kind"] for index in found[-1]["indexes"]] == ["missing"], found
        box.run("verify", "--against", box.cluster, status=2)


def cleaning(box):
    assert box.run("clean", "--full", lines=["summary"])[0]["mended"] == {}
    box.sql(0, f"INSERT INTO by_n VALUES (77, X'{uuid_of(12)}')")
    box.sql(0, f"INSERT INTO looseleaf_cleanup VALUES (1, NOW(6), X'{uuid_of(12)}')")  # so that clean looks at it
    cleaner = subprocess.Popen(box.command("clean", "--follow"), stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True)
    first = cleaner.stdout.readline()
    box.run("clean", status=3)  # the other one holds the job
    cleaner.send_signal(signal.SIGTERM)
    rest = cleaner.communicate(timeout=SLOW)[0]
    assert cleaner.returncode == 143
    assert judge("clean", [first, *rest.split("\n")[:-1]], ["pass*"], first)[0]["mended"] == {"stale": 1}


def jobs(box):
    pause = box.write("pause", "")
    late = definition(box, "late")
    box.run("create-index", late, lines=["index", "summary"])
    job = subprocess.Popen(box.command("backfill", "--pause-file", pause), stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True)
    first = job.stdout.readline()
    shards = box.run("status", lines=["shard", "shard", "summary"])
    running = [one for shard in shards[:2] for one in shard["jobs"] if one["job"] == "backfill"]
    assert running and all(one["holder"] for one in running), shards
    os.remove(pause)
    rest = job.communicate(timeout=60)[0]
    values = judge("backfill", [first, *rest.split("\n")[:-1]], ["progress*", "summary"], first + rest)
    assert values[0]["waiting"] and values[-1]["ready"] == ["late"]


def freezing(box):
    assert box.run("freeze", "--reason", "a test", lines=["summary"])[0]["frozen"] == 2
    box.run("freeze", "--reason", "again", status=3)
    frozen = box.run("status", lines=["shard", "shard", "summary"])[0]["access"]
    assert (frozen["state"], frozen["reason"]) == ("frozen", "a test") and frozen["by"] and frozen["since"], frozen
    refused = box.run("put", stdin=entity(20), status=3, lines=["result", "summary"])[0]
    assert (refused["status"], refused["reason"]) == ("failed", "a test"), refused
    assert box.run("thaw", lines=["summary"])[0]["opened"] == 2
    assert box.run("thaw", lines=["summary"])[0]["opened"] == 0


def watching(box):
    watch = subprocess.Popen(box.command("status", "--watch", "0.05"), stdout=subprocess.PIPE, text=True)
    lines = [watch.stdout.readline()[:-1] for _ in range(6)]
    watch.send_signal(signal.SIGTERM)
    watch.communicate(timeout=SLOW)
    assert watch.returncode == 143
    judge("status", lines, ["shard", "shard", "summary"] * 2, str(lines))


def shard_down(box):
    server = box.servers()[1]
    os.kill(server["pid"], signal.SIGKILL)
    deadline = time.monotonic() + SLOW
    while sandbox_status(box)[1]["running"] and time.monotonic() < deadline:
        time.sleep(0.05)
    short = ("--timeout", "1")
    down = box.run("status", *short, status=3, lines=["shard", "shard", "summary"])
    assert (down[1]["state"], down[2]["down"]) == ("down", 1) and down[1]["error"]["what"]
    assert isinstance(down[1]["error"]["context"]["code"], int), down
    results = box.run("put", *short, stdin=entity(20) + entity(21), status=3, lines=["result", "result", "summary"])
    assert [result["status"] for result in results[:2]] == ["stored", "failed"]
    assert results[1]["shard"] == 1 and isinstance(results[1]["code"], int)
    failed = box.run("delete", uuid_of(11), *short, status=3, lines=["result", "summary"])
    assert failed[0]["status"] == "failed" and failed[1]["failed"] == 1
    part = box.run("query", "by_n", "--partial", "--ids", *short, status=3, lines=["id*", "summary"])[-1]
    assert part["unavailable"] == [1]
    got = box.run("get", uuid_of(20), uuid_of(21), *short, status=3, lines=["entity", "summary"])[-1]
    assert (got["found"], got["failed"]) == (1, 1)
    for command in ("verify", "clean", "init", "backfill"):
        box.run(command, *short, status=3)
    box.run("query", "by_n", "--count", *short, status=3)


def buffering(box):
    """Server 1 is down, and comes back."""
    kept = box.run("put", "--buffer", stdin=entity(41) + entity(43), lines=["result", "result", "summary"])
    assert kept[0]["status"] == kept[1]["status"] == "buffered" and kept[2]["buffered"] == 2, kept
    box.run("sandbox", "start", "--dir", box.box, lines=["started"])
    box.run("put", "--quiet", stdin=entity(43, n=1), lines=["summary"])
    assert box.run("flush", status=1, lines=["summary"])[0] == {"schema_version": 1, "stored": 1, "refused": 1, "left": 0}
    refused = box.run("refused", "list", lines=["refused", "listed"])
    assert refused[0]["id"] == uuid_of(43) and refused[0]["text"] == entity(43)[:-1], refused
    assert box.run("status", lines=["shard", "shard", "summary"])[1]["refused_writes"] == 1
    assert box.run("refused", "retry", "--all", status=1, lines=["retried"])[0]["refused"] == 1
    assert box.run("refused", "drop", "--all", lines=["dropped"])[0]["dropped"] == 1
    box.run("refused", "drop", status=2)


def sandbox_status(box):
    done = subprocess.run(box.command("sandbox", "status", "--dir", box.box), capture_output=True, text=True)
    return judge("sandbox", done.stdout.split("\n")[:-1], ["server", "server", "status"], done.stdout)


def the_end(box):
    assert box.run("sandbox", "stop", "--dir", box.box, lines=["stopped"])[0]["stopped"] == 2
    box.run("sandbox", "delete", "--dir", box.box, lines=["stopped"])


def check_documentation():
    """docs/json.md has a section on every command, and links to its schema."""
    text = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  ([a-z-]+)  ", text.split("commands:\n")[1].split("\n\n")[0], re.M)
    page = (schema_files.FOLDER.parent / "docs/json.md").read_text()
    assert len(commands) > 5
    for command in commands:
        if command == "help":  # prints text only
            continue
        assert f"output/{command}.schema.json" in schema_files.names(), f"no schema of the output of {command}"
        assert f"[{command}](../schemas/output/{command}.schema.json)" in page, f"docs/json.md says nothing on {command}"


def check_coverage():
    """Every definition in the schemas was seen to come out."""
    for name in schema_files.names():
        schema = schema_files.SCHEMAS[schema_files.BASE + name]
        command = name.removeprefix("output/").removesuffix(".schema.json")
        if name.startswith("output/") and command != "common":
            unseen = [one for one in schema["$defs"] if (command, one) not in SEEN]
            assert not unseen, f"{name} describes what did not come: {unseen}"


def main():
    sandbox.skip_without_server(PROGRAM)
    check_documentation()
    assert schema_files.check_examples() > 10
    with Box(PROGRAM) as box:
        for part in (version_and_servers, before_and_after_init, putting, getting, indexes, folders, queries, feed, triggers, copies,
                     verification, comparison, cleaning, jobs, freezing, watching, shard_down, buffering, the_end):
            part(box)
    check_coverage()
    print(f"output_test: {len(SEEN)} kinds of line are as the schemas say")


main()

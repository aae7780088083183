#!/usr/bin/env python3
"""Changes one operator or statement of the library at a time, and shows which test notices.

A test suite is worth what it catches. This script chooses mutants of lib/src, always the same ones for a seed, builds
each in the preset dev, and runs the tests from the cheapest to the dearest until one fails. A failure counts if it is
seen twice, or if it is a time limit. Mutants that do not compile are replaced by others.

  tests/mutants.py --list                          shows the mutants
  tests/mutants.py --results before.jsonl          runs them; goes on where it was interrupted
  tests/mutants.py --again before.jsonl --results after.jsonl
      after a change of the tests: runs for each mutant the test that caught it, and all tests if that one passes now

It changes files of the work tree and puts them back; commit first.
"""
import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "dev"
MOST_PER_FILE = 4

# Spaces on both sides: templates, references and declarations of operators are written without.
OPERATORS = {" == ": " != ", " != ": " == ", " < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ",
             " && ": " || ", " || ": " && ", " + ": " - ", " - ": " + ", " += ": " -= ",
             "(!": "(", "true": "false", "false": "true"}
STATEMENT = re.compile(r"^ +[a-z][\w.>:\[\]*-]*(\(| = | \+= ).*;$")
NO_STATEMENT = re.compile(r"^ +(return|throw|const|auto|using|static|case|break|continue|if|for|while|else|delete)\b")
UNTOUCHED = re.compile(r"static_assert|steps::|failpoint|#|operator|= default|= delete")

# The tests that are likely to notice a change in a folder, so they come first after the unit tests.
LIKELY = {
    "backfill": "index_jobs_test|index_lifecycle_test|integration_overlap",
    "clean": "clean_test|integration_reconcile",
    "cluster": "cluster_file_test|index_lifecycle_test",
    "compare": "integration_compare|verify_against_test",
    "config": "cluster_file_test|connections_test",
    "copy": "integration_copy|integration_copy_unique",
    "feed": "integration_feed|integration_trigger",
    "flush": "buffer_test",
    "index": "index_test|index_lifecycle_test|definition_test",
    "job": "index_jobs_test|integration_job_lock|throttle_test",
    "model": "put_test|indexing_test|where_test|definition_test",
    "move": "integration_move|freeze_test",
    "read": "query_test|paging_test|moving_rows_test|get_delete_test|query_order_test",
    "reconcile": "integration_reconcile|integration_put",
    "scan": "integration_verify|clean_test|integration_feed",
    "server": "connections_test|server_down_test|round_trips_test",
    "shard": "integration_put|index_lifecycle_test|integration_freeze",
    "sql": "integration_sql|server_refusal_test|round_trips_test",
    "trigger": "integration_trigger",
    "update": "update_test|merge_test",
    "verify": "integration_verify|verify_test",
    "write": "integration_put|integration_put_batch|integration_unique|put_test",
}

# What is built and run: unit tests, then those of commands and layers, then proofs.
STAGES = [
    (["unit_tests"], ["-R", "^unit$"]),
    (["looseleaf_cli", "integration_tests", "cli_tests"], ["-L", "server", "-LE", "proof|package|bench", "-R",
                                                           "^integration_|_test$"]),
    (["proof_tests", "proof_network"], ["-L", "proof", "-R", "^proof_"]),
]


def masked(line):
    """The line with its strings and its comment blanked, and of the same length."""
    line = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', lambda found: "_" * len(found.group()), line)
    return re.sub(r"//.*", lambda found: " " * len(found.group()), line)


def candidates():
    """(file, number of the line, the line, the changed line), in the order of the files."""
    for path in sorted((ROOT / "lib" / "src").rglob("*.cpp")):
        lines = path.read_text().split("\n")
        name = str(path.relative_to(ROOT))
        for number, line in enumerate(lines):
            code = masked(line)
            if UNTOUCHED.search(line) or 'R"' in line:
                continue
            for old, new in OPERATORS.items():
                for found in re.finditer(r"\b" + old + r"\b" if old.isalpha() else re.escape(old), code):
                    yield name, number, line, line[:found.start()] + new + line[found.end():]
            whole = number > 0 and lines[number - 1].rstrip()[-1:] in ("{", "}", ";", ":")
            if whole and STATEMENT.match(code) and not NO_STATEMENT.match(code):
                yield name, number, line, re.match(r" *", line).group() + ";"


def shuffled(seed):
    """All candidates in an order that belongs to the seed, a few of each file."""
    mutants = list(candidates())
    random.Random(seed).shuffle(mutants)
    taken = {}
    for mutant in mutants:
        taken[mutant[0]] = taken.get(mutant[0], 0) + 1
        if taken[mutant[0]] <= MOST_PER_FILE:
            yield mutant


class Mutated:
    """Holds a file changed, and puts it back whatever happens."""

    def __init__(self, name, number, line, changed):
        self.path = ROOT / name
        self.text = self.path.read_text()
        lines = self.text.split("\n")
        assert lines[number] == line, f"{name}:{number + 1} is another line"
        lines[number] = changed
        self.changed = "\n".join(lines)

    def __enter__(self):
        self.path.write_text(self.changed)

    def __exit__(self, *_):
        self.path.write_text(self.text)


def quiet(command):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def builds(targets):
    return quiet(["cmake", "--build", "--preset", "dev", "--parallel", str(os.cpu_count()), "--target", *targets])


def first_failure(arguments):
    """The name of a test that fails, and fails again alone; None if all pass."""
    passed_again = []
    while True:
        skip = ["-E", "^(" + "|".join(passed_again) + ")$"] if passed_again else []
        run = quiet(["ctest", "--test-dir", str(BUILD), "--stop-on-failure", "--parallel", str(os.cpu_count() + 2),
                     "--timeout", "600", *arguments, *skip])
        failed = re.findall(r"^\s*\d+ - (\S+) \(([^)]+)\)", run.stdout, re.M)
        for name, how in failed:
            if how == "Timeout" or quiet(["ctest", "--test-dir", str(BUILD), "--timeout", "600", "-R", f"^{name}$"]).returncode != 0:
                return name
        if not failed:
            return None
        passed_again += [name for name, _ in failed]


def caught_by(folder):
    """The first test that fails on the tree as it is, a file of this folder being changed; "does not compile", or None."""
    likely = [(STAGES[1][0], ["-R", f"^({LIKELY[folder]})$"])] if folder in LIKELY else []
    for targets, arguments in [STAGES[0], *likely, *STAGES[1:]]:
        if builds(targets).returncode != 0:
            return "does not compile"
        if failed := first_failure(arguments):
            return failed
    return None


def caught_again_by(before, folder):
    """The same, where this test failed formerly."""
    targets = next(targets for targets, arguments in STAGES if re.search(arguments[-1], before))
    if builds(targets).returncode == 0 and first_failure(["-R", f"^{before}$"]):
        return before
    return caught_by(folder)


def find_again(former):
    """Where a former mutant's line is now: its line numbers move when the file changes. None if it is gone."""
    lines = (ROOT / former["file"]).read_text().split("\n") if (ROOT / former["file"]).exists() else []
    places = [number for number, line in enumerate(lines) if line == former["line"]]
    return min(places, key=lambda number: abs(number - former["at"]), default=None)


def chosen(arguments, done):
    if not arguments.again:
        yield from ((mutant, None) for mutant in shuffled(arguments.seed) if mutant not in done)
        return
    for former in map(json.loads, Path(arguments.again).read_text().splitlines()):
        number = find_again(former)
        if number is None:
            print(f"gone: {former['file']}: {former['line'].strip()}")
        elif former["caught_by"] not in (None, "does not compile"):
            mutant = former["file"], number, former["line"], former["changed"]
            if mutant not in done:
                yield mutant, former["caught_by"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--again")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list:
        for name, number, line, changed in list(shuffled(arguments.seed))[:arguments.count]:
            print(f"{name}:{number + 1}\n  - {line.strip()}\n  + {changed.strip()}")
        return 0
    if not arguments.results:
        parser.error("--results or --list is needed")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    results = [json.loads(line) for line in arguments.results.read_text().splitlines()] if arguments.results.exists() else []
    done = {(result["file"], result["at"], result["line"], result["changed"]) for result in results}
    for mutant, before in chosen(arguments, done):
        compiled = [result for result in results if result["caught_by"] != "does not compile"]
        if not arguments.again and len(compiled) >= arguments.count:
            break
        name, number, line, changed = mutant
        began = time.time()
        with Mutated(*mutant):
            folder = name.removeprefix("lib/src/").split("/")[0]
            caught = caught_again_by(before, folder) if before else caught_by(folder)
        results.append({"file": name, "at": number, "line": line, "changed": changed, "caught_by": caught,
                        "caught_before_by": before, "seconds": round(time.time() - began)})
        with arguments.results.open("a") as out:
            out.write(json.dumps(results[-1]) + "\n")
        print(f"{caught or 'NOT CAUGHT'}: {name}:{number + 1}: {changed.strip()}", flush=True)
    compiled = [result for result in results if result["caught_by"] != "does not compile"]
    missed = [result for result in compiled if not result["caught_by"]]
    print(f"{len(compiled)} mutants, {len(compiled) - len(missed)} caught")
    return 1 if arguments.again and missed else 0


if __name__ == "__main__":
    sys.exit(main())

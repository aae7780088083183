#!/usr/bin/python3
"""Compares the schemas of cluster files and index definitions with what the program takes: every file of the test suite,
good or bad, and thousands that are made of these by small changes.
usage: schemas_test.py VERDICTS UNIT_TESTS"""
import copy
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import schema_files

VERDICTS, UNIT_TESTS = (os.path.realpath(path) for path in sys.argv[1:3])
ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = ("cluster", "index")
CHANGED_FILES = 4000

# What the program refuses because it is no JSON, or not the strict JSON that it wants: no schema sees it.
NO_JSON = {"syntax error", "duplicate key", "invalid UTF-8", "lone surrogate", "nested too deeply", "number out of range"}

# What the program refuses and no schema can: members that must agree with others, and the way a number is written.
NOT_IN_SCHEMA = {
    "cluster": {
        "two shards have the same database": "two spellings of one address",
        "value has the wrong type": "a whole number written with a fraction or an exponent",
    },
    "index": {
        "property is named twice": "names that are equal, or equal but for case",
        "`shard_on` names no property of the index": "",
        "`shard_on` must name a uuid, string or int property": "",
        "key columns are too long together": "the sum over the properties",
        "value has the wrong type": "a whole number written with a fraction or an exponent",
    },
}
POOL = [None, True, False, -1, 0, 1, 8, 735, 736, 3306, 65535, 65536, 1.5, 735.0, 9223372036854775808, [], {}, ["a"], "",
        " ", "a", "A", "id", "a b", "a ", "a.b", "a..b", ".a", "a.", "a\n", "a\u0000", "a\u007f", "a\u0080", "é", "\u2028",
        "\U0001F600", "/", "/s", "a:", "a:1", "a:01", "a:0", "a:65535", "a:65536", "a:99999", "a:b", "a/b", "a/", "a:1/b ",
        "a:1/b", "[::1]", "[::1]:1/b", "[]", "[a", "::1", "entity_id", "Entity_Id", "entities", "Looseleaf_x",
        "looseleaf", "uuid", "string", "int", "double", "bool", "integer", "required", "REQUIRED", "verify-ca", "x" * 63,
        "x" * 64, "x" * 65, "é" * 64, "a/" + "x" * 64, "a/" + "x" * 65, "0" * 32, "0" * 31, "-" + "0" * 32,
        "0" * 32 + "-", "f48b0440-CA0C-4f66-991c-4d5f6a078eaf", "0-" * 31 + "0", "0--" + "0" * 31, "user_id", "n"]


def parsed(text):
    """The JSON value; None if Python takes it for none."""
    try:
        return json.loads(text.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        return None


def judged(files):
    """(kind, text, what the program says) of each (kind, text)."""
    lines = "".join(f"{kind} {text.hex()}\n" for kind, text in files)
    said = subprocess.run([VERDICTS], input=lines, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    assert len(said) == len(files)
    return [(kind, text, json.loads(line)) for (kind, text), line in zip(files, said)]


def test_suite_files():
    """What the unit tests parse, the definitions in the project, and the fuzz seeds."""
    with tempfile.NamedTemporaryFile("r") as parsed_files:
        subprocess.run([UNIT_TESTS], env={**os.environ, "LOOSELEAF_PARSED_FILES": parsed_files.name}, check=True,
                       stdout=subprocess.DEVNULL)
        lines = parsed_files.read().splitlines()
    files = [(kind, bytes.fromhex(digits)) for kind, digits in (line.split(" ") for line in lines)]
    assert len(files) > 2000, "the unit tests remember nothing any more"
    for folder in ("schemas", "examples"):
        found = [path for path in sorted((ROOT / folder).rglob("*.json")) if not path.name.endswith(".schema.json")]
        files += [("index", path.read_bytes()) for path in found if b'"properties"' in path.read_bytes()]
    for kind, folder in (("cluster", "cluster"), ("index", "definition")):
        files += [(kind, path.read_bytes()) for path in sorted((ROOT / "tests/fuzz/seeds" / folder).iterdir())]
    return list(dict.fromkeys(files + [("cluster", b'{"shards": [{"host": "a", "port": 3306.0}]}')]))


def places(value, path=()):
    """The paths of all values in a value, the outermost included."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def schema_keys(schema):
    if isinstance(schema, dict):
        for key, part in schema.items():
            if key == "properties" and isinstance(part, dict):
                yield from part
            yield from schema_keys(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from schema_keys(part)


def changed(chance, value, keys):
    """A copy of a file with one member or element another, gone, doubled, or new."""
    value = copy.deepcopy(value)
    path = chance.choice(list(places(value)))
    target = at(value, path)
    if isinstance(target, dict) and chance.random() < 0.5:
        target[chance.choice(keys)] = copy.deepcopy(chance.choice(POOL))
    elif isinstance(target, list) and target and chance.random() < 0.5:
        target.extend(copy.deepcopy(chance.choice([target[:1], target * 3, [chance.choice(POOL)]])))
    elif path and chance.random() < 0.3:
        del at(value, path[:-1])[path[-1]]
    elif path:
        at(value, path[:-1])[path[-1]] = copy.deepcopy(chance.choice(POOL))
    return value


def changed_files(verdicts):
    chance = random.Random(8)
    # Chance may not find it: for a schema 8.0 is a whole number.
    yield "index", b'{"table": "t", "properties": [{"name": "a", "type": "string", "max_length": 8.0}]}'
    for kind in KINDS:
        schema = schema_files.SCHEMAS[f"{schema_files.BASE}{kind}.schema.json"]
        keys = sorted(set(schema_keys(schema))) + ["other", "a.b"]
        good = [text for one, text, said in verdicts if one == kind and said["accepted"] and len(text) < 2000]
        interesting = sorted(good, key=lambda text: -len(set(places(parsed(text)))))[:40] + good[:40]
        for _ in range(CHANGED_FILES):
            value = json.loads(chance.choice(interesting))
            for _ in range(chance.choice((1, 1, 1, 2))):
                value = changed(chance, value, keys)
            yield kind, json.dumps(value, ensure_ascii=chance.random() < 0.5).encode()


def compare(verdicts):
    """Fails where the schema and the program disagree for another reason than those named above. Returns how often the
    two took a file, both refused it, and for which reasons the program alone did."""
    validators = {kind: schema_files.validator(f"{kind}.schema.json") for kind in KINDS}
    counts, reasons = {"taken": 0, "refused": 0}, {kind: set() for kind in KINDS}
    for kind, text, said in verdicts:
        value = parsed(text)
        if said.get("what") in NO_JSON:
            continue
        assert value is not None or text.strip() == b"null", f"only the program takes {text} for JSON"
        fits = validators[kind].is_valid(value)
        if said["accepted"]:
            error = next(validators[kind].iter_errors(value), None)
            assert fits, f"the program takes a {kind} file that the schema refuses: {text}\n{error}"
            counts["taken"] += 1
        elif fits:
            assert said["what"] in NOT_IN_SCHEMA[kind], f"the schema takes a {kind} file that is refused: {text}\n{said}"
            check_reason(said["what"], value, text)
            reasons[kind].add(said["what"])
        else:
            counts["refused"] += 1
    return counts, reasons


def check_reason(what, value, text):
    if what == "value has the wrong type":
        numbers = [at(value, path) for path in places(value) if isinstance(at(value, path), float)]
        assert any(number.is_integer() for number in numbers), f"the schema takes a type that is refused: {text}"


def check_keys():
    """The keys that the program names in its hints are those of the schema, for each object that has fixed ones."""
    shard, single = {"host": "a"}, {"name": "a", "type": "int"}
    objects = {
        ("cluster", ""): {"shards": ["a"], "??": 1},
        ("cluster", "/$defs/shard"): {"shards": [{**shard, "??": 1}]},
        ("index", ""): {"table": "t", "properties": [single], "??": 1},
        ("index", "/$defs/property"): {"table": "t", "properties": [{**single, "??": 1}]},
    }
    said = judged([(kind, json.dumps(value).encode()) for (kind, _), value in objects.items()])
    for (kind, pointer), (_, _, verdict) in zip(objects, said):
        schema = at(schema_files.SCHEMAS[f"{schema_files.BASE}{kind}.schema.json"], pointer.split("/")[1:])
        named = re.fullmatch("use one of the keys (.*)", verdict["hint"])
        assert named, verdict
        assert set(named[1].split(", ")) == set(schema["properties"]), f"{kind}{pointer}: {verdict['hint']}"
        for key, member in schema["properties"].items():
            help_for = {**member, **at(schema_files.SCHEMAS[f"{schema_files.BASE}{kind}.schema.json"],
                                       member.get("$ref", "#").split("/")[1:])}
            assert help_for.get("description"), f"{kind}{pointer}: an editor has nothing to say about {key}"


def check_choices():
    """The values that the program names in its hints are those of the schema."""
    for kind, value, choices in (
            ("cluster", {"shards": ["a"], "ssl_mode": "?"}, "/$defs/ssl_mode"),
            ("index", {"table": "t", "properties": [{"name": "a", "type": "?"}]}, "/$defs/property/properties/type")):
        [(_, _, verdict)] = judged([(kind, json.dumps(value).encode())])
        named = re.split(", | or ", verdict["hint"].removeprefix("use "))
        schema = at(schema_files.SCHEMAS[f"{schema_files.BASE}{kind}.schema.json"], choices.split("/")[1:])
        assert named == schema["enum"], f"{kind}{choices}: {verdict['hint']}"


def main():
    assert schema_files.check_examples() > 10
    check_keys()
    check_choices()
    verdicts = judged(test_suite_files())
    counts, reasons = compare(verdicts)
    more, more_reasons = compare(judged(list(changed_files(verdicts))))
    for kind in KINDS:
        unseen = set(NOT_IN_SCHEMA[kind]) - reasons[kind] - more_reasons[kind]
        assert not unseen, f"no {kind} file shows that a schema cannot express: {unseen}"
    assert min(more.values()) > 500, f"the changes show little: {more}"
    print(f"schemas_test: of the suite's files both took {counts['taken']} and refused {counts['refused']}; "
          f"of changed ones {more['taken']} and {more['refused']}")


main()

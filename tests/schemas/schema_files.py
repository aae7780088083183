"""The project's JSON Schemas, for tests: loaded, checked, and as strict as the program is."""
import json
import pathlib
import sys
import warnings

try:
    warnings.simplefilter("ignore", DeprecationWarning)
    import jsonschema
except ImportError:
    print("skipped: there is no python3-jsonschema")
    sys.exit(77)

BASE = "http://schemas.invalid/"  # relative references need something that they are relative to
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "schemas"


def tightened(schema):
    """Users may get members that a later version adds; the program of this version has no member that is not there."""
    if isinstance(schema, list):
        return [tightened(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: tightened(part) for key, part in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        strict.setdefault("additionalProperties", False)
    if isinstance(schema.get("pattern"), str) and schema["pattern"].endswith("$"):
        strict["pattern"] = schema["pattern"][:-1] + r"\Z"  # Python's $ takes a line end too, that of schemas does not
    return strict


def load_all():
    """Every schema by its URI here; its $id is its path."""
    schemas = {}
    for path in sorted(FOLDER.rglob("*.schema.json")):
        schema = json.loads(path.read_text())
        name = str(path.relative_to(FOLDER))
        assert schema["$id"] == name, f"{name} has another $id"
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema", name
        jsonschema.Draft202012Validator.check_schema(schema)
        schemas[BASE + name] = {**tightened(schema), "$id": BASE + name}
    return schemas


SCHEMAS = load_all()


def validator(name, definition=None):
    """Of a whole schema, or of one of its $defs."""
    return at_pointer(BASE + name, "" if definition is None else f"/$defs/{definition}")


def at_pointer(uri, pointer):
    resolver = jsonschema.RefResolver(uri, SCHEMAS[uri], store=SCHEMAS)
    return jsonschema.Draft202012Validator({"$ref": f"#{pointer}"}, resolver=resolver)


def names():
    return [uri[len(BASE):] for uri in SCHEMAS]


def check_examples():
    """Every example in a schema is one. Returns how many there are."""
    count = 0

    def walk(uri, schema, pointer):
        nonlocal count
        if isinstance(schema, list):
            for number, part in enumerate(schema):
                walk(uri, part, f"{pointer}/{number}")
        elif isinstance(schema, dict):
            for example in schema["examples"] if isinstance(schema.get("examples"), list) else []:
                at_pointer(uri, pointer).validate(example)
                count += 1
            for key, part in schema.items():
                if key not in ("examples", "const", "default", "enum"):
                    walk(uri, part, f"{pointer}/{key}")

    for uri, schema in SCHEMAS.items():
        walk(uri, schema, "")
    return count

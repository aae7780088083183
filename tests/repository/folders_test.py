#!/usr/bin/python3
"""Holds the includes of the source tree against docs/folders.txt, the one list of which folder may include which.
usage: folders_test.py               check the includes, and that the tables in docs/design.md and CONTRIBUTING.md are the list's
       folders_test.py --write       write these tables
       folders_test.py --drawing     draw the folders and their arrows, for Graphviz
       folders_test.py --self-test   prove that violations are found"""
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = "lib/include/looseleaf"
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SYSTEM = re.compile(r"((sys|netinet|arpa|linux)/)?[a-z_0-9]+\.h")
LIBRARY = re.compile(r"zlib|libdeflate|isa-l|simdjson|mysql")
BEGIN = "<!-- folders: written by tests/repository/folders_test.py --write -->"
END = "<!-- /folders -->"


class Folder:
    def __init__(self, line):
        self.path, may_include, libraries, self.what = (field.strip() for field in line.split("|"))
        self.may_include = may_include.split()
        self.libraries = libraries.split()
        # How another file names a header of this folder.
        self.name = "looseleaf" if self.path == PUBLIC else self.path.removeprefix("lib/src/")


def read_list(root):
    lines = (root / "docs/folders.txt").read_text().splitlines()
    return [Folder(line) for line in lines if line and not line.startswith("#")]


def headers_named(folders):
    """Public headers that are only for the folders that name them."""
    return {name for folder in folders for name in folder.may_include if name.startswith("looseleaf/")}


def folder_of(header, folders):
    """The innermost folder that has a header of this name."""
    within = [folder for folder in folders if header.startswith(folder.name + "/")]
    return max(within, key=lambda folder: len(folder.name), default=None)


def sources(root, folder, folders):
    """The files of a folder, without those of folders inside it."""
    inner = [other.path for other in folders if other.path.startswith(folder.path + "/")]
    for path in sorted((root / folder.path).rglob("*")):
        relative = path.relative_to(root).as_posix()
        if path.suffix in (".hpp", ".cpp") and not any(relative.startswith(other + "/") for other in inner):
            yield path


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := INCLUDE.match(line):
            yield number, found.group(1) == '"', found.group(2)


def allowed(folder, quoted, header, folders):
    if any(header.startswith(library) for library in folder.libraries):
        return True
    if header in folder.may_include:
        return True
    if header.startswith("looseleaf/"):
        inside = folder.path == PUBLIC
        return inside or "public" in folder.may_include and header not in headers_named(folders)
    if quoted:
        target = folder_of(header, folders)
        return folder.path != PUBLIC and target is not None and (target is folder or target.name in folder.may_include)
    if re.fullmatch(r"[a-z_0-9]+", header):
        return True
    return folder.path != PUBLIC and SYSTEM.fullmatch(header) is not None and LIBRARY.match(header) is None


def violations(root):
    folders = read_list(root)
    for folder in folders:
        for path in sources(root, folder, folders):
            for number, quoted, header in includes(path):
                if not allowed(folder, quoted, header, folders):
                    yield f"{path.relative_to(root)}:{number}: {folder.path} may not include {header} (docs/folders.txt)"


def upward(root):
    """A folder may only include folders above it in the list, so that all arrows run one way."""
    seen = set()
    for folder in read_list(root):
        for name in folder.may_include:
            if "/" not in name or not name.endswith(".hpp"):
                if name != "public" and name not in seen:
                    yield f"docs/folders.txt: {folder.path} includes {name}, which is not above it"
        seen.add(folder.name)


def full_table(root):
    rows = ["| folder | what it holds | may include |", "|---|---|---|"]
    for folder in read_list(root):
        names = folder.may_include + [library.rstrip("/") for library in folder.libraries]
        rows.append(f"| `{folder.path}/` | {folder.what} | {', '.join(names)} |")
    return "\n".join(rows)


def short_table(root):
    rows = ["| folder | what it holds |", "|---|---|"]
    rows += [f"| `{folder.path}/` | {folder.what} |" for folder in read_list(root)]
    return "\n".join(rows)


TABLES = {"docs/design.md": full_table, "CONTRIBUTING.md": short_table}


def page(root, name):
    """The text of a page as it is, and with its table as it should be."""
    text = (root / name).read_text()
    before, rest = text.split(BEGIN)
    return text, f"{before}{BEGIN}\n{TABLES[name](root)}\n{END}{rest.split(END)[1]}"


def drawing(root):
    print("digraph folders {")
    for folder in read_list(root):
        targets = set()
        for path in sources(root, folder, read_list(root)):
            for _, quoted, header in includes(path):
                target = folder_of(header, read_list(root))
                if target is not None and target.name != folder.name:
                    targets.add(target.name)
        for name in sorted(targets):
            print(f'  "{folder.name}" -> "{name}";')
    print("}")


BAD = [
    ("lib/include/looseleaf", "<fmt/format.h>"), ("lib/include/looseleaf", "<unistd.h>"),
    ("lib/include/looseleaf", '"base/hex.hpp"'), ("lib/src/base", '"model/entity.hpp"'),
    ("lib/src/codec", '"sql/connection.hpp"'), ("lib/src/codec", '"model/entity.hpp"'),
    ("lib/src/model", '"codec/body.hpp"'), ("lib/src/model", "<libdeflate.h>"), ("lib/src/codec", "<zlib.h>"),
    ("lib/src/sql", '"model/entity.hpp"'), ("lib/src/shard", "<cppconn/driver.h>"),
    ("lib/src/shard", '"write/put.hpp"'), ("lib/src/verify", "<CLI/CLI.hpp>"), ("lib/src/read", "<mysql/jdbc.h>"),
    ("cli", '"shard/catalog.hpp"'), ("cli", '"base/hex.hpp"'), ("cli", "<mysql.h>"),
]
GOOD = [
    ("lib/include/looseleaf", "<looseleaf/uuid.hpp>"), ("lib/include/looseleaf", "<string>"),
    ("lib/src/sql", "<cppconn/driver.h>"), ("lib/src/read", '"shard/catalog.hpp"'), ("lib/src/base", "<sys/types.h>"),
    ("cli", "<CLI/CLI.hpp>"), ("cli", '"base/nearest.hpp"'),
]


def self_test():
    def found_in(cases):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "docs/folders.txt").write_text((ROOT / "docs/folders.txt").read_text())
            for i, (where, header) in enumerate(cases):
                (root / where).mkdir(parents=True, exist_ok=True)
                (root / where / f"file{i}.cpp").write_text(f"#include {header}\n")
            return list(violations(root))

    found = found_in(BAD)
    if len(found) != len(BAD):
        sys.exit("folders_test: of %d violations these were found:\n%s" % (len(BAD), "\n".join(found)))
    if found := found_in(GOOD):
        sys.exit("folders_test: found violations where there are none:\n" + "\n".join(found))
    print(f"folders_test: finds all {len(BAD)} kinds of violation and nothing else")


def main():
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    if mode == "--self-test":
        self_test()
    elif mode == "--drawing":
        drawing(ROOT)
    elif mode == "--write":
        for name in TABLES:
            (ROOT / name).write_text(page(ROOT, name)[1])
    else:
        found = list(violations(ROOT)) + list(upward(ROOT))
        for name in TABLES:
            is_now, should_be = page(ROOT, name)
            if is_now != should_be:
                found.append(f"{name}: its table of folders is not the list's; run folders_test.py --write")
        if found:
            sys.exit("\n".join(found))


main()

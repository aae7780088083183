#!/usr/bin/python3
"""Holds the tables of options in docs/operations.md against the program's registry, from which they are made.
usage: option_tables_test.py PAGES               check that every table is as PAGES, which is looseleaf_pages, prints it
       option_tables_test.py PAGES --write       write the tables
A table is between the lines <!-- options: NAME --> and <!-- /options -->. NAME is a command, `common` or `throttle`."""
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/operations.md"
TABLE = re.compile(r"(<!-- options: (\S+) -->\n).*?(<!-- /options -->\n)", re.DOTALL)


def main():
    pages = sys.argv[1]

    def table(found):
        made = subprocess.run([pages, "table", found.group(2)], check=True, stdout=subprocess.PIPE, text=True).stdout
        return found.group(1) + made + found.group(3)

    text = PAGE.read_text()
    made, tables = TABLE.subn(table, text)
    if tables == 0 or tables != text.count("<!-- options:"):
        sys.exit("option_tables_test: docs/operations.md has no tables of options, or one without an end")
    if "--write" in sys.argv[2:]:
        PAGE.write_text(made)
    elif made != text:
        sys.exit(f"option_tables_test: tables in docs/operations.md are outdated; run {sys.argv[0]} {pages} --write")


main()

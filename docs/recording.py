#!/usr/bin/python3
"""Types the commands of README.md's "Five minutes" in a new folder, on a sandbox, and draws docs/session.svg of the first
of them: what a newcomer sees.
usage: recording.py PROGRAM [--check]     --check draws nothing: what is printed must be what README.md shows, ids, times
and numbers of the shards' entities aside"""
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAST = "looseleaf verify"  # of the commands that are drawn
WIDTH = 100
VARYING = ("looseleaf status", "mariadb ")  # they show on which shard an id came to lie


def page():
    """(the lines of entries.jsonl, [(command, lines that it prints)]) of README.md."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.split("## Five minutes\n")[1].split("\n## ")[0]
    entries, commands = [], []
    for block in re.findall(r"(?:^    .*\n)+", section, re.M):
        lines = [line[4:] for line in block.splitlines()]
        if lines[0].startswith("$ "):
            for line in lines:
                if line.startswith("$ "):
                    commands.append((line[2:], []))
                else:
                    commands[-1][1].append(line)
        elif not entries:
            entries = lines
    return entries, commands


def on_terminal(arguments, folder, environment):
    """What a program and those that it starts print on a wide terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 250, 0, 0))
    with subprocess.Popen(arguments, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs):
        os.close(theirs)
        printed = b""
        try:
            while part := os.read(ours, 65536):
                printed += part
        except OSError:  # how Linux says that nobody has the other side any more
            pass
        os.close(ours)
    return printed.decode("utf-8").replace("\r\n", "\n")


def session(program, entries, commands):
    """What each command prints, in lines."""
    with tempfile.TemporaryDirectory(prefix="ll-") as folder:
        bin_folder = pathlib.Path(folder, "bin")
        bin_folder.mkdir()
        wrapper = bin_folder / "looseleaf"  # a line that is redrawn does not look well here
        wrapper.write_text(f'#!/bin/sh\nexec "{program}" "$@" --progress off\n', encoding="utf-8")
        wrapper.chmod(0o755)
        home = pathlib.Path(folder, "five")
        home.mkdir()
        (home / "schemas").symlink_to(ROOT / "schemas")
        (home / "entries.jsonl").write_text("\n".join(entries) + "\n", encoding="utf-8")
        script = "".join(f"printf '\\001\\n'; {command}\n" for command, _ in commands)
        given = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", "TERM": "dumb"}
        try:
            printed = on_terminal(["bash", "-c", script], home, given).replace(str(home), "...")
        finally:
            subprocess.run([program, "sandbox", "delete", "--quiet", "--dir", str(home / ".sandbox")], check=False,
                           stderr=subprocess.DEVNULL)
    return [part.rstrip("\n").split("\n") if part.strip() else [] for part in printed.split("\001\n")[1:]]


def masked(lines):
    text = re.sub(r"\b(?!71f0c4d2|f48b0440)[0-9a-f]{32}\b", "ID", "\n".join(lines))
    return re.sub(r"\.{3}\S*/\.sandbox", ".../.sandbox", text)


def drawing(lines):
    height = 18 * len(lines) + 28
    rows = []
    for number, line in enumerate(lines):
        colour = "#9ece6a" if line.startswith("$ ") else "#c0caf5"
        rows.append(f'<text x="14" y="{30 + 18 * number}" fill="{colour}" xml:space="preserve">{escape(line)}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH * 8 + 28}" height="{height}" '
            'font-family="monospace" font-size="13">\n<title>A session with looseleaf</title>\n'
            f'<rect width="100%" height="100%" rx="8" fill="#1a1b26"/>\n' + "\n".join(rows) + "\n</svg>\n")


def main():
    program = os.path.realpath(sys.argv[1])
    entries, commands = page()
    printed = session(program, entries, commands)
    if "no server program is installed" in str(printed):
        print("skipped: no server program is installed")
        return 77
    if sys.argv[2:] == ["--check"]:
        wrong = [(command, wanted, got) for (command, wanted), got in zip(commands, printed)
                 if not command.startswith(VARYING) and masked(wanted) != masked(got)]
        for command, wanted, got in wrong:
            print(f"README.md shows for $ {command}\n{masked(wanted)}\nbut it prints\n{masked(got)}\n")
        return 1 if wrong or len(printed) != len(commands) or not commands else 0
    lines = []
    for (command, _), got in zip(commands, printed):
        lines += ["$ " + command, *got]
        if command == LAST:
            break
    fitting = [line if len(line) <= WIDTH else line[:WIDTH - 1] + "…" for line in lines]
    (ROOT / "docs/session.svg").write_text(drawing(fitting), encoding="utf-8")
    return 0


sys.exit(main())

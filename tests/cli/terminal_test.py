#!/usr/bin/python3
"""What the program does on a terminal, and when its reader leaves: colours, tables that fit, nothing that could control
the terminal, and progress lines in a window that changes its size.
usage: terminal_test.py PROGRAM"""
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import unicodedata

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../support"))
import sandbox

PROGRAM = os.path.realpath(sys.argv[1])
WAIT = 30  # seconds for what takes no time on an idle machine
EVIL = "a\u202eb\u2066c\u200fd\u009be\u061c"


def on_terminal(arguments, columns=80, both=True, data=True, **environment):
    """(status, what a terminal of that width receives). Not `both`: standard error is not the terminal's; not `data`:
    standard output is not."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    given = {name: value for name, value in {**os.environ, "TERM": "xterm", **environment}.items() if value is not None}
    given.pop("NO_COLOR", None) if "NO_COLOR" not in environment else None
    child = subprocess.Popen([PROGRAM, *arguments], stdin=subprocess.DEVNULL, env=given,
                             stdout=theirs if data else subprocess.DEVNULL, stderr=theirs if both else subprocess.DEVNULL)
    # Our end may be told that nobody has the other side any more before it is given the last of what was written there.
    # So that side stays open, and a byte that the program never writes ends what it wrote.
    ended = threading.Thread(target=lambda: (child.wait(), os.write(theirs, b"\0")))
    ended.start()
    received = b""
    while not received.endswith(b"\0"):
        received += os.read(ours, 65536)
    ended.join()
    os.close(theirs)
    os.close(ours)
    return child.returncode, received[:-1].decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def without_progress(text):
    """Without the progress of a put, which is drawn and wiped out on a slow machine."""
    return re.sub("(put: [^\r\n]*)?\r\x1b\\[K", "", text)


def check_colours():
    failing = ["status", "--cluster", "/nonexistent"]
    for arguments, environment, coloured in (
            (failing, {}, True),
            (["no-such-command"], {}, True),
            (failing, {"NO_COLOR": "1"}, False),
            (failing, {"NO_COLOR": ""}, True),
            (failing, {"TERM": "dumb"}, False),
            (failing, {"TERM": None}, False),
            ([*failing, "--color", "never"], {}, False),
            ([*failing, "--color", "auto"], {"NO_COLOR": "1"}, False),
            ([*failing, "--color", "always"], {"NO_COLOR": "1"}, True),
            ([*failing, "--color", "always"], {"TERM": "dumb"}, True)):
        status, text = on_terminal(arguments, **environment)
        assert status == 2 and "error" in text, text
        assert ("\033[" in text) == coloured, f"{arguments} {environment}: {text!r}"
    piped = subprocess.run([PROGRAM, *failing], capture_output=True, text=True)
    assert piped.stderr.startswith("looseleaf: error: the file"), piped.stderr


def check_help():
    """As wide as the window, within what is good to read, and the same words as in a pipe, where it has 80 columns."""
    for arguments in (["--help"], ["-h"], ["query", "--help"], ["query", "-h"], []):
        piped = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        longest = {}
        for columns in (40, 60, 80, 100, 120, 300):
            status, shown = on_terminal(arguments, columns=columns)
            assert status == (0 if arguments else 2) and shown.split() == piped.split(), f"{status}: {shown}"
            longest[columns] = max(len(line) for line in shown.partition("usage:")[2].split("examples:")[0].splitlines()[1:])
            assert longest[columns] <= min(max(columns, 60), 120), shown
        assert on_terminal(arguments, columns=80)[1] == piped
        assert longest[40] == longest[60] <= 60 and longest[300] == longest[120], longest
        assert arguments != ["--help"] or 80 < longest[100] <= 100, longest


def check_messages(box):
    """An error comes in one piece, and a put that is over at once shows no progress beside it."""
    bad = box.write("bad.jsonl", '{"a":1}\n{"id":7}\n{"a":1}\n{"id":8}\n')
    error = f"""looseleaf: error: id is not a UUID
  file: {bad}
  line: %d
  column: 7
hint: write 32 hexadecimal digits as a string, or omit the id to get a new one
"""
    begin = time.monotonic()
    status, shown = on_terminal(["put", "--color", "never", bad], data=False)
    if time.monotonic() - begin > 0.15:  # a progress line comes after 0.2 s
        shown = without_progress(shown)
    assert (status, shown) == (1, error % 2 + error % 4 + "looseleaf: stored 2 entities, rejected 2\n"), shown


def check_flood(box):
    """Of rejections of a kind 20 are shown, with --verbose all. bad_input_test.cpp has the same in a pipe."""
    bad = box.write("flood.txt", "no entity\n" * 1234 + '{"id":7}\n')
    kept = os.path.join(box.folder, "kept")
    for more, shown in (((), 20), (("--verbose",), 1234)):
        status, text = on_terminal(["put", "--color", "never", "--rejects", kept, *more, bad], data=False)
        text = without_progress(text)
        assert status == 1 and text.count("text between entities\n  file: ") == shown, text
        assert text.count("id is not a UUID\n") == 1 and text.endswith("stored 0 entities, rejected 1,235\n"), text
        rest = "error: text between entities\n  entities: 1,214 more\nhint: give --verbose to see each of them\n"
        assert (rest in text) == (shown == 20), text
        assert pathlib.Path(kept).read_text() == pathlib.Path(bad).read_text()


def check_question(box):
    """Whoever leaves drop-index's question gets a line of his own for what comes next, be it by ^C or by ^D."""
    job = f"""trap : INT; for i in 1 2; do "{PROGRAM}" drop-index by_n 2>&1; echo status $?; done; cat"""
    with Window(box) as window:
        window.start(job, 80)
        for key, status in (("C-c", 130), ("C-d", 1)):
            window.wait_for("it asks", lambda lines: lines[-1:] == ["drop by_n on every shard? [y/N]"])
            window.tmux("send-keys", key)
            window.wait_for("it ends on a line of its own", lambda lines: f"status {status}" in lines)


def check_tables(box):
    piped = subprocess.run([PROGRAM, "status"], capture_output=True, text=True, check=True).stdout
    longest = max(map(len, piped.splitlines()))
    assert longest > 80, piped
    wide = on_terminal(["status"], columns=longest, both=False)[1]
    assert wide == piped
    for columns in (longest - 1, 80, 66, 60, 45):
        narrow = on_terminal(["status"], columns=columns, both=False)[1]
        assert max(map(len, narrow.splitlines())) <= columns, narrow
        assert re.search(r"\b\d{15,20}\b", narrow) or columns < 60, f"the generation is broken:\n{narrow}"
        assert sorted(re.sub(r"\s", "", narrow)) == sorted(re.sub(r"\s", "", piped)), "something is lost"
    assert subprocess.run([PROGRAM, "status"], capture_output=True, text=True, env={**os.environ, "COLUMNS": "40"},
                          check=True).stdout == piped


def check_watch(box):
    """Each round is drawn on the empty screen, and Ctrl-C ends it."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    child = subprocess.Popen([PROGRAM, "status", "--watch", "0.05"], stdin=subprocess.DEVNULL, stdout=theirs,
                             stderr=theirs, env={**os.environ, "TERM": "xterm"})
    received = b""
    while received.count(b"\x1b[H\x1b[Jstatus at 20") < 3:
        received += os.read(ours, 65536)
    child.send_signal(signal.SIGINT)
    assert child.wait(WAIT) == 130
    assert received.count(b"\x1b[H\x1b[J") <= received.count(b"cluster ") + 1, received
    os.close(theirs)
    os.close(ours)


def is_harmless(text):
    return not any(character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp")
                   for character in text)


def check_escapes(box):
    entity = json.dumps({"id": "0" * 31 + "1", "n": 1, "text": EVIL}, ensure_ascii=False)
    subprocess.run([PROGRAM, "put"], input=entity, text=True, check=True, capture_output=True)
    for arguments in (["get", "0" * 31 + "1"], ["query", "by_n", "n=1"]):
        piped = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=True).stdout
        assert piped == entity + "\n", "a pipe gets an entity byte for byte"
        status, shown = on_terminal(arguments, both=False)
        assert status == 0 and is_harmless(shown), ascii(shown)
        assert json.loads(shown) == json.loads(entity)
    shards = [{"socket": f"{box.box}/s0.sock", "database": "x\u202ey"}]
    cluster = box.write("evil.json", json.dumps({"shards": shards, "user": "root", "defaults_file": box.write("e.cnf", "")}))
    for arguments in (["status", "--cluster", cluster], ["get", EVIL], ["query", EVIL], ["drop-index", EVIL, "--yes"],
                      [EVIL], ["get", f"--{EVIL}"], ["put", f"/{EVIL}"], ["create-index", EVIL]):
        status, shown = on_terminal([*arguments, "--color", "never"], columns=500)
        assert status in (2, 3) and "\\u202e" in shown and is_harmless(shown), ascii(shown)


def check_reader_leaves(box):
    many = "".join(json.dumps({"id": f"{number:032x}", "n": number}) + "\n" for number in range(100, 3100))
    subprocess.run([PROGRAM, "put", "--quiet"], input=many, text=True, check=True)
    ids = "".join(f"{number:032x}\n" for number in range(100, 3100))
    plan = box.write("plan.json", json.dumps({"table": "plan", "properties": [{"name": "n", "type": "int"}]}))
    for arguments, given in ((["--help"], ""), (["--version"], ""), (["query", "--help"], ""), (["status"], ""),
                             (["query", "by_n"], ""), (["query", "by_n", "--ids"], ""), (["query", "by_n", "--count"], ""),
                             (["query", "by_n", "--explain"], ""), (["get", "-"], ids),
                             (["create-index", "--dry-run", plan], ""), (["verify", "--quiet"], ""),
                             (["init", "--quiet"], ""), (["sandbox", "status", "--dir", box.box], ""),
                             (["clean", "--quiet", "--output", "json"], ""), (["status", "--output", "json"], "")):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([PROGRAM, *arguments], input=given, stdout=writer, stderr=subprocess.PIPE, text=True)
        os.close(writer)
        assert (done.returncode, done.stderr) == (0, ""), f"{arguments}: {done}"
    head = subprocess.run(["bash", "-c", '"$0" query by_n 2>&1 | head -n 1; exit ${PIPESTATUS[0]}', PROGRAM],
                          capture_output=True, text=True)
    assert (head.returncode, head.stderr, head.stdout.count("\n")) == (0, "", 1), head


class Window:
    """A window of tmux, whose server ends with the object. Each has a socket of its own: the server before it may still
    be about to end."""

    count = 0

    def __init__(self, box):
        Window.count += 1
        self.socket = os.path.join(box.folder, f"tmux{Window.count}")
        self.environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)

    def tmux(self, *arguments):
        call = ["tmux", "-u", "-S", self.socket, "-f", "/dev/null", *arguments]
        return subprocess.run(call, capture_output=True, text=True, check=True, env=self.environment).stdout

    def start(self, command, columns):
        self.tmux("new-session", "-d", "-x", str(columns), "-y", "20", command)

    def resize(self, columns, pid):
        """The program sleeps meanwhile: tmux breaks lines some time before it tells the new size, and what is drawn in
        between is drawn by the old one."""
        os.kill(pid, signal.SIGSTOP)
        self.tmux("resize-window", "-x", str(columns), "-y", "20")
        with open(self.tmux("display-message", "-p", "#{pane_tty}").strip(), "rb", buffering=0) as terminal:
            deadline = time.monotonic() + WAIT
            while os.get_terminal_size(terminal.fileno()).columns != columns:
                assert time.monotonic() < deadline, "tmux does not change the size"
                time.sleep(0.05)
        os.kill(pid, signal.SIGCONT)

    def lines(self):
        return [line for line in self.tmux("capture-pane", "-p").splitlines() if line.strip()]

    def wait_for(self, what, holds):
        deadline = time.monotonic() + WAIT
        while not holds(self.lines()):
            assert time.monotonic() < deadline, what + ":\n" + "\n".join(self.lines())
            time.sleep(0.1)


def check_resizing(box):
    pause = box.write("a-file-whose-name-is-so-long-that-the-line-that-has-it-" + "must-be-cut-" * 5, "")
    late = box.write("late.json", json.dumps({"table": "late", "properties": [{"name": "n", "type": "int"}]}))
    subprocess.run([PROGRAM, "create-index", "--quiet", late], check=True)
    # A full window: in one that is not, tmux itself hides what is above the line that it breaks.
    pid_file = os.path.join(box.folder, "pid")
    job = f"""seq -f 'line %g' 40
        sh -c 'echo $$ > "{pid_file}"; exec "{PROGRAM}" backfill --pause-file "{pause}"' 2>&1 >/dev/null
        echo status $?; cat"""
    with Window(box) as window:
        window.start(job, 120)
        window.wait_for("progress is drawn", lambda lines: is_drawn(lines, 120))
        assert any("; waiting: paused; delete " in line for line in window.lines()), window.lines()
        for columns in (30, 17, 120, 24, 60):
            window.resize(columns, int(pathlib.Path(pid_file).read_text()))
            window.wait_for(f"progress fits {columns} columns", lambda lines: is_drawn(lines, columns))
        os.remove(pause)
        window.wait_for("progress is gone at the end", lambda lines: "status 0" in lines)
        lines = window.lines()
        assert lines[lines.index("line 40") + 1].startswith("looseleaf: late: 3,001 of 3,003 entities"), lines
        assert "looseleaf: late: ready" in lines, lines


def check_interrupt(box):
    """The terminal itself shows ^C where the cursor is, at the end of the progress: nothing of that stays behind."""
    pause = box.write("a-file-whose-name-is-so-long-that-the-line-that-has-it-" + "must-be-cut-" * 5, "")
    later = box.write("later.json", json.dumps({"table": "later", "properties": [{"name": "n", "type": "int"}]}))
    subprocess.run([PROGRAM, "create-index", "--quiet", later], check=True)
    job = f"""trap : INT; seq -f 'line %g' 40
        "{PROGRAM}" backfill --pause-file "{pause}" 2>&1 >/dev/null; echo status $?; cat"""
    with Window(box) as window:
        window.start(job, 80)
        window.wait_for("progress is drawn", lambda lines: is_drawn(lines, 80))
        window.tmux("send-keys", "C-c")
        window.wait_for("it ends", lambda lines: "status 130" in lines)
        lines = window.lines()
        assert lines[lines.index("line 40") + 1:] == [
            "looseleaf: interrupted; run the same command to resume", "status 130"], lines


def check_findings(box):
    """What a job finds is on standard output, and stays, although progress is drawn and wiped out beside it."""
    rows = ", ".join(f"({number}, UNHEX('{number:032x}'))" for number in (900001, 900002, 900003))
    box.sql(0, f"INSERT INTO by_n (n, entity_id) VALUES {rows}")
    with Window(box) as window:
        window.start(f"""seq -f 'line %g' 40; "{PROGRAM}" verify --grace 1; echo status $?; cat""", 110)
        window.wait_for("it ends", lambda lines: "status 1" in lines)
        found = [line for line in window.lines() if line.startswith("orphan by_n shard 0 entity ")]
        assert len(found) == 3, "\n".join(window.lines())
    box.sql(0, "DELETE FROM by_n WHERE n > 900000")


def check_patience(box):
    """Whoever presses Ctrl-C is told what it waits for, if that takes longer than a moment."""
    subprocess.run([PROGRAM, "put", "--quiet"], input=json.dumps({"id": f"{1:032x}", "n": 1}), text=True, check=True)
    release = os.path.join(box.folder, "release")
    command = f"""touch "{release}.begun"; until [ -e "{release}" ]; do sleep 0.05; done; cat"""
    with Window(box) as window:
        window.start(f"""trap : INT; "{PROGRAM}" update {1:032x} -- sh -c '{command}'; echo status $?; cat""", 120)
        window.wait_for("COMMAND runs", lambda lines: os.path.exists(f"{release}.begun"))
        window.tmux("send-keys", "C-c")
        window.wait_for("it says what it waits for", lambda lines: (
            "looseleaf: stopping as soon as what has begun is done; another Ctrl-C stops at once" in lines))
        pathlib.Path(release).touch()
        window.wait_for("it ends", lambda lines: "status 130" in lines)


def check_password(box):
    """Ctrl-C at the question for a password ends a command that would otherwise finish what it has begun."""
    for shard in (0, 1):
        box.sql(shard, "CREATE USER asked IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO asked")
    with open(os.environ["LOOSELEAF_CLUSTER"]) as file:
        cluster = {**json.load(file), "user": "asked"}
    del cluster["defaults_file"]
    path = box.write("asked.json", json.dumps(cluster))
    with Window(box) as window:
        window.start(f"""trap : INT; for command in "put /dev/null" verify; do
            "{PROGRAM}" $command --cluster "{path}"; echo status $?; done; cat""", 120)
        for times in (1, 2):
            window.wait_for("it asks", lambda lines: "\n".join(lines).count("Password for shard") == times)
            window.tmux("send-keys", "C-c")
            window.wait_for("it ends", lambda lines: lines.count("status 130") == times)


def is_drawn(lines, columns):
    """A line for each shard and one for all, of which the last is too long for any window, and nothing that was left."""
    last = lines[-3:]
    return (len(lines) > 3 and lines[-4] == "line 40" and columns - 4 <= len(last[2]) <= columns - 3
            and last[0].startswith("shard 0: ") and last[1].startswith("shard 1: ") and last[2].startswith("backfill: "))


def main():
    sandbox.skip_without_server(PROGRAM)
    if shutil.which("tmux") is None:
        print("skipped: there is no tmux")
        sys.exit(77)
    check_colours()
    check_help()
    with sandbox.Sandbox(PROGRAM) as box:
        started = [PROGRAM, "sandbox", "start", "--quiet", "--shards", "2", "--dir", box.box]
        os.environ["LOOSELEAF_CLUSTER"] = subprocess.run(started, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        by_n = box.write("by_n.json", json.dumps({"table": "by_n", "properties": [{"name": "n", "type": "int"}]}))
        for command in (["init", "--quiet"], ["create-index", by_n, "--quiet"]):
            subprocess.run([PROGRAM, *command], stdout=subprocess.DEVNULL, check=True)
        for check in (check_messages, check_flood, check_question, check_tables, check_watch, check_escapes, check_reader_leaves,
                      check_resizing, check_interrupt, check_findings, check_patience, check_password):
            check(box)
    print("terminal_test: all is well on a terminal")


main()

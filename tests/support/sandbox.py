"""A sandbox for tests in Python."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


class Sandbox:
    """A folder with a sandbox in it, or in a folder in that, which all go when this program ends, in whatever way."""

    def __init__(self, program):
        self.program = os.path.realpath(program)
        self.folder = tempfile.mkdtemp(prefix="ll-")
        self.box = os.path.join(self.folder, "box")
        clean_up = '''cat > /dev/null
            for box in "$1/box" "$1"/*/box "$1"/*/.sandbox; do "$0" sandbox delete --dir "$box" > /dev/null 2>&1; done
            rm -rf "$1"'''
        self.watchdog = subprocess.Popen(["sh", "-c", clean_up, self.program, self.folder], stdin=subprocess.PIPE,
                                         stdout=subprocess.DEVNULL, start_new_session=True)
        self.cluster = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.watchdog.stdin.close()
        self.watchdog.wait()

    def write(self, name, text):
        """A file's path."""
        path = pathlib.Path(self.folder, name)
        path.write_text(text)
        return str(path)

    def sql(self, shard, statements):
        """Runs statements on a shard by the server's own client."""
        server = os.environ.get("LOOSELEAF_TEST_SERVER", "")
        programs = [f"{server}/bin/{name}" for name in ("mariadb", "mysql")] if server else ["mariadb", "mysql"]
        client = next(filter(None, map(shutil.which, programs)))
        call = [client, "--no-defaults", "-u", "root", "-S", f"{self.box}/s{shard}.sock", "looseleaf", "-e", statements]
        subprocess.run(call, check=True, stdout=subprocess.DEVNULL)


def skip_without_server(program):
    """Ends this program, visibly skipped, if there is no server to test with."""
    found = subprocess.run([program, "sandbox", "start", "--dir", "/proc/none"], capture_output=True, text=True)
    if "no server program is installed" in found.stderr:
        print("skipped: no server program is installed")
        sys.exit(77)

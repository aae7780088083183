#!/usr/bin/python3
"""Runs the jobs that docs/ci.md shows: on definitions that are right and wrong, and on a store that agrees and does not.
usage: ci_test.py PROGRAM"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

try:
    import yaml
except ImportError:
    print("skipped: there is no python3-yaml")
    sys.exit(77)

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../support"))
import sandbox

PROGRAM = os.path.realpath(sys.argv[1])
ROOT = pathlib.Path(__file__).resolve().parents[2]
PASSWORD = "ci's password"


def examples():
    """The two files that the page shows, as values."""
    page = (ROOT / "docs/ci.md").read_text()
    sections = page.split("\n## ")[1:]
    assert [section.split("\n")[0] for section in sections] == ["GitHub Actions", "GitLab CI"]
    files = ["\n".join(re.findall(r"^    (.*)$", section, re.M)) for section in sections]
    return [yaml.load(text, yaml.BaseLoader) for text in files]


def check_form(github, gitlab):
    """What neither of the two would take as it is."""
    assert set(github) == {"name", "on", "jobs"} and set(github["on"]) == {"pull_request", "schedule"}
    for job in github["jobs"].values():
        assert set(job) == {"if", "runs-on", "container", "steps"}
        assert job["steps"][0] == {"uses": "actions/checkout@v5"}
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), step
    assert github["jobs"]["verify"]["steps"][-1]["with"]["path"] == "verify.xml"
    for job in gitlab.values():
        assert set(job) <= {"image", "rules", "script", "after_script", "variables", "artifacts"}, job
        assert all(isinstance(line, str) for line in job["script"])
    assert gitlab["verify"]["artifacts"] == {"when": "always", "paths": ["verify.xml"], "reports": {"junit": "verify.xml"}}


def github_script(job, folder):
    """The job's own steps as (script, environment)."""
    steps = [step for step in job["steps"] if "run" in step]
    environment = {"RUNNER_TEMP": folder}
    for step in steps:
        for name, value in step.get("env", {}).items():
            environment[name] = value.replace("${{ secrets.LOOSELEAF_PASSWORD }}", PASSWORD)
    assert not any("${{" in value for value in environment.values())
    return "\n".join(step["run"] for step in steps), environment


def gitlab_script(job, folder):
    password = pathlib.Path(folder, "variable")
    password.write_text(PASSWORD)  # readable by others, as GitLab makes it
    password.chmod(0o666)
    clean_up = "\n".join(job.get("after_script", []))
    script = "\n".join(job["script"])
    if clean_up:
        script = f"trap {json.dumps(clean_up)} EXIT\n{script}"
    return script, {"LOOSELEAF_PASSWORD": str(password), **job.get("variables", {})}


def run_job(box, script, environment):
    """Its status, in a checkout of its own, and the report that it left, if any. By sh, which is what GitHub runs in a
    container."""
    report = pathlib.Path(box.folder, "checkout/verify.xml")
    report.unlink(missing_ok=True)
    given = {name: value for name, value in os.environ.items() if not name.startswith("LOOSELEAF_C")}
    given["PATH"] = f"{box.folder}/bin:{given['PATH']}"
    done = subprocess.run(["sh", "-e", "-c", script], cwd=report.parent, capture_output=True, text=True,
                          env={**given, **environment}, timeout=120)
    assert PASSWORD not in done.stdout + done.stderr
    suite = xml.etree.ElementTree.parse(report).getroot()[0] if report.exists() else None
    return done, suite


def set_up(box):
    """A checkout with definitions and the cluster file of a store that has them; the program in the path."""
    os.mkdir(f"{box.folder}/bin")
    os.symlink(PROGRAM, f"{box.folder}/bin/looseleaf")
    checkout = pathlib.Path(box.folder, "checkout")
    shutil.copytree(ROOT / "schemas/friendfeed", checkout / "schemas")
    shutil.copy(ROOT / "schemas/index.schema.json", checkout / "schemas")
    definitions = sorted(path for path in (checkout / "schemas").glob("*.json") if ".schema." not in path.name)
    started = subprocess.run([PROGRAM, "sandbox", "start", "--quiet", "--shards", "2", "--dir", box.box],
                             stdout=subprocess.PIPE, text=True, check=True)
    cluster = started.stdout.strip()
    for command in (["init"], ["create-index", *map(str, definitions)], ["put"]):
        subprocess.run([PROGRAM, "--quiet", "--cluster", cluster, *command], input='{"user_id": "' + "0" * 32 + '"}',
                       stdout=subprocess.DEVNULL, text=True, check=True)
    for shard in (0, 1):
        box.sql(shard, f"""CREATE USER ci@localhost IDENTIFIED BY "{PASSWORD}";
                           GRANT SELECT, INSERT, UPDATE, DELETE ON `looseleaf%`.* TO ci@localhost""")
    settings = json.loads(pathlib.Path(cluster).read_text())
    (checkout / "cluster.json").write_text(json.dumps({**settings, "user": "ci"}))


def check_definitions(box, script, environment):
    done, _ = run_job(box, script, environment)
    assert done.returncode == 0 and "verified: consistent" in done.stderr, done
    bad = pathlib.Path(box.folder, "checkout/schemas/bad.json")
    bad.write_text('{"table": "bad", "properties": [{"name": "n", "type": "integer"}]}')
    done, _ = run_job(box, script, environment)
    assert done.returncode == 2 and "unknown property type" in done.stderr, done
    bad.unlink()
    subprocess.run([PROGRAM, "sandbox", "delete", "--dir", f"{box.folder}/job/box"], capture_output=True)
    check_no_sandbox(box, script, environment)


def check_no_sandbox(box, script, environment):
    """Where none starts nothing goes on: it would be with the cluster file that lies about."""
    other = pathlib.Path(box.folder, "checkout/looseleaf.json")
    other.symlink_to(f"{box.box}/looseleaf.json")
    done, _ = run_job(box, script, {**environment, "LOOSELEAF_TEST_SERVER": "/nonexistent"})
    other.unlink()
    assert done.returncode != 0 and "verified" not in done.stderr + done.stdout, done


def check_verify(box, script, environment):
    done, suite = run_job(box, script, environment)
    assert done.returncode == 0, done
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0") and int(suite.get("tests")) >= 8, suite.attrib
    box.sql(0, "DELETE FROM index_user_id")  # user 0 is there
    done, suite = run_job(box, script, environment)
    assert done.returncode == 1 and suite.get("failures") == "1", done
    repair = [PROGRAM, "--quiet", "--cluster", f"{box.box}/looseleaf.json", "verify", "--repair", "--grace", "0"]
    subprocess.run(repair, stdout=subprocess.DEVNULL, check=True)
    extra = pathlib.Path(box.folder, "checkout/schemas/extra.json")
    extra.write_text('{"table": "extra", "properties": [{"name": "n", "type": "int"}]}')
    done, suite = run_job(box, script, environment)
    assert done.returncode == 1 and suite.get("failures") != "0" and "definition_differs extra" in done.stdout, done
    extra.unlink()
    done, suite = run_job(box, script, {**environment, "LOOSELEAF_CLUSTER": "/nonexistent"})
    assert done.returncode == 2, done


def main():
    sandbox.skip_without_server(PROGRAM)
    github, gitlab = examples()
    check_form(github, gitlab)
    with sandbox.Sandbox(PROGRAM) as box:
        set_up(box)
        os.mkdir(f"{box.folder}/job")
        check_definitions(box, *github_script(github["jobs"]["definitions"], f"{box.folder}/job"))
        check_verify(box, *github_script(github["jobs"]["verify"], f"{box.folder}/job"))
        check_definitions(box, *gitlab_script(gitlab["definitions"], f"{box.folder}/job"))
        check_verify(box, *gitlab_script(gitlab["verify"], f"{box.folder}/job"))
    print("ci_test: the jobs of docs/ci.md do what the page says")


main()

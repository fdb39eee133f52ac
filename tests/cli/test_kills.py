"""Commands that are killed outright, once the draw is made: the same command then finishes, at no new charge."""

import subprocess
import sys
from pathlib import Path

import pytest
from jobs import write_job

from exactnoise.publish import Snapshot

LEDGER = ["--ledger=privacy.db", "--budget=visits"]
NOISE = ["noise", "in.csv", "-o", "out.csv", "--column=visits", "--sensitivity=1", "--epsilon=1", *LEDGER, "--id=x"]
JOB = ["publish", "job.toml", "-o", "out.csv", "--id=x"]
KILLED = """\
import os, sys, exactnoise.cli as cli
from exactnoise.publish.staging import Staging

def {step}(*rest, real=Staging.{step}, **more):
    {before}
    os.kill(os.getpid(), 9)

Staging.{step} = {step}
cli.main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("command", "step", "before", "committed"),
    [
        (JOB, "seal", "real(*rest, **more)", False),
        (NOISE, "put_in_place", "pass", True),
    ],
)
def test_a_killed_command_is_run_again(run, folder, command, step, before, committed):
    write_job(folder)
    Path("in.csv").write_text("site,visits\na,12\nb,7\n")
    create = ["--budget=visits", "--epsilon=1", "--neighbors=add-remove", "--unit=person"]
    assert run("ledger", "create", "privacy.db", *create).code == 0
    script = KILLED.format(step=step, before=before)
    assert subprocess.run([sys.executable, "-c", script, *command]).returncode == -9
    assert not Path("out.csv").exists()
    if committed:
        Path("in.csv").unlink()
    assert run(*command).code == 0
    Snapshot.open("out.csv").verify()
    assert run("verify", "out.csv", LEDGER[0]).code == 0
    assert run("ledger", "show", "privacy.db", "--json").json["budgets"][0]["spent"] == {"epsilon": "1"}

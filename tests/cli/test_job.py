"""The commands plan, publish, verify and ledger: what they print, their exit codes, what they leave behind."""

import json
import os
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from jobs import JOB, write_job

from exactnoise.cli import ledger as ledger_command
from exactnoise.cli import plan, publish
from exactnoise.publish.exact import Totals

CREATE = ["--budget=visits", "--epsilon=2", "--neighbors=add-remove", "--unit=person"]


@pytest.fixture
def job(run, folder):
    """A job with a budget for two releases, in the current folder."""
    write_job(folder)
    assert run("ledger", "create", "privacy.db", *CREATE).code == 0
    return run


def test_from_plan_to_refusal(job):
    planned = job("plan", "job.toml", "--expect", "100")
    assert (planned.code, planned.err) == (0, "")
    assert "visits in privacy.db: epsilon 2 remains" in planned.out
    assert "DiscreteLaplace" in planned.out

    published = job("publish", "job.toml", "-o", "out.csv", "--date", "2024-03-01")
    assert (published.code, published.err) == (0, "")
    assert published.out.startswith("out.csv: 3 rows, published as visits-2024-03-01\n")
    assert "\nout.csv.release.json: " in published.out
    table = Path("out.csv").read_bytes()
    again = job("publish", "job.toml", "-o", "out.csv", "--date", "2024-03-01")
    assert (again.code, again.err) == (0, "")
    assert "published as visits-2024-03-01 before, unchanged" in again.out
    assert "nothing was spent" in again.out
    assert "before" not in published.out
    assert Path("out.csv").read_bytes() == table

    assert job("publish", "job.toml", "-o", "2.parquet", "--id", "second").code == 0
    refused = job("publish", "job.toml", "-o", "3.csv", "--id", "third")
    assert (refused.code, refused.out) == (3, "")
    assert "over budget: epsilon 1 requested, 2 of 2 spent" in refused.err
    assert "of the 2 releases of 'visits' most went to 'visits-2024-03-01' (epsilon 1), 'second'" in refused.err
    assert "3.csv" not in refused.files
    planned = job("plan", "job.toml", "--expect", "out.csv")
    assert planned.code == 3
    assert "which is too little" in planned.out

    raised = job("ledger", "raise-cap", "privacy.db", "--budget=visits", "--epsilon=3", "--reason=second quarter")
    assert (raised.code, "epsilon 1 remains of epsilon 3" in raised.out) == (0, True)
    assert job("publish", "job.toml", "-o", "3.csv", "--id", "third").code == 0
    shown = job("ledger", "show", "privacy.db")
    assert [line.split(" 2")[0] for line in shown.out.splitlines() if ": epsilon 1," in line] == [
        "  visits-2024-03-01: epsilon 1, committed",
        "  second: epsilon 1, committed",
        "  third: epsilon 1, committed",
    ]
    for name in ("out.csv", "2.parquet", "3.csv"):
        assert job("verify", name, "--ledger", "privacy.db").code == 0


def test_rows_are_added_to_a_database_once(job):
    publish = ["publish", "job.toml", "--into", "all.db", "--table", "nights", "-o"]
    for name in ("1", "1", "2"):
        assert job(*publish, f"{name}.csv", "--id", name).code == 0
    with sqlite3.connect("all.db") as connection:
        rows = connection.execute("SELECT release_id, site FROM nights").fetchall()
    connection.close()
    assert rows == [(name, site) for name in "12" for site in "cab"]
    assert job(*publish[:2], "--table=x", "-o", "3.csv").code == 2
    with sqlite3.connect("all.db") as connection:
        connection.execute("CREATE TABLE other (a)")
    connection.close()
    refused = job("publish", "job.toml", "--into", "all.db", "--table", "other", "-o", "1.csv", "--id", "1")
    assert (refused.code, "published as" in refused.err, "other columns" in refused.err) == (2, True, True)


@pytest.mark.parametrize("into", ["nowhere/all.db", "out.csv", "privacy.db", "."])
def test_what_cannot_be_added_is_published_all_the_same(job, into):
    refused = job("publish", "job.toml", "--into", into, "-o", "out.csv", "--id", "1")
    assert (refused.code, refused.out) == (5, "")
    assert "published as out.csv, but not added to" in refused.err
    assert job("verify", "out.csv", "--ledger", "privacy.db").code == 0
    assert job("ledger", "show", "privacy.db", "--json").json["budgets"][0]["remaining"] == {"epsilon": "1"}


def test_the_metadata_is_no_table_and_a_mistyped_ledger_is_not_made(job):
    assert job("publish", "job.toml", "-o", "out.csv", "--id", "1").code == 0
    mistyped = job("verify", "out.csv", "--ledger", "typo.db")
    assert (mistyped.code, mistyped.err) == (2, "exactnoise: there is no ledger typo.db: check the path\n")
    refused = job("verify", "out.csv.release.json")
    assert (refused.code, "is the metadata of a table: say out.csv" in refused.err) == (2, True)


def test_json(job):
    planned = job("plan", "job.toml", "--json").json
    assert planned["fits"] is True
    assert [row["name"] for row in planned["statistics"]] == ["count", "mean_minutes"]
    published = job("publish", "job.toml", "-o", "out.csv", "--id", "x", "--json").json
    assert published == json.loads(Path("out.csv.release.json").read_text())
    assert job("verify", "out.csv", "--json").json == {"id": "x", "path": "out.csv", "agree": ["table", "metadata"]}
    shown = job("ledger", "show", "privacy.db", "--json").json
    assert shown["budgets"][0]["remaining"] == {"epsilon": "1"}
    (release,) = shown["budgets"][0]["history"]
    assert (release["id"], release["state"], release["epsilon"]) == ("x", "committed", "1")
    assert len(job("ledger", "verify", "privacy.db", "--json").json["digest"]) == 64
    assert job("ledger", "recover", "privacy.db", "--all", "--json").json == {"closed": []}
    error = job("publish", "job.toml", "-o", "no/where.csv", "--json")
    assert (error.code, error.json["exit_code"]) == (5, 5)


def test_entries_are_exported(job):
    job("publish", "job.toml", "-o", "out.csv", "--id", "x")
    entries = [json.loads(line) for line in job("ledger", "export", "privacy.db").out.splitlines()]
    assert [entry["kind"] for entry in entries] == ["ledger", "budget", "reserved", "committed"]
    assert job("ledger", "export", "privacy.db", "-o", "log.jsonl").code == 0
    assert [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()] == entries
    assert job("ledger", "export", "privacy.db", "-o", "log.jsonl").code == 5
    assert job("ledger", "export", "privacy.db", "--json").code == 2
    known = entries[-1]["digest"]
    assert job("ledger", "verify", "privacy.db", "--known", known).code == 0
    assert job("ledger", "verify", "privacy.db", "--known", "0" * 64).code == 4


def test_creating_again_changes_nothing(job):
    assert job("ledger", "create", "privacy.db", *CREATE).code == 0
    other = job("ledger", "create", "privacy.db", *CREATE[:1], "--epsilon=3", *CREATE[2:])
    assert (other.code, other.err) == (
        2,
        "exactnoise: the ledger has a budget 'visits' with other terms: epsilon 2 for each person under add-remove, by "
        "the rule basic; its cap is raised by exactnoise ledger raise-cap (in Python raise_cap), and nothing else "
        "about it is changed\n",
    )


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["plan", "none.toml"], 5, "none.toml: No such file"),
        (["plan", "job.toml", "--expect", "much"], 5, "much: No such file"),
        (["plan", "job.toml", "--expect", "-1"], 2, "--expect"),
        (["plan", "job.toml", "--date", "today"], 2, "2026-12-31"),
        (["publish", "job.toml"], 2, "there is no output"),
        (["publish", "job.toml", "-o", "job.toml"], 5, "job.toml"),
        (["publish", "visits.csv", "-o", "out.csv"], 2, "visits.csv: not valid TOML"),
        (["verify", "visits.csv"], 4, "no snapshot"),
        (["verify", "none.csv"], 5, "none.csv"),
        (["ledger"], 2, "ACTION"),
        *[
            (command, 2, "exactnoise: there is no ledger none.db: check the path\n")
            for command in (
                ["ledger", "show", "none.db"],
                ["ledger", "verify", "none.db"],
                ["ledger", "export", "none.db"],
                ["ledger", "recover", "none.db", "--all"],
                ["ledger", "raise-cap", "none.db", "--budget=visits", "--epsilon=9", "--reason=x"],
            )
        ],
        (["ledger", "show", "visits.csv"], 4, "visits.csv"),
        (["ledger", "show", "privacy.db", "--budget=x"], 2, "'x'"),
        (["ledger", "create", "new.db", "--budget=b", "--epsilon=0", *CREATE[2:]], 2, "epsilon"),
        (
            ["ledger", "create", "new.db", "--budget=b", "--delta=1e-6", *CREATE[2:]],
            2,
            "exactnoise: --epsilon: the cap of all releases together, with or without --delta; or say --rho instead; "
            "--method: basic or zcdp: how prices with a delta add up\n",
        ),
        (
            ["ledger", "raise-cap", "privacy.db", "--budget=visits", "--reason=x"],
            2,
            "exactnoise: --epsilon: the cap of",
        ),
        (["publish", "job.toml", "-o", "out.xlsx"], 2, "exactnoise: job.toml: out.xlsx: .xlsx is a format that is not"),
        (
            ["publish", "job.toml", "-o", "no/out.csv"],
            5,
            "exactnoise: no: there is no such folder; nothing was spent\n",
        ),
        (["ledger", "create", "no/new.db", *CREATE], 5, "new.db"),
        (["ledger", "raise-cap", "privacy.db", "--budget=visits", "--epsilon=1", "--reason=less"], 2, "only raised"),
        (["ledger", "recover", "privacy.db", "--all", "--policy=void"], 2, "reason"),
        (["ledger", "recover", "privacy.db"], 2, "recover which?"),
        (["ledger", "recover", "privacy.db", "--all", "--id=x"], 2, "--id"),
    ],
)
def test_failures(job, options, code, words):
    outcome = job(*options)
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.count("\n") == 1
    assert words in outcome.err
    assert outcome.files == ["job.toml", "privacy.db", "visits.csv"]


def test_the_command_that_makes_the_ledger_is_told(run, folder):
    """Whoever pastes it has only the words in capitals to replace."""
    write_job(folder, JOB, ('"visits"', '"of {month}"\nneighbors = "add-remove"'))
    told = {name: run(*options) for name, options in NO_LEDGER.items()}
    command = "exactnoise ledger create privacy.db --budget 'of 2024-03' --epsilon E --neighbors add-remove --unit UNIT"
    for outcome, line in ((told["publish"], "7: privacy.ledger"), (told["plan"], "5: privacy")):
        assert (outcome.code, outcome.out, outcome.files) == (2, "", ["job.toml", "visits.csv"])
        start = f"exactnoise: job.toml, line {line}: there is no ledger privacy.db: check the path, or make it by "
        assert outcome.err.startswith(f"{start}{command} (")
    refused = run(*shlex.split(command)[1:])
    assert (refused.code, "epsilon must be a decimal number" in refused.err, refused.files) == (
        (2, True, ["job.toml", "visits.csv"])
    )
    assert run(*shlex.split(command.replace(" E ", " 2 ").replace("UNIT", "person"))[1:]).code == 0
    assert run(*NO_LEDGER["publish"]).code == 0


NO_LEDGER = {
    "publish": ["publish", "job.toml", "-o", "out.csv", "--date=2024-03-01"],
    "plan": ["plan", "job.toml", "--date=2024-03-01"],
}


@pytest.mark.parametrize(
    ("price", "caps"),
    [
        ("epsilon = 1\ndelta = 1e-6", "--epsilon E --delta D --method METHOD"),
        ("rho = 1", "--rho R"),
    ],
)
def test_the_command_that_makes_a_ledger_has_the_amounts_of_the_price(run, folder, price, caps):
    write_job(folder, JOB, ("epsilon = 1", price))
    assert f" --budget visits {caps} --neighbors NEIGHBORS --unit UNIT (" in run(*NO_LEDGER["publish"]).err


def test_another_name_takes_another_id(job):
    assert job("publish", "job.toml", "-o", "out.csv", "--id", "x").code == 0
    refused = job("publish", "job.toml", "-o", "other.csv", "--id", "x")
    assert (refused.code, "other.csv" in refused.files) == (2, False)
    assert refused.err.endswith("other.csv; take another id (on the command line --id), at a new price\n")
    assert job("publish", "job.toml", "-o", "other.csv", "--id", "y").code == 0


SECRET = "73195264"


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("site;minutes", "is the table separated by ';'? Columns are separated by commas"),
        (f"{SECRET}\tminutes", "is the table separated by tabs? Columns are separated by commas"),
        (f"minutes,Site,{SECRET}", "one of its 3 columns is called nearly that"),
        (f"minutes,{SECRET}", "none of its 2 columns is called nearly that"),
        (SECRET, "its one column is not called nearly that"),
    ],
)
def test_a_column_that_is_not_there_is_told_without_the_names_of_others(job, header, told):
    Path("visits.csv").write_text(f"{header}\n")
    for command in (["plan", "job.toml"], ["publish", "job.toml", "-o", "out.csv"]):
        refused = job(*command)
        assert refused.code == 4
        assert refused.err == f"exactnoise: visits.csv: column 'site' is not in the header (case matters); {told}\n"


@pytest.mark.parametrize(
    ("visits", "code", "words"),
    [
        (f"{SECRET},minutes\na,1\n", 4, "'site' is not in the header"),
        ("", 4, "first line is empty"),
        (f"site,minutes\n{SECRET},{SECRET}x\n\xff{SECRET}\n", 0, ""),
    ],
)
def test_no_message_quotes_the_input(job, visits, code, words):
    Path("visits.csv").write_bytes(visits.encode("latin-1"))
    outcome = job("publish", "job.toml", "-o", "out.csv")
    assert outcome.code == code
    assert words in outcome.err
    files = [path.read_bytes() for path in Path().iterdir() if path.name != "visits.csv"]
    assert SECRET.encode() not in b"".join([outcome.out.encode(), outcome.err.encode(), *files])
    assert ("out.csv" in outcome.files) == (code == 0)


def test_tampering_is_found(job):
    job("publish", "job.toml", "-o", "out.csv", "--id", "x")
    good = Path("out.csv").read_text()
    Path("out.csv").write_text(good + "z,0,0,0,0\n")
    tampered = job("verify", "out.csv")
    assert (tampered.code, "sha256" in tampered.err) == (4, True)
    assert job("publish", "job.toml", "-o", "out.csv", "--id", "x").code == 4
    Path("out.csv").write_text(good)
    assert job("verify", "out.csv").code == 0
    Path("out.csv").unlink()
    lost = job("publish", "job.toml", "-o", "out.csv", "--id", "x")
    assert (lost.code, "never" in lost.err or "not drawn again" in lost.err) == (5, True)


def test_ctrl_c_says_what_stays_reserved(job, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Totals, "add_all", interrupted)
        outcome = job("publish", "job.toml", "-o", "out.csv", "--id", "x")
    assert outcome.code == 130
    stays = "epsilon 1 stays reserved under the id 'x': the same again takes it up at no new charge"
    assert outcome.err == f"exactnoise: interrupted; {stays}\n"
    assert "open since" in job("ledger", "show", "privacy.db").out
    assert "waits to be taken up (KeyboardInterrupt)" in job("ledger", "show", "privacy.db").out
    assert job("publish", "job.toml", "-o", "out.csv", "--id", "x").code == 0


def test_a_full_disk_costs_nothing_more(job, monkeypatch):
    from exactnoise.publish.files.csv_files import CsvWriter

    write = CsvWriter.write

    def full(self, columns):
        if self._file.name.endswith("columns.csv"):  # where it is tried whether the columns can be written
            return write(self, columns)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(CsvWriter, "write", full)
        outcome = job("publish", "job.toml", "-o", "out.csv", "--id", "x")
    assert (outcome.code, "No space left" in outcome.err) == (5, True)
    assert "epsilon 1 stays reserved under the id 'x': the same again takes it up at no new charge" in outcome.err
    assert outcome.files == ["job.toml", "privacy.db", "visits.csv"]
    assert job("publish", "job.toml", "-o", "out.csv", "--id", "x").code == 0
    assert job("ledger", "show", "privacy.db", "--json").json["budgets"][0]["spent"] == {"epsilon": "1"}


def killed(name):
    """The command that publishes, in a process that is killed when it has reserved the price."""
    script = (
        "import os, sys, exactnoise.publish.exact as exact, exactnoise.cli as cli\n"
        "exact.Totals.add_all = lambda *rest: os.kill(os.getpid(), 9)\n"
        "cli.main(sys.argv[1:])\n"
    )
    return [sys.executable, "-c", script, "publish", "job.toml", "-o", "out.csv", "--id", name]


def test_a_dead_process_can_be_recovered_from(job):
    assert subprocess.run(killed("x")).returncode == -9
    assert [name for name in job("ledger", "show", "privacy.db").files if name.endswith(".partial")]
    (shown,) = [line for line in job("ledger", "show", "privacy.db").out.splitlines() if "x: epsilon 1, open" in line]
    assert shown.endswith("gone")
    listed = job("ledger", "recover", "privacy.db")
    assert (listed.code, "open are: x" in listed.err) == (2, True)
    options = ["--all", "--policy=void", "--reason=it was killed before it read a row"]
    recovered = job("ledger", "recover", "privacy.db", *options)
    assert (recovered.code, recovered.out) == (0, "x: is void, epsilon 1 of visits\n")
    assert recovered.files == ["job.toml", "privacy.db", "visits.csv"]
    assert "nothing to recover" in job("ledger", "recover", "privacy.db", "--all").out
    shown = job("ledger", "show", "privacy.db", "--json").json["budgets"][0]
    assert (shown["spent"], shown["history"][0]["state"]) == ({"epsilon": "0"}, "void")
    assert "void since" in job("ledger", "show", "privacy.db").out


def test_a_reservation_closed_by_hand(job):
    assert subprocess.run(killed("x")).returncode == -9
    assert job("ledger", "recover", "privacy.db", "--id=x").out == "x: stays charged, epsilon 1 of visits\n"
    refused = job("publish", "job.toml", "-o", "out.csv", "--id", "x")
    assert (refused.code, "was closed by hand without having been published: it stays" in refused.err) == (2, True)
    assert "x: epsilon 1, charged" in job("ledger", "show", "privacy.db").out


@pytest.mark.parametrize("what", ["flipped", "cut off"])
def test_a_damaged_ledger(job, what):
    """No command goes on with it, and none makes a table."""
    job("publish", "job.toml", "-o", "out.csv", "--id", "x")
    whole = Path("privacy.db").read_bytes()
    at = whole.index(b'"charged":') + 12
    flipped = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
    Path("privacy.db").write_bytes(flipped if what == "flipped" else whole[:-1])
    for command in (
        ["ledger", "show", "privacy.db"],
        ["ledger", "verify", "privacy.db"],
        ["ledger", "export", "privacy.db"],
        ["ledger", "recover", "privacy.db", "--all"],
        ["ledger", "create", "privacy.db", *CREATE],
        ["verify", "out.csv", "--ledger", "privacy.db"],
        ["publish", "job.toml", "-o", "2.csv", "--id", "y"],
    ):
        outcome = job(*command)
        assert (outcome.code, outcome.out, outcome.err.count("\n")) == (4, "", 1)
    assert "2.csv" not in outcome.files


def test_the_job_file_in_the_help_works(run, folder):
    text = plan._EPILOG.split("examples:")[0].split("visits.toml:\n")[1]
    Path("visits.toml").write_text(text.replace("visits-{date}.parquet", "visits-{date}.csv"))
    Path("visits-2024-03-01.csv").write_text("site,minutes,user_id\na,5,1\n")
    Path("yesterday.csv").write_text("site,count\na,500\n")
    (create,) = [
        line.split()
        for line in publish._EPILOG.replace("\\\n", " ").splitlines()
        if line.startswith("  exactnoise ledger create")
    ]
    assert run(*create[1:]).code == 0
    for line in plan._EPILOG.split("examples:\n")[1].splitlines():
        if line.startswith("  exactnoise plan"):
            words = line.split("  ")[1].split()
            outcome = run(*words[1:], "--date=2024-03-01")
            assert (outcome.code, outcome.err) == (0, "")
    for line in publish._EPILOG.split("examples:\n")[1].split("every night")[0].replace("\\\n", " ").splitlines():
        words = line.split("      ")[0].split()
        if words[:2] in (["exactnoise", "publish"], ["exactnoise", "plan"]):
            assert run(*words[1:], "--date=2024-03-01").code == 0
        elif words[:2] == ["exactnoise", "verify"]:
            assert run(*words[1:]).code == 0


def test_the_ledger_commands_in_the_help_work(run, folder):
    for line in ledger_command._EPILOG.replace("\\\n", " ").splitlines():
        if line.startswith("  exactnoise ledger") and "--help" not in line:
            words = (
                line.split(" > ")[0]
                .replace('"second year"', "because")
                .replace('"the machine lost power"', "power")
                .split()
            )
            outcome = run(*words[1:])
            assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize(
    "command", [["plan"], ["publish"], ["verify"], ["ledger"], *(["ledger", name] for name in ledger_command._EXAMPLES)]
)
def test_help_teaches(command, capsys, run):
    with pytest.raises(SystemExit) as stop:
        run(*command, "--help")
    assert stop.value.code == 0
    assert f"exactnoise {' '.join(command)}" in capsys.readouterr().out


def test_progress_is_quiet_unless_on_a_terminal(job):
    assert job("publish", "job.toml", "-o", "out.csv", "--id", "x").err == ""


def test_a_small_job_starts_quickly(job):
    """All of a process, its imports too, in processor time: the machine may do other things."""
    before = os.times()
    command = [sys.executable, "-m", "exactnoise", "publish", "job.toml", "-o", "out.csv", "--id", "x"]
    assert subprocess.run(command, capture_output=True).returncode == 0
    after = os.times()
    assert after.children_user + after.children_system - before.children_user - before.children_system < 2

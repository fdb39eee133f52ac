"""Files that are no ledger, or no longer what was written: found at the next use, and nothing is spent on them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import sqlite3

import pytest
from children import in_child, without_privileges
from publishing import budget_of

from exactnoise.accounting import PrivacyCost
from exactnoise.errors import LedgerDamaged, LedgerUnavailable
from exactnoise.ledger import Ledger, disk, store

PRICE = PrivacyCost(epsilon="0.001")


def spend(budget, name):
    reservation = budget._reserve(name, "q", PRICE, {"data_version": "1", "query": {"cells": ["a", "b"]}})
    budget._commit(reservation, path=f"/data/{name}.csv", sha256="0" * 64, metadata_sha256="1" * 64)


@pytest.fixture
def path(tmp_path):
    """A ledger with three days in it."""
    budget = budget_of(tmp_path, epsilon=1)
    for day in range(3):
        spend(budget, f"day {day}")
    return budget.ledger.path


def changed(path, statement, *values):
    """Change the file as somebody could who knows SQLite."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DROP TRIGGER no_change")
    connection.execute("DROP TRIGGER no_removal")
    connection.execute(statement, values)
    if not statement.startswith("DROP"):
        for trigger in store._SCHEMA[-2:]:
            connection.execute(trigger)
    connection.close()


# No ledger


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"epsilon\n1\n", "no SQLite file"),
        (b"SQLite format 3\0" + bytes(1000), "SQLite"),
        (random.Random(1).randbytes(8192), "no SQLite file"),
    ],
    ids=["empty", "text", "header", "noise"],
)
def test_a_file_that_is_no_ledger(tmp_path, content, words):
    path = tmp_path / "privacy.db"
    path.write_bytes(content)
    with pytest.raises(LedgerDamaged, match=words):
        Ledger(path)
    assert path.read_bytes() == content


def test_another_programs_sqlite_file(tmp_path):
    path = tmp_path / "privacy.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE entries (sequence INTEGER)")
    connection.close()
    with pytest.raises(LedgerDamaged, match="no ledger"):
        Ledger(path)


def test_a_ledger_of_another_version(path):
    changed(path, "PRAGMA user_version = 2")
    with pytest.raises(LedgerDamaged, match="of version 2; this package reads version 1"):
        Ledger(path)


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE entries",
        "DROP INDEX one_end",
        "CREATE TRIGGER a BEFORE INSERT ON entries WHEN new.kind = 'committed' BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TABLE more (a)",
    ],
)
def test_a_ledger_of_other_parts(path, statement):
    """Nothing is spent through a trigger that forgets, or without the indexes that forbid."""
    running = Ledger(path).budget("visits")
    changed(path, statement)
    for use in (lambda: Ledger(path), lambda: running._reserve("new", "q", PRICE, {})):
        with pytest.raises(LedgerDamaged, match="not those of a ledger"):
            use()


def test_no_folder(tmp_path):
    with pytest.raises(LedgerUnavailable, match="No such file or directory"):
        Ledger(tmp_path / "nowhere" / "privacy.db")
    with pytest.raises(LedgerUnavailable):
        Ledger(tmp_path)
    (tmp_path / "link.db").symlink_to(tmp_path / "gone.db")
    with pytest.raises(LedgerUnavailable):
        Ledger(tmp_path / "link.db")
    assert [found.name for found in tmp_path.iterdir()] == ["link.db"]


@pytest.mark.parametrize(("kind", "refused"), [("nfs4", True), ("cifs", True), ("ext4", False), ("", False)])
def test_a_network_file_system(tmp_path, monkeypatch, kind, refused):
    device = tmp_path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 1 0:0 / / rw - tmpfs x rw\n\n36 35 {number} / {tmp_path} rw master:1 - {kind} server:/x rw\n")
    monkeypatch.setattr(disk, "_MOUNTS", mounts)
    if refused:
        with pytest.raises(LedgerUnavailable, match=rf"network file system \({kind}\)"):
            Ledger(tmp_path / "privacy.db")
        assert not (tmp_path / "privacy.db").exists()
    else:
        Ledger(tmp_path / "privacy.db")


# Tampering


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        ("UPDATE entries SET details = replace(details, '0.001', '0.0001') WHERE sequence = 3", ()),
        ("UPDATE entries SET details = replace(details, 'day 1.csv', 'day 9.csv') WHERE sequence = 6", ()),
        ("UPDATE entries SET kind = 'voided' WHERE sequence = 4", ()),
        ("UPDATE entries SET id = 'day 7' WHERE sequence = 4", ()),
        ("UPDATE entries SET id = x'00ff' WHERE sequence = 4", ()),
        ("UPDATE entries SET attempt = 2.5 WHERE sequence = 4", ()),
        ("UPDATE entries SET details = NULL || 'x', digest = digest WHERE sequence = 99", ()),
        ("UPDATE entries SET digest = ? WHERE sequence = 5", ("0" * 64,)),
        ("DELETE FROM entries WHERE sequence = 4", ()),
        ("DELETE FROM entries WHERE sequence = 1", ()),
        ("DELETE FROM entries", ()),
        ("UPDATE entries SET sequence = sequence + 1 WHERE sequence = 8", ()),
    ],
)
def test_a_changed_entry(path, statement, values):
    old = Ledger(path)
    before = path.read_bytes()
    changed(path, statement, *values)
    if statement.endswith("99"):  # the control: nothing is changed
        assert Ledger(path).verify()
        return
    for use in (lambda: Ledger(path), old.verify, old.history):
        with pytest.raises(LedgerDamaged):
            use()
    tampered = path.read_bytes()
    with pytest.raises(LedgerDamaged):
        Ledger(path).budget("visits")._reserve("new", "q", PRICE, {})
    assert path.read_bytes() == tampered != before


def test_entries_cut_off_at_the_end(path):
    """The chain cannot tell; a digest that was kept can, and so can a process that had read them."""
    running = Ledger(path)
    known = running.verify()
    changed(path, "DELETE FROM entries WHERE sequence > 6")
    assert Ledger(path).verify() != known
    with pytest.raises(LedgerDamaged, match="not in the ledger any more"):
        Ledger(path).verify(known)
    for _ in range(2):
        with pytest.raises(LedgerDamaged, match="entry 8 is gone or changed"):
            running.budget("visits")


def test_a_row_changed_without_further_skill_is_refused_by_the_file(path):
    connection = sqlite3.connect(path)
    for statement in ("UPDATE entries SET id = 'x' WHERE sequence = 4", "DELETE FROM entries"):
        with pytest.raises(sqlite3.IntegrityError, match="only added to"):
            connection.execute(statement)
    connection.close()


def test_a_consistent_chain_that_overspends(path):
    """Whoever recomputes all digests still cannot make the filter agree."""
    ledger = Ledger(path)
    entry = ledger.history()[2]
    spent = {**entry.details["spend"], "charged": {"epsilon": "5"}}
    with ledger._writing() as write:
        write("reserved", "visits", "forged", 1, {**entry.details, "spend": spent})
    with pytest.raises(LedgerDamaged, match=r"entry 9 .* exceeds the budget"):
        Ledger(path)
    with pytest.raises(LedgerDamaged):
        ledger.verify()


def test_an_entry_that_cannot_follow(path):
    ledger = Ledger(path)
    with ledger._writing() as write:
        write("committed", "visits", "never reserved", 1, {})
    with pytest.raises(LedgerDamaged, match="entry 9 of the ledger cannot follow"):
        Ledger(path)


# Broken bytes


def use(path):
    ledger = Ledger(path)
    ledger.verify()
    return ledger.budget("visits").spent, [entry.digest for entry in ledger.history()]


@pytest.mark.parametrize("rounds", [pytest.param(40, id="few"), pytest.param(2000, marks=pytest.mark.slow, id="many")])
def test_flipped_bytes(path, tmp_path, rounds):
    """Either it does not matter, or it is found: never another sum, and never another kind of exception."""
    chance, whole, truth = random.Random(7), path.read_bytes(), use(path)
    broken, found = tmp_path / "broken.db", 0
    for _ in range(rounds):
        content = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        broken.write_bytes(content)
        try:
            told = use(broken)
        except (LedgerDamaged, LedgerUnavailable):
            found += 1
        else:
            assert told == truth
    assert found > rounds / 20


def test_text_that_is_none(path, tmp_path):
    """Bytes that UTF-8 does not have, in the schema as well, which SQLite's messages quote."""
    whole, truth, broken = path.read_bytes(), use(path), tmp_path / "broken.db"
    for offset in range(100, 4096, 37):
        broken.write_bytes(whole[:offset] + b"\xc9" + whole[offset + 1 :])
        with contextlib.suppress(LedgerDamaged):
            assert use(broken) == truth


def test_every_byte_of_an_entry_counts(path, tmp_path):
    """In what was written nothing can be flipped unnoticed."""
    whole = path.read_bytes()
    where = whole.index(b'"data_version"')
    broken = tmp_path / "broken.db"
    for offset in range(where, where + 60):
        content = bytearray(whole)
        content[offset] ^= 1
        broken.write_bytes(content)
        with pytest.raises(LedgerDamaged):
            use(broken)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_truncated_file(path, share):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(LedgerDamaged):
        use(path)


# Disks


@pytest.fixture
def for_all(path):
    """A folder in which nobody may write to the file, but all may read it."""
    path.chmod(0o444)
    for folder in (path.parent, *path.parent.parents):
        if folder.stat().st_uid == os.getuid() and not folder.stat().st_mode & 0o001:
            folder.chmod(0o755)
    yield path
    path.chmod(0o600)


def test_a_read_only_ledger(for_all):
    ledger = Ledger(for_all)
    truth = ledger.budget("visits").spent

    def nobody():
        with without_privileges():
            budget = Ledger(for_all).budget("visits")
            assert budget.spent == truth
            with pytest.raises(LedgerUnavailable, match="read-only"):
                budget._reserve("new", "q", PRICE, {})
            with pytest.raises(LedgerUnavailable, match="Permission denied"):
                Ledger(for_all.with_name("new.db"))
        return True

    assert in_child(nobody).result()
    assert ledger.budget("visits").spent == truth


def test_a_full_disk(path):
    """What does not fit is not half there."""

    def full(limit, refused):
        def task():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            with pytest.raises(LedgerUnavailable, match="cannot be"):
                refused()
            return Ledger(path).budget("visits").spent

        return in_child(task).result()

    truth = use(path)
    budget = Ledger(path).budget("visits")
    assert full(path.stat().st_size, lambda: budget._reserve("new", "q" * 9999, PRICE, {})) == truth[0]
    assert full(8192, lambda: Ledger(path.with_name("new.db"))) == truth[0]
    assert use(path) == truth
    assert [found.name for found in path.parent.iterdir()] == ["privacy.db"]
    spend(budget, "day 4")


def test_another_journal_mode(path):
    """A ledger whose pages are partly in another file, for somebody changed its mode and has it open, is whole."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    budget = Ledger(path).budget("visits")
    for day in range(10, 30):
        spend(budget, f"day {day}")
    assert use(path)[0] == 23 * PRICE
    connection.close()
    assert use(path)[0] == 23 * PRICE


def test_a_copy_is_a_ledger(path, tmp_path):
    """A backup that is taken while nobody writes."""
    copy = shutil.copy(path, tmp_path / "copy.db")
    assert use(tmp_path / "copy.db") == use(path)
    spend(Ledger(copy).budget("visits"), "day 3")
    assert Ledger(copy).id == Ledger(path).id
    json.dumps([entry._asdict() for entry in Ledger(copy).history()])

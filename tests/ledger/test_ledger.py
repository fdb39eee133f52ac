"""Budgets that outlive a process: the same filter as in memory, kept in an append-only file."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from time import process_time
from types import SimpleNamespace

import pytest
from children import in_child
from publishing import TERMS, budget_of

from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.errors import BudgetExceeded, IdConflict, LedgerUnavailable
from exactnoise.ledger import Ledger, store

PERSON = {"neighbors": "add-remove", "unit": "person"}
CAPS = [
    {"epsilon": 1},
    {"epsilon": "1/3", "delta": 1e-6, "method": "basic"},
    {"epsilon": 1, "delta": 1e-6, "method": "zcdp"},
    {"rho": "0.02"},
]


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "privacy.db")


def reserve(budget, name="day 1", cost="0.1", query="q"):
    return budget._reserve(name, query, PrivacyCost(epsilon=cost), {"data_version": "1", "query": None})


def commit(budget, name="day 1", cost="0.1"):
    budget._commit(reserve(budget, name, cost), path="/somewhere", sha256="0" * 64, metadata_sha256="1" * 64)


# Budgets


def test_a_ledger_is_made_for_its_owner_alone(ledger, tmp_path):
    assert [path.name for path in tmp_path.iterdir()] == ["privacy.db"]
    assert (tmp_path / "privacy.db").stat().st_mode & 0o777 == 0o600
    assert Ledger(tmp_path / "privacy.db").id == ledger.id
    assert ledger.budgets() == ()
    assert repr(ledger) == f"Ledger('{tmp_path}/privacy.db')"


@pytest.mark.parametrize("cap", CAPS, ids=str)
def test_a_budget_is_the_one_in_memory(ledger, cap):
    budget, memory = ledger.create("b", **cap, **PERSON), PrivacyBudget(**cap, **PERSON)
    for name in ("neighbors", "unit", "method", "guarantee", "total", "spent", "remaining"):
        assert getattr(budget, name) == getattr(memory, name)
    assert budget.history == ()
    assert "remaining" in repr(budget)


@pytest.mark.parametrize("cap", CAPS, ids=str)
def test_any_history_is_that_of_the_budget_in_memory(ledger, cap):
    """Random spends, voids and refusals: the ledger and `PrivacyBudget` never disagree."""
    chance = random.Random(str(cap))
    budget, kept = ledger.create("b", **cap, **PERSON), []
    for number in range(24):
        cost = PrivacyCost(epsilon=Fraction(1, chance.randint(5, 60)), rho=Fraction(1, chance.randint(500, 5000)))
        memory = PrivacyBudget(**cap, **PERSON)
        for old in kept:
            memory.spend(old)
        refusal = None
        try:
            memory.spend(cost)
        except BudgetExceeded as error:
            refusal = str(error)
        if refusal:
            for refused in (lambda: budget._reserve("refused", "q", cost, {}), lambda: budget.check(cost)):  # noqa: B023
                with pytest.raises(BudgetExceeded) as error:
                    refused()
                assert str(error.value) == refusal
            if kept and chance.random() < 0.5:
                ledger._end(ledger.pending()[0], "voided", {"reason": "test"})
                del kept[0]
            continue
        budget.check(cost)
        budget._reserve(f"id {number}", "q", cost, {})
        kept.append(cost)
        assert budget.spent == memory.spent
        assert budget.remaining == memory.remaining
    assert [spend.cost for spend in Ledger(ledger.path).budget("b").history] == kept
    ledger.verify()


def test_ten_tenths_and_no_more(ledger):
    budget = ledger.create("b", epsilon=1, **PERSON)
    for i in range(10):
        commit(budget, f"day {i}")
    assert budget.remaining == PrivacyCost(epsilon=0)
    with pytest.raises(BudgetExceeded, match="nothing more fits"):
        reserve(budget, "day 10", 5e-324)
    with pytest.raises(BudgetExceeded):
        budget.check(PrivacyCost(epsilon=5e-324))


def test_creating_is_idempotent(ledger):
    assert ledger.create("b", epsilon=1, **PERSON).total == ledger.create("b", epsilon="1.0", **PERSON).total
    assert len(ledger.history("b")) == 1
    for other in ({"epsilon": 2, **PERSON}, {"epsilon": 1, **PERSON, "unit": "row"}, {"rho": 1, **PERSON}):
        with pytest.raises(ValueError, match="a budget 'b' with other terms"):
            ledger.create("b", **other)
    ledger.create("c", epsilon=1, neighbors="replace-one", unit="row")
    assert [budget.name for budget in ledger.budgets()] == ["b", "c"]


def test_creating_is_idempotent_after_its_cap_was_raised(ledger):
    """The line that creates it may stay where it is, in what runs every night."""
    ledger.create("b", epsilon=1, **PERSON)
    ledger.raise_cap("b", epsilon=2, reason="r")
    assert ledger.create("b", epsilon=1, **PERSON).total == PrivacyCost(epsilon=2)
    assert ledger.create("b", epsilon=2, **PERSON).total == PrivacyCost(epsilon=2)
    assert len(ledger.history("b")) == 2


def test_a_refusal_names_who_spent(ledger):
    budget = ledger.create("b", epsilon=1, **PERSON)
    for name, cost in (("a", "0.1"), ("b", "0.4"), ("c", "0.2"), ("d", "0.3")):
        commit(budget, name, cost)
    for refused in (lambda: reserve(budget, "e"), lambda: budget.check(PrivacyCost(epsilon="0.1"))):
        with pytest.raises(BudgetExceeded) as error:
            refused()
        (note,) = error.value.__notes__
        assert note == "of the 4 releases of 'b' most went to 'b' (epsilon 0.4), 'd' (epsilon 0.3), 'c' (epsilon 0.2)"


def test_what_no_budget_can_be_is_refused(ledger):
    for error, name, terms in [
        (TypeError, "b", {"epsilon": 1}),
        (TypeError, "b", PERSON),
        (TypeError, 1, {"epsilon": 1, **PERSON}),
        (ValueError, " ", {"epsilon": 1, **PERSON}),
        (ValueError, "\ud800", {"epsilon": 1, **PERSON}),
        (ValueError, "b\x1b[2J", {"epsilon": 1, **PERSON}),
        (ValueError, "b\nb", {"epsilon": 1, **PERSON}),
        (ValueError, "b", {"epsilon": -1, **PERSON}),
    ]:
        with pytest.raises(error):
            ledger.create(name, **terms)
    assert len(ledger.history()) == 1


def test_an_unknown_budget(ledger):
    with pytest.raises(ValueError, match="no budget 'visit'; it has none yet: check the path, or create it by"):
        ledger.budget("visit")
    ledger.create("visits", **TERMS)
    with pytest.raises(ValueError, match=r"no budget 'visit'; it has 'visits'$"):
        ledger.budget("visit")
    with pytest.raises(ValueError, match="no budget 'visit'"):
        ledger.history("visit")


def test_a_price_in_another_currency(ledger):
    with pytest.raises(TypeError, match="has a delta"):
        ledger.create("pure", epsilon=1, **PERSON)._reserve("a", "q", PrivacyCost(epsilon=1, delta="1e-9"), {})
    with pytest.raises(TypeError, match="has no rho"):
        ledger.create("rho", rho=1, **PERSON)._reserve("a", "q", PrivacyCost(epsilon=1, delta="1e-9"), {})
    assert ledger.pending() == ()


# Caps


@pytest.mark.parametrize(
    ("cap", "more"),
    [
        ({"epsilon": 1}, {"epsilon": 2}),
        ({"epsilon": 1, "delta": 1e-6, "method": "basic"}, {"epsilon": 1, "delta": 1e-5}),
        ({"epsilon": 1, "delta": 1e-6, "method": "zcdp"}, {"epsilon": 2, "delta": 1e-6}),
        ({"rho": 1}, {"rho": 2}),
    ],
)
def test_raising_a_cap(ledger, cap, more):
    budget = ledger.create("b", **cap, **PERSON)
    before = budget._filter()
    spent = before.remaining.rho or before.remaining.epsilon
    budget._reserve("all", "q", PrivacyCost(epsilon=spent, rho=spent), {})
    raised = ledger.raise_cap("b", **more, reason="the board's decision")
    memory = PrivacyBudget(**{**cap, **more}, **PERSON)
    assert (raised.total, raised.guarantee, raised.method) == (memory.total, memory.guarantee, memory.method)
    assert raised.spent == before.total or "delta" in more
    assert ledger.history("b")[-1].details["reason"] == "the board's decision"
    ledger.verify()
    assert Ledger(ledger.path).budget("b").total == memory.total


def test_a_cap_is_only_raised_and_for_a_reason(ledger):
    ledger.create("b", epsilon=2, **PERSON)
    for error, amounts, reason, words in [
        (ValueError, {"epsilon": 1}, "r", "only raised"),
        (ValueError, {"epsilon": 2}, "r", "only raised"),
        (TypeError, {"rho": 5}, "r", "in the same terms"),
        (TypeError, {"epsilon": 5, "delta": 1e-6}, "r", "in the same terms"),
        (ValueError, {"epsilon": 5}, " ", "reason must not be empty"),
        (TypeError, {"epsilon": 5}, None, "reason must be text"),
    ]:
        with pytest.raises(error, match=words):
            ledger.raise_cap("b", **amounts, reason=reason)
    with pytest.raises(ValueError, match="no budget"):
        ledger.raise_cap("c", epsilon=5, reason="r")
    assert len(ledger.history("b")) == 1


# Reservations


def test_an_id_is_for_one_query(ledger):
    one, two = ledger.create("one", **TERMS), ledger.create("two", **TERMS)
    commit(one, cost="0.001")
    again = reserve(one, cost="0.001")
    assert again.state == "committed"
    assert again.outcome["path"] == "/somewhere"
    for budget, query in ((one, "other"), (two, "q")):
        with pytest.raises(IdConflict, match="another query"):
            reserve(budget, cost="0.001", query=query)
    assert two.spent == PrivacyCost(epsilon=0)


def test_nobody_takes_up_what_a_living_process_is_at_work_on(ledger):
    budget = ledger.create("b", epsilon=1, **PERSON)
    reservation = reserve(budget)
    with pytest.raises(IdConflict, match=f"process {os.getpid()} on .* is at work"):
        reserve(budget)
    assert isinstance(in_child(lambda: reserve(budget)).error, IdConflict)
    assert ledger.recover() == ()
    with pytest.raises(IdConflict, match="still at work"):
        ledger.recover("resume", ids=["day 1"])
    budget._release(reservation, "test")
    again = reserve(budget)
    assert again.entry == reservation.entry
    assert again.turn > reservation.turn
    assert budget.spent == PrivacyCost(epsilon="0.1")


def test_what_was_taken_away_cannot_be_committed(ledger):
    budget = ledger.create("b", epsilon=1, **PERSON)
    reservation = reserve(budget)
    reservation.holder.done()
    assert [r.state for r in ledger.recover("charge")] == ["charged"]
    with pytest.raises(IdConflict, match="was taken from this process"):
        budget._commit(reservation, path="/x", sha256="0", metadata_sha256="0")
    with pytest.raises(IdConflict, match="was closed by hand without having been published: it stays charged"):
        reserve(budget)
    assert budget.spent == PrivacyCost(epsilon="0.1")


def test_recovery(ledger):
    budget = ledger.create("b", epsilon=1, **PERSON)
    for name in ("a", "b", "c", "d"):
        in_child(lambda name=name: reserve(budget, name)).result()
    assert [r.id for r in ledger.pending()] == ["a", "b", "c", "d"]
    assert budget.spent == PrivacyCost(epsilon="0.4")
    with pytest.raises(TypeError, match="reason must be text"):
        ledger.recover("void", ids=["a"])
    with pytest.raises(ValueError, match="policy must be"):
        ledger.recover("forget")
    with pytest.raises(ValueError, match="no open reservation of 'e'"):
        ledger.recover("charge", ids=["e"])
    assert [r.id for r in ledger.recover("void", ids=["a"], reason="killed before it read")] == ["a"]
    assert budget.spent == PrivacyCost(epsilon="0.3")
    assert [r.holder for r in ledger.recover("resume", ids="b")] == [None]
    assert reserve(budget, "b").state == "reserved"
    assert [r.id for r in ledger.recover()] == ["c", "d"]
    assert budget.spent == PrivacyCost(epsilon="0.3")
    assert reserve(budget, "a", query="another").attempt == 2
    assert budget.spent == PrivacyCost(epsilon="0.4")
    assert [entry.kind for entry in ledger.history("b")] == [
        "budget",
        *["reserved"] * 4,
        *["voided", "held", "held", "charged", "charged", "reserved"],
    ]
    assert ledger.history("b")[5].details["reason"] == "killed before it read"


def test_an_entry_never_repeats_what_a_unique_index_forbids(ledger):
    """Idempotence is a fact of the database, whatever the program believes."""
    budget = ledger.create("b", epsilon=1, **PERSON)
    commit(budget)
    ended = ledger.reservation("day 1")
    for kind in ("committed", "voided", "charged", "reserved"):
        with pytest.raises(ValueError, match="damaged"), ledger._writing() as write:
            write(kind, "b", "day 1", ended.attempt, {})
    with pytest.raises(ValueError, match="damaged"), ledger._writing() as write:
        write("budget", "b", None, None, {})
    assert ledger.verify() == ledger.history()[-1].digest


# Audit


def test_history_and_export(ledger):
    budget = ledger.create("b", epsilon=1, **PERSON)
    ledger.create("other", epsilon=1, **PERSON)
    commit(budget)
    assert [entry.kind for entry in ledger.history()] == ["ledger", "budget", "budget", "reserved", "committed"]
    assert [entry.sequence for entry in ledger.history("b")] == [2, 4, 5]
    stream = io.StringIO()
    ledger.export(stream)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    before = ""
    for line in lines:  # the chain, computed by itself
        facts = [line[name] for name in ("sequence", "kind", "budget", "id", "attempt")]
        compact = {"separators": (",", ":"), "sort_keys": True}
        text = f"{before}\n{json.dumps(facts, **compact)}\n{json.dumps(line['details'], **compact)}"
        before = hashlib.sha256(text.encode()).hexdigest()
        assert line["digest"] == before
    assert ledger.verify() == before
    with pytest.raises(TypeError, match=r"^stream must be a file that is open for text, got str$"):
        ledger.export("x.jsonl")


def test_a_digest_kept_elsewhere(ledger):
    budget = ledger.create("b", epsilon=1, **PERSON)
    known = ledger.verify()
    commit(budget)
    assert ledger.verify(known) != known
    with pytest.raises(ValueError, match="not in the ledger any more"):
        ledger.verify("0" * 64)
    with pytest.raises(TypeError, match=r"^known must be text"):
        ledger.verify(ledger)


def test_a_clock_that_goes_backwards(ledger, monkeypatch):
    """Times are for people: the order of entries is that of their numbers."""
    budget = ledger.create("b", epsilon=1, **PERSON)

    told = ["2038-01-19T00:00:00+00:00", "1970-01-01T00:00:00+00:00", "2000-01-01T00:00:00+00:00"]
    times, real = iter(told), store.datetime
    monkeypatch.setattr(store, "datetime", SimpleNamespace(now=lambda zone: real.fromisoformat(next(times))))
    reservation = reserve(budget)
    budget._release(reservation, "test")
    reserve(budget)
    monkeypatch.setattr(store, "datetime", real)
    commit(budget, "day 2")
    ledger.verify()
    assert Ledger(ledger.path).budget("b").spent == PrivacyCost(epsilon="0.2")
    assert [entry.details["time"] for entry in ledger.history("b")[1:4]] == told


# Threads, forks, processes


def test_threads_share_a_ledger(ledger):
    budget = ledger.create("b", epsilon=1, **PERSON)

    def spend(i):
        try:
            commit(budget, f"day {i}")
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(20))) == 10
    assert budget.remaining == PrivacyCost(epsilon=0)
    ledger.verify()


def test_a_fork_spends_from_the_same_ledger(ledger):
    budget = ledger.create("b", epsilon=1, **PERSON)
    commit(budget, "before")
    in_child(lambda: commit(budget, "in the child")).result()
    commit(budget, "after")
    assert [spend.label for spend in budget.history] == ["before", "in the child", "after"]


def test_a_fork_while_threads_spend(ledger):
    """It waits for the transaction that is under way, so that the child's view of locks is right."""
    budget = ledger.create("b", epsilon=100, **PERSON)
    stop = threading.Event()

    def spending(worker):
        number = 0
        while not stop.is_set():
            commit(budget, f"{worker}-{number}", "0.001")
            number += 1
        return number

    with ThreadPoolExecutor(2) as pool:
        working = [pool.submit(spending, worker) for worker in range(2)]
        try:
            for i in range(4):
                in_child(lambda i=i: commit(budget, f"child {i}", "0.001")).result()
        finally:
            stop.set()
        done = sum(future.result() for future in working)
    assert len(budget.history) == done + 4
    ledger.verify()


@pytest.mark.parametrize("price", ["0.001", "1/7"])
def test_an_old_ledger_is_as_fast_as_a_young_one(ledger, price):
    """In processor time, the next release; and what it reads once does not grow faster than it."""

    def seconds(release):
        return min(timed(release) for _ in range(5))

    def timed(release):
        start = process_time()
        release()
        return process_time() - start

    names = (str(number) for number in itertools.count())
    budget = ledger.create("b", epsilon=10**6, **PERSON)
    young = seconds(lambda: commit(budget, next(names), price))
    reserved = {**json.loads(json.dumps(ledger.history("b")[1].details))}
    with ledger._writing() as write:
        for _ in range(1500):
            name = next(names)
            write("reserved", "b", name, 1, reserved | {"spend": reserved["spend"] | {"label": name}})
            write("committed", "b", name, 1, {"path": "/x", "sha256": "0" * 64, "metadata_sha256": "1" * 64})
    assert len(budget.history) == 1505
    assert seconds(lambda: commit(budget, next(names), price)) < 5 * young + 0.005
    assert budget.spent == 1510 * PrivacyCost(epsilon=price)
    assert seconds(lambda: Ledger(ledger.path)) < 0.5


def test_other_processes_spends_are_seen(tmp_path):
    mine, others = budget_of(tmp_path), budget_of(tmp_path)
    commit(others, cost="0.001")
    assert mine.spent == others.spent == PrivacyCost(epsilon="0.001")
    assert [r.id for r in (mine.ledger.reservation("day 1"),)] == ["day 1"]


def test_a_ledger_that_is_locked(ledger, monkeypatch):
    budget = ledger.create("b", epsilon=1, **PERSON)
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.05)
    with store.transaction(ledger.path, write=True):
        outcome = in_child(lambda: reserve(budget))
    assert isinstance(outcome.error, LedgerUnavailable)
    assert "locked" in str(outcome.error)
    assert budget.spent == PrivacyCost(epsilon=0)

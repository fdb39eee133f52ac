"""Whether whoever reserved something still lives."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from children import Child, in_child

from exactnoise.ledger import holder
from exactnoise.ledger.holder import Holder


def test_this_process_until_it_is_done():
    own = Holder.current()
    assert own.alive() is True
    assert in_child(own.alive).result() is True
    own.done()
    assert own.alive() is False
    assert Holder.read(own.written()) == own
    assert str(own) == f"process {os.getpid()} on {own.host}"


def test_another_process_until_it_ends():
    program = "import sys; from exactnoise.ledger.holder import Holder; print(Holder.current().written(), flush=True); "
    child = subprocess.Popen(
        [sys.executable, "-c", program + "sys.stdin.read()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    other = Holder.read(eval(child.stdout.readline()))
    assert other.alive() is True
    child.kill()
    while other.alive():  # until the signal has arrived; nobody has waited for the child yet
        pass
    assert other.alive() is False
    child.communicate()
    assert other.alive() is False


def test_a_child_is_not_its_parent():
    """What a parent is at work on is not taken for the child's."""
    own = Holder.current()
    child = Child(lambda: Holder.current())
    other = child.outcome().result()
    assert other.pid != own.pid
    assert other.alive() is False
    own.done()


@pytest.mark.parametrize(
    ("changes", "alive"),
    [
        ({"pid": 2**22 + 1}, False),
        ({"boot": "00000000-0000-0000-0000-000000000000"}, False),
        ({"host": "another"}, None),
        ({"namespace": "pid:[1]"}, None),
        ({"started": "1"}, False),  # the same number, given to a later process
        ({"started": None, "pid": 1}, True),  # a system that does not tell
    ],
)
def test_what_cannot_be_this_process(changes, alive):
    own = Holder.current()
    assert replace(own, **changes).alive() is alive
    own.done()


def test_a_system_without_proc(monkeypatch, tmp_path):
    """A process is known by its number only, and one that exists is taken for it."""
    monkeypatch.setattr(holder, "_PROC", tmp_path)
    own = Holder.current()
    assert (own.boot, own.namespace, own.started) == (None, None, None)
    assert own.alive() is True
    ended = in_child(Holder.current).result()
    assert ended.alive() is False
    assert replace(own, pid=os.getppid()).alive() is True

    def of_somebody_else(pid, number):
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(os, "kill", of_somebody_else)
        assert own.alive() is True
    monkeypatch.setattr(os, "name", "nt")
    assert holder._exists(1) is None

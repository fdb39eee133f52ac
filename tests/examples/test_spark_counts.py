"""The example for Spark counts exactly, also when a task is run again, and publishes each night once."""

from __future__ import annotations

import os
import pickle
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scripts import load

from exactnoise import BudgetExceeded, DiscreteLaplace
from exactnoise.aggregates import Count
from exactnoise.ledger import Ledger

pytest.importorskip("pyspark", reason="Spark is not installed: the extra 'spark'")
pytestmark = pytest.mark.filterwarnings("ignore")  # Spark's own

EXAMPLE = Path(__file__).parents[2] / "examples" / "spark_counts.py"
PARTITIONS = 3


@pytest.fixture(scope="module")
def example() -> ModuleType:
    module = load(EXAMPLE)
    sys.modules[module.__name__] = module  # where functions sent to Spark's workers are looked up
    return module


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark import cloudpickle
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2,2]")  # a failed task is run a second time
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        "spark.sql.adaptive.enabled": "false",
        "spark.log.level": "FATAL",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    cloudpickle.register_pickle_by_value(sys.modules["spark_counts"])
    yield session
    session.stop()


@pytest.fixture(scope="module")
def visits(example: ModuleType, spark: Any) -> Any:
    return example.made_up(spark).cache()


def exact(count: Count) -> dict[str, int]:
    """With so large an epsilon a count is wrong with a probability of e^-1000."""
    return count.release(epsilon=2000, budget=None, neighbors="add-remove").to_dict()


def test_people_are_limited(example: ModuleType, visits: Any) -> None:
    before, after = (defaultdict(lambda: defaultdict(int)) for _ in range(2))
    for rows, frame in ((before, visits), (after, example.limited(visits))):
        for row in frame.collect():
            rows[row.person][row.site] += 1
    assert max(map(len, before.values())) > example.GROUPS_PER_PERSON  # the made-up people do need a limit
    for person, sites in before.items():
        assert len(after[person]) == min(len(sites), example.GROUPS_PER_PERSON)
        for site, n in after[person].items():
            assert n == min(sites[site], example.ROWS_PER_PERSON)


def test_counts_are_exact(example: ModuleType, visits: Any) -> None:
    kept = example.limited(visits)
    assert kept.rdd.getNumPartitions() == PARTITIONS
    direct = Count(keys=example.SITES)
    direct.add(by=[row.site for row in kept.collect()])
    assert exact(example.merged(visits)) == exact(direct)


def failing_once(partial: Callable[[Iterator[Any]], Iterator[Any]]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The same, but each task counts its rows, fails, and is run again."""

    def partial_and_fail(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        yield from list(partial(batches))
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() == 0:
            raise OSError("a lost executor")

    return partial_and_fail


def test_a_task_that_runs_again_counts_once(example: ModuleType, visits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    once = exact(example.merged(visits))
    monkeypatch.setattr(example, "partial_counts", failing_once(example.partial_counts))
    assert exact(example.merged(visits)) == once


def test_each_night_once(example: ModuleType, visits: Any, tmp_path: Path) -> None:
    budget = Ledger(tmp_path / "privacy.db").create("visits", epsilon=1, neighbors="add-remove", unit="person")
    first = example.publish_night(visits, "2026-11-29", tmp_path, budget).read()
    assert first["key"] == example.SITES
    again = example.publish_night(None, "2026-11-29", tmp_path, budget).read()  # Spark is not even asked
    assert again["count"].tolist() == first["count"].tolist()
    example.publish_night(visits, "2026-11-30", tmp_path, budget)
    with pytest.raises(BudgetExceeded):
        example.publish_night(visits, "2026-12-01", tmp_path, budget)
    assert len(list(tmp_path.glob("*.csv"))) == 2


def test_noise_in_a_lazy_frame_has_two_answers(spark: Any) -> None:
    """What the documents warn of: a column of noise is drawn by every action."""
    noise = DiscreteLaplace(sensitivity=1, epsilon="1e-6")
    frame = spark.range(8).rdd.map(lambda row: noise.release(row.id, budget=None))
    assert frame.collect() != frame.collect()  # alike once in 10^50


def test_a_state_is_pickled_with_its_rows() -> None:
    count = Count(keys=["a", "b", "c", "d"])
    count.add(by=["a", "a", "d"])
    assert exact(pickle.loads(pickle.dumps(count))) == {"a": 2, "b": 0, "c": 0, "d": 1}

"""Counts by site from a table in Spark: exact partial counts in the tasks, noise once, on the driver.

    pip install "exactnoise[spark]"    where exactnoise is installed; in a clone ".[spark]"; Spark needs Java 17
    python spark_counts.py [folder]

Each task adds its rows to a `Count` and sends it pickled; the driver merges the few states and publishes the noisy
counts as a file that is paid for once. Nothing in Spark draws noise: what is lazy may be computed twice, and two
answers cost two prices.
"""

import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

try:
    from pyspark.sql import DataFrame, SparkSession, Window
    from pyspark.sql import functions as f
except ModuleNotFoundError:
    raise SystemExit('tables in Spark need pyspark: pip install "exactnoise[spark]"') from None

from exactnoise import PrivacyBudget
from exactnoise.aggregates import Count, Release
from exactnoise.errors import BudgetExceeded
from exactnoise.ledger import Ledger, LedgerBudget
from exactnoise.publish import Snapshot, publish

SITES = ["a", "b", "c", "d"]  # declared: what is published does not tell which sites had visitors
ROWS_PER_PERSON, GROUPS_PER_PERSON = 3, 2
EPSILON = "1/2"  # of one night


def limited(visits: DataFrame) -> DataFrame:
    """Keep so many sites of each person, and so many visits of each of these.

    Which ones depends on the person's own rows and on nothing else, and is the same whenever a task is run again.
    """
    sites = Window.partitionBy("person").orderBy(f.xxhash64("person", "site"), "site")
    rows = Window.partitionBy("person", "site").orderBy(f.xxhash64("visit"), "visit")
    declared = visits.where(f.col("site").isin(SITES))
    kept = declared.withColumn("nth_site", f.dense_rank().over(sites)).withColumn("nth_row", f.row_number().over(rows))
    return kept.where((f.col("nth_site") <= GROUPS_PER_PERSON) & (f.col("nth_row") <= ROWS_PER_PERSON))


def partial_counts(batches: Iterator) -> Iterator:
    """In a task: Arrow batches in, one pickled state out. It is exact, and as secret as the rows."""
    import pyarrow as pa

    count = Count(keys=SITES)
    for batch in batches:
        count.add(by=batch["site"])
    yield pa.record_batch([[pickle.dumps(count)]], names=["state"])


def merged(visits: DataFrame) -> Count:
    """On the driver: one state from those of all tasks. Totals are integers, so that the order does not matter."""
    total = Count(keys=SITES)
    for (state,) in limited(visits).select("site").mapInArrow(partial_counts, "state binary").collect():
        total.merge(pickle.loads(state))
    return total


def publish_night(visits: DataFrame, night: str, folder: Path, budget: LedgerBudget) -> Snapshot:
    """Pay, let Spark count, add noise once, and freeze the table; a night that was published is only read."""

    def make(purse: PrivacyBudget) -> Release:
        return merged(visits).release(
            epsilon=EPSILON,
            budget=purse,
            rows_per_person=ROWS_PER_PERSON,
            groups_per_person=GROUPS_PER_PERSON,
            label="visits",
        )

    path = folder / f"visits-{night}.csv"
    return publish(path, make, id=f"visits-{night}", data_version=night, budget=budget, epsilon=EPSILON)


def made_up(spark: SparkSession, rows: int = 20_000) -> DataFrame:
    """Visits of 5000 people, most of them at the first sites."""
    site = f.element_at(f.array(*map(f.lit, SITES)), (4 * f.pow(f.rand(seed=1), 2)).cast("int") + 1)
    person = (5000 * f.rand(seed=2)).cast("int")
    return spark.range(rows).select(f.col("id").alias("visit"), site.alias("site"), person.alias("person"))


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "8").getOrCreate()
    visits = made_up(spark)
    budget = Ledger(folder / "privacy.db").create("visits", epsilon=1, neighbors="add-remove", unit="person")
    for night in ("2026-11-28", "2026-11-29", "2026-11-29", "2026-11-30"):
        try:
            counts = publish_night(visits, night, folder, budget).read()
        except BudgetExceeded as refusal:
            print(f"{night}: {refusal}")
        else:
            table = ", ".join(f"{site} {n}" for site, n in zip(counts["key"], counts["count"], strict=True))
            print(f"{night}: {table}; epsilon left {float(budget.remaining.epsilon):g}")
    spark.stop()


if __name__ == "__main__":
    main()

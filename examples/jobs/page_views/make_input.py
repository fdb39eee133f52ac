"""Made-up page views: ten million of them, of 200 000 readers on 1000 pages, a few of which get most.

    pip install "exactnoise[files]"    where exactnoise is installed; in a clone ".[files]"
    python make_input.py [ROWS]

writes views.parquet and pages.csv, the public list of pages, beside this script. Then, in this folder:

    exactnoise ledger create privacy.db --budget views --epsilon 30 --neighbors add-remove --unit reader
    exactnoise plan job.toml --date 2024-03-01 --expect 1000
    exactnoise publish job.toml --date 2024-03-01 -o views-2024-03-01.parquet
"""

import sys
from pathlib import Path

import numpy as np

PAGES = [f"page-{n:04}" for n in range(1, 1001)]
READERS = 200_000
_BATCH = 1_000_000


def write_input(folder: Path, rows: int, readers: int = READERS) -> None:
    """Write both files. The same rows are written every time."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise SystemExit('Parquet files need pyarrow: pip install "exactnoise[files]"') from None

    (folder / "pages.csv").write_text("\n".join(["page", *PAGES]) + "\n", encoding="utf-8")
    draw = np.random.default_rng(2024)
    popularity = 1 / np.arange(1, len(PAGES) + 1) ** 1.1
    popularity /= popularity.sum()
    names = pa.array(PAGES)
    schema = pa.schema(
        [("page", pa.dictionary(pa.int32(), pa.string())), ("reader", pa.int64()), ("seconds", pa.float64())]
    )
    with pq.ParquetWriter(folder / "views.parquet", schema) as writer:
        for start in range(0, rows, _BATCH):
            size = min(_BATCH, rows - start)
            pages = pa.DictionaryArray.from_arrays(draw.choice(len(PAGES), size, p=popularity).astype(np.int32), names)
            # A few readers read very much.
            who = (readers * draw.random(size) ** 2).astype(np.int64)
            seconds = draw.lognormal(3, 1, size).round(1)
            writer.write_batch(pa.record_batch([pages, who, seconds], schema=schema))


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    folder = Path(__file__).parent
    write_input(folder, rows)
    print(f"{folder / 'views.parquet'}: {rows} rows; {folder / 'pages.csv'}: {len(PAGES)} pages")


if __name__ == "__main__":
    main()

"""A table of a million rows and 50 columns in Parquet: read in a process of its own, cleaned, initialized at depth 10.

python benchmarks/million.py
"""

import io
import resource
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from steinglm.datasets import hold
from steinglm.experiment import Experiment, initialize
from steinglm.tables.cleaning import clean
from steinglm.tables.limits import Limits
from steinglm.tables.opening import open_apart

ROWS, COLUMNS = 1_000_000, 50


def content() -> bytes:
    """The file: numbers of two decimals, and the square of the first one as the response."""
    rng = np.random.default_rng(0)
    columns = {f"x{j}": rng.normal(size=ROWS).round(2) for j in range(COLUMNS - 1)}
    columns["y"] = columns["x0"] ** 2 + rng.normal(size=ROWS).round(2)
    buffer = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def megabytes(who: int) -> float:
    """The most memory that this process, or a child, has held."""
    return resource.getrusage(who).ru_maxrss / 1024


def main() -> None:
    """Print one line a step."""
    file = content()
    kept = int(sys.argv[1]) if len(sys.argv) > 1 else Limits().kept_rows
    limits = Limits(kept_rows=kept)
    print(f"\n{ROWS:,} rows of {COLUMNS} columns, {len(file) / 1e6:.0f} MB of Parquet, {kept:,} rows kept")
    start = last = time.perf_counter()

    def told(step: str) -> None:
        nonlocal last
        now = time.perf_counter()
        print(f"{step:>28} {now - last:>8.1f} s")
        last = now

    opened = open_apart(file, limits=limits)
    told("read and understood")
    cleaned = clean(opened.columns, limits=limits)
    told("cleaned")
    held = hold(cleaned.dataset)
    initialize(Experiment(dataset=held.dataset.name, depth=10), max_rows=10_000)
    told("initialized and measured")
    print(f"{'together':>28} {last - start:>8.1f} s")
    print(f"{'memory of the reader':>28} {megabytes(resource.RUSAGE_CHILDREN):>8.0f} MB")
    print(f"{'memory of this process':>28} {megabytes(resource.RUSAGE_SELF):>8.0f} MB, with the file")
    print("\n".join(opened.notes))


if __name__ == "__main__":
    main()

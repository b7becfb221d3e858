"""Running the study through the engine: in any order, resumed where it was left, written in one piece at the end."""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from steinglm.engine import Engine, Run
from steinglm.exceptions import EngineError
from steinglm.export import versions
from steinglm.images import ImageExperiment
from steinglm.kinds import AnyExperiment
from steinglm.paper import mnist, study
from steinglm.paper.study import COLUMNS
from steinglm.results import Result

__all__ = ["IMAGES", "TABLES", "Files", "finished", "run", "write"]

LOOK = 0.5  # seconds between two looks at the runs


@dataclass(frozen=True)
class Files:
    """How a study of one kind is kept.

    rows, environment : the files' names
    tidy : what makes rows of a result; their `columns`, the last of which is the value
    command : the name of what runs it, in `python -m steinglm`
    """

    rows: str
    environment: str
    tidy: Callable[[Result], pd.DataFrame]
    columns: tuple[str, ...] = COLUMNS
    command: str = "paper"


TABLES = Files("rows.parquet", "environment.json", study.rows)
IMAGES = Files("mnist_rows.parquet", "mnist_environment.json", mnist.rows)


def _work(experiment: AnyExperiment) -> float:
    return mnist.work(experiment) if isinstance(experiment, ImageExperiment) else study.work(experiment)


def run(
    engine: Engine, experiments: Sequence[AnyExperiment], folder: Path, files: Files = TABLES
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Run the experiments, those that are finished in the engine's store apart, and write rows and environment.

    Returns the rows and the environment. Interrupted, it stops its runs; what is finished stays in the store, and the
    same call goes on.

    Raises
    ------
    EngineError : an experiment failed, a finished one could not be stored, or the folder cannot be written
    """
    total = sum(_work(experiment) * experiment.epochs for experiment in experiments)  # so all data is there
    # and the folder can be written, before hours of work
    write(folder, {files.environment: _environment(experiments, {})})
    started, parts, times = time.time(), {}, {}
    with tqdm(
        total=total, unit="", bar_format="{l_bar}{bar}| {elapsed} < {remaining}{postfix}", file=sys.stderr
    ) as bar:
        stored = engine.store.keys()
        resumed = sum(experiment.key in stored for experiment in experiments)
        for result in finished(engine, experiments, bar):
            parts[result.experiment] = files.tidy(result)
            times[result.experiment] = result.summary
            bar.set_postfix_str(f"{len(parts)} of {len(experiments)} experiments")
    table = _together([parts[experiment] for experiment in experiments], files.columns)
    environment = _environment(experiments, times) | {
        "wall_seconds": round(time.time() - started, 1),
        "resumed": resumed,
    }
    write(
        folder,
        {
            files.rows: table.to_parquet(index=False, compression="zstd"),
            files.environment: environment,
        },
    )
    return table, environment


def finished(engine: Engine, experiments: Sequence[AnyExperiment], bar: "tqdm[Any]") -> Iterator[Result]:
    """The results as they come, the longest first, a few runs at a time; the bar moves by the work of their epochs."""
    waiting, active = sorted(experiments, key=_work, reverse=True), dict[AnyExperiment, Run]()
    before = bar.n
    try:
        while waiting or active:
            while (
                waiting
                and len(active) < engine.settings.active
                and sum(r.state == "queued" for r in active.values()) < 2
            ):
                experiment = waiting.pop(0)
                active[experiment] = engine.submit(experiment)
            over = [experiment for experiment, its in active.items() if not its.active]
            for experiment in over:
                result = active.pop(experiment).result()
                stored = engine.store.keys()
                if experiment.key not in stored:
                    raise EngineError(
                        f"a finished run could not be kept in {engine.store.folder} (is the disk full?); those "
                        "before it are there; make room and run the same command again"
                    )
                before += _work(experiment) * experiment.epochs
                yield result
            done = sum(_work(experiment) * max(0, its.epoch) for experiment, its in active.items())
            bar.update(before + done - bar.n)
            for its in active.values():
                its.watch()
            if not over:
                time.sleep(LOOK)
    finally:
        for its in active.values():
            its.stop("The study was interrupted.")


def _together(parts: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """One table in an order that does not depend on who finished first."""
    table = pd.concat(parts, ignore_index=True)
    table = table.sort_values(list(columns[:-1]), ignore_index=True, kind="stable")
    words = [name for name in columns if isinstance(table[name].iloc[0], str)]
    return table.astype(dict.fromkeys(words, "category"))


def write(folder: Path, files: dict[str, Any]) -> None:
    """Write bytes, text, or a mapping as JSON, each file in one piece: a reader sees the old one or the new one."""
    for name, content in files.items():
        if isinstance(content, dict):
            content = json.dumps(content, indent=1) + "\n"
        data = content.encode() if isinstance(content, str) else content
        aside = folder / f".{name}-{os.getpid()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            aside.write_bytes(data)
            aside.replace(folder / name)
        except OSError as error:
            with suppress(OSError):
                aside.unlink()
            raise EngineError(
                f"{folder / name} cannot be written ({error.strerror}); what is finished is kept in the engine's "
                "store, so name a folder with room that you may write to, and run the same command again"
            ) from error


def _environment(
    experiments: Sequence[AnyExperiment], times: dict[AnyExperiment, pd.DataFrame]
) -> dict[str, Any]:
    """What the result may depend on, and what it took."""
    return {
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "commit": _commit(),
        "seeds": sorted({experiment.seed for experiment in experiments}),
        "repeats": sorted({experiment.repeats for experiment in experiments}),
        "experiments": [experiment.as_dict() | _seconds(times.get(experiment)) for experiment in experiments],
    }


def _seconds(summary: pd.DataFrame | None) -> dict[str, Any]:
    if summary is None:
        return {}
    means = summary.groupby("method", sort=False)["initialization_seconds"].mean()
    return {
        "initialization_seconds": {str(method): round(float(s), 5) for method, s in means.items()},
        "training_seconds": round(float(summary["training_seconds"].iloc[0]), 2),
    }


def _processor() -> str:
    """The processor's name as the system gives it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        if names:
            return names[0]
    return platform.processor() or platform.machine()


def _commit() -> str | None:
    """The commit of the source tree, if this is one."""
    here = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()

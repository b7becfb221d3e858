"""The parts of the page "Sweep": the buttons, the heat map that fills in, and its cells as a table."""

from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from steinglm.dashboard import controls, owntable
from steinglm.dashboard.guard import plain
from steinglm.dashboard.live import Panel, live
from steinglm.dashboard.measure import task
from steinglm.dashboard.panels import explain
from steinglm.dashboard.sweepcontrols import AXIS_TITLES, COLOUR_TITLES
from steinglm.dashboard.sweepmap import heatmap, sentence
from steinglm.dashboard.toolbar import viewer
from steinglm.engine import Engine
from steinglm.experiment import TITLES, Experiment, metric_name
from steinglm.export import as_csv
from steinglm.grid import Grid
from steinglm.link import View
from steinglm.sweep import Sweep, batches, pivot, table

__all__ = ["show"]

POLL = 0.3  # seconds between two looks at a sweep that is not over


def show(engine: Engine, sweep: Sweep, view: View) -> None:
    """The buttons, the heat map and the table of a sweep; a click on a cell opens its experiment on Compare."""
    grid = _grid(engine, sweep)
    _buttons(engine, sweep, grid)
    _cells(sweep, grid, view)
    if grid is not None and grid.over:
        _as_table(sweep, grid.table, view)


def _grid(engine: Engine, sweep: Sweep) -> Grid | None:
    """This page's grid of this sweep, if it was begun or is finished on disk; one of other settings is stopped."""
    grid: Grid | None = st.session_state.get("grid")
    wanted = set(batches(sweep))
    if grid is not None and set(batches(grid.sweep)) != wanted:
        grid.stop()
        grid = st.session_state["grid"] = None
    if grid is not None:
        grid.sweep = sweep  # another colour of the same cells
    elif {batch.key for batch in wanted} <= set(engine.store.keys()):
        _begin(engine, sweep)
    current: Grid | None = st.session_state.get("grid")
    return current


def _begin(engine: Engine, sweep: Sweep) -> None:
    own = owntable.current()
    keep = True if own is not None and own.keep else None
    grid = st.session_state["grid"] = Grid(sweep, engine, owner=viewer(), keep=keep)
    grid.look()


def _buttons(engine: Engine, sweep: Sweep, grid: Grid | None) -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if grid is None:
            st.button(
                "**Sweep**", icon=":material/play_arrow:", shortcut="Ctrl+Enter", on_click=_begin, args=(engine, sweep)
            )  # fmt: skip
        elif not grid.over:
            st.button("**Cancel**", icon=":material/stop:", shortcut="Esc", on_click=grid.stop)
        else:
            rows = grid.table
            label, icon = ("**Resume**", "play_arrow") if grid.incomplete else ("**Done**", "check")
            st.button(
                label,
                icon=f":material/{icon}:",
                shortcut="Ctrl+Enter",
                on_click=grid.resume,
                disabled=not grid.incomplete,
            )  # fmt: skip
            st.download_button(
                "CSV", as_csv(rows.drop(columns="done")), "sweep.csv", "text/csv", icon=":material/download:"
            )
        st.caption(_size(sweep))


def _size(sweep: Sweep) -> str:
    what = f"{len(sweep.cells)} cells of {TITLES[sweep.method]}"
    if sweep.base.repeats > 1:
        what += f", medians of {sweep.base.repeats} repeats"
    after = f"trained for {sweep.base.epochs} epochs" if sweep.trained else "before training"
    return f"{what}, {after}; what is not on an axis is set in the side bar."


def _cells(sweep: Sweep, grid: Grid | None, view: View) -> None:
    """The heat map; while the sweep goes on, it alone is drawn again."""
    running = grid is not None and not grid.over

    @st.fragment(run_every=POLL if running else None)
    def drawn() -> None:
        if grid is not None:
            grid.look()
            if running and grid.over:
                st.rerun()
        rows = table(sweep, {}) if grid is None else grid.table
        if running and grid is not None:
            done = int(rows["done"].sum())
            st.progress(done / len(rows), text=f"{done} of {len(rows)} cells. {plain(grid.note)}")
        events = live(
            [_panel(sweep, rows)],
            key="sweep_cells",
            legend=False,
            presentation=view.presentation,
            on_moved=controls.moved,
        )
        if events.about:
            explain("sweep")
        if events.point is not None:
            x, y = events.point
            _open(sweep, x, y, view)

    drawn()


def _panel(sweep: Sweep, rows: pd.DataFrame) -> Panel:
    kind = task(sweep.base.dataset)
    metric = sweep.colour == "test_metric"
    colour = f"Test {metric_name(kind)}" if metric else COLOUR_TITLES[sweep.colour]
    better = ("lower" if kind == "regression" else "higher") if metric else ""
    if sweep.colour in ("initial_loss", "final_loss", "epochs_to_target"):
        better = "lower"
    said = sentence(sweep, rows, AXIS_TITLES, better)
    figure = heatmap(sweep, rows, AXIS_TITLES, colour)
    alt = f"{colour} of {TITLES[sweep.method]} by {AXIS_TITLES[sweep.x.name].lower()} and "
    alt += (
        f"{AXIS_TITLES[sweep.y.name].lower()}. {said or 'Not computed yet.'} The table below has every value."
    )
    return Panel("cells", figure, alt, said, about=True, opens=True)


def _as_table(sweep: Sweep, rows: pd.DataFrame, view: View) -> None:
    """The colour of every cell; here, too, a click opens the experiment, and the keyboard reaches it."""
    wide = pivot(sweep, rows)
    down = AXIS_TITLES[sweep.y.name]
    wide.insert(0, down, wide.index)
    with st.expander("The cells as a table"):
        event: Any = st.dataframe(
            wide, key="sweep_table", on_select="rerun", selection_mode="single-cell", hide_index=True, height="content",
            column_config={name: st.column_config.NumberColumn(format="%.4g") for name in wide.columns[1:]},
            alt=f"{COLOUR_TITLES[sweep.colour]}: {down} down, {AXIS_TITLES[sweep.x.name]} across",
        )  # fmt: skip
        st.caption(
            f"{AXIS_TITLES[sweep.x.name]} across. Click a cell to open its experiment on the page Compare."
        )
    for y, column in event.selection.cells:
        if column in sweep.x.labels:
            _open(sweep, sweep.x.labels.index(column), y, view)


def _open(sweep: Sweep, x: int, y: int, view: View) -> None:
    """Go to the page Compare with the experiment of a cell, and with every method of the base."""
    cell = sweep.cells[y * len(sweep.x.values) + x]
    if cell.experiment is not None:
        values: dict[str, Any] = {sweep.x.name: cell.x, sweep.y.name: cell.y}
        experiment: Experiment = replace(sweep.base, **values)
        controls.go_to_compare(experiment, view)

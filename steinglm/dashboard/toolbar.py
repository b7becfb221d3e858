"""The buttons of a run, and the line that says how it is doing."""

from collections.abc import Callable
from functools import partial
from uuid import uuid4

import streamlit as st

from steinglm.dashboard import controls, owntable, pins, presentation, takehome
from steinglm.dashboard.guard import plain
from steinglm.engine import Engine, Run
from steinglm.exceptions import DataUnavailableError, EngineError
from steinglm.experiment import Experiment
from steinglm.kinds import AnyExperiment
from steinglm.link import View

__all__ = ["current_run", "show", "show_plain", "viewer"]

POLL = 0.5  # seconds between two looks at a run that is not over


def current_run(engine: Engine, experiment: AnyExperiment) -> Run | None:
    """The run of this experiment, whoever started it, unless this session went back to its start."""
    run = engine.find(experiment.key)
    return None if run is None or run.name == st.session_state.get("set_aside") else run


def show(engine: Engine, experiment: Experiment, view: View, run: Run | None) -> None:
    """Draw the buttons that fit the run's state, and its progress."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        _run_buttons(engine, experiment, run)
        if view.presentation:
            presentation.switch()
        else:
            st.button("New seed", icon=":material/casino:", on_click=controls.next_seed)
            pins.button(run)
            takehome.show(experiment, view, run)
    _progress(run)


def show_plain(engine: Engine, experiment: AnyExperiment, run: Run | None) -> None:
    """The buttons of a run and its progress, and nothing else."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        _run_buttons(engine, experiment, run)
    _progress(run)


def _progress(run: Run | None) -> None:
    if message := st.session_state.pop("notice", ""):
        st.warning(plain(message), icon=":material/info:")
    if run is not None and run.state != "finished":
        _follow(run)
    elif run is not None and run.message:
        st.caption(plain(run.message))


def _run_buttons(engine: Engine, experiment: AnyExperiment, run: Run | None) -> None:
    state = "none" if run is None else run.state
    if run is not None and state == "paused":
        _main_button("Resume", "play_arrow", run.resume)
        st.button("One epoch", icon=":material/skip_next:", on_click=run.step)
    elif run is not None and run.active:
        _main_button("Pause", "pause", run.pause)
    else:
        label, icon = {
            "finished": ("Trained", "check"), "stopped": ("Train again", "replay"), "failed": ("Train again", "replay"),
        }.get(state, ("Train", "play_arrow"))  # fmt: skip
        _main_button(label, icon, partial(_train, engine, experiment), disabled=state == "finished")
    idle = run is None or not run.active
    st.button("Stop", icon=":material/stop:", shortcut="Esc", on_click=_stop, args=(run,), disabled=idle)
    hint = "Back to before training, with the same initialization; a finished run is kept, and Train shows it again"
    back = partial(_set_aside, run)
    st.button("Same start", icon=":material/replay:", on_click=back, disabled=run is None, help=hint)


def _main_button(label: str, icon: str, act: Callable[[], None], disabled: bool = False) -> None:
    """What Ctrl+Enter does. Bold, not of type "primary", whose shortcut is too faint to read on any colour of ours."""
    icon = f":material/{icon}:"
    st.button(f"**{label}**", icon=icon, shortcut="Ctrl+Enter", on_click=act, disabled=disabled)


def _follow(run: Run) -> None:
    state = run.state

    @st.fragment(run_every=POLL if run.active else None)
    def progress() -> None:
        if run.state != state:
            st.rerun()
        run.watch(viewer())
        done = max(run.epoch, 0)
        st.progress(
            min(done / run.experiment.epochs, 1.0),
            text=f"{run.state.capitalize()}: epoch {done} of {run.experiment.epochs}. {plain(run.message)}",
        )

    progress()


def _train(engine: Engine, experiment: AnyExperiment) -> None:
    st.session_state.pop("set_aside", None)
    own = owntable.current()
    try:
        engine.submit(experiment, owner=viewer(), keep=True if own is not None and own.keep else None)
    except (EngineError, DataUnavailableError) as err:
        st.session_state["notice"] = str(err)


def _stop(run: Run | None) -> None:
    """Stop the run, unless others are watching it: then only this page leaves it."""
    if run is None:
        return
    if run.shared(viewer()):
        st.session_state["set_aside"] = run.name
        st.session_state["notice"] = (
            "Others are watching this run, so it goes on for them; Train joins it again."
        )
    else:
        run.stop()


def _set_aside(run: Run | None) -> None:
    """Back to before training; a run that nobody else watches ends."""
    if run is not None:
        if not run.shared(viewer()):
            run.stop()
        st.session_state["set_aside"] = run.name


def viewer() -> str:
    """What tells this session from others."""
    own: str = st.session_state.setdefault("viewer", uuid4().hex)
    return own

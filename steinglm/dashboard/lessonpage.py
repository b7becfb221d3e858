"""The page "Lessons": the list, and one lesson with its controls, its charts with what to look at, and its question.

All of a lesson's state is in the page's link: `lesson`, and what was chosen in its controls.
"""

from dataclasses import replace
from functools import partial
from typing import Literal

import streamlit as st

from steinglm import datasets, link
from steinglm.dashboard import caps, controls, marks, panels, table, toolbar
from steinglm.dashboard.explain import TOPICS
from steinglm.dashboard.guard import plain
from steinglm.dashboard.live import Panel, live
from steinglm.dashboard.measure import facts, predicted, rows_of, title
from steinglm.dashboard.server import engine
from steinglm.engine import Run
from steinglm.experiment import Experiment
from steinglm.lessons.lesson import Lesson
from steinglm.lessons.reading import every

__all__ = ["chosen", "overview", "show"]

LABELS = {
    "dataset": "Data", "calibrate": "Bias calibration", "alpha": "Scaling alpha", "variance": "What is shown",
    "layer": "Layer of the spectrum", "output": "GLM output layer",
}  # fmt: skip
HELP = {"dataset": "data", "variance": "travel", "layer": "spectrum", "spectrum": "spectrum"}
IN_A_ROW = 3  # lessons
IN_LINK: Literal["query-params"] = "query-params"


def chosen() -> tuple[Lesson | None, list[Lesson]]:
    """The lesson of the link, if it names one, and all there are; what is wrong with others is said on the page."""
    found, problems = every()
    for problem in problems:
        st.warning(plain(str(problem)), icon=":material/description:")
    name = st.query_params.get("lesson")
    if name is not None and name not in found:
        st.warning("The link's lesson is not known here.", icon=":material/link_off:")
    return found.get(name or ""), list(found.values())


def overview(lessons: list[Lesson]) -> None:
    """Every lesson by its title, which opens it, and its first sentence."""
    st.title("Lessons")
    st.caption(
        "Each is a preset with a question. Look at the chart, make up your mind, then open the answer."
    )
    numbered = list(enumerate(lessons, start=1))
    for first in range(0, len(numbered), IN_A_ROW):
        row = numbered[first : first + IN_A_ROW]
        for column, (number, lesson) in zip(st.columns(IN_A_ROW), row, strict=False):
            with column.container(border=True, height="stretch", gap="xsmall"):
                _go(f":primary[**{number} · {lesson.title}**]", lesson, width="stretch")
                st.caption(lesson.text[0], text_alignment="center")


def show(lesson: Lesson, lessons: list[Lesson]) -> None:
    """One lesson."""
    way = st.container(horizontal=True, gap="small", vertical_alignment="center")
    st.title(lesson.title)
    st.markdown(" ".join(lesson.text))
    st.markdown(f"**{lesson.question}**")
    experiment, view = lesson.opened(_choices(lesson))
    caps.check_networks(experiment)
    view = replace(view, layer=min(view.layer, experiment.depth + 1))
    with way:
        _way(lesson, lessons, experiment, view)
    st.caption(f"{title(experiment.dataset)}: {facts(experiment.dataset)}")
    run = None
    if "learning" in lesson.charts:
        run = toolbar.current_run(engine(), experiment)
        toolbar.show_plain(engine(), experiment, run)
    _charts(lesson, experiment, view, run)
    with st.expander("Answer", key=f"answer-{lesson.name}"):
        st.markdown(lesson.answer)
    if run is not None and run.state == "finished":
        table.show(run.result())


def _go(
    label: str,
    lesson: Lesson | None,
    icon: str | None = None,
    width: Literal["content", "stretch"] = "content",
) -> None:
    """A button that opens a lesson, or the list."""
    query = {} if lesson is None else {"lesson": lesson.name}
    st.button(
        label, type="tertiary", icon=icon, width=width, on_click=partial(st.query_params.from_dict, query)
    )


def _way(lesson: Lesson, lessons: list[Lesson], experiment: Experiment, view: link.View) -> None:
    """Where one goes from here."""
    place = [each.name for each in lessons].index(lesson.name)
    _go("All lessons", None, ":material/list:")
    if place > 0:
        _go("Previous", lessons[place - 1], ":material/arrow_back:")
    if place + 1 < len(lessons):
        _go("Next", lessons[place + 1], ":material/arrow_forward:")
    if st.button("Open in Compare", type="tertiary", icon=":material/stacked_line_chart:"):
        controls.go_to_compare(experiment, view)


def _choices(lesson: Lesson) -> dict[str, str]:
    """Draw the lesson's controls; the settings that were chosen."""
    found = {}
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        for setting, options in lesson.controls.items():
            here = [label for label, value in options.items() if _at_hand(setting, value)]
            label = st.segmented_control(
                LABELS.get(setting, setting.replace("_", " ").capitalize()), here, default=here[0], required=True,
                key=f"{lesson.name}-{setting}", help=TOPICS[HELP.get(setting, setting)].text, bind=IN_LINK,
            )  # fmt: skip
            found[setting] = options.get(str(label), options[here[0]])
            missing = [label for label in options if label not in here]
            if missing:
                st.caption(f"{', '.join(missing)}: not on this machine; the README says how to get it.")
    return found


def _at_hand(setting: str, value: str) -> bool:
    return setting != "dataset" or datasets.available(value)


def _charts(lesson: Lesson, experiment: Experiment, view: link.View, run: Run | None) -> None:
    rows = rows_of(experiment, view.variance)
    lines = predicted(experiment, view.variance) if view.theory else None
    own = [*panels.layers(rows, view, {}, theory=lines), panels.learning(experiment, run, view, {})]
    own[-1].figure["layout"]["xaxis"]["range"] = [
        0,
        experiment.epochs,
    ]  # the mark's place, before there is a point
    preset = experiment.before_training() == lesson.opened()[0].before_training()
    own = [panel for panel in own if panel.name in lesson.charts]
    shown = [_marked(panel, lesson, view) for panel in own] if preset else own
    events = live(shown, key=f"charts-{lesson.name}")
    if events.about in TOPICS:
        panels.explain(panels.topic(events.about, view))
    if events.state:
        st.rerun()


def _marked(panel: Panel, lesson: Lesson, view: link.View) -> Panel:
    """The panel with the lesson's mark, if it is on this one; a height is that of the preset's quantity alone."""
    preset = lesson.opened()[1]
    other = lesson.look.level is not None and (view.variance, view.spectrum) != (
        preset.variance,
        preset.spectrum,
    )
    if panel.name != lesson.look.chart or other:
        return panel
    alt = f"{panel.alt} Marked: {lesson.look.label}."
    return replace(panel, figure=marks.marked(panel.figure, lesson.look), alt=alt)

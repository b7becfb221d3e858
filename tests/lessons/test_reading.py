"""A lesson's file: every fault is refused with the lesson's name, the key and a cure; a teacher's own join the list."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from steinglm import lessons
from steinglm.exceptions import InvalidInputError
from steinglm.lessons.lesson import CHARTS, lesson
from steinglm.lessons.reading import FOLDER, LARGEST, every, read

OWN = Path(lessons.__file__).parent
GOOD = """
title = "Depth"
text = ["One.", "Two.", "Three."]
link = "http://localhost:8501/?v=1&dataset=diabetes&depth=3"
charts = ["signal"]
question = "Why?"
answer = "Because."

[look]
chart = "signal"
from = 1
to = 3
label = "here"

[controls.depth]
"three" = "3"
"five" = "5"

[[claims]]
quantity = "preactivation_variance"
method = "steinglm"
layer = 3
is = "below"
than = { layer = 1 }
"""


def values(**changes: Any) -> dict[str, Any]:
    return tomllib.loads(GOOD) | changes


def changed(table: str, **changes: Any) -> dict[str, Any]:
    return {table: tomllib.loads(GOOD)[table] | changes}


def claim(**changes: Any) -> dict[str, Any]:
    return {"claims": [tomllib.loads(GOOD)["claims"][0] | changes]}


def test_the_eight_subjects_and_more_come_with_the_library() -> None:
    found, problems = every()
    assert not problems
    assert list(found)[:3] == ["calibration", "he-and-tanh", "alpha"] and len(found) >= 8
    for each in found.values():
        assert len(each.text) == 3 and each.charts and set(each.charts) <= set(CHARTS)
        experiment, _ = each.opened()
        for setting, options in each.controls.items():
            for value in options.values():
                other, _ = each.opened({setting: value})
                assert other.depth <= 40 and len(other.methods) * other.repeats <= 12  # a class waits
        assert experiment.epochs <= 30 or "learning" not in each.charts


def test_a_link_is_read_whether_or_not_it_has_a_host() -> None:
    for link in ("http://x/?v=1&depth=3", "?v=1&depth=3", "v=1&depth=3"):
        assert lesson("one", values(link=link)).opened()[0].depth == 3


def test_what_is_not_said_of_the_other_side_is_as_on_the_left() -> None:
    made = lesson("one", values(**claim(**{"with": {"depth": "5"}, "than": {"method": "orthogonal"}})))
    left, right = made.claims[0].left, made.claims[0].right
    assert not isinstance(right, float)
    assert (right.quantity, right.layer, right.changes) == (left.quantity, 3, {"depth": "5"})
    assert right.method == "orthogonal"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"titel": "x"}, "one: key must be one of title, .*, got titel; did you mean 'title'"),
        ({"title": ""}, "one: title must be a text of 1 to 1000 characters"),
        ({"title": 3}, "one: title must be a text"),
        ({"answer": "x" * 1001}, "one: answer must be a text"),
        ({"text": ["One.", "Two."]}, "one: text must be a list of 3 texts"),
        ({"charts": ["pie"]}, "one: charts must be one of signal, spectrum, learning, got pie"),
        ({"link": "https://example.com"}, "one: link must be a link of the page Compare"),
        ({"link": "?colour=red"}, "one: link must be one of v, .*, got colour"),
        ({"link": "?depth=0"}, "one: link must be what a link can hold, .*depth could not be used"),
        ({"link": "?"}, "one: link must be a link of the page Compare"),
        (changed("look", chart="learning"), "one: look: chart must be one of signal, got learning"),
        (changed("look", level=1.0), "one: look must be either 'from' and 'to', or 'level'"),
        (changed("look", **{"from": 4}), r"one: look must be 'from' up to 'to', got \(4.0, 3.0\)"),
        (changed("look", to="3"), "one: look: to must be a number"),
        ({"look": "signal"}, "one: look must be a table"),
        (changed("controls", colour={"red": "1"}), "one: controls: colour must be one of v, .*, got colour"),
        (changed("controls", depth={"five": "5"}), "one: controls: depth must be .*the link's own first"),
        (changed("controls", depth={}), "one: controls: depth must be .*the link's own first"),
        (changed("controls", depth={"three": 3}), "one: controls: depth: three must be a text"),
        (changed("controls", depth={"three": "3", "no": "0"}), "depth could not be used"),
        ({"claims": []}, r"one: claims must be one or more \[\[claims\]\], got \[\]"),
        ({"claims": ["x < 1"]}, "one: claims 1 must be a table"),
        (claim(quantity="__import__('os')"), "one: claims 1: quantity must be one of"),
        (claim(method="lecun"), "one: claims 1: method must be one of"),
        (claim(layer=4), r"one: claims 1: layer must be 1..3, got 4"),
        (claim(quantity="training_loss"), r"one: claims 1: epoch must be 0..200, got None"),
        (claim(**{"is": "near"}), "one: claims 1: is must be one of below, above, got near"),
        (claim(times="2"), "one: claims 1: times must be a number"),
        (claim(than=None), "one: claims 1: than must be a number"),
        (claim(than=float("nan")), "one: claims 1: than must be a number"),
        (claim(than={"level": 1}), "one: claims 1: than: key must be one of"),
        (claim(**{"with": {"methods": "orthogonal"}}), "method must be one of orthogonal, got steinglm"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_place(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        lesson("one", values(**changes))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bad.toml", b"title = ", "bad.toml must be a TOML file in UTF-8"),
        ("bad.toml", b"\xff\xfe", "bad.toml must be a TOML file in UTF-8"),
        ("bad.toml", b"x = " + b"[" * 5000, "bad.toml must be a TOML file in UTF-8"),
        ("bad.toml", b"#" * (LARGEST + 1), "bad.toml must be at most 64000 bytes"),
        ("bad.toml", b"", "bad: link must be a text"),
        ("Bad File.toml", GOOD.encode(), "file name must be small letters, digits and hyphens, got Bad File.toml"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        read(tmp_path / name)


def test_a_teachers_lessons_come_after_and_a_broken_one_alone_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "10-mine.toml").write_text(GOOD)
    (tmp_path / "20-broken.toml").write_text("title =")
    (tmp_path / "30-alpha.toml").write_text(GOOD)  # the name of one of the library's
    monkeypatch.setenv(FOLDER, str(tmp_path))
    found, problems = every()
    assert list(found)[-1] == "mine" and len(found) == len(list(OWN.glob("*.toml"))) + 1
    assert [problem.argument for problem in problems] == ["20-broken.toml", "30-alpha.toml"]
    monkeypatch.setenv(FOLDER, str(tmp_path / "nowhere"))
    assert "STEINGLM_LESSONS must be a folder" in str(every()[1][0])

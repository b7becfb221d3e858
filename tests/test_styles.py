"""Every method looks its own way; an unknown one is grey."""

import re
from importlib.resources import files

from steinglm.styles import DASHES, GREY, STYLES, style


def test_every_method_has_its_own_look() -> None:
    for looks in zip(*[(s.title, s.color, s.dash, s.symbol) for s in STYLES.values()], strict=True):
        assert len(set(looks)) == len(STYLES)
    assert {look.dash for look in STYLES.values()} <= set(DASHES)


def test_the_legend_in_the_browser_draws_every_dash_and_marker() -> None:
    script = files("steinglm.dashboard").joinpath("live.js").read_text()
    for look in STYLES.values():
        for name in (look.dash, look.symbol):
            assert re.search(rf'[ {{"]{re.escape(name)}"?: "', script), name


def test_an_unknown_method_is_grey() -> None:
    assert style("my_own").color == GREY
    assert style("my_own").title == "my own"

"""The link: an experiment, and how it is looked at, as the query of a URL, and back.

Only what differs from the defaults is written, beside a version `v` that names the defaults that were meant: a later
version may change a default and an old link still means what it meant. Reading trusts nothing: what cannot be used
falls back to the default, and a message says so.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any
from urllib.parse import urlencode

from steinglm.datasets.own import is_own
from steinglm.exceptions import InvalidInputError
from steinglm.init import INITIALIZERS
from steinglm.settings import Experiment
from steinglm.signals import QUANTITIES

__all__ = [
    "RECOVERY",
    "SATURATED",
    "SCALES",
    "SIGNALS",
    "SPECTRA",
    "VARIANCES",
    "VERSION",
    "View",
    "address",
    "decode",
    "encode",
]

VARIANCES = ("preactivation_variance", "activation_variance")
RECOVERY = "direction_recovery"  # where the true directions are known
SATURATED = "saturated_share"
SIGNALS = (*VARIANCES, *QUANTITIES, SATURATED, RECOVERY)  # what the first chart shows
SPECTRA = ("moment_eigenvalue", "weight_singular_value")
SCALES = tuple(
    f"{chart}:{scale}" for chart in ("signal", "spectrum", "learning") for scale in ("log", "linear")
)
VERSION = "1"
# The defaults that a link of each version leaves out. Never edit a default: add an entry with a new version. A new
# setting may join with the value that old links meant.
DEFAULTS: dict[str, dict[str, Any]] = {
    "1": {
        "dataset": "abalone",
        "depth": 10,
        "width": None,
        "activation": "tanh",
        "alpha": None,
        "score": "standardized",
        "calibrate": True,
        "methods": ("steinglm", "glorot_normal", "he_normal", "orthogonal"),
        "output": "paper",
        "epochs": 200,
        "batch_size": None,
        "learning_rate": 1e-3,
        "repeats": 1,
        "seed": 0,
        "target_loss": None,
        "patience": None,
        "time_budget": None,
        "rows": None,
        "variance": "preactivation_variance",
        "spectrum": "moment_eigenvalue",
        "layer": 2,
        "presentation": False,
        "theory": True,
        "hidden": (),
        "scales": (),
    }
}
WHOLE = {"depth", "width", "epochs", "batch_size", "repeats", "seed", "patience", "rows", "layer"}
SWITCHES = {"calibrate", "presentation", "theory"}
REAL = {"learning_rate", "target_loss", "time_budget"}
LONGEST = 200  # characters of a value that are worth reading


@dataclass(frozen=True)
class View:
    """How an experiment is looked at.

    Parameters
    ----------
    variance, spectrum, layer : the quantity of the first two charts, and the layer of the second
    presentation : larger letters and lines, no side bar
    theory : thin lines of what theory says, where it says something
    hidden : methods that the charts do not show
    scales : of `SCALES`, for each chart whose axis is not as it comes
    """

    variance: str = "preactivation_variance"
    spectrum: str = "moment_eigenvalue"
    layer: int = 2
    presentation: bool = False
    theory: bool = True
    hidden: tuple[str, ...] = ()
    scales: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.variance not in SIGNALS or self.spectrum not in SPECTRA:
            known = f"of {SIGNALS} and {SPECTRA}"
            raise InvalidInputError("view", known, self, "choose one of these")
        if not isinstance(self.layer, int) or not 1 <= self.layer <= 201:
            raise InvalidInputError("layer", "1..201", self.layer, "the last one is the output layer")
        if unknown := sorted({*self.hidden, *self.scales} - {*INITIALIZERS, *SCALES}):
            raise InvalidInputError(
                "view", f"of {tuple(INITIALIZERS)} and {SCALES}", unknown, "choose among these"
            )


def encode(experiment: Experiment, view: View = View()) -> dict[str, str]:
    """The query of a link. A person's own table is never in it: such a link means the default data set.

    >>> encode(Experiment(depth=40, alpha=1.6), View(layer=3))
    {'v': '1', 'depth': '40', 'alpha': '1.6', 'layer': '3'}
    """
    values = {field.name: getattr(experiment, field.name) for field in fields(experiment)} | asdict(view)
    if is_own(experiment.dataset):
        del values["dataset"]
    changed = {name: value for name, value in values.items() if value != DEFAULTS[VERSION][name]}
    return {"v": VERSION} | {name: _text(value) for name, value in changed.items()}


def address(page: str, experiment: Experiment, view: View = View()) -> str:
    """The whole link, given the page's own address.

    >>> address("http://localhost:8501/?depth=3", Experiment(depth=40))
    'http://localhost:8501/?v=1&depth=40'
    """
    return f"{page.split('?')[0]}?{urlencode(encode(experiment, view))}"


def decode(query: Mapping[str, str]) -> tuple[Experiment, View, list[str]]:
    """What a link's query says, and a message for each part of it that could not be used.

    >>> experiment, view, messages = decode({"v": "1", "depth": "40", "seed": "<b>"})
    >>> experiment.depth, experiment.seed, messages
    (40, 0, ["The link's seed could not be used and is left at its default."])
    """
    version = query.get("v", VERSION)
    messages = (
        [] if version in DEFAULTS else ["The link is of an unknown version and may mean something else."]
    )
    settings = dict(DEFAULTS.get(version, DEFAULTS[VERSION]))
    for name in settings:
        if name in query:
            try:
                changed = settings | {name: _value(name, query[name])}
                _made(changed)
                settings = changed
            except (InvalidInputError, ValueError):
                messages.append(
                    f"The link's {name.replace('_', ' ')} could not be used and is left at its default."
                )
    return *_made(settings), messages


def _made(settings: Mapping[str, Any]) -> tuple[Experiment, View]:
    view = {field.name for field in fields(View)}
    own = {name: value for name, value in settings.items() if name not in view}
    return Experiment(**own), View(**{name: settings[name] for name in view})


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return "default" if value is None else repr(value) if isinstance(value, float) else str(value)


def _value(name: str, text: str) -> Any:
    if len(text) > LONGEST or is_own(text):
        raise ValueError(name)
    if name in ("methods", "hidden", "scales"):
        return tuple(text.split(","))
    if name in SWITCHES:
        return bool(("False", "True").index(text))
    if text == "default":
        return None
    if name in WHOLE:
        return int(text)
    return float(text) if name in REAL or (name == "alpha" and text != "auto") else text

"""The settings of an experiment with images: plain values, checked at birth, that determine a result."""

from dataclasses import dataclass

from steinglm.checks import check_choice, check_flag, check_methods, check_positive, check_whole
from steinglm.datasets import mnist
from steinglm.exceptions import InvalidInputError
from steinglm.images.cnn import SIDE
from steinglm.init import INITIALIZERS
from steinglm.settings import MAX_SEED, OUTPUTS, Plain
from steinglm.stein import SCORES

__all__ = ["METHODS", "ImageExperiment"]

METHODS = tuple(
    name for name in INITIALIZERS if name != "swim"
)  # it needs biases: the paper's filters have none


@dataclass(frozen=True)
class ImageExperiment(Plain):
    """Which two digits, how many of their images, initialized and trained how.

    pair : two different digits; the second is class 1
    complete : all of MNIST's images of them (about 12,000) or the part that comes with the library (1,000)
    alpha, score, calibrate, output : as in `settings.Experiment`
    methods : of `METHODS`
    max_patches : the most patches of an image that a method learns from; None for all, as in the paper
    epochs, batch_size, learning_rate : of Adam; the paper takes 20, 128
    l2 : weight of the squared weights in the loss; the paper does not give it
    repeats, seed : each repeat has its own validation images, draws and order of mini-batches

    >>> ImageExperiment(pair=(3, 3))
    Traceback (most recent call last):
    ...
    steinglm.exceptions.InvalidInputError: pair must be two different digits, got (3, 3); the paper takes (3, 5), ...
    """

    pair: tuple[int, int] = (3, 5)
    complete: bool = False
    alpha: float | str | None = None
    score: str = "standardized"
    calibrate: bool = True
    methods: tuple[str, ...] = ("steinglm", "glorot_normal", "he_normal", "orthogonal")
    output: str = "paper"
    max_patches: int | None = None
    epochs: int = 20
    batch_size: int = 128
    learning_rate: float = 1e-3
    l2: float = 1e-4
    repeats: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        pair = tuple(self.pair) if isinstance(self.pair, list | tuple) else ()
        if len(pair) != 2 or pair[0] == pair[1] or not all(type(d) is int and 0 <= d <= 9 for d in pair):
            cure = f"the paper takes {', '.join(map(str, mnist.PAIRS))}"
            raise InvalidInputError("pair", "two different digits", self.pair, cure)
        check_flag("complete", self.complete, "False takes the part")
        check_flag("calibrate", self.calibrate, "False leaves SteinGLM's biases at zero")
        check_choice("score", self.score, tuple(SCORES))
        check_choice("output", self.output, OUTPUTS)
        check_whole("max_patches", self.max_patches, 1, SIDE**2, "None takes every patch", optional=True)
        check_whole("epochs", self.epochs, 1, 1000, "the paper takes 20")
        check_whole("batch_size", self.batch_size, 1, 10_000, "the paper takes 128")
        check_whole("repeats", self.repeats, 1, 20, "three show the spread")
        check_whole("seed", self.seed, 0, MAX_SEED, "any whole number in this range will do")
        self._set("pair", pair)
        self._set("methods", check_methods(self.methods, METHODS))
        self._set(
            "learning_rate", check_positive("learning_rate", self.learning_rate, 10.0, "0.001 is usual")
        )
        if self.l2 != 0:
            self._set("l2", check_positive("l2", self.l2, 10.0, "0 leaves the penalty out"))
        if self.alpha is not None and self.alpha != "auto":
            cure = "1 suits tanh; None is 1 / f'(0), 'auto' holds the variance at 1"
            self._set("alpha", check_positive("alpha", self.alpha, 1e6, cure))

"""Sentences of the page "Images", computed from what it shows."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from steinglm.dashboard import words
from steinglm.images import ImageExperiment
from steinglm.styles import style

__all__ = ["busy", "caption", "count", "errors", "filters", "headline"]


def headline(rows: pd.DataFrame, experiment: ImageExperiment) -> str:
    """What the start does to the signal and to the loss."""
    first, second = experiment.pair
    start = words.start(rows)
    return f"On the digits {first} and {second}, nine convolutions and a dense layer of tanh: {start}"


def busy(experiment: ImageExperiment) -> str:
    """What the person waits for.

    >>> busy(ImageExperiment(methods=("steinglm",), repeats=2))
    'Initializing two networks on 800 images ...'
    """
    networks = len(experiment.methods) * experiment.repeats
    number = {1: "one network", 2: "two networks", 3: "three networks", 4: "four networks"}
    images = "about 9,600" if experiment.complete else "800"
    return f"Initializing {number.get(networks, f'{networks} networks')} on {images} images ..."


def filters(before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> str:
    """How long the filters are before training, and how far training moves them."""
    lengths = {method: np.linalg.norm(own.reshape(len(own), -1), axis=1) for method, own in before.items()}
    parts = [f"{style(method).title} {_span(own)}" for method, own in lengths.items()]
    sentence = f"Lengths of the nine filters before training: {words.listed(parts)}."
    if not after:
        return sentence
    moved = {m: float(np.linalg.norm(after[m] - own) / np.linalg.norm(own)) for m, own in before.items()}
    parts = [f"{style(method).title}'s by {_percent(share)}" for method, share in moved.items()]
    return f"{sentence} Training moves {words.listed(parts)} of their length."


def _span(values: np.ndarray) -> str:
    low, high = words.number(float(values.min())), words.number(float(values.max()))
    return low if low == high else f"{low} to {high}"


def errors(wrong: pd.DataFrame, methods: Sequence[str], images: int) -> str:
    """How many test images each network gets wrong, and how many all of them."""
    counts = {method: int((wrong["method"] == method).sum()) for method in methods}
    parts = [f"{style(method).title} {number}" for method, number in counts.items()]
    sentence = f"Of {images:,} test images, wrong are: {words.listed(parts)}."
    if len(methods) == 1:
        return sentence
    common = int((wrong.groupby("image")["method"].nunique() == len(methods)).sum())
    return f"{sentence} {count(common)} by every network."


def count(number: int) -> str:
    """A number of images that are wrong, in words.

    >>> count(0), count(1), count(12)
    ('None is wrong', '1 is wrong', '12 are wrong')
    """
    return {0: "None is wrong", 1: "1 is wrong"}.get(number, f"{number:,} are wrong")


def caption(digit: int, taken_for: int, probability: float) -> str:
    """What an image was taken for.

    >>> caption(5, 3, 0.934)
    '5 taken for 3, 93\xa0%'
    """
    return f"{digit} taken for {taken_for}, {_percent(probability)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}\u00a0%"

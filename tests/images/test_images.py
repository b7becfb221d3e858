"""The convolutional network, its start and its training on a few digits: against torch's own words for the same."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from steinglm import images, kinds
from steinglm.images import ImageExperiment, cnn, start
from steinglm.results import Epoch, Result
from tests import models, reference

TINY = ImageExperiment(
    methods=("steinglm", "he_normal"), max_patches=4, epochs=2, repeats=2, batch_size=100, seed=3
)


@pytest.fixture(autouse=True)
def few_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred and twenty training images, so that a test takes a second."""
    whole = start.parts

    def few(*settings: object) -> start.Parts:
        own = whole(*settings)  # type: ignore[arg-type]
        sizes = {"train": 120, "validation": 40, "test": 60}
        return start.Parts(
            **{
                f"{letter}_{part}": getattr(own, f"{letter}_{part}")[:n]
                for part, n in sizes.items()
                for letter in "Xy"
            }
        )

    monkeypatch.setattr(start, "parts", few)


def run(experiment: ImageExperiment = TINY) -> tuple[list[Epoch], Result]:
    *epochs, result = images.train(experiment)
    assert isinstance(result, Result)
    return epochs, result  # type: ignore[return-value]


def test_the_network_is_the_papers() -> None:
    with reference.random_streams_untouched():
        model = cnn.build()
    twin = models.PaperCnn().net
    assert [repr(m) for m in model] == [repr(m) for m in twin]  # type: ignore[arg-type]
    assert all((p == 0).all() for p in model.parameters())
    assert [name for name, m in model.named_modules() if isinstance(m, nn.Conv2d | nn.Linear)] == list(
        start.LAYERS
    )


def test_the_parts_are_disjoint_and_seeded() -> None:
    own, again, other = (start.own_parts(ImageExperiment(), repeat) for repeat in (0, 0, 1))
    assert torch.equal(own.X_train, again.X_train)
    assert not torch.equal(own.y_train, other.y_train)
    assert own.X_train.stride() == (784, 1, 28, 1)
    rows = torch.cat([own.X_train, own.X_validation]).flatten(1)
    assert len(torch.unique(rows, dim=0)) == len(rows)


def test_layers_before_training() -> None:
    with reference.random_streams_untouched():
        rows = images.initialize(TINY)
    assert not rows.duplicated(["method", "repeat", "layer", "quantity", "rank"]).any()
    assert np.isfinite(rows["value"]).all()
    assert set(rows["layer"]) == set(range(len(start.LAYERS) + 1))
    chosen = rows[(rows["method"] == "he_normal") & (rows["repeat"] == 1)]
    own = chosen.set_index(["layer", "quantity", "rank"])["value"].sort_index()
    model, data = network("he_normal", 1), start.own_parts(TINY, 1)
    found: dict[str, Tensor] = {}
    for name in start.LAYERS:
        model.get_submodule(name).register_forward_hook(
            lambda _, __, out, name=name: found.update({name: out})
        )
    with torch.no_grad():
        z = model(data.X_train[: start.MEASURED])[:, 0]
    for number, name in enumerate(start.LAYERS[:-1], start=1):
        maps = (
            found[name].double()
            if name == "dense"
            else found[name].double().permute(0, 2, 3, 1).flatten(0, 2)
        )
        for place, values in (("preactivation", maps), ("activation", maps.tanh())):
            variance = values.var(0, correction=0)
            assert own[number, f"{place}_variance", 0] == pytest.approx(float(variance.mean()), rel=1e-5)
            assert own[number, f"{place}_mean_q90", 0] == pytest.approx(
                float(values.mean(0).quantile(0.9)), abs=1e-6
            )
    W = model.get_submodule("conv2_1").weight.detach().flatten(1)  # type: ignore[operator]
    singular = own[4, "weight_singular_value"].to_numpy()
    np.testing.assert_allclose(singular, np.linalg.svd(W.numpy(), compute_uv=False), rtol=1e-5)
    assert len(own[4, "moment_eigenvalue"]) == 81
    loss = nn.functional.binary_cross_entropy_with_logits(z.double(), data.y_train[: start.MEASURED])
    assert own[0, "training_loss", 0] == pytest.approx(float(loss), rel=1e-5)


def network(method: str, repeat: int) -> nn.Sequential:
    state = {
        name.removeprefix(f"{method}.{repeat}."): value
        for name, value in images.starts(TINY).items()
        if name.startswith(f"{method}.{repeat}.")
    }
    model = cnn.build()
    model.load_state_dict(state)
    return model


def test_filters_are_the_first_layers_weights() -> None:
    found = images.filters(images.starts(TINY), "steinglm", 1)
    assert found.shape == (9, 3, 3)
    flat = found.reshape(9, 9)
    np.testing.assert_allclose(flat @ flat.T, np.eye(9), atol=1e-5)  # orthonormal, alpha being 1


def test_training_is_the_loop_that_every_tutorial_shows() -> None:
    """Autograd, torch's Adam and the penalty written into the loss; two epochs of one network."""
    epochs, result = run()
    model, data = network("he_normal", 1), start.own_parts(TINY, 1)
    adam = torch.optim.Adam(model.parameters(), lr=TINY.learning_rate)
    generator = torch.Generator().manual_seed(start.seed_of(TINY.seed, 1, 1))
    criterion = nn.BCEWithLogitsLoss()
    curve = []
    for _ in range(TINY.epochs):
        total = 0.0
        for batch in torch.randperm(len(data.y_train), generator=generator).split(TINY.batch_size):
            loss = criterion(model(data.X_train[batch])[:, 0], data.y_train[batch].float())
            penalty = sum(p.square().sum() for name, p in model.named_parameters() if "weight" in name)
            adam.zero_grad()
            (loss + TINY.l2 * penalty).backward()
            adam.step()
            total += loss.item() * len(batch)
        curve.append(total / len(data.y_train))
    own = {(m, r, q, epoch.epoch): v for epoch in epochs for m, r, q, v in epoch.rows}
    assert [own["he_normal", 1, "training_loss", e] for e in (1, 2)] == pytest.approx(curve, rel=1e-3)
    assert [epoch.epoch for epoch in epochs] == [0, 1, 2]
    assert len(result.summary) == 4


def test_the_result_is_of_the_best_validation_loss() -> None:
    _, result = run()
    line = result.summary.set_index(["method", "repeat"]).loc[("steinglm", 0)]
    history = result.history.set_index(["method", "repeat", "quantity", "epoch"])["value"].sort_index()
    curve = history["steinglm", 0, "validation_loss"]
    assert line["best_epoch"] == curve.idxmin()
    assert line["best_validation_loss"] == pytest.approx(curve.min())
    model, data = cnn.build(), start.own_parts(TINY, 0)
    model.load_state_dict(
        {
            name.removeprefix("steinglm.0."): v
            for name, v in result.state.items()
            if name.startswith("steinglm.0.")
        }
    )
    z = start.logits(model, data.X_test)
    assert line["test_accuracy"] == pytest.approx(float(((z > 0) == data.y_test.bool()).double().mean()))
    assert line["test_metric"] == pytest.approx(roc_auc_score(data.y_test, z))
    wrong = images.wrong(result)
    own = wrong[(wrong["method"] == "steinglm") & (wrong["repeat"] == 0)]
    assert len(own) == round((1 - line["test_accuracy"]) * len(z))
    assert own["probability"].is_monotonic_decreasing
    for image, digit, taken in own[["image", "digit", "taken_for"]].itertuples(index=False):
        assert digit == TINY.pair[int(data.y_test[image])]
        assert taken == TINY.pair[int(z[image] > 0)] != digit


def test_two_runs_are_the_same_and_touch_no_global_stream() -> None:
    with reference.random_streams_untouched():
        first, second = run()[1], run()[1]
    pd.testing.assert_frame_equal(first.history, second.history)
    assert all(torch.equal(first.state[name], second.state[name]) for name in first.state)


def test_a_checkpoint_is_called_and_may_end_the_run() -> None:
    calls: list[int] = []

    def checkpoint() -> None:
        calls.append(1)
        if len(calls) == 4 + 3:  # before each network, then in the first epoch
            raise KeyboardInterrupt

    steps = kinds.train(TINY, checkpoint=checkpoint)
    assert next(steps).epoch == 0  # type: ignore[union-attr]
    assert len(calls) == 4
    with pytest.raises(KeyboardInterrupt):
        next(steps)

"""SteinGLM on any torch model: structure of the weights, what is left alone, convolutions against dense layers."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.nn.utils import parametrizations
from torch.utils.data import DataLoader, TensorDataset

from steinglm import samples, sources
from steinglm.exceptions import InvalidInputError, SharedLayerWarning
from steinglm.init import INITIALIZERS, stein_glm_
from steinglm.reports import InitReport
from steinglm.samples import LAYERS, matrix_shape
from steinglm.stein import SCORES
from tests import models, reference
from tests.test_init import equal, generator, state

DOUBLE = torch.float64
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def table(n: int = 80, d: int = 6) -> tuple[Tensor, Tensor]:
    X = torch.randn(n, d, generator=generator(1), dtype=DOUBLE)
    return X, X[:, 0] ** 2 + X[:, 1] * X[:, 2] - X[:, 3]


def images(n: int = 30, channels: int = 3, side: int = 16, classes: int = 0) -> tuple[Tensor, Tensor]:
    X = torch.randn(n, channels, side, side, generator=generator(2), dtype=DOUBLE)
    X = X + 0.5 * X.roll(1, 3) + 0.3
    y = X[:, 0].square().mean((1, 2))
    if not classes:
        return X, y
    order = y.argsort().argsort()
    return X, (order * classes // n).double()


def signals() -> tuple[Tensor, Tensor]:
    X = torch.randn(40, 2, 24, generator=generator(3), dtype=DOUBLE)
    return X, (X[:, 0] * X[:, 1]).mean(1)


KINDS: dict[str, tuple[Callable[[], nn.Module], tuple[Tensor, Tensor], str]] = {
    "mlp": (models.deep_mlp, table(), "regression"),
    "residual": (models.ResidualMlp, table(), "regression"),
    "paper's cnn": (lambda: models.PaperCnn((4, 6, 8), 16), images(channels=1), "regression"),
    "resnet18": (models.ResNet18, images(side=32, classes=3), "multiclass"),
    "vgg": (models.vgg, images(classes=3), "multiclass"),
    "conv1d": (models.ConvolutionalNet1d, signals(), "regression"),
    "shared": (models.SharedNet, table(), "regression"),
    "functional": (models.FunctionalNet, images(side=8), "regression"),
}
TOLERANCE = {torch.float32: 1e-5, DOUBLE: 1e-9, torch.bfloat16: 3e-2}


@pytest.fixture(autouse=True)
def shared_layers_are_expected() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SharedLayerWarning)
        yield


def built(kind: str, dtype: torch.dtype = DOUBLE, device: str = "cpu") -> nn.Module:
    """Drawn by torch itself, from a stream that is put back."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return KINDS[kind][0]().to(device, dtype)


def matrices(layer: samples.Layer) -> Tensor:
    """The weights (groups, d, k) in float64."""
    groups, d, k = matrix_shape(layer)
    return layer.weight.detach().double().reshape(groups, k, d).mT


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_orthonormal_times_alpha_and_all_else_is_untouched(
    kind: str, dtype: torch.dtype, device: str
) -> None:
    X, y = KINDS[kind][1]
    model = built(kind, dtype, device)
    model.train()
    before = state(model)
    buffers = {name: value.clone() for name, value in model.named_buffers()}
    with reference.random_streams_untouched():
        report = stein_glm_(model, X, y, task=KINDS[kind][2], generator=generator())
    layers = {name: m for name, m in model.named_modules() if isinstance(m, LAYERS)}
    *hidden, last = report.layers
    assert {layer.name for layer in report.layers} == set(layers)
    assert last.rule == "glm"
    for own in hidden:
        W = matrices(layers[own.name])
        k = min(W.shape[1:])  # a layer wider than its input has random frames besides
        gram = W[:, :, :k].mT @ W[:, :, :k]
        assert own.alpha is not None
        expected = own.alpha**2 * torch.eye(k, dtype=DOUBLE, device=device)
        atol = TOLERANCE[dtype] * own.alpha**2
        torch.testing.assert_close(gram, expected.expand_as(gram), rtol=0, atol=atol)
    touched = {f"{name}.{part}" for name in layers for part in ("weight", "bias")}
    for name, value in state(model).items():
        assert torch.equal(value, before[name]) != (name in touched), name
        assert (value.dtype, value.device) == (before[name].dtype, before[name].device)
    assert equal({name: value.clone() for name, value in model.named_buffers()}, buffers)
    assert all(module.training for module in model.modules())
    assert not any(m._forward_pre_hooks or m._forward_hooks for m in model.modules())
    assert all(p.requires_grad and p.grad is None for p in model.parameters())


def test_the_report_says_what_was_done_and_prints_as_a_table() -> None:
    X, y = KINDS["functional"][1]
    model = built("functional")
    report = stein_glm_(model, X, y, task="regression", score="gaussian")
    alphas = [layer.alpha for layer in report.layers]
    assert [layer.name for layer in report.layers] == ["conv", "first", "second", "third", "head"]
    assert alphas[:3] == [4.0, 1.0, 2.0]  # 1 / f'(0) of sigmoid, tanh and silu
    assert alphas[4] is None
    assert report.layers[3].variance == pytest.approx(1)  # leaky relu is not known: variance 1
    for layer in report.layers[:4]:
        assert layer.score == "gaussian"
        assert layer.eigenvalues is not None
        assert len(layer.eigenvalues) == matrix_shape(model.get_submodule(layer.name))[1]  # type: ignore[arg-type]
        assert layer.seconds > 0
    lines = str(report).splitlines()
    assert len(lines) == 1 + 5
    assert lines[1].split()[:8] == ["conv", "4", "x", "3", "x", "3", "x", "3"]
    with pytest.raises(AttributeError):
        report.layers = ()  # type: ignore[misc]


@pytest.mark.parametrize("kind", KINDS)
def test_the_variances_in_the_report_are_those_of_the_pre_activations(kind: str) -> None:
    """Measured again by hooks in one pass of the initialized model, batch normalization in the same mode."""
    X, y = KINDS[kind][1]
    model = built(kind).eval()
    for loader in (False, True):
        data = (DataLoader(TensorDataset(X, y), batch_size=13), None) if loader else (X, y)
        report = stein_glm_(model, *data, task=KINDS[kind][2], generator=generator())
        found: dict[str, Tensor] = {}

        def note(
            layer: Any, _: Any, out: Tensor, names: dict[Any, str], found: dict[str, Tensor] = found
        ) -> None:
            axis = -1 if isinstance(layer, nn.Linear) else 1
            rows = out.movedim(axis, -1).flatten(0, -2)
            found.setdefault(names[layer], rows.var(0, correction=0).mean())

        names = {m: name for name, m in model.named_modules() if isinstance(m, LAYERS)}
        hooks = [m.register_forward_hook(lambda m, i, o, names=names: note(m, i, o, names)) for m in names]
        with torch.no_grad():
            model(X)
        for hook in hooks:
            hook.remove()
        for layer in report.layers[:-1]:
            assert layer.variance == pytest.approx(float(found[layer.name]), rel=1e-9)
        assert report.layers[-1].variance is None


@pytest.mark.parametrize(
    ("kind", "score"),
    [
        *((kind, "standardized") for kind in ("paper's cnn", "conv1d", "mlp", "vgg")),
        # with so few images the other scores' eigenvalues are tied in the deep layers of the other models
        *(
            (kind, score)
            for kind in ("conv1d", "mlp")
            for score in ("identity", "gaussian", "residual", "mixed")
        ),
    ],
)
def test_a_loader_gives_what_the_whole_gives(kind: str, score: str) -> None:
    """In evaluation mode, where batch normalization does not depend on the batch."""
    X, y = KINDS[kind][1]
    options: dict[str, Any] = {"task": KINDS[kind][2], "score": score, "alpha": "auto", "validation": (X, y)}
    whole, batched, loaded = (built(kind).eval() for _ in range(3))
    stein_glm_(whole, X, y, **options, generator=generator())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "WHOLE_ELEMENTS", 0)
        patch.setattr(sources, "PART_ELEMENTS", 3000)
        stein_glm_(batched, X, y, **options, generator=generator())
    loader = DataLoader(TensorDataset(X, y), batch_size=7, shuffle=True)
    with reference.random_streams_untouched():
        stein_glm_(loaded, loader, **options, generator=generator())
    for name, value in state(whole).items():
        for other in (batched, loaded):
            torch.testing.assert_close(state(other)[name], value, rtol=1e-5, atol=1e-6)


def test_batch_normalization_works_as_in_the_mode_of_the_model() -> None:
    """A model that trains normalizes by the data's own statistics; one that does not, by its running ones."""
    X, y = table()
    training, evaluating = (
        nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 1)).double()
        for _ in range(2)
    )
    scaled = 5 + 3 * X
    stein_glm_(training.train(), scaled, y, task="regression", alpha=1, score="identity", output="stein")
    own = (scaled - scaled.mean(0)) / (scaled.var(0, correction=0) + 1e-5).sqrt()
    twin = reference.stein_layers(own.numpy(), y.numpy(), [6], "tanh", 1.0, "identity")[0]
    np.testing.assert_allclose(training[1].weight.detach().T, twin.W, atol=1e-8)
    stein_glm_(evaluating.eval(), scaled, y, task="regression", alpha=1, score="identity", output="stein")
    raw = (scaled / (1 + 1e-5) ** 0.5).numpy()
    twin = reference.stein_layers(raw, y.numpy(), [6], "tanh", 1.0, "identity")[0]
    np.testing.assert_allclose(evaluating[1].weight.detach().T, twin.W, atol=1e-8)
    assert not any(m.training for m in evaluating.modules())


# -- convolutions --------------------------------------------------------------------------------------------------

CONVOLUTIONS = {
    "plain": nn.Conv2d(3, 4, 3),
    "strided": nn.Conv2d(3, 4, (3, 2), stride=(2, 1)),
    "padded": nn.Conv2d(3, 4, 3, padding=(2, 1)),
    "same": nn.Conv2d(3, 4, 3, padding="same", dilation=2),
    "reflected": nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"),
    "dilated": nn.Conv2d(3, 4, 2, dilation=(2, 3)),
    "grouped": nn.Conv2d(4, 6, 3, groups=2, padding=1),
    "depthwise": nn.Conv2d(3, 3, 3, groups=3, stride=2),
    "without bias": nn.Conv2d(3, 4, 3, bias=False),
}


def unfolded(conv: nn.Conv2d, X: Tensor) -> list[Tensor]:
    """For each group, the patches (n * positions, d) by torch's own unfold, on an image padded by hand."""
    kernel, dilation = conv.kernel_size, conv.dilation
    if conv.padding == "same":
        pads = [dilation[1] * (kernel[1] - 1) // 2] * 2 + [dilation[0] * (kernel[0] - 1) // 2] * 2
    else:
        pads = [conv.padding[1]] * 2 + [conv.padding[0]] * 2  # type: ignore[list-item]
    mode = "constant" if conv.padding_mode == "zeros" else conv.padding_mode
    padded = nn.functional.pad(X, pads, mode=mode)
    found = []
    for part in padded.chunk(conv.groups, dim=1):
        columns = nn.functional.unfold(
            part, kernel, dilation=dilation, stride=conv.stride
        )  # (n, d, positions)
        found.append(columns.transpose(1, 2).reshape(-1, columns.shape[1]))
    return found


@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
@pytest.mark.parametrize(
    ("kind", "score"),
    # a mixture is fitted in many passes over the rows
    [(k, s) for k in CONVOLUTIONS for s in SCORES if s != "mixture" or k in ("plain", "grouped")],
)
def test_a_convolution_is_a_dense_layer_on_its_patches(kind: str, score: str, many: bool) -> None:
    """Weights, bias, eigenvalues and alpha, group by group, in chunks of every size."""
    conv = CONVOLUTIONS[kind].double()
    X, y = images(n=20, channels=conv.in_channels, side=9)
    y = torch.stack([y, X[:, 1].mean((1, 2)) ** 2], 1) if many else y
    outputs = 2 if many else 1
    model = nn.Sequential(conv, nn.Tanh(), nn.Flatten(), nn.LazyLinear(outputs).double())
    model(X)
    for chunk in (1 << 18, 1000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(samples, "CHUNK_ELEMENTS", chunk)
            report = stein_glm_(
                model, X, y, task="regression", alpha="auto", score=score, generator=generator()
            )
        W, groups = matrices(conv), conv.groups
        spectrum = np.reshape(report.layers[0].eigenvalues, (groups, -1))
        for g, patches in enumerate(unfolded(conv, X)):
            dense = nn.Sequential(
                nn.Linear(patches.shape[1], W.shape[2]), nn.Tanh(), nn.Linear(W.shape[2], outputs)
            ).double()
            repeated = y.repeat_interleave(len(patches) // len(X), 0)
            twin = stein_glm_(
                dense, patches, repeated, task="regression", alpha=1, score=score, output="stein"
            )
            torch.testing.assert_close(
                W[g] / report.layers[0].alpha, dense[0].weight.detach().T, rtol=0, atol=1e-6
            )
            np.testing.assert_allclose(spectrum[g], twin.layers[0].eigenvalues, rtol=1e-6, atol=1e-9)
            if conv.bias is not None:
                centered = patches @ W[g] + conv.bias.detach().reshape(groups, -1)[g]
                assert centered.mean(0).abs().max() < 1e-9
        assert report.layers[0].variance == pytest.approx(1)


def test_rows_start_anew_with_the_same_draws() -> None:
    conv, (X, y) = nn.Conv2d(2, 3, 3).double(), images(n=6, channels=2, side=7)
    g = generator()
    passes = samples.rows(conv, X, y[:, None], 4, g)
    first = [h for h, _ in passes]
    after = g.get_state()
    second = [h for h, _ in passes]
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    assert torch.equal(g.get_state(), after)
    assert not torch.equal(first[0], next(iter(samples.rows(conv, X, y[:, None], 4, g)))[0])


@pytest.mark.parametrize("dimensions", [1, 3])
def test_other_numbers_of_dimensions(dimensions: int) -> None:
    """The rows of a convolution, multiplied by its weights, are its output."""
    shape, kind = ((4, 3, 12), nn.Conv1d) if dimensions == 1 else ((4, 3, 5, 6, 7), nn.Conv3d)
    conv = kind(3, 6, 2, stride=2, padding=1, dilation=2, groups=3).double()  # type: ignore[operator]
    X = torch.randn(*shape, generator=generator(), dtype=DOUBLE)
    out = conv(X).detach()
    ((h, _),) = samples.rows(conv, X, torch.zeros(4, 1))
    expected = out.unflatten(1, (3, 2)).movedim([1, 2], [0, -1]).flatten(1, -2)  # (groups, n * positions, 2)
    torch.testing.assert_close(h @ matrices(conv) + conv.bias.detach().reshape(3, 1, 2), expected)


def test_positions_of_a_sequence_are_samples() -> None:
    X = torch.randn(30, 5, 4, generator=generator(), dtype=DOUBLE)
    y = X[:, :, 0].square().mean(1)
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Flatten(), nn.Linear(20, 1)).double()
    stein_glm_(model, X, y, task="regression")
    dense = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)).double()
    stein_glm_(dense, X.reshape(150, 4), y.repeat_interleave(5), task="regression")
    torch.testing.assert_close(model[0].weight, dense[0].weight)
    torch.testing.assert_close(model[0].bias, dense[0].bias)


def test_a_cap_on_patches_samples_them_and_costs_little() -> None:
    """The subsample's first direction comes near the whole one's as the cap grows; a seed decides the subsample."""
    X, _ = images(n=600, channels=1, side=12)
    filter_ = torch.linspace(-1, 1, 9, dtype=DOUBLE).reshape(1, 1, 3, 3)
    y = nn.functional.conv2d(X, filter_).square().mean((1, 2, 3))

    def directions(cap: int | None, seed: int = 0) -> np.ndarray:
        model = models.PaperCnn((1,), 12).double()
        stein_glm_(model, X, y, task="regression", max_patches=cap, generator=generator(seed))
        weight: Tensor = model.net[0].weight.detach()  # type: ignore[union-attr]
        return weight.reshape(1, 9).T.numpy()

    whole = directions(None)
    assert np.array_equal(directions(144), whole)  # there are no more
    assert np.array_equal(directions(10), directions(10))
    assert not np.array_equal(directions(10), directions(10, seed=1))
    errors = [
        np.mean([reference.subspace_error(directions(cap, s), whole) for s in range(5)])
        for cap in (4, 16, 64)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.1, errors


# -- many responses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [table, images])
def test_a_column_is_the_vector_exactly(data: Callable[[], tuple[Tensor, Tensor]]) -> None:
    X, y = data()
    first, second = built("mlp"), built("mlp")
    if X.dim() == 4:
        first, second = (
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(784, 1)).double()
            for _ in range(2)
        )
    stein_glm_(first, X, y, task="regression", generator=generator())
    stein_glm_(second, X, y[:, None], task="regression", generator=generator())
    names = [name for name in state(first) if "." in name and not name.startswith("1.")]
    for name in names:
        assert torch.equal(state(first)[name], state(second)[name])


def classified(order: list[int] | None = None) -> tuple[Tensor, Tensor]:
    X, y = table(n=200)
    codes = torch.bucketize(y, y.quantile(torch.tensor([0.3, 0.6], dtype=DOUBLE)))
    return X, codes.double() if order is None else torch.tensor(order)[codes].double()


def test_permuting_classes_permutes_the_outputs_and_nothing_in_the_hidden_layers() -> None:
    order = [2, 0, 1]
    nets = [
        nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3)).double()
        for _ in range(2)
    ]
    for net, own in zip(nets, (None, order), strict=True):
        X, y = classified(own)
        stein_glm_(net, X, y, task="multiclass", validation=(X, y))
    (a, b) = (state(net) for net in nets)
    for name in ("0.weight", "0.bias", "2.weight", "2.bias"):
        torch.testing.assert_close(a[name], b[name], rtol=0, atol=1e-9)
    logits = [net(X).detach().softmax(1) for net in nets]
    torch.testing.assert_close(logits[1][:, order], logits[0], rtol=1e-3, atol=1e-4)


def test_several_responses_have_the_directions_of_all() -> None:
    """y_1 depends on x_1 alone and y_2 on x_2 alone: two units see both, and the output layer is their ridge."""
    X, _ = table(n=4000)
    Y = X[:, :2] ** 2
    model = nn.Sequential(nn.Linear(6, 2), nn.Tanh(), nn.Linear(2, 2)).double()
    report = stein_glm_(model, X, Y, task="regression")
    truth = np.eye(6)[:, :2]
    assert reference.subspace_error(model[0].weight.detach().T.numpy(), truth) < 0.15
    assert reference.subspace_error(truth[:, :1], truth) == 1  # one response alone does not see the other's
    assert (np.diff(np.asarray(report.layers[0].eigenvalues)) <= 0).all()  # singular values


# -- what is left alone --------------------------------------------------------------------------------------------


class Mixed(nn.Module):
    """Kinds of layers that the method has no rule for, beside those that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.recurrent = nn.GRU(4, 4, batch_first=True)
        self.norm = nn.LayerNorm(4)
        self.hidden = nn.Linear(4, 4)
        self.normed = parametrizations.weight_norm(nn.Linear(4, 4))
        self.unused = nn.Linear(4, 4)
        self.bilinear = nn.Bilinear(4, 4, 4)
        self.head = nn.Linear(4, 1)
        self.after = nn.Linear(1, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = self.embedding(x)
        h = h + self.attention(h, h, h, need_weights=False)[0]
        h = torch.tanh(self.hidden(self.norm(self.recurrent(h)[0]))).mean(1)
        h = torch.tanh(self.normed(h))
        out: Tensor = self.after(self.head(self.bilinear(h, h)))
        return out


def test_what_cannot_be_initialized_is_left_alone_and_named() -> None:
    tokens = torch.randint(0, 7, (40, 5), generator=generator())
    y = (tokens == 3).double().mean(1)
    model = Mixed()
    before = state(model)
    report = stein_glm_(model, tokens, y, task="regression", output_layer="head")
    assert [(layer.name, layer.rule) for layer in report.layers] == [("hidden", "stein"), ("head", "glm")]
    changed = {name for name, value in state(model).items() if not torch.equal(value, before[name])}
    assert changed == {"hidden.weight", "hidden.bias", "head.weight", "head.bias"}
    reasons = {
        "embedding": "an embedding",
        "attention": "attention",
        "recurrent": "a recurrent",
        "norm": "a normalization",
        "normed": "its weight is computed",
        "unused": "not called",
        "bilinear": "no rule",
        "after": "called after the output layer",
    }
    assert set(report.left_alone) == set(reasons)
    for name, words in reasons.items():
        assert words in report.left_alone[name]
        assert f"left alone: {name} ({report.left_alone[name]})" in str(report)


def test_a_transformers_layers_are_met() -> None:
    """Its fast path, which calls no module, is not taken."""
    encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dtype=DOUBLE)
    model = nn.Sequential(encoder, nn.Flatten(), nn.Linear(40, 1, dtype=DOUBLE))
    X = torch.randn(30, 5, 8, generator=generator(), dtype=DOUBLE)
    report = stein_glm_(model.eval(), X, X[:, 0, 0] ** 2, task="regression")
    assert [layer.name for layer in report.layers] == ["0.linear1", "0.linear2", "2"]
    assert "0.self_attn" in report.left_alone


def test_tied_weights_are_initialized_once() -> None:
    X, y = table()
    model = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 1)).double()
    model[2].weight = model[0].weight
    alone = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 1)).double()
    report = stein_glm_(model, X, y, task="regression")
    stein_glm_(alone, X, y, task="regression")
    assert torch.equal(model[0].weight, alone[0].weight)
    assert report.left_alone["2"] == "shares its weight with '0'"


def test_a_shared_layer_is_initialized_at_its_first_call_and_said_so() -> None:
    X, y = table()
    shared, chain = (
        models.SharedNet().double(),
        nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 1)).double(),
    )
    with pytest.warns(
        SharedLayerWarning, match="layer 'again' is called 3 times; it is initialized at its first"
    ) as caught:
        stein_glm_(shared, X, y, task="regression")
    assert caught[0].filename == __file__
    stein_glm_(chain, X, y, task="regression")
    assert torch.equal(shared.again.weight, chain[2].weight)


@pytest.mark.parametrize("method", ["glorot_normal", "he_normal", "orthogonal"])
def test_baselines_draw_convolutions_too(method: str) -> None:
    model = models.PaperCnn()
    report = INITIALIZERS[method](model, generator=generator())
    assert [layer.rule for layer in report.layers] == [method] * 11
    W = state(model)["net.14.weight"].double()  # (36, 18, 3, 3)
    expected = {"glorot_normal": 2 / (9 * 18 + 9 * 36), "he_normal": 2 / (9 * 18), "orthogonal": 1 / (9 * 18)}
    assert float(W.var()) == pytest.approx(expected[method], rel=0.05)
    if method == "orthogonal":
        flat = W.flatten(1)
        torch.testing.assert_close(flat @ flat.T, torch.eye(36, dtype=DOUBLE), atol=1e-5, rtol=0)


# -- bad input -----------------------------------------------------------------------------------------------------

X, Y = table()


class Failing(nn.Module):
    """Fails in its forward pass from the call of that number on."""

    def __init__(self, call: int) -> None:
        super().__init__()
        self.first, self.last, self.calls, self.call = nn.Linear(6, 6), nn.Linear(6, 1), 0, call
        self.double()

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        h = torch.tanh(self.first(x))
        if self.calls >= self.call:
            raise KeyError("nothing there")
        out: Tensor = self.last(h)
        return out


class Changing:
    """A data set whose rows have another width from the pass of that number on."""

    def __init__(self, width: int = 6, rows: int = 80, pass_: int = 3) -> None:
        self.width, self.rows, self.pass_, self.passes = width, rows, pass_, 0

    def __len__(self) -> int:
        return 80

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor]:
        self.passes += i == 0
        late = self.passes >= self.pass_
        return X[i, : self.width] if late else X[i], Y[0] if late and i >= self.rows else Y[i]


def loader(*tensors: Tensor, batch: int = 16) -> DataLoader[Any]:
    return DataLoader(TensorDataset(*tensors), batch_size=batch)


def net(outputs: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, outputs)).double()


def frozen(part: str) -> nn.Sequential:
    model = net()
    model.get_parameter(part).requires_grad_(False)
    return model


HOLED = X.clone()
HOLED[70, 2] = torch.nan
THREE = classified()[1][:80]


@pytest.mark.parametrize(
    ("model", "data", "task", "message"),
    [
        (
            Failing(1),
            (X, Y),
            "regression",
            r"X must be data that the model accepts, .*; the model says: 'nothing there'",
        ),
        (
            Failing(2),
            (X, Y),
            "regression",
            r"X must be data that the model accepts, .*; the model says: 'nothing there'",
        ),
        (
            net(),
            (loader(X[:0], Y[:0]), None),
            "regression",
            "X must be a loader of one batch or more, got none",
        ),
        (
            net(),
            (loader(X), None),
            "regression",
            r"X must be a loader of pairs \(x, y\), got .*; give its data set",
        ),
        (net(), (loader(HOLED, Y), None), "regression", "X must be finite, got 1 values nan or inf"),
        (net(), (loader(X, Y), Y), "regression", "y must be None beside a DataLoader"),
        (
            net(),
            (DataLoader(Changing(5), 16), None),
            "regression",
            r"X and y must be of the same shapes on every pass, got \(5,\) after \(6,\)",
        ),
        (
            net(),
            (DataLoader(Changing(6, 40), 16), None),
            "regression",
            "X and y must be the same rows on every pass, got other responses",
        ),
        (
            net(3),
            (X, THREE.clamp(max=1)),
            "multiclass",
            "y must be of each of the 3 classes, got none of 2; bring rows",
        ),
        (
            net(2),
            (X, THREE),
            "multiclass",
            "the output layer '2' must be fit for a multiclass task, got 2 units; y has",
        ),
        (
            net(2),
            (X, (Y > 0).double()),
            "binary",
            "the output layer '2' must be fit for a binary task, got 2 units; give it one",
        ),
        (net(3), (X, Y), "multiclass", "y must be classes 0, 1, 2, ..., got .*; encode"),
        (
            frozen("0.weight"),
            (X, Y),
            "regression",
            "layer '0' must be free to change, got a frozen parameter; call requires_grad_",
        ),
        (frozen("2.bias"), (X, Y), "regression", "layer '2' must be free to change"),
        (
            nn.Sequential(nn.LazyBatchNorm1d(affine=False), nn.Linear(6, 1)),
            (X, Y),
            "regression",
            "model must be one whose layers are built, got a lazy '0.running_mean'",
        ),
        (
            nn.Sequential(nn.LazyLinear(4), nn.Linear(4, 1)),
            (X, Y),
            "regression",
            "model must be one whose layers are built, got a lazy '0.weight'; call",
        ),
    ],
)
def test_bad_input_is_refused_and_the_model_is_exactly_as_it_was(
    model: nn.Module, data: tuple[Any, Any], task: str, message: str
) -> None:
    lazy = any(is_lazy(value) for value in (*model.parameters(), *model.buffers()))
    before = {} if lazy else state(model)
    with reference.random_streams_untouched(), pytest.raises(InvalidInputError, match=message):
        stein_glm_(model, *data, task=task)
    assert lazy or equal(state(model), before)
    assert all(module.training for module in model.modules())
    assert not any(m._forward_pre_hooks or m._forward_hooks for m in model.modules() if not lazy)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"output_layer": "1"},
            "output_layer must be a Linear layer that the forward pass calls, got 1; those called are: 0, 2",
        ),
        ({"max_patches": 0}, "max_patches must be 1..1000000000, got 0; None takes every patch"),
        ({"max_patches": 2.5}, "max_patches must be 1..1000000000, got 2.5"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    model = net()
    before = state(model)
    with pytest.raises(InvalidInputError, match=message):
        stein_glm_(model, X, Y, task="regression", **options)
    assert equal(state(model), before)


def test_a_data_frame_and_a_loader_of_another_precision_will_do() -> None:
    models_ = [net().float() for _ in range(3)]
    stein_glm_(models_[0], pd.DataFrame(X), pd.Series(Y), task="regression")
    stein_glm_(models_[1], X, Y, task="regression")
    stein_glm_(models_[2], loader(X, Y, batch=80), task="regression")
    for other in models_[1:]:
        for name, value in state(models_[0]).items():
            torch.testing.assert_close(state(other)[name], value, rtol=1e-5, atol=1e-6)


def test_every_initializer_reports() -> None:
    for initialize in INITIALIZERS.values():
        report = initialize(net(), X, Y, task="regression", output="glm")
        assert isinstance(report, InitReport)
        assert [layer.name for layer in report.layers] == ["0", "2"]
        assert report.layers[-1].rule == "glm"

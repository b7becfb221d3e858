"""Models of many kinds for the initializers: nets as people write them, small enough for a test."""

import torch
from torch import Tensor, nn

__all__ = [
    "ConvolutionalNet1d",
    "FunctionalNet",
    "PaperCnn",
    "ResNet18",
    "ResidualMlp",
    "SharedNet",
    "deep_mlp",
    "vgg",
]


def deep_mlp(d: int = 6, width: int = 6, depth: int = 12) -> nn.Sequential:
    """Batch normalization and dropout around every layer."""
    blocks: list[nn.Module] = []
    for k in range(depth):
        blocks += [
            nn.Linear(d if k == 0 else width, width),
            nn.BatchNorm1d(width),
            nn.Tanh(),
            nn.Dropout(0.3),
        ]
    return nn.Sequential(*blocks, nn.Linear(width, 1))


class ResidualMlp(nn.Module):
    """Sums and a concatenation between layers, with layer normalization."""

    def __init__(self, d: int = 6) -> None:
        super().__init__()
        self.enter = nn.Linear(d, d)
        self.blocks = nn.ModuleList(
            nn.ModuleDict({"norm": nn.LayerNorm(d), "linear": nn.Linear(d, d)}) for _ in range(3)
        )
        self.head = nn.Linear(2 * d, 1)

    def forward(self, x: Tensor) -> Tensor:
        first = h = torch.tanh(self.enter(x))
        for block in self.blocks:
            h = h + torch.tanh(block["linear"](block["norm"](h)))  # type: ignore[index]
        out: Tensor = self.head(torch.cat([first, h], dim=1))
        return out


class PaperCnn(nn.Module):
    """The paper's: three blocks of three 3 x 3 convolutions without biases, tanh, max pooling; dense 20; output."""

    def __init__(self, filters: tuple[int, ...] = (9, 18, 36), side: int = 28, outputs: int = 1) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 1
        for count in filters:
            for _ in range(3):
                layers += [nn.Conv2d(channels, count, 3, padding="same", bias=False), nn.Tanh()]
                channels = count
            layers.append(nn.MaxPool2d(2))
            side //= 2
        dense = [nn.Flatten(), nn.Linear(channels * side**2, 20), nn.Tanh(), nn.Linear(20, outputs)]
        self.net = nn.Sequential(*layers, *dense)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net(x)
        return out


class _Basic(nn.Module):
    """The basic block of He et al. (2016)."""

    def __init__(self, channels: int, count: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, count, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(count)
        self.conv2 = nn.Conv2d(count, count, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(count)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = (
            nn.Identity()
            if stride == 1 and channels == count
            else nn.Sequential(nn.Conv2d(channels, count, 1, stride, bias=False), nn.BatchNorm2d(count))
        )

    def forward(self, x: Tensor) -> Tensor:
        h = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out: Tensor = self.relu(h + self.shortcut(x))
        return out


class ResNet18(nn.Module):
    """He et al. (2016), with all its layers and `width` channels in the place of 64."""

    def __init__(self, width: int = 8, channels: int = 3, classes: int = 3) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        stages, before = [], width
        for stage in range(4):
            count = width * 2**stage
            stages.append(nn.Sequential(_Basic(before, count, 2 if stage else 1), _Basic(count, count, 1)))
            before = count
        self.layers = nn.ModuleList(stages)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(before, classes)

    def forward(self, x: Tensor) -> Tensor:
        h = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for stage in self.layers:
            h = stage(h)
        out: Tensor = self.fc(self.avgpool(h).flatten(1))
        return out


def vgg(channels: int = 3, classes: int = 3) -> nn.Sequential:
    """In the manner of Simonyan and Zisserman (2015): biases, pooling, two dense layers with dropout."""
    layers: list[nn.Module] = []
    for count, convolutions in ((6, 1), (12, 2), (24, 2)):
        for _ in range(convolutions):
            layers += [nn.Conv2d(channels, count, 3, padding=1), nn.ReLU()]
            channels = count
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(
        nn.Sequential(*layers),
        nn.Flatten(),
        nn.Sequential(
            nn.Linear(24 * 4, 24), nn.ReLU(), nn.Dropout(), nn.Linear(24, 12), nn.ReLU(), nn.Dropout()
        ),
        nn.Linear(12, classes),
    )


class ConvolutionalNet1d(nn.Module):
    """Dilated, strided and grouped convolutions of a signal, with group normalization."""

    def __init__(self, channels: int = 2) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(channels, 8, 5, padding="same", dilation=2),
            nn.GroupNorm(2, 8),
            nn.GELU(),
            nn.Conv1d(8, 8, 3, stride=2, groups=4),
            nn.SiLU(),
            nn.AdaptiveAvgPool1d(2),
            nn.Flatten(),
            nn.Linear(16, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net(x)
        return out


class SharedNet(nn.Module):
    """One layer that is called three times."""

    def __init__(self, d: int = 6) -> None:
        super().__init__()
        self.enter, self.again, self.head = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.tanh(self.enter(x))
        for _ in range(3):
            h = torch.tanh(self.again(h))
        out: Tensor = self.head(h)
        return out


class FunctionalNet(nn.Module):
    """Activations, pooling and dropout as functions and methods, spelled in every way."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.first, self.second, self.third = nn.Linear(36, 10), nn.Linear(10, 10), nn.Linear(10, 10)
        self.head = nn.Linear(10, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = nn.functional.max_pool2d(self.conv(x).sigmoid(), 2).flatten(1)
        h = nn.functional.dropout(torch.tanh(self.first(h)), 0.5, self.training)
        h = nn.functional.silu(self.second(h))
        out: Tensor = self.head(nn.functional.leaky_relu(self.third(h)))
        return out

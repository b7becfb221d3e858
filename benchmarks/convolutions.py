"""SteinGLM on the paper's convolutional network from a `DataLoader`: its memory, and its time against the bare GEMMs.

The images come from a pool of 512, so that only what the initialization holds is in memory. The limit is one GEMM in
float64 of a layer's patches with themselves, for every layer. `python benchmarks/convolutions.py 60000` takes as many
images as MNIST has.
"""

import resource
import sys
import time

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from steinglm import samples
from steinglm.images import cnn
from steinglm.init import stein_glm_

IMAGES = 3000
ROUNDS = 5


class Pool(Dataset[tuple[Tensor, Tensor]]):
    """Images of noise with a square whose height tells the class, over and over again."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.y = torch.arange(512) % 2.0
        self.X = torch.rand(512, 1, cnn.SIDE, cnn.SIDE, generator=torch.Generator().manual_seed(0))
        self.X[::2, :, 6:14, 8:16] += 1
        self.X[1::2, :, 6:20, 8:16] += 1

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor]:
        return self.X[i % 512], self.y[i % 512]


def megabytes() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def gemm_seconds(n: int) -> float:
    """The GEMMs of all layers' patches of n images, by the best of some rounds on a chunk of each."""
    total, channels, side = 0.0, 1, cnn.SIDE
    generator = torch.Generator().manual_seed(0)
    for filters in cnn.FILTERS:
        for _ in range(cnn.CONVOLUTIONS):
            d, patches = channels * 9, side**2
            images = max(1, samples.CHUNK_ELEMENTS // (patches * d))
            u = torch.rand(d, images * patches, dtype=torch.float64, generator=generator)
            times = []
            for _ in range(ROUNDS):
                start = time.perf_counter()
                u @ u.mT
                times.append(time.perf_counter() - start)
            total += min(times) * n / images
            channels = filters
        side //= 2
    return total


def main() -> None:
    """Print one table."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    model = cnn.build()
    stein_glm_(model, DataLoader(Pool(64), batch_size=32), task="binary")  # loads what the first call loads
    before, limit = megabytes(), gemm_seconds(n)
    start = time.perf_counter()
    stein_glm_(model, DataLoader(Pool(n), batch_size=128), task="binary")
    took = time.perf_counter() - start
    limit = (limit + gemm_seconds(n)) / 2  # before and after: the machine's speed drifts
    patches = sum(n * (cnn.SIDE >> block) ** 2 * cnn.CONVOLUTIONS for block in range(len(cnn.FILTERS)))
    print(
        f"\nSteinGLM on the paper's network from a DataLoader of {n:,} images, {torch.get_num_threads()} threads"
    )
    print(f"{'memory, most':>28} {megabytes():>10.0f} MB, of which {before:.0f} MB before the first image")
    print(f"{'time a patch':>28} {took / patches * 1e6:>10.3f} us")
    print(f"{'its bare GEMM':>28} {limit / patches * 1e6:>10.3f} us")
    print(f"{'ratio':>28} {took / limit:>10.2f}")


if __name__ == "__main__":
    main()

"""Memory does not grow with the number of images that come from a loader."""

import subprocess
import sys

PROGRAM = """
import resource, sys, torch
from torch.utils.data import DataLoader, Dataset
from steinglm.init import stein_glm_
from tests.models import PaperCnn

class Pool(Dataset):
    def __init__(self, n):
        self.n, self.y = n, torch.arange(64) % 2
        self.X = torch.rand(64, 1, 28, 28, generator=torch.Generator().manual_seed(0)) + self.y[:, None, None, None]
    def __len__(self):
        return self.n
    def __getitem__(self, i):
        return self.X[i % 64], self.y[i % 64]

torch.set_num_threads(1)
stein_glm_(PaperCnn((4, 6, 8)), DataLoader(Pool(int(sys.argv[1])), batch_size=32), task="binary")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def most_megabytes(images: int) -> int:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(images)], capture_output=True, text=True, check=True, timeout=300
    )
    return int(done.stdout)


def test_eight_times_as_many_images_take_no_more_memory() -> None:
    """The patches of the widest layer alone would be 115 MB."""
    assert most_megabytes(512) - most_megabytes(64) < 60

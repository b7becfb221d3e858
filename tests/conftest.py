"""One thread for torch: the tests' matrices are small, and beside other work more threads are far slower."""

import torch

torch.set_num_threads(1)

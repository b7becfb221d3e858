"""An experiment with images: the paper's convolutional network on two digits of MNIST, each method side by side.

`ImageExperiment` is to images what `settings.Experiment` is to tables.
"""

from steinglm.images.settings import ImageExperiment
from steinglm.images.start import filters, initialize, starts
from steinglm.images.training import train, wrong

__all__ = ["ImageExperiment", "filters", "initialize", "starts", "train", "wrong"]

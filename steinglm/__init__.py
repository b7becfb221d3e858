"""SteinGLM: data-driven initialization of neural networks by Stein's identity and generalized linear models.

`steinglm.init.stein_glm_` initializes a torch model in place from data; `steinglm.experiment` compares it with
the usual initializations; `python -m steinglm compare` does so from a terminal, `app.py` in a browser.
"""

__all__ = ["__version__"]

__version__ = "0.4.0"

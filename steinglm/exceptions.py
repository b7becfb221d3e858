"""The errors and warnings that a user of steinglm meets.

Every message says which argument is meant, what was expected, what came, and what to do about it.
"""

__all__ = [
    "ConvergenceWarning",
    "DataUnavailableError",
    "EngineError",
    "InitializationWarning",
    "InvalidInputError",
    "SharedLayerWarning",
    "SteinGLMError",
]


class SteinGLMError(Exception):
    """The base of every error that steinglm raises on purpose."""


class InvalidInputError(SteinGLMError, ValueError):
    """An argument that cannot be used.

    >>> raise InvalidInputError("depth", "1..200", 0, "one hidden layer is the smallest network")
    Traceback (most recent call last):
    ...
    steinglm.exceptions.InvalidInputError: depth must be 1..200, got 0; one hidden layer is the smallest network
    """

    def __init__(self, argument: str, expected: str, got: object, cure: str) -> None:
        super().__init__(argument, expected, got, cure)
        self.argument, self.expected, self.got, self.cure = argument, expected, got, cure

    def __str__(self) -> str:
        got = self.got if isinstance(self.got, str) else repr(self.got)
        shown = got if len(got) <= 200 else got[:200] + "..."
        return f"{self.argument} must be {self.expected}, got {shown}; {self.cure}"


class DataUnavailableError(SteinGLMError, OSError):
    """A data set that is neither embedded, nor in the user's folder, nor within reach."""


class EngineError(SteinGLMError):
    """The engine could not take, run or return an experiment."""


class ConvergenceWarning(UserWarning):
    """A fit stopped before it had converged; its result is still usable."""


class InitializationWarning(UserWarning):
    """The initialization that was asked for could not be done on these data; another took its place."""


class SharedLayerWarning(UserWarning):
    """A model calls a layer more than once; its weights suit the input of the first call."""

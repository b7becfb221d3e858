"""What a person sees when something goes wrong: one message, never a traceback."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import streamlit as st
from streamlit.runtime.scriptrunner import RerunException, StopException

from steinglm.exceptions import SteinGLMError

__all__ = ["guarded", "plain"]

MARKUP = re.compile(r"[\\`*_\[\]<>$~:#|]")
logger = logging.getLogger(__name__)


def plain(text: str) -> str:
    """Text that Markdown shows as it stands: a message may quote what came in a link or a file.

    >>> plain("got ![x](http://y)")
    'got !\\\\[x\\\\](http\\\\://y)'
    """
    return MARKUP.sub(r"\\\g<0>", text)


@contextmanager
def guarded() -> Iterator[None]:
    """Show the library's own errors as they are; log any other and show the code under which it is logged."""
    try:
        yield
    except (RerunException, StopException):
        raise
    except SteinGLMError as err:
        text = plain(str(err))
        st.error(text[:1].upper() + text[1:] + ".", icon=":material/error:")
        st.stop()
    except Exception:
        code = uuid4().hex[:8]
        logger.exception("error %s", code)
        st.error(
            f"Something went wrong. The server's log has the details under {code}.", icon=":material/error:"
        )
        st.stop()

"""To another page by the browser, as if by a link: one step in its history, which Back undoes.

`st.switch_page` with a query leaves two steps, the first of them this page with the other's query.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Never
from urllib.parse import urlencode

import streamlit as st

__all__ = ["to_compare"]

_GO = """
const gone = new WeakSet();
export default ({ data, parentElement }) => {
  if (gone.has(parentElement)) return;
  gone.add(parentElement);
  history.pushState({}, "", new URL(data.address, location.href));
  dispatchEvent(new PopStateEvent("popstate"));
};
"""


def to_compare(query: Mapping[str, str]) -> Never:
    """Go to the page Compare with this query; the script ends here."""
    _component()(key="departure", data={"address": f"./?{urlencode(query)}" if query else "./"})
    st.stop()


@cache
def _component() -> Any:
    return st.components.v2.component("steinglm_departure", js=_GO)

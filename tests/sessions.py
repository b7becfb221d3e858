"""Sessions without browsers: they speak Streamlit's own WebSocket protocol, as the page's script does."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

__all__ = ["Seen", "connected", "press", "run"]


@dataclass
class Seen:
    """What a run of the script sent.

    charts_after : seconds until the charts came, inf if they did not
    charts : the data of the charts' component
    buttons : their identities by label
    errors : what was shown as an error
    """

    charts_after: float = float("inf")
    charts: dict[str, Any] = field(default_factory=dict)
    buttons: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


def connected(url: str) -> connect:
    """A session at the server of this URL; an asynchronous context."""
    address = url.replace("http", "ws") + "/_stcore/stream"
    return connect(address, subprotocols=[Subprotocol("streamlit")], origin=Origin(url), max_size=None)


async def run(socket: ClientConnection, query: str) -> Seen:
    """Open the page with this query."""
    return await _rerun(socket, query)


async def press(socket: ClientConnection, query: str, button: str) -> Seen:
    """Press a button, by its identity, on the page with this query."""
    return await _rerun(socket, query, button)


async def _rerun(socket: ClientConnection, query: str, trigger: str = "") -> Seen:
    message = BackMsg()
    message.rerun_script.query_string = query
    message.rerun_script.context_info.timezone = "UTC"
    if trigger:
        state = message.rerun_script.widget_states.widgets.add()
        state.id, state.trigger_value = trigger, True
    start = time.monotonic()
    await socket.send(message.SerializeToString())
    seen = Seen()
    async for data in socket:
        got = ForwardMsg.FromString(data if isinstance(data, bytes) else data.encode())
        kind = got.WhichOneof("type")
        if kind == "delta":
            _note(seen, got.delta.new_element, time.monotonic() - start)
        elif kind == "script_finished" and got.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
            break  # else it gave way to another run, which follows
    return seen


def _note(seen: Seen, element: Any, after: float) -> None:
    what = element.WhichOneof("type")
    if what == "bidi_component" and not seen.charts:
        seen.charts, seen.charts_after = json.loads(element.bidi_component.json), after
    elif what == "button":
        seen.buttons[element.button.label] = element.button.id
    elif what == "exception" or (what == "alert" and element.alert.format == Alert.ERROR):
        seen.errors.append(str(element)[:300])

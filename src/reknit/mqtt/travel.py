"""A session as bytes: what one door gives to another when a client's session moves.

Owns: what belongs to a session that travels, and its encoding. What the core knows of it, the patterns, goes another
way; here are the options of each subscription, the messages that are under way in both directions with their packet
identifiers, those that wait, the will, and the times that are left. Bytes from another door either decode, or raise
``BadState``.
Must not know: connections, or why a session moves.
"""

from __future__ import annotations

import msgspec

from reknit.model.event import Event, EventId
from reknit.mqtt.session import PACKET_IDS, Message, Session
from reknit.mqtt.subscriptions import Subscription

__all__ = ["BadState", "State", "pack", "unpack", "unpacked"]

VERSION = 1


class BadState(ValueError):
    """The other broker's fault: bytes that are no session."""


class State(msgspec.Struct, array_like=True, frozen=True):
    version: int
    expiry_s: int
    ends_in_s: float
    """How long the session waits for its client."""
    subscriptions: list[Subscription]
    inflight: list[tuple[int, Message]]
    waiting: list[Message]
    last_id: int
    """The packet identifier that was used last."""
    will: Event | None
    will_in_s: float
    own: list[EventId]
    """Events of the client's own that its no-local subscriptions have to pass by."""
    released: list[int]
    """Messages of QoS 2 that the client has, and that it was or is to be told to release."""
    received: list[int]
    """Messages of QoS 2 from the client that it has not released yet."""
    user: str
    """Whose session it is; what that user may do, each door decides by its own rules."""


_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[State] = msgspec.msgpack.Decoder(State)


def pack(session: Session, ends_in_s: float, will: Event | None, will_in_s: float) -> bytes:
    state = State(
        VERSION,
        session.expiry_s,
        ends_in_s,
        session.subscriptions.all(),
        list(session.inflight.items()),
        [*session.replay, *session.waiting],
        session.last_id,
        will,
        will_in_s,
        session.own_ids() if session.subscriptions.special else [],
        list(session.released),
        list(session.received),
        session.user,
    )
    return _encoder.encode(state)


def unpack(data: bytes) -> State:
    try:
        state = _decoder.decode(data)
        for subscription in state.subscriptions:
            subscription.pattern.check()
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadState(str(error)) from None
    if state.version != VERSION:
        raise BadState(f"a session of version {state.version}, not {VERSION}")
    idents = [*(ident for ident, _ in state.inflight), *state.released, *state.received]
    if not all(0 < ident <= PACKET_IDS for ident in idents) or not 0 <= state.last_id <= PACKET_IDS:
        raise BadState("a packet identifier that is none")
    return state


def unpacked(state: State, session: Session) -> None:
    """Make ``session``, which is new, what the state says."""
    session.expiry_s = state.expiry_s
    session.subscriptions.restore(state.subscriptions)
    session.restore(dict(state.inflight), state.waiting, state.last_id, state.own)
    session.user = state.user
    session.released, session.received = dict.fromkeys(state.released), dict.fromkeys(state.received)

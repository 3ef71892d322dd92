"""Frames to bytes and back.

Owns: the encoding (MessagePack arrays), its version and its bounds. Must not know: connections. Bytes from outside
either decode to a frame, or raise ``BadFrame``; nothing else.
"""

from __future__ import annotations

import msgspec

from reknit.model.event import INTEGER_MAX, Event, Sharing, check_attributes
from reknit.model.pattern import Pattern
from reknit.model.topic import check_topic
from reknit.wire._checks import (
    CLIENT_CHARS_MAX,
    NAME_CHARS_MAX,
    ROUTE_BROKERS_MAX,
    RUNS_MAX,
    BadFrame,
    check_ages,
    check_asker,
    check_digest,
    check_gossip,
    check_heritage,
    check_line,
    check_names,
)
from reknit.wire.messages import (
    Abort,
    Apart,
    Around,
    Ask,
    AskHeld,
    Bequest,
    Change,
    Close,
    Commit,
    Ctrl,
    Data,
    Digests,
    Direct,
    Done,
    Down,
    Draining,
    Events,
    Farewell,
    Flush,
    Frame,
    Held,
    Hello,
    Inquire,
    Keeps,
    Known,
    Leave,
    Lines,
    Lock,
    LockAck,
    LockNack,
    Loose,
    Mark,
    Message,
    Misses,
    MissesOf,
    Moving,
    Offer,
    Open,
    Opened,
    Prepare,
    Prepared,
    Rec,
    Refuse,
    Release,
    Repair,
    Rest,
    Ringed,
    Seated,
    Seek,
    Side,
    Silent,
    Snapshot,
    Sought,
    Steered,
    Sub,
    Swap,
    Taken,
    Told,
    Unlock,
    Unsub,
    Up,
    Wants,
    Welcome,
    Withdraw,
)
from reknit.wire.placement import Interest, Lasts, Passed, check_placement
from reknit.wire.planes import Dismiss, Places, Report, Seats, Stage, Staged, check_planes
from reknit.wire.ring import check_on_its_way, check_ringed

__all__ = [
    "AROUND_MAX",
    "CLIENT_CHARS_MAX",
    "DATAGRAM_BYTES_MAX",
    "DIGEST_BYTES_MAX",
    "FRAME_BYTES_MAX",
    "GREETING_BYTES_MAX",
    "HAD_EVENTS_MAX",
    "NAME_CHARS_MAX",
    "PATH_BROKERS_MAX",
    "ROUTE_BROKERS_MAX",
    "RUNS_MAX",
    "SHARES_MAX",
    "STATE_PART_BYTES_MAX",
    "TEXT_CHARS_MAX",
    "VERSION",
    "BadFrame",
    "check_event",
    "decode",
    "decode_direct",
    "decode_event",
    "decode_events",
    "encode",
    "encode_event",
]

VERSION = 2
"""Said in every greeting; brokers of another version are refused. It rises when a broker that speaks the old one would
misunderstand: a new word, a field that is not the last or has no default, or one that it must not pass over.

1: the first. 2: events say their marks as bytes, with one number (``marks``); ``Mark`` says which life answers; a
greeting says of which kind the link is; sessions that move say what came to them past the tree, and a broker that
leaves hands over its cache; events say the key that a question past the tree has to name, and such a question may be
about other sources, too, which a broker that does not know of it passes over."""

FRAME_BYTES_MAX = 16 * 1024 * 1024
"""No frame is longer; the receiver checks it before it waits for the rest."""

GREETING_BYTES_MAX = 64 * 1024
"""The same before the other end has said who it is."""

PATH_BROKERS_MAX = 10_000
"""Brokers on the way of a search."""

AROUND_MAX = 1024
"""Neighbours that a broker tells of."""

DIGEST_BYTES_MAX = 64
"""What stands for a set of patterns."""

DIGESTS_MAX = 1024
"""What stands for a book, bucket by bucket."""
SHARES_MAX = 256
"""Groups that one event is for."""
STAMP_LENGTHS = (0, 9)
"""Of the causal stamp of a swap: none, or three by three."""

TEXT_CHARS_MAX = 3 * 1024 * 1024
"""A reason for people to read; the longest names all brokers of a path."""

STATE_PART_BYTES_MAX = 1024 * 1024
"""One part of a session's state."""

HAD_EVENTS_MAX = 4096
"""Events that it names as had."""

DATAGRAM_BYTES_MAX = 60_000
"""What goes past the tree; UDP has room for little more."""

_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Frame] = msgspec.msgpack.Decoder(Frame)
_direct_decoder: msgspec.msgpack.Decoder[Direct] = msgspec.msgpack.Decoder(Direct)
_event_decoder: msgspec.msgpack.Decoder[Event] = msgspec.msgpack.Decoder(Event)
_events_decoder: msgspec.msgpack.Decoder[list[Event]] = msgspec.msgpack.Decoder(list[Event])

encode = _encoder.encode


def decode(data: bytes) -> Frame:
    if len(data) > FRAME_BYTES_MAX:
        raise BadFrame(f"a frame of {len(data)} bytes, over the {FRAME_BYTES_MAX} that are allowed")
    try:
        frame = _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadFrame(str(error)) from None
    try:
        if isinstance(frame, Data | Loose):
            for message in frame.messages:
                _check(message)
        elif isinstance(frame, Hello):
            check_names(frame.name, frame.address, frame.wave[0] if frame.wave else "")
        elif isinstance(frame, Refuse | Farewell):
            _check_text(frame.reason)
            _check_some_names(frame.left if isinstance(frame, Refuse) else [])
    except ValueError as error:
        raise BadFrame(str(error)) from None
    return frame


def decode_direct(data: bytes) -> Direct:
    """What has come past the tree, from whomever."""
    if len(data) > DATAGRAM_BYTES_MAX:
        raise BadFrame(f"a datagram of {len(data)} bytes, over the {DATAGRAM_BYTES_MAX} that are allowed")
    try:
        message = _direct_decoder.decode(data)
        if isinstance(message, MissesOf):
            check_gossip(message)
        elif isinstance(message, Wants):
            check_asker(message.asker)
            check_digest(message.signature, message.age_s, message.lost)
        else:
            _check_repair(message)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadFrame(str(error)) from None
    return message


def encode_event(event: Event) -> bytes:
    """One event, where it is kept and not sent."""
    return _encoder.encode(event)


def decode_events(data: bytes) -> list[Event]:
    """What ``encode`` made of a list of events that have been checked before."""
    return _events_decoder.decode(data)


def decode_event(data: bytes) -> Event:
    try:
        event = _event_decoder.decode(data)
        check_event(event)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadFrame(str(error)) from None
    return event


def _check(message: Message) -> None:
    """What types alone do not say. A neighbour is trusted no further than a client is."""
    match message:
        case Events(events=events) | Bequest(events=events):
            for event in events:
                check_event(event)
            if isinstance(message, Bequest):
                check_ages(message.ages_s, len(events))
        case Sub(patterns=patterns) | Unsub(patterns=patterns):
            _check_patterns(patterns)
        case Known(origin=origin, added=added, removed=removed):
            check_names(origin)
            _check_patterns(added)
            _check_patterns(removed)
        case Snapshot(entries=entries):
            for origin, patterns in entries:
                check_names(origin)
                _check_patterns(patterns)
        case Seek(wave=wave, target=target, path=path):
            check_names(wave[0], target)
            _check_path(path)
        case Sought(wave=wave, path=path, busy=busy):
            check_names(wave[0])
            _check_path(path)
            _check_text(busy)
        case Leave(holders=holders):
            _check_some_names(holders)
        case Release(wave=wave):
            check_names(wave[0])
        case Lines(lines=lines):
            for line in lines:
                check_line(line)
        case Digests(digests=digests):
            if len(digests) > DIGESTS_MAX or any(not 0 <= each < 1 << 64 for each in digests):
                raise BadFrame(f"{len(digests)} digests of a book")
        case Silent() | Keeps() | Misses() | MissesOf():
            check_gossip(message)
        case Draining() | Welcome() | Offer() | Opened() | Rest() | Taken() | Told() | Withdraw():
            _check_moving(message)
        case Steered(stamp=stamp, events=events):
            if len(stamp) not in STAMP_LENGTHS:
                raise BadFrame(f"a stamp of {len(stamp)} numbers")
            for event in events:
                check_event(event)
        case Ringed():
            check_ringed(message)
        case Stage() | Staged() | Dismiss() | Places() | Seats() | Report():
            check_planes(message)
        case Interest() | Lasts():
            check_placement(message)
        case Up(events=events) | Down(events=events) | Passed(events=events):
            for event in events:
                check_event(event)
            check_placement(message) if isinstance(message, Passed) else check_on_its_way(message)
        case _:
            _check_step(message)


def _check_step(message: Message) -> None:
    """The steps of a swap."""
    match message:
        case Lock(id=id, middle=middle, goal=goal, address=address, of=of):
            check_names(id[0], middle, goal, address)
            _check_text(of)
        case LockNack(id=id, reason=reason):
            check_names(id[0])
            _check_text(reason)
        case Side(id=id, entries=entries):
            check_names(id[0])
            for origin, patterns in entries:
                check_names(origin)
                _check_patterns(patterns)
        case LockAck(id=id) | Unlock(id=id) | Swap(id=id) | Open(id=id) | Close(id=id) | Seated(id=id) | Ask(id=id):
            check_names(id[0])
        case Inquire(id=id, of=of, to=to):
            check_names(id[0], of, to)
        case Mark(id=id, to=to):
            check_names(id[0], to)
        case _:
            _check_change_message(message)


def _check_change_message(message: Message) -> None:
    """What is said when a link is replaced."""
    match message:
        case Prepare(change=change, address=address):
            _check_change(change)
            check_names(address)
        case Prepared(id=id_, error=error):
            check_names(id_)
            _check_text(error)
        case Abort(id=id_) | Ctrl(id=id_) | AskHeld(id=id_) | Done(id=id_):
            check_names(id_)
        case Commit(change=change) | Flush(change=change):
            _check_change(change)
        case Rec(change=change, add=add, delete=delete, digest=digest):
            _check_change(change)
            _check_patterns(add)
            _check_patterns(delete)
            if len(digest) > DIGEST_BYTES_MAX:
                raise BadFrame(f"a digest of {len(digest)} bytes, over the {DIGEST_BYTES_MAX} that are allowed")
        case Held(id=id_, patterns=patterns):
            check_names(id_)
            _check_patterns(patterns)
        case Apart(lost=lost):
            check_names(lost)
        case Around(neighbours=neighbours):
            _check_some_names([name for name, _ in neighbours])
            check_names(*(address for _, address in neighbours))


def _check_change(change: Change) -> None:
    """A path that makes sense: at least three brokers, each once, and the new link within."""
    check_names(change.id, change.strategy)
    _check_path(change.path)
    if len(change.path) < 3 or len(set(change.path)) < len(change.path):
        raise BadFrame(f"a path over {len(change.path)} brokers on which links cannot be replaced")
    if not 0 <= change.near < len(change.path) - 1:
        raise BadFrame(f"a new link at place {change.near} of a path over {len(change.path)} brokers")


def _check_moving(message: Moving) -> None:
    if isinstance(message, Welcome):
        _check_text(message.refused)
        check_names(message.door)
        return
    if isinstance(message, Draining):
        check_names(message.of)
        return
    if len(message.client) > CLIENT_CHARS_MAX:
        raise BadFrame(f"a client's name of {len(message.client)} characters")
    if isinstance(message, Offer):
        _check_patterns(message.patterns)
        _check_patterns([pattern for _, pattern in message.shares])
        if any(len(group) > CLIENT_CHARS_MAX for group, _ in message.shares):
            raise BadFrame("a group's name that is too long")
    elif isinstance(message, Opened):
        _check_text(message.refused)
        check_names(message.door, message.relay)
    elif isinstance(message, Rest):
        check_names(*message.seen, *(source for source, _ in message.had))
        if len(message.state) > STATE_PART_BYTES_MAX or len(message.had) > HAD_EVENTS_MAX:
            raise BadFrame(f"a part of {len(message.state)} bytes and {len(message.had)} events: too much for one")
        check_heritage(message.runs, message.ages, message.lacks)
    elif isinstance(message, Told):
        check_heritage({}, [], message.lacks)


def _check_repair(repair: Repair) -> None:
    for signature, ranges in (*repair.gone, *repair.old, *repair.never):
        check_digest(signature, 0.0, [("", ranges)])
    check_names(repair.sender)
    check_ages(repair.ages_s, len(repair.events))
    for event in repair.events:
        check_event(event)


def check_event(event: Event) -> None:
    """Raise ``ValueError`` unless an event that came from elsewhere has an id, a topic, and values within bounds."""
    topic = event.topic
    if not 0 < event.seq <= INTEGER_MAX or not event.source:
        raise BadFrame(f"an event without an id on {topic!r}")
    if topic not in _good_topics:
        check_topic(topic)
        if len(_good_topics) >= _GOOD_TOPICS_MAX:
            _good_topics.clear()
        _good_topics.add(topic)
    if event.qos not in _QOS or len(event.source) > NAME_CHARS_MAX:
        raise BadFrame(f"an event of quality {event.qos} from {event.source[:80]!r} on {topic!r}")
    for values in (event.attributes, event.derived):
        if values:
            check_attributes(values)
    if event.envelope is not None and event.envelope.response_topic:
        check_topic(event.envelope.response_topic)
    if event.sharing is not None:
        _check_sharing(event.sharing)


def _check_sharing(sharing: Sharing) -> None:
    if len(sharing.choices) > SHARES_MAX or (sharing.alone and len(sharing.choices) != 1):
        raise BadFrame(f"an event for {len(sharing.choices)} groups")
    _check_path(list(sharing.tried))
    check_names(sharing.of[0], *(share.broker for share in sharing.choices))
    for share in sharing.choices:
        if max(len(share.group), len(share.topic), len(share.selector)) > CLIENT_CHARS_MAX:
            raise BadFrame("a group's name or pattern that is too long")


def _check_patterns(patterns: list[Pattern]) -> None:
    for pattern in patterns:
        pattern.check()


def _check_some_names(names: list[str]) -> None:
    if len(names) > AROUND_MAX:
        raise BadFrame(f"{len(names)} brokers at once, over the {AROUND_MAX} that are allowed")
    check_names(*names)


def _check_path(path: list[str]) -> None:
    if len(path) > PATH_BROKERS_MAX:
        raise BadFrame(f"a path over {len(path)} brokers, more than the {PATH_BROKERS_MAX} that are allowed")
    check_names(*path)


def _check_text(text: str) -> None:
    if len(text) > TEXT_CHARS_MAX:
        raise BadFrame(f"a text of {len(text)} characters, over the {TEXT_CHARS_MAX} that are allowed")


_QOS = (0, 1, 2)

_GOOD_TOPICS_MAX = 16_384
_good_topics: set[str] = set()
"""Topics seen to be well formed: events repeat them."""

"""Topics and topic filters, as MQTT has them.

A topic is a path of levels between slashes; a level may be empty. A filter is a topic in which ``+`` may stand for one
whole level and a last ``#`` for any number of further levels, none included: ``a/#`` matches ``a``. A wildcard at the
first level never matches a topic that begins with ``$``: those belong to the broker.

Owns: what is a well formed topic or filter, when a filter matches a topic or covers another filter, and the trie that
finds all matching filters at once. Must not know: selectors, events, or who subscribes.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from reknit.model.errors import BadPattern

__all__ = [
    "TOPIC_BYTES_MAX",
    "TOPIC_LEVELS_MAX",
    "BadTopic",
    "TopicIndex",
    "check_filter",
    "check_topic",
    "filter_covers",
    "topic_matches",
]

TOPIC_BYTES_MAX = 1024
"""The protocol would allow 65,535; nobody needs them, and every broker on the way would have to hold them."""

TOPIC_LEVELS_MAX = 32


class BadTopic(BadPattern):
    """A topic or a topic filter that is not well formed."""


def check_topic(topic: str) -> None:
    """Raise ``BadTopic`` unless an event may be published under this topic."""
    _check_text("topic", topic)
    for sign in "+#":
        if sign in topic:
            raise BadTopic(f"topic {_shown(topic)}: the wildcard {sign!r} is for filters only")


def check_filter(topic_filter: str) -> None:
    """Raise ``BadTopic`` unless this is a well formed topic filter."""
    _check_text("topic filter", topic_filter)
    levels = topic_filter.split("/")
    for position, level in enumerate(levels):
        if "+" in level and level != "+":
            raise BadTopic(f"topic filter {_shown(topic_filter)}: '+' must be alone in its level, not in {level!r}")
        if "#" in level and (level != "#" or position + 1 < len(levels)):
            raise BadTopic(f"topic filter {_shown(topic_filter)}: '#' must be alone in the last level")


def _check_text(what: str, text: str) -> None:
    if not text:
        raise BadTopic(f"the {what} is empty")
    if "\0" in text:
        raise BadTopic(f"{what} {_shown(text)} has a NUL character in it")
    if len(text) > TOPIC_BYTES_MAX or _length_bytes(what, text) > TOPIC_BYTES_MAX:
        raise BadTopic(f"{what} {_shown(text)} is longer than {TOPIC_BYTES_MAX} bytes")
    if text.count("/") >= TOPIC_LEVELS_MAX:
        raise BadTopic(f"{what} {_shown(text)} has more than {TOPIC_LEVELS_MAX} levels")


def _length_bytes(what: str, text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise BadTopic(f"{what} {_shown(text)} cannot be written as UTF-8") from None


def _shown(text: str) -> str:
    return ascii(text) if len(text) <= 80 else ascii(text[:77]) + "..."


def topic_matches(topic_filter: str, topic: str) -> bool:
    """Whether a well formed filter matches a well formed topic."""
    if topic[0] == "$" and topic_filter[0] in "+#":
        return False
    wanted, levels = topic_filter.split("/"), topic.split("/")
    if wanted[-1] == "#":
        wanted.pop()
        levels = levels[: len(wanted)]
    return len(wanted) == len(levels) and all(w in ("+", level) for w, level in zip(wanted, levels, strict=True))


def filter_covers(wide: str, narrow: str) -> bool:
    """Whether every topic that ``narrow`` matches is matched by ``wide``."""
    if wide == narrow:
        return True
    if narrow[0] == "$" and wide[0] in "+#":
        return False
    outer, inner = wide.split("/"), narrow.split("/")
    if inner == ["#"] and outer == ["+", "#"]:
        return True  # a topic has at least one level
    if outer[-1] == "#":
        outer.pop()
        open_ended = inner[-1] == "#"
        inner = inner[: len(inner) - open_ended][: len(outer)]
    return len(outer) == len(inner) and all(
        o == i or (o == "+" and i != "#") for o, i in zip(outer, inner, strict=True)
    )


K = TypeVar("K")


class _Node(Generic[K]):
    """One level of the trie. ``here`` holds the keys of filters that end here, ``below`` of those that add a ``#``."""

    __slots__ = ("below", "children", "here")

    def __init__(self) -> None:
        self.children: dict[str, _Node[K]] | None = None
        self.here: list[K] | None = None
        self.below: list[K] | None = None

    def is_empty(self) -> bool:
        return not (self.children or self.here or self.below)


class TopicIndex(Generic[K]):
    """A trie from topic filters to keys: ``match`` visits only the levels that the topic has."""

    __slots__ = ("_root",)

    def __init__(self) -> None:
        self._root: _Node[K] = _Node()

    def add(self, topic_filter: str, key: K) -> None:
        """Enter ``key`` under a well formed filter."""
        path, open_ended = _path(topic_filter)
        node = self._root
        for level in path:
            if node.children is None:
                node.children = {}
            child = node.children.get(level)
            if child is None:
                child = node.children[level] = _Node()
            node = child
        if open_ended:
            node.below = [*(node.below or ()), key]
        else:
            node.here = [*(node.here or ()), key]

    def remove(self, topic_filter: str, key: K) -> None:
        """Take ``key`` out again, and every level that nothing needs any more. Nothing happens if it is not there."""
        path, open_ended = _path(topic_filter)
        trail = [self._root]
        for level in path:
            child = (trail[-1].children or {}).get(level)
            if child is None:
                return
            trail.append(child)
        keys = trail[-1].below if open_ended else trail[-1].here
        if keys and key in keys:
            keys.remove(key)
        self._prune(path, trail)

    @staticmethod
    def _prune(path: list[str], trail: list[_Node[K]]) -> None:
        for depth in range(len(path), 0, -1):
            parent = trail[depth - 1]
            if not trail[depth].is_empty() or not parent.children:
                return
            del parent.children[path[depth - 1]]

    def match(self, topic: str) -> list[K]:
        """The keys of all filters that match a well formed topic, in an order that only the filters' history sets."""
        found: list[K] = []
        levels = topic.split("/")
        nodes = [self._root]
        if topic[0] == "$":
            child = (self._root.children or {}).get(levels.pop(0))
            nodes = [] if child is None else [child]
        for level in levels:
            nodes = _descend(nodes, level, found)
            if not nodes:
                return found
        for node in nodes:
            if node.here:
                found += node.here
            if node.below:
                found += node.below
        return found


def _path(topic_filter: str) -> tuple[list[str], bool]:
    path = topic_filter.split("/")
    open_ended = path[-1] == "#"
    return (path[:-1] if open_ended else path), open_ended


def _descend(nodes: list[_Node[K]], level: str, found: list[K]) -> list[_Node[K]]:
    reached = []
    for node in nodes:
        if node.below:
            found += node.below
        if node.children:
            for step in (level, "+"):
                child = node.children.get(step)
                if child is not None:
                    reached.append(child)
    return reached

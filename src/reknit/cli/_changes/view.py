"""The network as its operators' doors tell it: who is there, and who is linked with whom.

Owns: the links that a plan is made on, and what to say of a broker that is not there. Must not know: plans. Doors that
are not known, and brokers that do not answer, are no error before somebody needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

from reknit.cli._operator import Operator
from reknit.cli._problem import BadInput, Failed
from reknit.core.overlay.shapes import Edge

__all__ = ["View", "look"]


class View:
    def __init__(self, said: dict[str, dict[str, Any]], silent: dict[str, str]) -> None:
        """``said``: by broker, what it tells at ``/topology``. ``silent``: those that do not answer, and why."""
        self._said = said
        self._silent = silent
        links = {(min(name, other), max(name, other)) for name in said for other in said[name]["neighbours"]}
        self.edges: list[Edge] = sorted(links)
        self.names = sorted({*said, *silent, *(name for edge in links for name in edge)} - {""})

    @property
    def unsettled(self) -> str:
        """A link that only one of its ends tells of, though both have answered: it is just coming or going."""
        for one, other in self.edges:
            both = one in self._said and other in self._said
            if both and not (other in self._said[one]["neighbours"] and one in self._said[other]["neighbours"]):
                return f"{one} - {other}"
        return ""

    def silent(self, *names: str) -> str:
        """Why one of these has not answered, if so; empty where no door of it is known."""
        return next((self._silent[name] for name in names if name in self._silent), "")

    def routing(self, name: str) -> tuple[str, bool]:
        """By which strategy it routes, and whether with covering; as most do where it has not answered."""
        said = self._said.get(name, {})
        return said.get("routing", "subscription-forwarding"), said.get("covering", False)

    def check(
        self,
        *names: str,
        command: Callable[..., str] = lambda *_: "",
        otherwise: Callable[..., str] = lambda *_: "",
    ) -> None:
        """``BadInput`` if one of these is no broker here.

        ``command``: from names in the place of these, the words that would be a valid command; empty if there are none.
        ``otherwise``: the words that come nearest to that, with other names.
        """
        for name in names:
            if name not in self.names:
                hint = self._nearest(name, names, command) or self._guess(names, otherwise)
                raise BadInput(f"there is no broker {name!r} in this network; known: {', '.join(self.names)}{hint}")

    def _nearest(self, name: str, names: Sequence[str], command: Callable[..., str]) -> str:
        """What may have been meant: the valid command with the most similar name.

        A guess that is not close changes nothing by itself.
        """
        close = get_close_matches(name, self.names, len(self.names) or 1)
        for known in get_close_matches(name, self.names, len(self.names) or 1, cutoff=0.0):
            meant = [known if each == name else each for each in names]
            if all(each in self.names for each in meant) and (words := command(*meant)):
                return f"; try: reknit {words if known in close else _dry(words)}"
        return ""

    def _guess(self, names: Sequence[str], otherwise: Callable[..., str]) -> str:
        """With all names that are none replaced by the most similar ones: what comes nearest to it, or these names."""
        if not self.names:
            return ""
        meant = [get_close_matches(each, self.names, 1, cutoff=0.0)[0] for each in names]
        if words := otherwise(*meant):
            return f"; try: reknit {_dry(words)}"
        close = [each for name in names if name not in self.names for each in get_close_matches(name, self.names, 1)]
        return f"; did you mean {close[0]}?" if close else ""

    def answers(self, *names: str) -> None:
        """``Failed`` or ``BadInput`` unless each of these has answered."""
        for name in names:
            if name in self._silent:
                raise Failed(self._silent[name])
            if name not in self._said:
                raise BadInput(f"the operators' door of {name} is not known; give its --admin")

    def unheard(self) -> list[str]:
        """Who has not answered, or is only known by others."""
        return [name for name in self.names if name not in self._said]

    def listens_at(self, name: str) -> str:
        self.answers(name)
        return str(self._said[name]["listen"])


def _dry(words: str) -> str:
    return words if words.endswith("--dry-run") else f"{words} --dry-run"


def look(operator: Operator) -> View:
    answers = operator.ask("/topology")
    silent = {each.name or each.error: each.error for each in answers if each.said is None}
    return View({each.name: each.said for each in answers if each.said is not None}, silent)

"""The manager of a planned change of places: any broker, for one change at a time (DYNATOPS, section 5.1.2).

It takes all brokers through the four steps, each only when all have done the one before. Until the last step begins it
lets the change go if a broker refuses, is lost, or takes too long, and everything is as it was. From then on the new
version is there, whatever happens: who has not heard of it hears of it from the others. A manager that dies leaves
nothing that anybody needs: brokers let the change go after a lease, or are ahead of it. It switches only when another
one has: or it could come back, long after all have let the change go, and be the only one for whom it counts.

Owns: who has done which step. Must not know: what a step does, or whether the change is worth it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from reknit.core.io import Reply
from reknit.core.ring.options import RingOptions
from reknit.core.ring.reshaping import Reshaping, fault_of
from reknit.core.ring.station import Station
from reknit.core.turn import Turn
from reknit.trace.records import Kind
from reknit.wire.planes import Dismiss, Place, Stage, Staged, Step

__all__ = ["Manager"]

AGAIN_S = 1.0
"""A step is said again so often: to those who have not done it, and so that all know that the manager lives."""


@dataclass(slots=True)
class _Task:
    version: int
    base: int
    places: Sequence[Place]
    request: int
    since: float
    step: Step = Step.INIT
    waiting: dict[str, None] = field(default_factory=dict)  # who has not done this step
    again_at: float = 0.0


class Manager:
    def __init__(self, turn: Turn, station: Station, reshaping: Reshaping, options: RingOptions) -> None:
        self.turn, self.station, self.reshaping, self.options = turn, station, reshaping, options
        self._task: _Task | None = None
        self._last = 0  # the newest version that was tried from here

    def begin(self, base: int, places: Sequence[Place], request: int) -> None:
        """An operator's request. What cannot be is refused before anybody else hears of it."""
        if why := self._obstacle(base, places):
            self.turn.effects.append(Reply(request, why))
            return
        self._last = max(self._last, self.station.counts) + 1 + self.station.rng.randrange(1 << 16)
        task = self._task = _Task(self._last, base, list(places), request, self.turn.now)
        self._enter(task, Step.INIT)

    def _obstacle(self, base: int, places: Sequence[Place]) -> str:
        names = [name for (_, name, _), _ in places]
        missing = [spot[1] for spot in self.station.plane.member.chord.known() if spot[1] not in names]
        if self._task is not None:
            return f"{self.turn.node} is changing the network to version {self._task.version} already"
        if (change := self.reshaping.change) is not None:
            return f"{change.manager} is changing the network to version {change.version} already"
        if base != self.station.counts:
            return f"the plan is for version {base}, and the network is at {self.station.counts}"
        if why := fault_of(list(places)):
            return why
        if missing:
            return f"{missing[0]} is on the ring, and the plan has no place for it: the network has changed"
        if self.turn.node not in names:
            return f"the plan has no place for {self.turn.node}"
        return self._difference(places)

    def _difference(self, places: Sequence[Place]) -> str:
        """Between the network of the plan and this one, as far as it can be seen from here. Others look again."""
        chord = self.station.plane.member.chord
        ids = {name: number for number, name, _ in (*chord.known(), self.station.me)}
        for (_, name, _), was in places:
            if name in ids and ids[name] != was:
                return f"the network has changed: {name} is at {ids[name]}, not at {was}"
        few = len(chord.behind) < self.options.successors_max
        whole = chord.alone or (few and chord.behind[-1:] == [chord.before])  # once round: there is nobody else
        gone = [name for (_, name, _), _ in places if name not in ids] if whole else []
        return f"the network has changed: {gone[0]} is not on the ring" if gone else ""

    # --- steps

    def _enter(self, task: _Task, step: Step) -> None:
        task.step, task.since = step, self.turn.now
        task.waiting = {name: None for (_, name, _), _ in task.places}
        self.turn.see(Kind.CHANGE, detail=f"places: {step.name} at the manager")
        self._say(task)

    def _say(self, task: _Task) -> None:
        task.again_at = self.turn.now + AGAIN_S
        for (_, name, address), _ in task.places:
            places = list(task.places) if task.step is Step.INIT and name in task.waiting else []
            if task.step is Step.INIT and name not in task.waiting:
                continue
            stage = Stage(task.version, task.base, task.step, self.turn.node, places)
            if name == self.turn.node and (task.step is not Step.FINISH or len(task.waiting) < len(task.places)):
                self.reshaping.receive(name, stage)
            elif name != self.turn.node:
                self.station.peers.say(name, address, stage)

    def receive(self, peer: str, staged: Staged) -> None:
        task = self._task
        if task is None or staged.version != task.version or staged.step is not task.step:
            return
        if staged.error and task.step is not Step.FINISH:
            self._let_go(f"{peer}: {staged.error}" if peer != self.turn.node else staged.error)
            return
        task.waiting.pop(peer, None)
        if task.step is Step.FINISH and self.turn.node in task.waiting:
            self.reshaping.receive(self.turn.node, Stage(task.version, task.base, task.step, self.turn.node))
        if task.waiting:
            return
        if task.step is Step.FINISH:
            self._end("")
        else:
            self._enter(task, Step(task.step + 1))

    def lost(self, peer: str) -> None:
        task = self._task
        if task is None or not any(name == peer for (_, name, _), _ in task.places):
            return
        if task.step is Step.FINISH:
            task.waiting.pop(peer, None)  # it hears of it from the others when it is back
            if not task.waiting:
                self._end("")
        else:
            self._let_go(f"{peer} was lost in step {task.step.name}")

    def _let_go(self, why: str) -> None:
        task = self._task
        if task is not None:
            for (_, name, address), _ in task.places:
                if name == self.turn.node:
                    self.reshaping.let_go(task.version, why)
                else:
                    self.station.peers.say(name, address, Dismiss(task.version, why))
            self._end(f"{why}; nothing has changed")

    def _end(self, error: str) -> None:
        task, self._task = self._task, None
        if task is not None:
            self.turn.see(Kind.CHANGE, detail=f"places: {'let go' if error else 'over'} at the manager")
            self.turn.effects.append(Reply(task.request, error, str(task.version) if not error else ""))

    # --- times

    def deadline(self) -> float | None:
        return None if self._task is None else self._task.again_at

    def due(self) -> None:
        task = self._task
        if task is None or self.turn.now < task.again_at:
            return
        if task.step is not Step.FINISH and self.turn.now >= task.since + self.options.step_s_max:
            late = ", ".join(task.waiting)
            self._let_go(f"{late} did not finish step {task.step.name} within {self.options.step_s_max:g} s")
        else:
            self._say(task)

    @property
    def at_rest(self) -> bool:
        return self._task is None

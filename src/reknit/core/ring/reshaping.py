"""A broker's part in a planned change of places: two versions of the control plane at once, and in the end one.

    step      what the broker does                                               when it has done so
    --------  -----------------------------------------------------------------  --------------------------------------
    INIT      opens the new version beside the one that counts, with all places   at once; or it says why it cannot
    OVERLAY   speaks with its successor there                                     that one has answered
    PUBSUB    3.1 gives the trees of its old place to who has it now, and takes   it has those of its own place, and
              those of its new one; 3.2 joins and leaves trees as clients here    each tree shows what is wanted here
              want
    FINISH    routes what is new by the new version; the old one stays for a      at once
              while, for what is on its way

Events bear the version that routes them; what clients come to want meanwhile is said in both. Before FINISH anybody may
let the new version go: the manager when a broker is lost, a broker when the manager has been silent for a lease. After
it nobody may, and nobody has to be told: each word between brokers says which version counts for its sender. Whoever
has that version too, switches; whoever has not asks for its places, and joins. A broker that comes meanwhile has no
place in the new version, so nobody lets it into the old one either: it joins when the change is over.

Owns: what is under way here. Must not know: who plans a change, or why.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from reknit.core.ring.carriage import Plane
from reknit.core.ring.options import RingOptions
from reknit.core.ring.station import Station
from reknit.core.turn import Turn, earliest
from reknit.trace.records import Kind
from reknit.wire.planes import SEATS_MAX, Dismiss, Place, Places, PlanesMessage, Seat, Seats, Stage, Staged, Step

__all__ = ["Reshaping", "fault_of"]

TOLD_S = 1.0
"""A broker that speaks in a version that does not count any more is told so, no more often than this."""


@dataclass(slots=True)
class _Change:
    version: int
    manager: str
    places: dict[str, Place]
    plane: Plane
    heard_at: float
    step: Step = Step.INIT
    done: Step | None = None  # of which the manager has been told
    given: bool = False
    taken: bool = False
    seats: list[Seat] = field(default_factory=list)


def fault_of(places: list[Place]) -> str:
    """Why brokers cannot be placed so; empty if they can."""
    names: dict[str, None] = {}
    ids: dict[int, str] = {}
    for (number, name, _), _ in places:
        if name in names:
            return f"{name} is placed twice"
        if number in ids:
            return f"{ids[number]} and {name} are both to be at the ring id {number}"
        names[name] = None
        ids[number] = name
    return ""


class Reshaping:
    def __init__(self, turn: Turn, station: Station, options: RingOptions) -> None:
        self.turn, self.station, self.options = turn, station, options
        self.change: _Change | None = None
        self._former: dict[int, float] = {}  # versions that do not count any more, and until when they are kept
        self._told: dict[str, float] = {}
        self._answers: list[tuple[str, Staged]] = []  # to the manager, if that is this very broker
        station.behind = self.behind
        station.ahead = self.ahead

    # --- words

    def receive(self, peer: str, message: PlanesMessage) -> None:
        match message:
            case Stage(step=Step.INIT):
                self._begin(peer, message)
            case Stage():
                self._go_on(message)
            case Dismiss(version=version, reason=reason):
                self.let_go(version, reason)
            case Seats():
                self._take_seats(message)
            case Places(version=version) if version < self.station.counts:
                self.behind(peer)
            case Places(version=version) if self.change is not None and self.change.version == version:
                self.ahead(peer, version)
            case Places(version=version, places=places) if version > self.station.counts and places:
                self._catch_up(message)

    def _begin(self, peer: str, stage: Stage) -> None:
        if self.change is not None and self.change.version == stage.version:
            self.change.heard_at = self.turn.now
            self._answer(peer, Staged(stage.version, Step.INIT))
        elif why := self._obstacle(stage):
            self._answer(peer, Staged(stage.version, Step.INIT, why))
        else:
            self._open(stage)
            self._answer(peer, Staged(stage.version, Step.INIT))

    def _obstacle(self, stage: Stage) -> str:
        node, counts = self.turn.node, self.station.counts
        own = {name: (number, was) for (number, name, _), was in stage.places}
        if self.change is not None:
            return f"{self.change.manager} is changing the network to version {self.change.version} already"
        if stage.base != counts:
            return f"the plan is for version {stage.base}, and {node} is at {counts}"
        if stage.version <= counts:
            return f"version {stage.version} is not newer than {counts}"
        if why := fault_of(stage.places):
            return why
        if node not in own:
            return f"the plan has no place for {node}"
        if own[node][1] != self.station.me[0]:
            return f"the network has changed: {node} is at {self.station.me[0]}, not at {own[node][1]}"
        chord = self.station.plane.member.chord
        for beside in (chord.before, chord.successor):
            if beside is not None and beside[1] not in own:
                return f"the network has changed: {beside[1]} is on the ring, and the plan has no place for it"
        return "" if self.station.joined else f"{node} is on no ring"

    def _open(self, stage: Stage) -> None:
        spots = [spot for spot, _ in stage.places]
        (me,) = [spot for spot in spots if spot[1] == self.turn.node]
        wanted = list(self.station.plane.member.trees.wanted)
        plane = self.station.open(stage.version, (me[0], me[1], self.station.me[2]), ())
        plane.member.seat(spots, wanted)
        places = {spot[1]: (spot, was) for spot, was in stage.places}
        self.change = _Change(stage.version, stage.manager, places, plane, self.turn.now, done=Step.INIT)
        self.station.plane.member.chord.admits = lambda spot: spot[1] in places
        self._see("RCFG_INIT")

    def _go_on(self, stage: Stage) -> None:
        change = self.change
        if stage.step is Step.FINISH and stage.version == self.station.counts:
            self._answer(stage.manager, Staged(stage.version, Step.FINISH))
        elif change is not None and change.version == stage.version:
            change.heard_at = self.turn.now
            change.done = None
            if stage.step > change.step:
                change.step = stage.step
                self._see(f"RCFG_{stage.step.name}")
            if stage.step is Step.PUBSUB and not change.given:
                self._give_seats(change)
            elif stage.step is Step.FINISH:
                self._finish()
            self.check()
        else:
            self._answer(stage.manager, Staged(stage.version, stage.step, f"{self.turn.node} knows of no such version"))

    def check(self) -> None:
        """Tell the manager once a step is done here, and again as long as it asks."""
        change = self.change
        if change is None or change.step is Step.FINISH or change.done is change.step:
            return
        chord, trees = change.plane.member.chord, change.plane.member.trees
        done = change.step is Step.INIT or (chord.answered or not chord.behind)
        if change.step is Step.PUBSUB:
            done = change.taken and trees.at_rest
        if done:
            change.done = change.step
            self._answer(change.manager, Staged(change.version, change.step))

    # --- step 3.1

    def _give_seats(self, change: _Change) -> None:
        change.given = True
        seats, old = self.station.plane.member.trees.seats(), self.station.me[0]
        heir = next((spot for spot, _ in change.places.values() if spot[0] == old), None)
        if heir is not None and heir[1] == self.turn.node:
            change.seats += seats
            self._seated(change)
            return
        if heir is not None:
            for start in range(0, max(len(seats), 1), SEATS_MAX):
                part = seats[start : start + SEATS_MAX]
                last = start + SEATS_MAX >= len(seats)
                self.station.peers.say(heir[1], heir[2], Seats(change.version, part, last))
        if not any(was == change.plane.member.me[0] for _, was in change.places.values()):
            self._seated(change)  # nobody has had its new place

    def _take_seats(self, message: Seats) -> None:
        change = self.change
        if change is not None and change.version == message.version and not change.taken:
            change.seats += message.seats
            if message.last:
                self._seated(change)

    def _seated(self, change: _Change) -> None:
        change.taken = True
        change.plane.member.now = self.turn.now
        change.plane.member.take_seats(change.seats)
        change.seats = []
        self._see("RCFG_PUBSUB 3.2")

    # --- the end

    def _finish(self) -> None:
        change = self.change
        if change is None:
            return
        self._former[self.station.counts] = self.turn.now + self.options.grace_s
        self.station.places, self.change = list(change.places.values()), None
        self._told.update(dict.fromkeys(change.places, self.turn.now))  # they hear of it anyway, as this one has
        self.station.switch(change.version)
        self._answer(change.manager, Staged(change.version, Step.FINISH))

    def let_go(self, version: int, reason: str) -> None:
        """There will be no such version."""
        if self.change is not None and self.change.version == version:
            self._see(f"dismissed: {reason}")
            self.change = None
            self.station.close(version)
            self.station.plane.member.chord.admits = lambda spot: True

    # --- those who are behind, or ahead

    def ahead(self, peer: str, version: int) -> None:
        """For this one a newer version counts."""
        if self.change is not None and self.change.version == version:
            self._see("RCFG_FINISH heard of")
            self._finish()
        else:
            self._tell_seldom(peer, Places(self.station.counts, []))  # so it hears who is behind

    def behind(self, peer: str) -> None:
        """This one speaks in a version that does not count any more."""
        known = [self.station.me, *self.station.plane.member.chord.acquainted()]
        places = self.station.places or [(spot, spot[0]) for spot in known]
        self._tell_seldom(peer, Places(self.station.counts, places))

    def _tell_seldom(self, peer: str, message: Places) -> None:
        if self.turn.now >= self._told.get(peer, 0.0) + TOLD_S or peer not in self._told:
            self._told[peer] = self.turn.now
            self.station.peers.say(peer, "", message)

    def _catch_up(self, message: Places) -> None:
        if self.change is not None:
            self.let_go(self.change.version, f"version {message.version} counts elsewhere")
        self.station.places = message.places
        self._former.clear()
        own = [spot for spot, _ in message.places if spot[1] == self.turn.node]
        me = own[0] if own else self.station.me
        others = [spot for spot, _ in message.places if spot[1] != self.turn.node]
        self._see(f"caught up with version {message.version}")
        self.station.begin_anew(message.version, (me[0], me[1], self.station.me[2]), others)

    # --- times

    def deadline(self) -> float | None:
        lease = None if self.change is None else self.change.heard_at + self.options.lease_s
        return earliest(lease, min(self._former.values(), default=None))

    def due(self) -> None:
        if self.change is not None and self.turn.now >= self.change.heard_at + self.options.lease_s:
            self.let_go(self.change.version, f"{self.change.manager} has been silent for {self.options.lease_s:g} s")
        for version, until in list(self._former.items()):
            if self.turn.now >= until:
                del self._former[version]
                self.station.close(version)
                self.station.plane.member.trees.drop_hearsay()

    @property
    def at_rest(self) -> bool:
        return self.change is None and not self._former

    # --- effects

    def _answer(self, peer: str, staged: Staged) -> None:
        if peer == self.turn.node:
            self._answers.append((peer, staged))
        else:
            self.station.peers.say(peer, "", staged)

    def answers(self) -> Iterator[tuple[str, Staged]]:
        """What was said to this very broker."""
        while self._answers:
            yield self._answers.pop(0)

    def _see(self, step: str) -> None:
        self.turn.see(Kind.CHANGE, detail=f"places: {step}")

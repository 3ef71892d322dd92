"""A table that is given once and never changes: what the paper's simulations have, and the oracle of the others."""

from __future__ import annotations

from reknit.community.memberships.base import Membership
from reknit.wire.peers import Contact

__all__ = ["Static"]


class Static(Membership):
    searches = False

    def join(self, contacts: tuple[str, ...]) -> None:
        for contact in contacts:
            self.add(contact)

    def leave(self) -> None:
        """Nobody is told, and nobody would change anything."""

    def tell(self, supers: tuple[Contact, ...]) -> None:
        """Nobody, as it is given who knows whom."""

    def population(self) -> float:
        return float(self.options.population or len(self.view) + 1)

    def drop(self, peer: str) -> None:
        """Not even of the dead."""

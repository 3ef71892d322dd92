"""What can be set about the placement of clients by interest.

Owns: the values and their defaults. Must not know: who reads them.
"""

from __future__ import annotations

import math

import msgspec

from reknit.model.similarity import SIMILARITIES
from reknit.wire.placement import CLUSTER_CHARS_MAX

__all__ = ["PlacementOptions"]


class PlacementOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    update_s: float = 0.0
    """How often brokers of a cluster tell each other what their clients want (T_update); 0: clients stay where they
    connect."""

    clusters: int = 1
    """Brokers are divided into so many clusters, by their names; a client moves within one."""

    cluster: str = ""
    """The name of this broker's own cluster, if not its name is to decide."""

    similarity: str = "overlap"
    """How alike a client and a broker are: ``overlap`` is the paper's."""

    load_weight: float = 1.0
    """What a broker's part of all subscriptions in its cluster counts beside that (w_l)."""

    own_topics: bool = True
    """Whether topics count for a broker that this very client alone has brought: then it rather stays where it is."""

    gain_min: float = 0.05
    """A client moves only where it is better off by more than this."""

    settle_s: float = 1.0
    """So long after a change of what it wants a client is looked at; further changes begin that anew."""

    stay_s: float = 60.0
    """A client that has moved stays for so long at least."""

    def __post_init__(self) -> None:
        if self.similarity not in SIMILARITIES:
            raise ValueError(f"similarity: one of {', '.join(SIMILARITIES)}, not {self.similarity!r}")
        if self.clusters < 1:
            raise ValueError(f"clusters: at least 1, not {self.clusters}")
        if len(self.cluster) > CLUSTER_CHARS_MAX:
            raise ValueError(f"cluster: at most {CLUSTER_CHARS_MAX} characters")
        for name in ("update_s", "load_weight", "gain_min", "settle_s", "stay_s"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name}: a number from 0 on, not {getattr(self, name)}")

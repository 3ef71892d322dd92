"""CAMCAST, Figure 16: how likely all processes of a community that live are reached,
where processes have failed before.
"""

from __future__ import annotations

from typing import Final

from reknit.lab.experiment import Published
from reknit.lab.experiments._camcast import LEVELS, Figure, as_reliable_as_theory, of_alive

__all__ = ["EXPERIMENT"]


EXPERIMENT: Final = Figure(
    id="camcast-fig16",
    figure="Figure 16",
    claim="Reliability depends on the community, and on super-topic tables that are valid.",
    title="Reliability",
    unit="% of events that reach all",
    letters=LEVELS,
    value=of_alive,
    holds=as_reliable_as_theory,
    published={"g, 0 % failed": Published(None, "%", "a curve")},
    weak=False,
).experiment()

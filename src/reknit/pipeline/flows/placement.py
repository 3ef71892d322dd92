"""``placement``: users to brokers by interest, for millions of them (DYNATOPS, section 4)."""

from __future__ import annotations

from reknit.pipeline import placement as made
from reknit.pipeline.flow import Bars, Flow, Step

__all__ = ["FLOW"]

_USERS = ("interests", "named", "homes")
_COMPARED = ("brokers", "placed", "users", "named")

FLOW = Flow(
    name="placement",
    about="users to brokers by interest, each cluster by itself, beside users that stay where they are (DYNATOPS, 4)",
    parameters=made.Placing,
    inputs=(made.INTERESTS, made.HOMES, made.NETWORK),
    steps=(
        Step("named", "brokers by number", ("network",), made.named, made.NAMED),
        Step("users", "each user with its topics", _USERS, made.users, made.USERS, carries="rows"),
        Step(
            "placed", "the broker of each user", ("users", "named", "homes"), made.placed, made.PLACED, carries="users"
        ),
        Step("moves", "who goes where", ("placed", "named", "homes"), made.moves, made.MOVES),
        Step("brokers", "what each broker has", ("placed", "users"), made.brokers, made.BROKERS, carries="users"),
        Step("compared", "by interest, and not", _COMPARED, made.compared, made.COMPARED),
    ),
    charts=(Bars("topics.png", "compared", "policy", "topics", "Topics that brokers have to subscribe to, in all"),),
)

"""``reknit peers``: many peers in one process, for trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from reknit.cli._flags import JsonFlag
from reknit.cli._problem import BadInput, Failed

if TYPE_CHECKING:
    from reknit.live.peers.trial import TrialOutcome, TrialPlan

__all__ = ["peers", "register", "sizes_of"]

DEFAULT = (("soccer", 7), ("soccer/italy", 30), ("soccer/italy/serie-a", 80))
"""The shares of the paper's trial on real machines: three communities, each below the one before."""


def register(app: typer.Typer) -> None:
    app.command("peers")(peers)


def peers(
    count: Annotated[int, typer.Option("--count", min=2, max=2000, help="How many peers.")] = 40,
    topic: Annotated[
        list[str], typer.Option("-t", "--topic", metavar="TOPIC", help="Communities to spread them over, evenly.")
    ] = [],  # noqa: B006
    events: Annotated[int, typer.Option("--events", min=1, help="How many events, of the last topic.")] = 20,
    rate: Annotated[float, typer.Option("--rate", min=0.001, help="Events a second.")] = 10.0,
    payload: Annotated[int, typer.Option("--payload", min=0, help="Bytes in each event.")] = 32,
    membership: Annotated[str, typer.Option("--membership", help="How members know each other, by name.")] = "scamp",
    c: Annotated[float, typer.Option("-c", help="Each gossips to ln N + c others.")] = 5.0,
    g: Annotated[float, typer.Option("-g", help="So many members of a community pass an event upward.")] = 5.0,
    seed: Annotated[int, typer.Option("--seed", help="Decides who is where, and who publishes.")] = 1,
    as_json: JsonFlag = False,
) -> None:
    """Run many peers on loopback, and publish.

    Print what was delivered. Exit code 1 for a parasite.

    Example: reknit peers --count 40 --events 20
    """
    import asyncio

    from reknit.community.memberships.names import membership_of
    from reknit.community.options import TopicOptions, check_options
    from reknit.live.peers.trial import TrialPlan, brisk, run_trial
    from reknit.wire.peers import check_community

    try:
        membership_of(membership)
        for each in topic:
            check_community(each)
        options = brisk(count, TopicOptions(c=c, g=g, membership=membership))
        check_options(options)
    except ValueError as error:
        raise BadInput(f"peers: {error}") from None
    plan = TrialPlan(sizes_of(count, topic), events, rate, payload, options=options, seed=seed)
    outcome = asyncio.run(run_trial(plan))
    _print(plan, outcome, as_json)
    if outcome.parasites:
        raise Failed(f"peers: {outcome.parasites} parasite events")
    if not outcome.settled:
        raise Failed(f"peers: not all knew each other within {plan.settle_s_max:g} s")


def sizes_of(count: int, topics: list[str]) -> tuple[tuple[str, int], ...]:
    """Each community has one peer at least."""
    shares = [(topic, 1) for topic in dict.fromkeys(topics)] or list(DEFAULT)
    if count < len(shares):
        raise BadInput(f"--count: {count} peers are too few for {len(shares)} communities")
    total = sum(share for _, share in shares)
    sizes = [max(1, count * share // total) for _, share in shares]
    sizes[-1] += count - sum(sizes)
    return tuple((topic, size) for (topic, _), size in zip(shares, sizes, strict=True))


def _print(plan: TrialPlan, outcome: TrialOutcome, as_json: bool) -> None:
    import json
    from dataclasses import asdict

    if as_json:
        typer.echo(json.dumps({**asdict(outcome), "delivered_per_s": outcome.delivered_per_s}, indent=2))
        return
    typer.echo(f"{outcome.peers} peers, {outcome.published} events of {plan.published_on}")
    width = max(len(each.topic) for each in outcome.communities)
    for each in outcome.communities:
        share = f"{100 * each.delivered / each.owed:6.2f} %" if each.owed else "none owed"
        typer.echo(f"  {each.topic:{width}}  {each.members:4d} members  {each.delivered:6d} delivered  {share}")
    typer.echo(f"parasites: {outcome.parasites}")
    typer.echo(
        f"{outcome.delivered_per_s:.0f} deliveries a second, the median after {1000 * outcome.latency_s:.0f} ms; "
        f"{outcome.datagrams} datagrams, of {outcome.datagram_bytes_max} bytes at most"
    )

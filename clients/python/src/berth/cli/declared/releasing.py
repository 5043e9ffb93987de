"""Releasing an instance: what stands against it, and what becomes of its reserved term."""

from datetime import UTC
from typing import TYPE_CHECKING, Final

from berth.cli.declared.market import ENDED, Market

if TYPE_CHECKING:
    from berth import models

WAIT_S: Final = 900.0


def release(market: Market, instance_id: str) -> None:
    """Release an instance and wait until its host has confirmed it, so that its GPUs and its volumes are free."""
    market.client.instances.release(instance_id)
    market.client.wait(instance_id, "gone", timeout=WAIT_S)


def protection(live: "models.InstanceOut") -> list[str]:
    """Return how to turn release protection off, where it is on."""
    if not live.locked or live.state in ENDED:
        return []
    return [f"Release protection is on: turn it off with `berth api PATCH /instances/{live.id} -f locked=false` first."]


def early_end(live: "models.InstanceOut") -> str:
    """Return what a release does to its reserved term; empty: none runs."""
    until = _term_until(live)
    if not until:
        return ""
    return (
        f"Its reserved term, which runs until {until}, ends early. What that costs beyond its deposit and your wallet is"
        " owed, and nothing can be ordered until it is paid."
    )


def against_replacement(live: "models.InstanceOut") -> list[str]:
    """Return why an instance can't be released for another one, and what to do first."""
    until = _term_until(live)
    if not until:
        return protection(live)
    return [
        *protection(live),
        f"Its reserved term runs until {until}. Ending it early can leave a debt, with which no other can be rented. Apply"
        f" `billing_mode: hourly` without the other changes first, or end the term with `berth rm {live.id}`.",
    ]


def _term_until(live: "models.InstanceOut") -> str:
    """Return when the running term ends, as text; empty: none has begun."""
    term = live.billing.term
    if live.billing.mode != "reserved" or term is None or term.ends_at is None:
        return ""
    return f"{term.ends_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"

"""The wallet, and what was spent."""

from typing import TYPE_CHECKING

import click
from msgspec import UNSET

from berth.cli.framework import command, session
from berth.cli.output import Column

if TYPE_CHECKING:
    from berth import models


@command("wallet")
@click.option("--entries", is_flag=True, help="Show the latest statement entries instead")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True)
def wallet(entries: bool, limit: int) -> None:
    """Show the balance, what is held, and how long it lasts."""
    here = session()
    if entries:
        columns: list[Column[models.EntryOut]] = [
            Column("AT", lambda entry: entry.at),
            Column("KIND", lambda entry: entry.kind),
            Column("AMOUNT", lambda entry: entry.amount, right=True),
            Column("BALANCE", lambda entry: entry.balance_after, right=True),
            Column("WHAT", lambda entry: entry.what),
        ]
        here.out.rows(here.client.wallet.entries(limit=limit).first().results, columns, name=lambda entry: str(entry.id))
        return
    found = here.client.wallet.get()
    runway = "nothing runs" if found.runway_hours is None else f"{found.runway_hours:.1f} h"
    amounts = [("Spendable", found.spendable), ("Balance", found.live_balance), ("Held", found.held)]
    facts = [(title, f"{amount} {found.currency}") for title, amount in amounts]
    rest = [("Per hour", found.hourly_rate), ("Lasts", runway), ("Standing", found.standing.state)]
    here.out.facts(found, [*facts, *rest], name=found.spendable)


@command("cost")
@click.option("--by", type=click.Choice(["source", "day", "mode"]), default="source", show_default=True)
@click.option("--since", help="A date like 2026-11-01 (UTC)")
@click.option("--until", help="A date, exclusive")
def cost(by: str, since: str | None, until: str | None) -> None:
    """Show what was spent."""
    here = session()
    found = here.client.wallet.spend(by=by, since=since or UNSET, until=until or UNSET)
    if here.out.is_json:
        here.out.json(found)
        return
    spent: list[Column[models.SpendRow]] = [
        Column(by.upper(), lambda row: row.what or row.key),
        Column("GPU HOURS", lambda row: row.hours, right=True),
        Column("AMOUNT", lambda row: row.amount, right=True),
    ]
    here.out.rows(found.rows, spent, name=lambda row: str(row.key), empty="Nothing was spent in that time.")
    if here.out.form != "name":
        here.out.note(f"{found.total} from {found.since} to {found.until} (UTC)")

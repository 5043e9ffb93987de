"""Hosts of one's own: what their owner asks for and decides."""

from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET

from berth.cli.commands.host_maintenance import maintenance
from berth.cli.commands.host_prices import GPU, change_offers, price
from berth.cli.framework import nouns, session
from berth.cli.lookup import find_host
from berth.cli.ordering import DRY_RUN, PREVIEW
from berth.cli.output import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from berth import models

COLUMNS: "Sequence[Column[models.Host]]" = (
    Column("NAME", lambda host: host.name),
    Column("STATE", lambda host: host.state + (", draining" if host.draining else "")),
    Column("REGION", lambda host: host.region),
    Column("GPUS", lambda host: [f"{each.gpu_total} × {each.gpu_model}" for each in host.offers]),
    Column("FREE", lambda host: sum(each.gpu_free for each in host.offers), right=True),
    Column("PER GPU/H", lambda host: [each.price_hourly for each in host.offers], right=True),
    Column("VERIFIED", lambda host: host.verified),
    Column("RELIABILITY", lambda host: host.reliability, right=True),
    Column("LAST SEEN", lambda host: host.last_seen_at),
    Column("WARNINGS", lambda host: host.warnings, wide=True),
    Column("ID", lambda host: host.id, wide=True),
)


def _show(host: "models.Host | models.HostDetail") -> None:
    facts = [
        ("Host", host.name),
        ("ID", host.id),
        ("State", host.state + (", draining" if host.draining else "")),
        ("Region", host.region),
        ("Address", host.address + (" (behind NAT)" if host.behind_nat else "")),
        ("Verified", f"{host.verified}: {host.verification}"),
        ("Agent", host.agent_version),
        ("Last seen", host.last_seen_at),
        *(
            ("Offer", f"{each.gpu_free}/{each.gpu_total} {each.gpu_model} free, {each.price_hourly} per GPU and hour")
            for each in host.offers
        ),
        *(("Warning", each) for each in host.warnings),
    ]
    session().out.facts(host, facts, name=host.name)


@nouns("host")
def host() -> None:
    """Manage your hosts: prices, maintenance, earnings, self-tests, adding one."""


host.add_command(price)
host.add_command(maintenance)


@host.command("ls")
def ls() -> None:
    """List your hosts."""
    empty = "You have no hosts. Add one: berth host add"
    session().out.rows(session().client.hosts.list().results, COLUMNS, name=lambda each: str(each.name), empty=empty)


@host.command("show")
@click.argument("name")
def show(name: str) -> None:
    """Show a host."""
    _show(session().client.hosts.get(find_host(name).id))


@host.command("add")
@click.argument("name")
@click.option("--region", required=True)
@click.option("--price", required=True, help="Per GPU and hour")
@DRY_RUN
def add(*, name: str, region: str, price: str, dry_run: bool) -> None:
    """Create a join token, and print the command to run on the host."""
    made = session().client.join_tokens.create(host_name=name, region=region, price_hourly=price, dry_run=dry_run)
    if dry_run:
        session().out.note("It could be added. No token was made.")
        return
    if session().out.is_json:
        session().out.json(made)
        return
    session().out.note(f"Run this on {name}, once, until {made.expires_at:%H:%M %Z}:")
    session().out.line(made.command or made.token)


@host.command("list")
@click.argument("name")
@GPU
@PREVIEW
def list_(name: str, gpu: str | None, dry_run: bool) -> None:
    """Put a host's GPUs on the market."""
    change_offers(name, gpu, {"listed": True}, dry_run=dry_run)


@host.command("unlist")
@click.argument("name")
@GPU
@PREVIEW
def unlist(name: str, gpu: str | None, dry_run: bool) -> None:
    """Take a host's GPUs off the market; existing rentals continue."""
    change_offers(name, gpu, {"listed": False}, dry_run=dry_run)


@host.command("earnings")
@click.argument("name", required=False)
@click.option("--by", type=click.Choice(["day", "month", "gpu", "instance", "offer"]), default="day", show_default=True)
@click.option("--since", help="A date like 2026-11-01 (UTC)")
@click.option("--until", help="A date, exclusive")
def earnings(name: str | None, by: str, since: str | None, until: str | None) -> None:
    """Show what a host, or all of them, earned."""
    client = session().client
    span: dict[str, Any] = {"since": since or UNSET, "until": until or UNSET}
    found = client.hosts.earnings(find_host(name).id, by=by, **span) if name else client.hosts.earnings_all(by=by, **span)
    if session().out.is_json:
        session().out.json(found)
        return
    columns: list[Column[models.EarningOut]] = [
        Column(by.upper(), lambda row: row.day or row.gpu_model or row.instance or row.key),
        Column("GPU HOURS", lambda row: row.gpu_hours, right=True),
        Column("GROSS", lambda row: row.gross, right=True),
        Column("FEE", lambda row: row.fee, right=True),
        Column("NET", lambda row: row.net, right=True),
    ]
    session().out.rows(found.results, columns, name=lambda row: str(row.key), empty="Nothing was earned in that time.")


@host.command("self-test")
@click.argument("name")
@DRY_RUN
def self_test(name: str, dry_run: bool) -> None:
    """Start a self-test."""
    answer = session().client.hosts.self_test_ask(find_host(name).id, dry_run=dry_run)
    session().out.facts(answer, [("Self-test", answer.id), ("Verdict", answer.verdict)], name=answer.id)


@host.command("drain")
@click.argument("name")
@click.option("--stop", is_flag=True, help="Accept new rentals again")
@DRY_RUN
def drain(name: str, stop: bool, dry_run: bool) -> None:
    """Accept no new rentals, for maintenance; running instances continue."""
    changed = session().client.hosts.maintenance(find_host(name).id, draining=not stop, dry_run=dry_run)
    if session().out.is_json:
        session().out.json(changed)
    elif dry_run:
        session().out.note("Nothing was changed.")
    else:
        session().out.note("Accepts rentals." if stop else "Draining.")


@host.command("revoke-agent")
@click.argument("name")
@click.option("--yes", "-y", is_flag=True, help="Don't ask")
@DRY_RUN
def revoke_agent(name: str, yes: bool, dry_run: bool) -> None:
    """Refuse the host's agent from now on, for example after its key was stolen."""
    found = find_host(name)
    if not dry_run:
        session().confirm(f"Revoke the key of {found.name}'s agent?", yes=yes)
    _show(session().client.hosts.revoke_agent(found.id, dry_run=dry_run))

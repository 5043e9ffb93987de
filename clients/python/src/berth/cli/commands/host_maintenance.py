"""Maintenance that a host's owner announces."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET

from berth.cli.framework import nouns, session
from berth.cli.lookup import find_host, pick
from berth.cli.ordering import DRY_RUN, PREVIEW
from berth.cli.output import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from berth import models

COLUMNS: "Sequence[Column[models.MaintenanceWindow]]" = (
    Column("ID", lambda each: each.id),
    Column("CATEGORY", lambda each: each.category),
    Column("STARTS", lambda each: each.starts_at),
    Column("ENDS", lambda each: each.ends_at),
    Column("CANCELLED", lambda each: each.cancelled_at),
    Column("DETAIL", lambda each: each.detail),
    Column("OUTAGES EXCUSED", lambda each: each.excuses, wide=True),
    Column("ANNOUNCED", lambda each: each.announced_at, wide=True),
)


class _Time(click.ParamType[datetime]):
    """A date and time as in ISO 8601; without an offset, in this machine's time zone."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        try:
            return datetime.fromisoformat(str(value)).astimezone()
        except ValueError:
            self.fail(f"{value!r} isn't a time like 2026-12-01T02:00 or 2026-12-01T02:00Z.", param, ctx)


@nouns("maintenance")
def maintenance() -> None:
    """Announce, list and cancel maintenance of a host."""


@maintenance.command("ls")
@click.argument("name")
@click.option("--all", "show_all", is_flag=True, help="Include past and cancelled maintenance")
def ls(name: str, show_all: bool) -> None:
    """List current and upcoming maintenance of a host."""
    rows = [each for each in _windows(find_host(name)) if show_all or _is_ahead(each)]
    session().out.rows(rows, COLUMNS, name=lambda each: str(each.id), empty="No maintenance is announced.")


@maintenance.command("announce")
@click.argument("name")
@click.option("--from", "starts_at", type=_Time(), required=True, help="When it starts: 2026-12-01T02:00, or with Z in UTC")
@click.option("--until", "ends_at", type=_Time(), help="When it ends")
@click.option("--hours", type=click.FloatRange(0, min_open=True), help="How long it takes, instead of --until")
@click.option(
    "--category",
    type=click.Choice(["power", "internet", "disk", "gpu", "software", "other"]),
    default="other",
    show_default=True,
)
@click.option("--detail", help="What renters are told")
@DRY_RUN
def announce(
    name: str, *, starts_at: datetime, ends_at: datetime | None, hours: float | None, dry_run: bool, **about: str | None
) -> None:
    """Announce maintenance: `berth host maintenance announce NAME --from 2026-12-01T02:00 --hours 2 --category power`.

    At least 24 hours ahead. Renters are told, nothing new is rented in that time, and outages don't count against the host.
    """
    if (ends_at is None) == (hours is None):
        raise click.UsageError("Give either --until or --hours.")
    ends = ends_at or starts_at + timedelta(hours=hours or 0)
    window = session().client.hosts.maintenance(
        find_host(name).id,
        category=about["category"] or UNSET,
        detail=about["detail"] or UNSET,
        starts_at=starts_at.astimezone(UTC),
        ends_at=ends.astimezone(UTC),
        dry_run=dry_run,
    )
    _show(window)
    session().out.note("It could be announced. Nothing was." if dry_run else "Renters are told.")


@maintenance.command("cancel")
@click.argument("name")
@click.argument("window", required=False)
@PREVIEW
def cancel(name: str, window: str | None, dry_run: bool) -> None:
    """Cancel maintenance, or end it early: by its ID, or the only upcoming one."""
    host = find_host(name)
    found = _only([each for each in _windows(host) if _is_ahead(each)], window)
    if not dry_run:
        found = session().client.hosts.maintenance_cancel(host.id, found.id)
    _show(found)
    session().out.note("Nothing was cancelled." if dry_run else "Cancelled.")


def _windows(host: "models.Host") -> "list[models.MaintenanceWindow]":
    return session().client.hosts.maintenance_list(host.id).results


def _is_ahead(window: "models.MaintenanceWindow") -> bool:
    return window.cancelled_at is None and window.ends_at > datetime.now(UTC)


def _only(ahead: "list[models.MaintenanceWindow]", text: str | None) -> "models.MaintenanceWindow":
    if text is None and len(ahead) > 1:
        raise click.UsageError(f"Which one? {', '.join(each.id for each in ahead)}")
    if text is None and ahead:
        return ahead[0]
    return pick(ahead, text or "announced", "maintenance", name=lambda each: str(each.id))


def _show(window: "models.MaintenanceWindow | models.MaintenanceReply") -> None:
    facts = [
        ("Maintenance", window.id),
        ("Category", window.category),
        ("Starts", window.starts_at),
        ("Ends", window.ends_at),
        ("Cancelled", window.cancelled_at),
        ("Detail", window.detail),
        ("Outages excused", window.excuses),
    ]
    session().out.facts(window, facts, name=window.id)

"""Files that say what is to be there: plan, apply, destroy."""

from typing import TYPE_CHECKING, Any

import click

from berth import errors
from berth.cli.framework import command, session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from berth.cli.declared.plans import Entry

PENDING = 9  # an exit code of its own: 2 is wrong use, such as a file with a mistake
_FILES = click.option(
    "--file",
    "-f",
    "files",
    multiple=True,
    required=True,
    type=click.Path(exists=True, allow_dash=True),
    help="YAML or JSON: a file, a folder of files, or - for standard input",
)
_RENEW = click.option("--renew-secrets", is_flag=True, help="Send all secrets again, since their values can't be compared")
_YES = click.option("--yes", "-y", is_flag=True, help="Don't ask, except before data is lost")


@command("plan")
@_FILES
@_RENEW
@click.option("--exit-code", is_flag=True, help="Exit with 9 if there is anything to do")
def plan(files: tuple[str, ...], renew_secrets: bool, exit_code: bool) -> int:
    """Preview what `apply` would change, without changing anything.

    + create, ~ change in place, ! replace and lose the data, x not possible, = up to date.
    """
    entries = _planned(files, renew_secrets=renew_secrets)
    return PENDING if exit_code and any(each.pending for each in entries) else 0


@command("apply")
@_FILES
@_RENEW
@click.option(
    "--replace",
    multiple=True,
    metavar="NAME",
    help="Replace this resource although its data is lost; volume/NAME if an instance has the same name",
)
@_YES
@click.option("--dry-run", is_flag=True, help="Same as berth plan")
@click.option("--wait/--no-wait", default=True, help="Wait until everything that was rented or started is running")
@click.option("--timeout", type=float, default=900.0, show_default=True, help="Seconds to wait for each")
def apply(files: tuple[str, ...], dry_run: bool, wait: bool, timeout: float, **wanted: Any) -> None:
    """Create and change instances, volumes and templates as declared in files, matched by name.

    Shows the plan with prices, and asks. Resources that aren't in the files are left alone. Safe to interrupt and run again.
    """
    if dry_run:
        _planned(files, renew_secrets=wanted["renew_secrets"])
        return
    from berth.cli.declared.applying import apply as apply_all
    from berth.cli.declared.applying import wait_for_all
    from berth.cli.declared.files import read_documents

    client = session().client
    done = apply_all(client, read_documents(files), **wanted)
    if wait:
        try:
            wait_for_all(client, done, timeout=timeout)
        except (errors.WaitTimeout, errors.WaitFailed, errors.ConnectionFailed, KeyboardInterrupt):
            _show_results(done)  # all of it was made, and is paid for: its ids are what a script needs now
            raise
    _show_results(done)


@command("destroy")
@_FILES
@click.option("--yes", "-y", is_flag=True, help="Don't ask: delete everything in the plan")
def destroy(files: tuple[str, ...], yes: bool) -> None:
    """Release the instances and delete the volumes and templates declared in the files, with all their data."""
    from berth.cli.declared.applying import carry_out, plan_destruction, refuse_blocked, show_plan
    from berth.cli.declared.files import read_documents

    here = session()
    entries = plan_destruction(here.client, read_documents(files))
    show_plan(entries, here.out.note)
    refuse_blocked(entries)
    if any(each.pending for each in entries):
        here.confirm("Delete all of this for good?", yes=yes)
        carry_out(entries)
    _show_results(entries)


def _planned(files: tuple[str, ...], *, renew_secrets: bool) -> "Sequence[Entry]":
    from berth.cli.declared.applying import show_plan
    from berth.cli.declared.files import read_documents
    from berth.cli.declared.planning import make_plan

    here = session()
    entries = make_plan(here.client, read_documents(files), renew_secrets=renew_secrets)
    if here.out.is_json:
        here.out.json([each.as_data() for each in entries])
    elif here.out.form == "name":
        _names(entries)
    else:
        show_plan(entries, here.out.line)
    return entries


def _show_results(entries: "Sequence[Entry]") -> None:
    from berth.cli.declared.applying import with_ids

    here = session()
    if here.out.is_json:
        here.out.json([each.as_data() for each in with_ids(here.client, entries)])
    elif here.out.form == "name":
        _names(entries)


def _names(entries: "Sequence[Entry]") -> None:
    for each in entries:
        if each.pending:
            session().out.line(f"{each.document.kind}/{each.document.name}")

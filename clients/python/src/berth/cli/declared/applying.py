"""Carrying a plan out: questions first, then one call after the other, so that a run that is cut off can be run again."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace as changed
from typing import TYPE_CHECKING

import click

from berth import errors
from berth.cli.declared.files import Document
from berth.cli.declared.launches import values_of
from berth.cli.declared.market import ENDED, Market
from berth.cli.declared.planning import make_plan
from berth.cli.declared.plans import Entry, Step, totals
from berth.cli.declared.releasing import early_end, protection, release
from berth.cli.declared.volumes import delete_volume
from berth.cli.framework import Refused, printable, session

if TYPE_CHECKING:
    from berth import Client, models

_AGAIN = "What is done stays. Run the same command again: it goes on where this ended, and rents nothing twice."


def show_plan(entries: Sequence[Entry], say: Callable[[str], None]) -> None:
    for line in [line for each in entries for line in each.lines()] + totals(entries):
        say(line)


def apply(
    client: "Client", documents: Sequence[Document], *, yes: bool, replace: Collection[str], renew_secrets: bool
) -> list[Entry]:
    """Plan, ask, and carry out: templates and volumes first, and then the instances, which are compared with them anew.

    Raises:
        Refused: something can't be done, or the answer is no.
    """
    entries = make_plan(client, documents, renew_secrets=renew_secrets)
    for each in entries:
        if each.document.kind == "instance" and each.action in ("create", "replace"):
            values_of(each.document)  # what isn't set is said before anything is made, not between a volume and its instance
    _agree(entries, yes=yes, replace=replace)
    bases = [each for each in entries if each.document.kind != "instance"]
    instances = [each for each in entries if each.document.kind == "instance"]
    carry_out(bases)
    if any(each.pending for each in bases) and any(each.action != "create" for each in instances):
        instances = _again(client, documents, instances, renew_secrets=renew_secrets)
        _agree_again(entries, instances, yes=yes, replace=replace)
    carry_out(instances)
    return [*bases, *instances]


def _again(client: "Client", documents: Sequence[Document], before: Sequence[Entry], *, renew_secrets: bool) -> list[Entry]:
    """Compare the instances that exist once more: what they are made from has changed. New ones keep their agreed price."""
    kept = {each.document.name: each for each in before if each.action == "create"}
    rest = [each for each in documents if each.kind != "instance" or each.name not in kept]
    fresh = {each.document.name: each for each in make_plan(client, rest, renew_secrets=renew_secrets)}
    return [kept.get(each.document.name) or fresh[each.document.name] for each in before]


def _agree_again(before: Sequence[Entry], after: Sequence[Entry], *, yes: bool, replace: Collection[str]) -> None:
    """Ask for what the first plan didn't show.

    Raises:
        Refused: something costs more than was agreed or rents another offer, and nobody can be asked: `--yes` was the
            answer to the first plan.
    """
    shown = {each.document.title: each for each in before}
    pending = [each for each in after if each.pending and each.action != "create"]
    dearer = [each for each in pending if each.dearer_than(shown[each.document.title])]
    if dearer and (yes or not session().may_ask()):
        show_plan(after, session().out.note)
        names = ", ".join(each.document.title for each in dearer)
        raise Refused(
            f"{names}: the price is higher, or the offer another one, than in the first plan. Templates and volumes are"
            " made; the instances are as they were. Run it again to agree to this plan.",
            6,
        )
    if dearer or any(each.same != shown[each.document.title].same for each in pending):
        _agree(after, yes=yes, replace=replace)


def _agree(entries: Sequence[Entry], *, yes: bool, replace: Collection[str]) -> None:
    """Show the plan and ask: once for all of it, and for each name whose data would be lost."""
    here = session()
    show_plan(entries, here.out.note)
    refuse_blocked(entries)
    if not any(each.pending for each in entries):
        return
    losing = [each for each in entries if each.loses]
    lost = [each for each in losing if not _agreed_to(each, losing, replace)]
    if lost and not here.may_ask():
        names = " ".join(f"--replace {_name_among(each, losing)}" for each in lost)
        raise click.UsageError(printable(f"{lost[0].loses} would be deleted. If that is meant, repeat with {names}"))
    for each in lost:
        typed = click.prompt(printable(f"Type {each.document.name} to delete {each.loses}"), err=True, default="")
        if typed != each.document.name:
            raise Refused("Nothing was done.", 2)
    here.confirm("Do this?", yes=yes)


def refuse_blocked(entries: Sequence[Entry]) -> None:
    """Raise Refused if something of a plan can't be done."""
    if any(each.action == "blocked" for each in entries):
        raise Refused("Something of it can't be done, so nothing was.")


def _agreed_to(entry: Entry, losing: Sequence[Entry], replace: Collection[str]) -> bool:
    """Return whether an option names this thing: `volume/train`, or `train` where no other loses data by that name."""
    return f"{entry.document.kind}/{entry.document.name}" in replace or _name_among(entry, losing) in replace


def _name_among(entry: Entry, losing: Sequence[Entry]) -> str:
    """Return what an option calls it: its name, or its kind and name where two have that name."""
    name = entry.document.name
    return name if sum(each.document.name == name for each in losing) == 1 else f"{entry.document.kind}/{name}"


def carry_out(entries: Sequence[Entry]) -> None:
    """Make the calls one after the other; what was done is said at once."""
    here = session()
    for each in entries:
        for position, step in enumerate(each.steps):
            try:
                step.act()
            except (errors.BerthError, KeyboardInterrupt) as error:
                here.out.note(f"\n{each.document.title}: {step.call} didn't succeed, or its answer was lost. {_AGAIN}")
                if any(earlier.call == "rent" for earlier in each.steps[:position]):
                    here.out.note(_what_it_lacks(each, position, error))
                raise
            here.out.note(f"{each.document.title}: {step.call} done")


def _what_it_lacks(entry: Entry, position: int, error: BaseException) -> str:
    """Return what was not set of an instance that has been rented, since the step at this position failed."""
    lacks = ", ".join(name for step in entry.steps[position:] for name in step.sets)
    refused = isinstance(error, errors.APIError) and not isinstance(error, errors.ServerError)
    known = "Not set" if refused else "Not set, as far as is known"
    return f"{entry.document.title} is rented and charged. {known}: {lacks}."


def wait_for_all(client: "Client", entries: Sequence[Entry], *, timeout: float) -> None:
    """Wait until the instances that were rented or started run."""
    from berth.cli.progress import Progress

    for each in entries:
        starts = {step.call for step in each.steps} & {"rent", "start", "restart", "reimage"}
        if each.document.kind != "instance" or not starts or each.document.spec.get("desired") == "stopped":
            continue
        live = Market(client, ()).instance(each.document.name)
        if live is not None and live.desired == "running":
            with Progress(f"{each.document.title} is starting", session()) as progress:
                client.wait(live.id, "running", timeout=timeout, seen=progress.show)


def with_ids(client: "Client", entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries with the ids of what is there now."""
    market = Market(client, ())
    find = {"instance": market.instance, "volume": market.volume, "template": market.template}
    found = [None if each.action == "delete" else find[each.document.kind](each.document.name) for each in entries]
    return [changed(each, id=each.id if one is None else one.id) for each, one in zip(entries, found, strict=True)]


def plan_destruction(client: "Client", documents: Sequence[Document]) -> list[Entry]:
    """Return what is there of what the files name, in the order in which it can be deleted."""
    market = Market(client, documents)
    return [_deleted(market, each) for each in reversed(documents)]


def _deleted(market: Market, document: Document) -> Entry:
    client, found_id, act, note = market.client, "", None, ""
    if document.kind == "instance":
        live = market.instance(document.name) or _ending(market, document.name)
        if live is not None and protection(live):
            return Entry(document, "blocked", live.id, notes=protection(live))
        found_id, note = (live.id, early_end(live)) if live else ("", "")
        act = Step("release", lambda: release(market, found_id))
    elif document.kind == "volume":
        volume = market.volume(document.name)
        found_id = volume.id if volume else ""
        act = Step("delete volume", lambda: delete_volume(client, found_id))
    else:
        template = market.template(document.name)
        found_id = template.id if template else ""
        act = Step("delete template", lambda: client.launch_templates.delete(found_id))
    if not found_id:
        return Entry(document, "none", notes=["It isn't there."])
    loses = "" if document.kind == "template" else f"everything on {document.title}"
    return Entry(document, "delete", found_id, steps=[act], loses=loses, notes=[note] if note else [])


def _ending(market: Market, name: str) -> "models.InstanceOut | None":
    newest = market.predecessor(name)
    return newest if newest is not None and newest.state == ENDED[0] else None

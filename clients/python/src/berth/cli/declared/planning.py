"""The plan of all documents, in the order in which they are made."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from berth import errors
from berth.cli.declared.files import Document
from berth.cli.declared.instances import plan_instance
from berth.cli.declared.market import Market
from berth.cli.declared.plans import Entry
from berth.cli.declared.renting import Choice, choose
from berth.cli.declared.templates import plan_template
from berth.cli.declared.volumes import plan_volume
from berth.cli.framework import Refused, session

if TYPE_CHECKING:
    from berth import Client


def make_plan(client: "Client", documents: Sequence[Document], *, renew_secrets: bool = False) -> list[Entry]:
    """Compare documents and market, which isn't changed; quotes are made, and cost nothing.

    Raises:
        Refused: a document means what isn't there, or a name means several things.
    """
    market = Market(client, documents)
    choices = _choices(market, documents)
    hosts = {
        text: choice.host
        for name, choice in choices.items()
        for text in market.documents["instance", name].spec.get("volume_ids", [])
    }
    entries = []
    for each in documents:
        try:
            if each.kind == "template":
                entries.append(plan_template(market, each))
            elif each.kind == "volume":
                entries.append(plan_volume(market, each, host=hosts.get(each.name, "")))
            else:
                entries.append(_instance(market, each, choices.get(each.name), entries, renew_secrets=renew_secrets))
        except errors.APIError as error:
            session().out.note(f"{each.place}: {each.title} can't be planned. {error.title}.")
            raise
    return entries


def _choices(market: Market, documents: Sequence[Document]) -> dict[str, Choice]:
    """Return what would be rented, by the instance's name."""
    missing = [each for each in documents if each.kind == "instance" and market.instance(each.name) is None]
    return {each.name: choose(market, each) for each in missing}


def _instance(
    market: Market, document: Document, choice: Choice | None, before: Sequence[Entry], *, renew_secrets: bool
) -> Entry:
    text = document.spec.get("launch_template", "").partition("@")[0]
    template = next((each for each in before if each.document.kind == "template" and each.document.name == text), None)
    if choice is None and template is not None and template.action == "create":
        raise Refused(
            f"{document.place}: {document.title} is there, and its template isn't yet. Apply the template alone first.", 2
        )
    entry = plan_instance(market, document, choice, renew_secrets=renew_secrets)
    if template is None or not template.pending or entry.action == "create":
        return entry
    note = f"Compared again once template {text} has its new version."
    return replace(entry, notes=[*entry.notes, note])

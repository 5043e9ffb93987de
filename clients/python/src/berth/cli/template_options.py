"""What a launch template adds to an order: its offers, and the values of its inputs."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from berth.cli.framework import Refused, session
from berth.cli.launch_options import pair, value_of

if TYPE_CHECKING:
    from berth import models

_SHARED = "share_"
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"' r"|'(?:[^'\\]|\\.)*'")
_RENTERS = re.compile(
    r"""(?<![^\s=<>!,\[\]()"'])(host|count|gpu_count)\s*(?:[=<>!]|(?:not\s+in|notin|in)(?=[\s\[(]))""", re.IGNORECASE
)


def find_template(text: str) -> "models.TemplateOut":
    """Return the template with this id, slug, title or share link; `@` and a version may follow.

    The market finds it: a slug is that of one's own template, else of an official one, and never somebody else's.

    Raises:
        Refused: There is none.
    """
    from berth import errors

    templates = session().client.launch_templates
    try:
        return templates.get(text.rpartition("/")[2])
    except errors.NotFound:
        known = [each for source in ("own", "official") for each in templates.list(source=source)]
        name, at, version = text.partition("@")
        titled = [each for each in known if each.title.casefold() == name.casefold()]
        if not titled:
            raise Refused(f"There is no template {text!r}. {_nearest(name, known)}", 4) from None
        return templates.get(f"{titled[0].id}{at}{version}")


def _nearest(name: str, known: "list[models.TemplateOut]") -> str:
    """Return which templates have a similar name."""
    from difflib import get_close_matches

    slugs = {word: each.slug for each in known for word in (each.title.casefold(), each.slug)}
    wanted = name.casefold()
    parts = [word for word in slugs if wanted in word or word in wanted]
    near = dict.fromkeys(slugs[word] for word in (*get_close_matches(wanted, slugs, n=5), *parts))
    return f"Similar: {', '.join(list(near)[:5])}." if near else "`berth template ls` lists them."


def reference(template: "models.TemplateOut", text: str) -> str:
    """Return how an order names it, with the version that was given."""
    _, at, version = text.partition("@")
    return f"{_name(text) if _name(text).startswith(_SHARED) else template.id}{at}{version}"


def _name(text: str) -> str:
    """Return the text without a version; of a share link the last part."""
    return text.partition("@")[0].rpartition("/")[2]


def search_line(template: "models.TemplateOut", query: str) -> str:
    """Return a search for offers that match the query and suit the template; the order is the query's alone.

    Raises:
        Refused: the template chooses what is the renter's to choose.
    """
    version = template.version
    least = {"vram": version.min_vram_gb, "cuda": version.min_cuda}
    parts = (query, suiting(version.filter), *(f"{name}>={value}" for name, value in least.items() if value))
    return " ".join(part for part in parts if part)


def suiting(line: str) -> str:
    """Return a template's search line without its order: the cheapest offer is wanted, whatever its author prefers.

    Raises:
        Refused: it names a host or a number of GPUs. Who writes a template would choose where others rent, or how much.
    """
    chosen = _RENTERS.search(_QUOTED.sub('""', line))
    if chosen is not None:
        what = "a host" if chosen[1].lower() == "host" else "a number of GPUs"
        raise Refused(f"The template's filter, {line!r}, names {what}, which is not a template's choice. Name the offer.")
    return re.sub(r"(?:^|\s)sort\s*=\s*\S+", "", line).strip()


def inputs_of(template: "models.TemplateOut", provided: Iterable[str]) -> dict[str, str]:
    """Return the values of its inputs: those that were given, and answers for what is required and has no preset.

    Raises:
        UsageError: A value is missing and nobody can be asked, or there is no such input.
    """
    known = {each.name: each for each in template.version.inputs}
    values: dict[str, str] = {}
    for text in provided:
        name, _, _ = pair(text)
        if name not in known:
            raise click.UsageError(f"{template.slug} has no input {name!r}; it has: {', '.join(known) or 'none'}.")
        values[name] = value_of(text)
    missing = [each for each in known.values() if each.required and not each.default and each.name not in values]
    if missing and not session().may_ask():
        raise click.UsageError(f"{template.slug} needs: {', '.join(f'--input {each.name}=…' for each in missing)}")
    for each in missing:
        values[each.name] = str(click.prompt(each.label or each.name, hide_input=each.kind == "secret", err=True))
    return values

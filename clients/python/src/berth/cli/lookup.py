"""Things by what people call them: an id, a name, or the beginning of either."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from berth.cli.framework import Refused, printable, session

if TYPE_CHECKING:
    from berth import Client, models

T = TypeVar("T")

_FRESH_S = 60
_ID_CHARS = len("inst_") + 32
_EXACT_CHARS = 8  # of an id, beside its kind


def find_instance(client: "Client", text: str, *, exact: bool = False) -> "models.InstanceOut":
    """Return the instance with this id or name, or the only one whose id or name begins so; `exact` as for `pick`.

    Raises:
        Refused: there is none.
        UsageError: there are several.
    """
    if text.startswith("inst_") and len(text) == _ID_CHARS:
        return client.instances.get(text)
    return pick(client.instances.list(limit=200), text, "instance", name=lambda each: each.name, exact=exact)


def find_host(text: str) -> "models.Host":
    """Return your host with this id or name, or the only one whose id or name begins so."""
    return pick(session().client.hosts.list().results, text, "host", name=lambda each: str(each.name))


def pick(things: Iterable[T], text: str, kind: str, *, name: Callable[[Any], str], exact: bool = False) -> T:
    """Return the one thing that the text means: by id, by name, or as a unique beginning of either.

    `exact`: the beginning of a name is not enough, and of an id it takes the kind and eight characters. What is deleted
    without a question would else be the wrong thing once the right one is gone: `train-2` for `train`.
    """
    if not text:
        raise click.UsageError(f"Which {kind}? The text is empty.")
    found = list(things)
    similar = [name(each) for each in found if name(each).startswith(text)]
    for matches in (
        [each for each in found if text == _id(each)],
        [each for each in found if text == name(each)],
        [each for each in found if _is_unique_prefix(each, text)]
        if exact
        else [each for each in found if _begins(each, text) or name(each).startswith(text)],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            listed = ", ".join(f"{_id(each)} ({name(each)})" for each in matches[:8])
            raise click.UsageError(printable(f"{text!r} means several: {listed}. Give an id."))
    whole = f" Give the whole name: {', '.join(similar[:8])}." if similar else ""
    raise Refused(f"There is no {kind} {text!r}.{whole}", 4)


def _id(thing: Any) -> str:
    return str(thing.id)


def _begins(thing: Any, text: str) -> bool:
    """Return whether an id begins so, with or without its kind (`inst_`)."""
    return _id(thing).startswith(text) or _id(thing).partition("_")[2].startswith(text)


def _is_unique_prefix(thing: Any, text: str) -> bool:
    return _id(thing).startswith(text) and len(text.partition("_")[2]) >= _EXACT_CHARS


def complete_instance(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return names of instances for the shell: at most a minute old, and none rather than an error or a wait."""
    try:
        return [name for name in _known_names() if name.startswith(incomplete) and name.isprintable()]
    except Exception:  # a completion that prints a traceback spoils the line that is being typed
        return []


def _known_names() -> list[str]:
    import json
    import time

    from berth import Client, RetryPolicy
    from berth.cli.profiles import config_folder

    place = session().place
    path = config_folder() / f"names-{place.profile or 'environment'}.json"
    if path.is_file() and time.time() - path.stat().st_mtime < _FRESH_S:
        return [str(name) for name in json.loads(path.read_text(encoding="utf-8"))]
    with Client(place.url, place.token or "", timeout=2, retries=RetryPolicy(retries=0), application="berth-cli") as client:
        names = [each.name or each.id for each in client.instances.list(limit=200).first().results]
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text(json.dumps(names), encoding="utf-8")
    return names

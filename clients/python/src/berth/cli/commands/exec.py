"""One command in an instance: over SSH, or through the API where SSH isn't at hand."""

import base64
import shlex
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from berth.cli.framework import Refused, command, session
from berth.cli.lookup import complete_instance, find_instance
from berth.cli.remote import hand_over, reach, reach_if_at_hand

if TYPE_CHECKING:
    from berth import models

_RAW: Final = {"ignore_unknown_options": True}
_TIMED_OUT, _OWN_TROUBLE = 124, 125
_STDIN_BYTES: Final = 64 * 1024


@command("exec", context_settings=_RAW)
@click.argument("instance", shell_complete=complete_instance)
@click.option("--tty", "-t", is_flag=True, help="Allocate a terminal for interactive programs; needs SSH")
@click.option("--api", "by_api", is_flag=True, help="Use the API even if SSH would work")
@click.option("--stdin", is_flag=True, help="Pass standard input; at most 64 KiB through the API")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="Environment variable (uses the API)")
@click.option("--user", help="User to run as: name, uid or uid:gid (uses the API)")
@click.option("--workdir", help="Working directory (uses the API)")
@click.option("--timeout", type=click.IntRange(1, 3600), help="Seconds until it is killed (uses the API). Default: 60")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_(*, instance: str, tty: bool, by_api: bool, words: tuple[str, ...], **options: Any) -> int | None:
    """Run a command: `berth exec NAME -- python train.py --epochs 3`; its exit code is returned.

    Runs over SSH, without limits on time or output. Without an SSH key on this machine, with --api, or with an option marked
    "uses the API", it runs through the API: output is printed at the end, up to 256 KiB per stream.
    """
    found = find_instance(session().client, instance)
    only_api = by_api or any(options[name] for name in ("env", "user", "workdir", "timeout"))
    if tty and only_api:
        raise click.UsageError("A terminal needs SSH: leave out --tty, or the options of the API.")
    remote = None if only_api else reach(found) if tty else reach_if_at_hand(found)
    if remote is None:
        return _run(found, words, options)
    return hand_over([*remote.ssh("-t" if tty else "-T"), "--", shlex.join(words)])


globals()["exec"] = exec_


def _run(found: "models.InstanceOut", words: tuple[str, ...], options: dict[str, Any]) -> int:
    """Run it through the API, and print what it wrote. Interrupted, it is ended in the instance as well."""
    from berth._core.commands import END_WITHIN_S, has_ended, result_call

    client = session().client
    row = client.instances.exec(found.id, command=list(words), **_request(options))
    try:
        call = result_call(found.id, row.id)
        ended = client.wait_until(call, has_ended, timeout=row.timeout_seconds + END_WITHIN_S)
    except KeyboardInterrupt:
        client.instances.exec_cancel(found.id, row.id)
        raise
    return _show(ended)


def _request(options: dict[str, Any]) -> dict[str, Any]:
    wanted = {"user": options["user"], "workdir": options["workdir"], "timeout_seconds": options["timeout"]}
    if options["env"]:
        wanted["env"] = dict(_pair(each) for each in options["env"])
    if options["stdin"]:
        data = sys.stdin.buffer.read(_STDIN_BYTES + 1)
        if len(data) > _STDIN_BYTES:
            raise click.UsageError("Standard input is longer than 64 KiB. Copy it as a file first: `berth cp`.")
        wanted |= {"stdin": base64.b64encode(data).decode(), "stdin_encoding": "base64"}
    return {name: value for name, value in wanted.items() if value is not None}


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.UsageError(f"{text!r} isn't NAME=VALUE.")
    return name, value


def _show(row: "models.CommandOut") -> int:
    out = session().out
    if out.is_json:
        out.json(row)
    else:
        _write(sys.stdout, row.stdout, row.stdout_encoding)
        _write(sys.stderr, row.stderr, row.stderr_encoding)
        cut = [name for name, is_cut in (("output", row.stdout_truncated), ("errors", row.stderr_truncated)) if is_cut]
        if cut:
            out.note(f"Only the first 256 KiB of its {' and '.join(cut)} came back; write more into a file.")
    if row.failure and row.state in ("exited", "timed_out"):
        out.note(row.failure.detail)
    if row.state == "timed_out":
        out.note(f"Ended after {row.timeout_seconds} s, with everything that it had started.")
        return _TIMED_OUT
    if row.exit_code is None:
        raise Refused(row.failure.detail if row.failure else f"The command is {row.state}.", _OWN_TROUBLE)
    return row.exit_code


def _write(stream: Any, text: str | None, encoding: str) -> None:
    content = base64.b64decode(text or "") if encoding == "base64" else (text or "").encode()
    stream.flush()
    stream.buffer.write(content)
    stream.flush()

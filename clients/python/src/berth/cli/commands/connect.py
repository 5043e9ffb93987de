"""Shells, commands, ports and web programs of instances."""

import os
import re
import shlex
from pathlib import Path

import click

from berth.cli.framework import command, session
from berth.cli.lookup import complete_instance, find_instance
from berth.cli.remote import Remote, connect, hand_over

_REST = click.argument("words", nargs=-1, type=click.UNPROCESSED)
_RAW = {"ignore_unknown_options": True}


@command("ssh", context_settings=_RAW)
@click.argument("instance", shell_complete=complete_instance)
@click.option("--config", is_flag=True, help="Add a block to ~/.ssh/config instead, for ssh, scp and IDEs: ssh berth-NAME")
@click.option("--print", "only_print", is_flag=True, help="Print the command instead of running it")
@_REST
def ssh(instance: str, config: bool, only_print: bool, words: tuple[str, ...]) -> int | None:
    """Open a shell, or run a command, over SSH: `berth ssh NAME`, `berth ssh NAME -- nvidia-smi`.

    Words starting with - before the command are passed to ssh as options: `berth ssh NAME -L 8000:127.0.0.1:8000`.
    """
    remote = connect(instance)
    if config:
        _write_config(remote)
        return None
    options, rest = _split(words)
    line = [*remote.ssh(*options), *rest]
    if only_print:
        session().out.line(shlex.join(line))
        return None
    return hand_over(line)


_WITH_VALUE = frozenset("BbcDEeFIiJLlmOoPpQRSWw")


def _split(words: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return ssh's own options, and the command after them."""
    found, rest = list(words), 0
    while rest < len(found) and re.fullmatch(r"-\w.*", found[rest]):
        rest += 2 if len(found[rest]) == 2 and found[rest][1] in _WITH_VALUE else 1  # noqa: PLR2004 a dash and a letter
    return found[:rest], found[rest:]


@command("port-forward")
@click.argument("instance", shell_complete=complete_instance)
@click.argument("ports", nargs=-1, required=True)
def port_forward(instance: str, ports: tuple[str, ...]) -> int | None:
    """Forward local ports to an instance until Ctrl-C: `berth port-forward NAME 8000 9000:8888`.

    They listen on 127.0.0.1 and connect to 127.0.0.1 inside the instance, so the program there needs no public port.
    """
    pairs = [_pair(each) for each in ports]
    remote = connect(instance)
    for local, inside in pairs:
        session().out.note(
            f"http://127.0.0.1:{local} leads to port {inside} of {remote.instance.name or remote.instance.id}"
        )
    tunnels = [word for local, inside in pairs for word in ("-L", f"127.0.0.1:{local}:127.0.0.1:{inside}")]
    return hand_over(remote.ssh("-N", "-o", "ExitOnForwardFailure=yes", *tunnels))


def _pair(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,5})(?::(\d{1,5}))?", text)
    numbers = [int(each or 0) for each in found.groups()] if found else []
    if not found or numbers[0] not in range(1, 65536) or numbers[1] not in range(65536):
        raise click.UsageError(f"{text!r} isn't a port, nor LOCAL:INSIDE.")
    return numbers[0], numbers[1] or numbers[0]


@command("open")
@click.argument("instance", shell_complete=complete_instance)
@click.argument("port", type=click.IntRange(1, 65535), default=8888)
def open_(instance: str, port: int) -> None:
    """Print a link to a web app in an instance (JupyterLab by default). It is valid for five minutes."""
    client = session().client
    link = client.instances.web_links(find_instance(client, instance).id, port=port)
    if session().out.is_json:
        session().out.json(link)
    else:
        session().out.line(link.url)


globals()["open"] = open_


# -- ~/.ssh/config


def _write_config(remote: Remote) -> None:
    """Write the instance's block, or replace the one from before; nothing else in the file is touched."""
    label = re.sub(r"[^A-Za-z0-9._-]+", "-", remote.instance.name).strip("-") or remote.instance.id[:13]
    begin, end = f"# berth: begin {remote.instance.id}", f"# berth: end {remote.instance.id}"
    pairs = zip(remote.options[::2], remote.options[1::2], strict=True)
    settings = [value.replace("=", " ", 1) if flag == "-o" else f'IdentityFile "{value}"' for flag, value in pairs]
    settings = [each for each in settings if not each.startswith(("BatchMode", "LogLevel"))]
    lines = [
        begin,
        f"Host berth-{label}",
        f"    HostName {remote.host}",
        f"    Port {remote.port}",
        f"    User {remote.user}",
    ]
    block = "\n".join([*lines, *(f"    {each}" for each in settings), end]) + "\n"
    path = Path.home() / ".ssh" / "config"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    old = re.compile(f"^{re.escape(begin)}\n.*?^{re.escape(end)}\n", re.MULTILINE | re.DOTALL)
    # First in the file: ssh takes the first value that it finds, and a `Host *` above would win.
    after = old.sub(lambda _: block, before) if old.search(before) else f"{block}\n{before}" if before else block
    draft = path.with_name(f".config.berth.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(after)
    draft.replace(path.resolve())
    session().out.note(f"Wrote a block into {path}.")
    session().out.line(f"ssh berth-{label}")

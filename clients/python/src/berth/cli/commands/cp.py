"""Copying files over SSH, with the system's scp and rsync, or through the API where SSH isn't at hand."""

import os
import posixpath
import shlex
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from shutil import which
from typing import TYPE_CHECKING

import click

from berth.cli.framework import Refused, command, session
from berth.cli.lookup import find_instance
from berth.cli.remote import Remote, connect, hand_over, program, reach_if_at_hand

if TYPE_CHECKING:
    from berth.cli import http_copy

_HAS_DRIVES = os.name == "nt"


@dataclass(frozen=True)
class Side:
    """One side of a copy: an instance and a path in it, or a local path."""

    instance: str
    path: str


def parse_side(text: str) -> Side:
    """Read `NAME:path`. A path with a slash before the colon, or a Windows drive, is local."""
    head, colon, tail = text.partition(":")
    if not colon or "/" in head or "\\" in head or len(head) == 1:
        return Side("", text)
    return Side(head, tail or ".")


@dataclass(frozen=True)
class Plan:
    """What a copy joins: one instance, and paths of which either the sources or the target are in it."""

    instance: str
    sources: list[Side]
    target: Side

    def spelt(self, remote: Remote) -> tuple[list[str], str]:
        """Return both sides as scp and rsync spell them."""

        def spell(side: Side) -> str:
            return f"{remote.target}:{side.path}" if side.instance else _local(side.path)

        return [spell(each) for each in self.sources], spell(self.target)


def _plan(sources: tuple[str, ...], target: str) -> Plan:
    found, to = [parse_side(each) for each in sources], parse_side(target)
    names = {each.instance for each in [*found, to] if each.instance}
    if len(names) != 1 or bool(to.instance) == any(each.instance for each in found):
        raise click.UsageError("One side is an instance (NAME:/path), the other one is on this machine.")
    return Plan(names.pop(), found, to)


def _local(path: str) -> str:
    """Return a local path that neither program takes for a host or an option."""
    whole = (
        path.startswith(("/", "./", "../")) or path in (".", "..") or (_HAS_DRIVES and PureWindowsPath(path).is_absolute())
    )
    return path if whole else f"./{path}"


@command("cp")
@click.argument("sources", nargs=-1, required=True)
@click.argument("target")
@click.option("--recursive", "-r", is_flag=True, help="Copy folders")
@click.option("--api", "by_api", is_flag=True, help="Use the API even if SSH would work")
def cp(sources: tuple[str, ...], target: str, recursive: bool, by_api: bool) -> int | None:
    """Copy files: `berth cp model.bin NAME:/data/`, `berth cp -r NAME:/data/runs ~/`.

    Uses scp, or HTTPS without scp or an SSH key on this machine, or with --api. Over HTTPS, a file continues after a break.
    """
    plan = _plan(sources, target)
    instance = find_instance(session().client, plan.instance)
    by_api = by_api or (which("scp") is None and instance.host.runtime != "simulated")
    remote = None if by_api else reach_if_at_hand(instance)
    if remote is None:
        copy_by_api(instance.id, [each.path for each in plan.sources], plan.target, recursive=recursive)
        return None
    found, to = plan.spelt(remote)
    flags = ["-r"] if recursive else []
    return hand_over([program("scp"), *remote.options, "-P", str(remote.port), *flags, "--", *found, to])


def copy_by_api(instance_id: str, sources: list[str], target: Side, *, recursive: bool) -> None:
    from berth.cli.http_copy import Remote as Files
    from berth.cli.http_copy import remote_path
    from berth.cli.progress import bars

    files = Files(instance_id, bars(session()))
    if target.instance:
        _send(files, [Path(each) for each in sources], remote_path(target.path), recursive=recursive)
    else:
        _fetch(files, [remote_path(each) for each in sources], Path(target.path), recursive=recursive)


def _send(files: "http_copy.Remote", sources: list[Path], target: str, *, recursive: bool) -> None:
    """Copy into an instance. As with scp, what is a folder takes the sources under their names."""
    for source in sources:
        if not source.exists():
            raise Refused(f"{source}: no file or folder has this name.", 1)
        _check_folder(str(source), source.is_dir(), recursive)
    is_folder = files.kind(target) == "folder"
    if not is_folder and (len(sources) > 1 or target.endswith("/")):
        raise Refused(f"{target} is no folder.", 1)
    for source in sources:
        to = posixpath.join(target, source.resolve().name) if is_folder else target
        if source.is_dir():
            files.send_folder(source, to)
        else:
            files.send_file(source, to)


def _fetch(files: "http_copy.Remote", sources: list[str], target: Path, *, recursive: bool) -> None:
    if len(sources) > 1 and not target.is_dir():
        raise Refused(f"{target} is no folder.", 1)
    for source in sources:
        kind = files.kind(source)
        if not kind:
            raise Refused(f"{source}: no file or folder has this name.", 1)
        _check_folder(source, kind == "folder", recursive)
        to = target / posixpath.basename(posixpath.normpath(source)) if target.is_dir() else target
        if kind == "folder":
            files.fetch_folder(source, to)
        else:
            files.fetch_file(source, to)


def _check_folder(name: str, is_folder: bool, recursive: bool) -> None:
    if is_folder and not recursive:
        raise Refused(f"{name} is a folder: copy it with -r.", 1)


@command("sync")
@click.argument("source")
@click.argument("target")
@click.option("--delete", is_flag=True, help="Delete files that aren't in the source")
@click.option("--exclude", multiple=True, help="Skip files that match this pattern")
@click.option("--dry-run", is_flag=True, help="Only show what would be copied")
def sync(source: str, target: str, delete: bool, exclude: tuple[str, ...], dry_run: bool) -> int | None:
    """Mirror a folder with rsync: `berth sync ./dataset/ NAME:/data/dataset/`.

    Interrupted copies resume. A trailing slash on the source means its contents, as always with rsync. The image needs
    rsync; Berth's own images have it.
    """
    plan = _plan((source,), target)
    remote = connect(plan.instance)
    (found,), to = plan.spelt(remote)
    shell = shlex.join(["ssh", *remote.options, "-p", str(remote.port)])
    flags = ["-a", "--partial", "--info=progress2", *(f"--exclude={each}" for each in exclude)]
    flags += [*(["--delete"] if delete else []), *(["--dry-run", "-v"] if dry_run else [])]
    return hand_over([program("rsync"), *flags, "-e", shell, "--", found, to])

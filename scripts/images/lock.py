"""Locks of official images: every package that one installs, with its version and the hashes of its files."""

import subprocess
from pathlib import Path
from typing import Final

from scripts.images.matrix import FOLDER, ROOT, Flavour

_UV: Final = ROOT / ".venv" / "bin" / "uv"
_OPTIONS: Final = (
    "--quiet",
    "--generate-hashes",
    "--no-header",
    "--no-annotate",
    "--no-emit-index-url",
    "--only-binary",
    ":all:",
)
_UNIVERSAL: Final = ("--universal", "--python-version", "3.11")
# What every base image has, whatever its Python.
_OF_THE_BASE: Final = ("uv", "notebook", "sbom")


def lock(matrix: dict[str, Flavour], *, upgrade: bool) -> None:
    """Compile every lock from its .in file; with `upgrade`, take the newest versions that it allows.

    A lock that flavours of different Pythons share is for all of them. Locks name no registry: uv finds packages
    where it is told to look, and what is handed over (images/matrix.toml) where UV_FIND_LINKS says.

    Raises:
        subprocess.CalledProcessError: uv could not resolve one.
    """
    for name in _OF_THE_BASE:
        _compile(FOLDER / "base" / f"{name}.txt", _UNIVERSAL, upgrade=upgrade)
    users: dict[Path, list[Flavour]] = {}
    for flavour in matrix.values():
        if flavour.lock:
            users.setdefault(flavour.folder / flavour.lock, []).append(flavour)
    for file, flavours in users.items():
        _compile(file, _options(flavours), upgrade=upgrade)


def _options(flavours: list[Flavour]) -> tuple[str, ...]:
    if len({flavour.python for flavour in flavours}) > 1:
        return _UNIVERSAL
    one = flavours[0]
    return ("--python-platform", f"x86_64-manylinux_{one.glibc}", "--python-version", one.python)


def _compile(file: Path, options: tuple[str, ...], *, upgrade: bool) -> None:
    newest = ("--upgrade",) if upgrade else ()
    command = [str(_UV), "pip", "compile", *_OPTIONS, *options, *newest, f"{file.stem}.in", "-o", file.name]
    subprocess.run(command, cwd=file.parent, check=True)  # noqa: S603 (files of this repository)

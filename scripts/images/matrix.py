"""What `images/matrix.toml` says: which official images there are, in which flavours, and what each is built from."""

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent.parent
FOLDER: Final = ROOT / "images"
MATRIX: Final = FOLDER / "matrix.toml"
REPOSITORY: Final = "berth"
NOT_LOCKED: Final = "0"  # version of a new image, until `lock` has made its lock


@dataclass(frozen=True)
class Flavour:
    """One combination of image, CUDA and Python: one thing that can be built."""

    image: str
    name: str
    title: str
    start: str  # image of the matrix (`pytorch:cpu`) or an external one
    python: str
    dockerfile: str = "Dockerfile"
    lock: str = ""  # file in the image's folder; "": the base image, which has its own
    glibc: str = "2_28"
    cuda: str = ""
    module: str = ""
    package: str = ""
    version: str = ""
    port: int = 0
    apt: tuple[str, ...] = ()
    handed_over: tuple[str, ...] = ()  # packages that the builder's pip finds and hands to the build
    args: dict[str, str] = field(default_factory=dict)
    in_ci: bool = False
    repository: str = REPOSITORY

    @property
    def key(self) -> str:
        return f"{self.image}:{self.name}"

    @property
    def folder(self) -> Path:
        return FOLDER / self.image

    @property
    def reference(self) -> str:
        """Return the name and tag under which it is built: berth/pytorch:2.13.0-cpu."""
        return f"{self.repository}/{self.image}:{self.version}-{self.name}"


class MatrixError(Exception):
    """The matrix, or what was asked of it, does not fit together."""


def read_matrix(path: Path = MATRIX) -> dict[str, Flavour]:
    """Return every flavour by its key, each after the one that it starts from.

    Raises:
        MatrixError: an unknown start, or a field that no flavour has.
    """
    found: dict[str, Flavour] = {}
    for image in tomllib.loads(path.read_text(encoding="utf-8"))["images"]:
        common = {name: value for name, value in image.items() if name != "flavours"}
        for name, own in image["flavours"].items():
            flavour = _flavour(name, {**common, **own})
            if flavour.dockerfile == "Dockerfile" and flavour.start not in found:
                raise MatrixError(f"{flavour.key} starts from {flavour.start}, which does not stand before it.")
            found[flavour.key] = flavour
    return found


def with_starts(matrix: dict[str, Flavour], wanted: list[Flavour]) -> list[Flavour]:
    """Return what has to be built for these flavours, in the order in which to build it."""
    keys: set[str] = set()
    for flavour in wanted:
        key = flavour.key
        while key in matrix:
            keys.add(key)
            key = matrix[key].start
    return [flavour for key, flavour in matrix.items() if key in keys]


def locked_version(text: str, package: str) -> str:
    """Return the version of a package in a lock, without its local part.

    Raises:
        MatrixError: the lock does not have it.
    """
    line = re.search(rf"^{re.escape(package)}==([^ +;\\]+)", text, re.MULTILINE)
    if line is None:
        raise MatrixError(f"{package} does not stand in the lock.")
    return line[1]


def _flavour(name: str, fields: dict[str, Any]) -> Flavour:
    arguments = {**fields, "name": name, "start": fields["from"]}
    del arguments["from"]
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()}
    try:
        flavour = Flavour(**values)
    except TypeError as error:
        raise MatrixError(f"{fields['image']}:{name}: {error}") from error
    return flavour if flavour.version else Flavour(**{**vars(flavour), "version": _version(flavour)})


def _version(flavour: Flavour) -> str:
    packages = flavour.folder / "package.json"
    if packages.exists():
        return str(json.loads(packages.read_text(encoding="utf-8"))["dependencies"][flavour.package])
    lock = flavour.folder / flavour.lock
    return locked_version(lock.read_text(encoding="utf-8"), flavour.package) if lock.exists() else NOT_LOCKED

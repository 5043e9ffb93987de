"""Documents from files, folders or standard input: every fault with its line, before anything is asked of the market."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from yaml.nodes import MappingNode, Node, SequenceNode

from berth.cli.declared.kinds import KINDS
from berth.cli.declared.nodes import REFERENCE, Problems, Reader, Variable, is_null, members, text, unknown
from berth.cli.framework import Refused

BYTES_AT_MOST: Final = 1 << 20
_ENDINGS: Final = (".yaml", ".yml", ".json")
_PROBLEMS_SHOWN: Final = 20


@dataclass(frozen=True)
class Document:
    """One thing that a file declares; `place` is its file and line."""

    kind: str
    name: str
    spec: dict[str, Any]
    place: str

    @property
    def title(self) -> str:
        return f"{self.kind} {self.name}"

    def given(self, names: Iterable[str]) -> dict[str, Any]:
        """Return those of the fields that the file has."""
        return {name: self.spec[name] for name in names if name in self.spec}


def read_documents(paths: Sequence[str]) -> list[Document]:
    """Return what the files declare, in the order in which it is made: templates, volumes, instances.

    Raises:
        Refused: a file can't be read; each problem is named with its line.
    """
    found: list[Document] = []
    problems: list[str] = []
    for source, content in _contents(paths):
        own = Problems(source)
        found += _documents(own, content)
        problems += own.found
    problems += _doubled(found)
    if problems:
        more = len(problems) - _PROBLEMS_SHOWN
        rest = [f"and {more} more"] if more > 0 else []
        raise Refused("\n".join([*problems[:_PROBLEMS_SHOWN], *rest]), 2)
    if not found:
        raise Refused("There is no document in it: write kind, name and spec.", 2)
    order = list(KINDS)
    return sorted(found, key=lambda each: order.index(each.kind))


def resolve(value: Any) -> Any:
    """Return a value with the environment's in place of `${env:NAME}`.

    Raises:
        Refused: a variable isn't set.
    """
    if isinstance(value, dict):
        return {name: resolve(each) for name, each in value.items()}
    if not isinstance(value, Variable):
        return value
    for name in value.names:
        if name not in os.environ:
            raise Refused(f"{value.place}: {name} isn't set in the environment.", 2)
    return REFERENCE.sub(lambda found: os.environ[found[1]], value.text)


def _contents(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    for path in paths:
        if path == "-":
            yield "standard input", _decoded("standard input", sys.stdin.buffer.read(BYTES_AT_MOST + 1))
            continue
        folder = Path(path)
        files = sorted(each for each in folder.iterdir() if each.suffix in _ENDINGS) if folder.is_dir() else [folder]
        if not files:
            raise Refused(f"{path} has no file that ends in {', '.join(_ENDINGS)}.", 2)
        for file in files:
            try:
                with file.open("rb") as stream:
                    yield str(file), _decoded(str(file), stream.read(BYTES_AT_MOST + 1))
            except OSError as error:
                raise Refused(f"{file} can't be read: {error.strerror}.", 2) from error


def _decoded(source: str, content: bytes) -> str:
    if len(content) > BYTES_AT_MOST:
        raise Refused(f"{source} is larger than {BYTES_AT_MOST >> 10} KiB.", 2)
    try:
        found = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"{source} isn't text in UTF-8.", 2) from error
    # JSON may be indented with tabs, which YAML refuses; within its texts there is none.
    return found.replace("\t", " ") if found.lstrip()[:1] in ("{", "[") else found


def _documents(problems: Problems, content: str) -> list[Document]:
    try:
        roots = [each for each in yaml.compose_all(content, Loader=yaml.SafeLoader) if each is not None]
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        problems.found.append(f"{problems.source}{line}: {error.problem or error.context}")
        return []
    except (yaml.YAMLError, RecursionError) as error:
        problems.found.append(f"{problems.source}: {_first_line(error)}")
        return []
    listed = [each for root in roots for each in (root.value if isinstance(root, SequenceNode) else [root])]
    found = [_document(problems, each) for each in listed if not is_null(each)]
    return [each for each in found if each is not None]


def _first_line(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply."
    return str(error).splitlines()[0]


def _parts(problems: Problems, node: Node) -> dict[str, Node]:
    """Return the three parts of a document, or none of them where one is missing or unknown."""
    parts = dict(members(problems, node, ""))
    wanted = {"kind": text, "name": text, "spec": text}
    before = len(problems.found)
    for name, value in parts.items():
        if name not in wanted:
            problems.add(value, unknown(name, wanted, ""))
    for name in wanted:
        if isinstance(node, MappingNode) and name not in parts:
            problems.add(node, f"{name} is missing.")
    return {} if len(problems.found) > before else parts


def _document(problems: Problems, node: Node) -> Document | None:
    parts = _parts(problems, node)
    if not parts:
        return None
    kind, own = text(problems, parts["kind"], "kind"), text(problems, parts["name"], "name")
    if kind not in KINDS:
        problems.add(parts["kind"], f"kind: choose {', '.join(KINDS)}.")
        return None
    if not own.strip() or own != own.strip() or not own.isprintable() or own.startswith(("inst_", "vol_", "tmpl_")):
        problems.add(parts["name"], "name: write a name, which is no ID and has no spaces around it.")
    reader: Reader = KINDS[kind]
    spec = {} if is_null(parts["spec"]) else reader(problems, parts["spec"], "spec")
    if kind == "instance":
        _check_instance(problems, parts["spec"], spec)
    return Document(kind, own, spec, problems.place(node))


def _check_instance(problems: Problems, node: Node, spec: dict[str, Any]) -> None:
    if "offer" in spec and "filter" in spec:
        problems.add(node, "spec: offer names one offer and filter searches for one. Write one of them.")
    if "inputs" in spec and "launch_template" not in spec:
        problems.add(node, "spec: inputs are those of a launch_template, which is missing.")
    both = sorted(spec.get("env", {}).keys() & spec.get("secrets", {}).keys())
    if both:
        problems.add(node, f"spec: {', '.join(both)} is in env and in secrets.")
    twice = sorted({*spec.get("ports", [])} & {*spec.get("udp_ports", [])})
    if twice:
        listed = ", ".join(map(str, twice))
        problems.add(node, f"spec: {listed} is in ports and in udp_ports, whose ports are published for TCP as well.")


def _doubled(found: list[Document]) -> list[str]:
    first: dict[tuple[str, str], Document] = {}
    firsts = [first.setdefault((each.kind, each.name), each) for each in found]
    pairs = zip(found, firsts, strict=True)
    return [f"{each.place}: {each.title} is declared at {one.place} already." for each, one in pairs if one is not each]

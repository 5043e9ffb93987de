"""Readers of YAML nodes: each takes a node, and says with file and line what is wrong with it.

They decide by the text as it was written and by the field that it stands for, not by what YAML guesses: `NO` in `env` is
text, and `min_cuda: 12.10` isn't 12.1.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

Reader = Callable[["Problems", Node, str], Any]

REFERENCE: Final = re.compile(r"\$\{env:([^}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_AMOUNT: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")
_WHOLE: Final = re.compile(r"-?[0-9]{1,9}")
_NULLS: Final = ("", "~", "null", "Null", "NULL")


@dataclass
class Problems:
    """What is wrong with a file, each with its line."""

    source: str
    found: list[str] = field(default_factory=list)

    def add(self, node: Node, text: str) -> None:
        self.found.append(f"{self.place(node)}: {text}")

    def place(self, node: Node) -> str:
        return f"{self.source}:{node.start_mark.line + 1}"


@dataclass(frozen=True)
class Variable:
    """A text with `${env:NAME}` in it, whose value is taken from the environment when it is needed."""

    text: str
    place: str

    @property
    def names(self) -> list[str]:
        return REFERENCE.findall(self.text)


def is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.style is None and node.value in _NULLS


def text(problems: Problems, node: Node, path: str) -> str:
    """Read a text; a number is taken as it is written."""
    found = _scalar(problems, node, path)
    if REFERENCE.search(found):
        problems.add(node, f"{path}: ${{env:…}} works in env, secrets and inputs only.")
    return found


def literal(problems: Problems, node: Node, path: str) -> str:
    """Read a text in which `${env:…}` may stand for something of its own: a script, a word of a command."""
    return _scalar(problems, node, path)


def variable(problems: Problems, node: Node, path: str) -> str | Variable:
    """Read a text that may have `${env:NAME}` in it."""
    found = _scalar(problems, node, path)
    if "${env:" not in found:
        return found
    wrong = [name for name in REFERENCE.findall(found) if not _NAME.fullmatch(name)]
    if wrong or found.count("${env:") != len(REFERENCE.findall(found)):
        problems.add(node, f"{path}: write ${{env:NAME}}, with a variable's name.")
    return Variable(found, problems.place(node))


def secret(problems: Problems, node: Node, path: str) -> Variable | None:
    """Read where a secret's value is; the value itself has no place in a file."""
    if isinstance(node, MappingNode):
        name = record({"from_env": text}, required=("from_env",))(problems, node, path).get("from_env", "")
        found: str | Variable = Variable(f"${{env:{name}}}", problems.place(node)) if _NAME.fullmatch(str(name)) else ""
    else:
        found = variable(problems, node, path)
    if isinstance(found, Variable) and REFERENCE.fullmatch(found.text):
        return found
    problems.add(node, f"{path}: a secret's value has no place in a file. Write ${{env:NAME}} or {{from_env: NAME}}.")
    return None


def whole(problems: Problems, node: Node, path: str) -> int:
    if isinstance(node, ScalarNode) and node.style is None and _WHOLE.fullmatch(node.value):
        return int(node.value)
    problems.add(node, f"{path}: write a whole number.")
    return 0


def between(least: int, most: int) -> Reader:
    """Return a reader of a whole number within these bounds."""

    def read(problems: Problems, node: Node, path: str) -> int:
        before, found = len(problems.found), whole(problems, node, path)
        if len(problems.found) == before and not least <= found <= most:
            problems.add(node, f"{path}: write {least} to {most}.")
        return found

    return read


def flag(problems: Problems, node: Node, path: str) -> bool:
    if isinstance(node, ScalarNode) and node.style is None and node.value in ("true", "false"):
        return bool(node.value == "true")
    problems.add(node, f"{path}: write true or false.")
    return False


def amount(problems: Problems, node: Node, path: str) -> str:
    found = _scalar(problems, node, path)
    if not _AMOUNT.fullmatch(found):
        problems.add(node, f"{path}: write an amount like 1.50.")
    return found


def one_of(*choices: str) -> Reader:
    def read(problems: Problems, node: Node, path: str) -> str:
        found = text(problems, node, path)
        if found not in choices:
            problems.add(node, f"{path}: choose {', '.join(choices)}.")
        return found

    return read


def nullable(reader: Reader) -> Reader:
    return lambda problems, node, path: None if is_null(node) else reader(problems, node, path)


def many(reader: Reader) -> Reader:
    def read(problems: Problems, node: Node, path: str) -> list[Any]:
        if not isinstance(node, SequenceNode):
            problems.add(node, f"{path}: write a list.")
            return []
        return [reader(problems, each, f"{path}[{number}]") for number, each in enumerate(node.value)]

    return read


def at_most(count: int, reader: Reader) -> Reader:
    """Return a reader of a list with no more entries than this."""

    def read(problems: Problems, node: Node, path: str) -> Any:
        found = reader(problems, node, path)
        if len(found) > count:
            problems.add(node, f"{path}: write at most {count} entries.")
        return found

    return read


def named(reader: Reader) -> Reader:
    """Return a reader of a mapping whose names are free."""

    def read(problems: Problems, node: Node, path: str) -> dict[str, Any]:
        return {name: reader(problems, value, f"{path}.{name}") for name, value in members(problems, node, path)}

    return read


def record(readers: Mapping[str, Reader], *, required: tuple[str, ...] = ()) -> Reader:
    """Return a reader of a mapping with these names and no others."""

    def read(problems: Problems, node: Node, path: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        before = len(problems.found)
        for name, value in members(problems, node, path):
            if name in readers:
                found[name] = readers[name](problems, value, f"{path}.{name}".lstrip("."))
            else:
                problems.add(value, unknown(name, readers, path))
        missing = [name for name in required if name not in found]
        if missing and len(problems.found) == before:
            problems.add(node, f"{path or 'the document'}: {', '.join(missing)} is missing.")
        return found

    return read


def unknown(name: str, known: Mapping[str, object], path: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else f" It has {', '.join(known)}."
    return f"there is no {path + '.' if path else ''}{name}.{hint}"


def members(problems: Problems, node: Node, path: str) -> list[tuple[str, Node]]:
    """Return names and nodes of a mapping."""
    if not isinstance(node, MappingNode):
        problems.add(node, f"{path or 'the document'}: write a mapping (name: value).")
        return []
    found: dict[str, Node] = {}
    for key, value in node.value:
        if not isinstance(key, ScalarNode):
            problems.add(key, f"{path or 'the document'}: a name is a text.")
        elif key.value in found:
            problems.add(key, f"{path + '.' if path else ''}{key.value} is there twice.")
        else:
            found[key.value] = value
    return list(found.items())


def _scalar(problems: Problems, node: Node, path: str) -> str:
    if not isinstance(node, ScalarNode):
        problems.add(node, f"{path}: write a text.")
        return ""
    if is_null(node):
        problems.add(node, f'{path}: there is no value. Leave it out, or write "".')
    found = str(node.value)
    try:
        # JSON writes a character beyond 16 bits as two escapes, which YAML's reader leaves apart.
        return found.encode("utf-16-be", "surrogatepass").decode("utf-16-be")
    except UnicodeDecodeError:
        problems.add(node, f"{path}: the text isn't Unicode.")
        return ""

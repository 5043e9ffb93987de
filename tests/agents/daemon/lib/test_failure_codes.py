"""The agent names no failure that the protocol does not know: the control plane shows any other as "unknown"."""

import ast
from collections.abc import Iterator
from pathlib import Path

import agents.daemon
from agents.daemon.operations.rclone_log import _KNOWN_ERRORS
from agents.protocol.codes import FAILURES, OPERATION_FAILURES

SOURCES = sorted(Path(agents.daemon.__file__).parent.rglob("*.py"))
KNOWN = {*FAILURES, *OPERATION_FAILURES}


def codes_in(source: Path) -> Iterator[str]:
    """The first words of `Failed(…)` and the values of `failure_code=…`, as far as they are written out."""
    for node in ast.walk(ast.parse(source.read_text())):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == "Failed" and node.args:
            yield from texts_of(node.args[0])
        for word in node.keywords:
            if word.arg == "failure_code":
                yield from texts_of(word.value)


def texts_of(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def test_every_code_is_in_the_protocol() -> None:
    named = {code for source in SOURCES for code in codes_in(source)}
    assert len(named) > 20
    assert named | {code for _words, code, _sentence in _KNOWN_ERRORS} <= KNOWN

"""Sizes and words that keep the house readable."""

import ast
import re

from tests.architecture.source import FUNCTIONS, lines_of, sources

MOST_FUNCTION_LINES = 50
MOST_FILE_LINES = 350
BANNED_MODULES = {"utils", "helpers", "manager", "misc", "util", "helper"}
BANNED_FUNCTIONS = re.compile(r"(handle|process|do)_")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")
BARE_IGNORE = re.compile(r"# type: ignore(?!\[)|# noqa(?!:)")


def test_every_module_says_what_it_is_for() -> None:
    wrong = [source.path for source in sources() if source.text.strip() and not ast.get_docstring(source.tree)]
    assert wrong == []


def test_functions_are_short() -> None:
    wrong = [
        f"{source.at(function)} {function.name}: {lines_of(function)}"
        for source in sources()
        for function in source.functions()
        if lines_of(function) > MOST_FUNCTION_LINES
    ]
    assert wrong == []


def test_files_are_short() -> None:
    long = {source.path: source.text.count("\n") for source in sources() if source.text.count("\n") > MOST_FILE_LINES}
    assert long == {}


def test_words() -> None:
    wrong = [source.path for source in sources() if BANNED_MODULES & set(source.names)]
    wrong += [
        f"{source.at(function)} {function.name}"
        for source in sources()
        for function in source.functions()
        if BANNED_FUNCTIONS.match(function.name) and not _is_of_a_framework(function.name)
    ]
    assert wrong == []


def _is_of_a_framework(name: str) -> bool:
    """Names that a base class prescribes."""
    return name in {"process_view", "process_exception", "process_request", "process_response", "handle"}


def test_everything_is_annotated() -> None:
    wrong = [
        f"{source.at(function)} {function.name}"
        for source in sources()
        for function in source.functions()
        if function.returns is None or any(argument.annotation is None for argument in _arguments(function))
    ]
    assert wrong == []


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.arg]:
    named = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    stars = [star for star in (function.args.vararg, function.args.kwarg) if star is not None]
    return [argument for argument in [*named, *stars] if argument.arg not in ("self", "cls")]


def test_nothing_is_left_for_later_or_silenced_without_a_rule() -> None:
    wrong = [
        f"{source.path}:{number}"
        for source in sources()
        for number, line in enumerate(source.text.splitlines(), 1)
        if UNFINISHED.search(line) or BARE_IGNORE.search(line)
    ]
    assert wrong == []


def test_no_nested_function_hides_a_long_one() -> None:
    """A closure is for a transaction's attempt, not for a program inside a program."""
    wrong = [
        f"{source.at(inner)} {inner.name}"
        for source in sources()
        for outer in source.functions()
        for inner in ast.walk(outer)
        if isinstance(inner, FUNCTIONS) and inner is not outer and lines_of(inner) > MOST_FUNCTION_LINES // 2
    ]
    assert wrong == []

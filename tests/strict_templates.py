"""Undefined variables in the market's own templates fail the test that renders them.

Django leaves them out, and takes them for false: a property that is missing hides a button, and no test sees it.
`string_if_invalid` does not help: `{% if %}` and its kin never ask for it. So each expression of a template in `templates/`
is compiled to one that refuses to go on, whatever stands around it; other people's templates stay as they are.

A name that may be missing is declared: in the view's context, by `with` of the include, or by `{% optional "name" %}` at the
head of the part. What is looked up on None is not undefined: that something is None says that there is none.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from django.template.base import FilterExpression, Parser, TokenType, Variable, VariableDoesNotExist, VariableNode
from django.template.context import Context
from django.templatetags.i18n import BlockTranslateNode

TEMPLATES: Final = Path(__file__).resolve().parent.parent / "templates"
OPEN: Final = {"allauth/elements/": ("attrs", "slots")}
"""What other people's code fills in with as many names as a place needs, by the folder of the templates that read it."""

_found: list[str] = []
"""Also what was swallowed on its way: operators of `{% if %}` take every exception for false."""


class UndefinedVariable(AssertionError):
    """A template asks for a name that nobody has defined."""


class StrictVariable(Variable):
    """A variable of a template of ours."""

    __slots__ = ("template",)

    def __init__(self, var: str, template: str) -> None:
        super().__init__(var)
        self.template = template

    def resolve(self, context: Any) -> Any:
        try:
            return super().resolve(context)
        except VariableDoesNotExist as error:
            if error.params[1] is not None and not self._is_open:
                refuse(self.template, str(self.var))
            raise

    @property
    def _is_open(self) -> bool:
        first = str(self.var).partition(".")[0]
        return any(self.template.startswith(folder) and first in names for folder, names in OPEN.items())


class StrictExpression(FilterExpression):
    """An expression of a template of ours, with the arguments of its filters."""

    def __init__(self, token: str, parser: Parser) -> None:
        super().__init__(token, parser)
        template = _name_of(parser.origin)
        if self.is_var:
            self.var = StrictVariable(self.var.var, template)
        self.filters = [
            (func, [(True, StrictVariable(arg.var, template)) if lookup else (lookup, arg) for lookup, arg in args])
            for func, args in self.filters
        ]


def refuse(template: str, name: str) -> None:
    """Raises UndefinedVariable, and remembers it where that is swallowed."""
    _found.append(f"{template}: {name}")
    raise UndefinedVariable(_found[-1])


def _is_ours(origin: Any) -> bool:
    return Path(str(getattr(origin, "name", ""))).is_relative_to(TEMPLATES)


def _name_of(origin: Any) -> str:
    return Path(str(origin.name)).relative_to(TEMPLATES).as_posix()


def _compile(parser: Parser, token: str) -> FilterExpression:
    return StrictExpression(token, parser) if _is_ours(parser.origin) else FilterExpression(token, parser)


_translate = BlockTranslateNode.render


def _render_translated(node: BlockTranslateNode, context: Context, nested: bool = False) -> str:
    """It looks names up in the context by itself."""
    if _is_ours(node.origin):
        own = {*node.extra_context, node.countervar}
        names = [each.contents for each in [*node.singular, *(node.plural or ())] if each.token_type == TokenType.VAR]
        for name in names:
            if name not in own and name not in context:
                refuse(_name_of(node.origin), name)
    return str(_translate(node, context, nested))


_print = VariableNode.render


def _print_something(node: VariableNode, context: Context) -> str:
    """None is for conditions: a page that prints it says "None"."""
    if _is_ours(node.origin) and node.filter_expression.resolve(context) is None:
        refuse(_name_of(node.origin), f"{node.filter_expression} is None")
    return str(_print(node, context))


def pytest_configure() -> None:
    Parser.compile_filter = _compile  # type: ignore[method-assign,assignment]  # every expression of every template comes from here
    VariableNode.render = _print_something  # type: ignore[method-assign,assignment]  # as above
    BlockTranslateNode.render = _render_translated  # type: ignore[method-assign,assignment]  # as above


@pytest.fixture(autouse=True)
def every_variable_is_defined() -> Iterator[None]:
    """Nor may one be missing in a page that was rendered in another thread, or in the midst of an operator."""
    _found.clear()
    yield
    assert not _found, "undefined: " + "; ".join(sorted(set(_found)))

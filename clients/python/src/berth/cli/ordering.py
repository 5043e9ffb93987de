"""What commands that cost money share: amounts, and orders that are placed once although their answer is lost."""

import shlex
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeVar
from uuid import uuid4

import click

from berth import errors
from berth.cli.framework import session

T = TypeVar("T")

KEY: Final = click.option(
    "--idempotency-key",
    "key",
    help="Repeat an order whose response was lost; the same key and options act only once",
)
DRY_RUN: Final = click.option("--dry-run", is_flag=True, help="Have the market check it without changing anything")
# For changes of which the API has no dry run: what they would do is told by what the market says now.
PREVIEW: Final = click.option("--dry-run", is_flag=True, help="Show what would change without changing anything")
_LOST: Final = (
    errors.ConnectionFailed,
    errors.ServerError,
    errors.DecodeError,
    errors.TooManyRequests,
    KeyboardInterrupt,
)


class Price(click.ParamType[Decimal]):
    """An amount of money, as exact text."""

    name = "amount"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            amount = Decimal(str(value))
        except InvalidOperation:
            self.fail(f"{value!r} isn't an amount like 1.50", param, ctx)
        if not amount.is_finite() or amount < 0:
            self.fail(f"{value!r} isn't an amount like 1.50", param, ctx)
        return amount


def place_once(
    send: Callable[[str], T],
    *,
    key: str | None,
    again: Sequence[str],
    look: str,
    asks: bool = True,
    rest: Sequence[str] = (),
) -> T:
    """Send an order under an idempotency key; if every answer is lost, say how to learn what became of it.

    `again` are the words of a command that sends the same order, which the market does once for each key. `look` is
    one that shows whether it was done. `asks` says that the command would ask, `rest` are words after all options.
    """
    own = key or uuid4().hex
    try:
        return send(own)
    except _LOST:
        profile = session().place.profile
        words = ["berth", *again, *(["--profile", profile] if profile else []), "--idempotency-key", own]
        words += [*(["--yes"] if asks else []), *rest]
        session().out.note(
            f"\nThe market may have accepted it; `{look}` shows whether. This sends the same again, which is never done"
            f" twice:\n  {shlex.join(words)}"
        )
        raise

"""System checks of the money, run by `manage.py check --database default` and before each `migrate`."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error
from django.db import connections
from django.db.utils import DatabaseError

from billing.ledger.currency import currency_difference
from billing.models import LedgerCurrency


def check_currency(databases: Sequence[str] | None = None, **kwargs: Any) -> list[CheckMessage]:
    """Report a market whose configured currency is not that of its ledger; it would take yen for dollars."""
    if "default" not in (databases or ()):
        return []
    try:
        if LedgerCurrency._meta.db_table not in connections["default"].introspection.table_names():
            return []  # no ledger yet
        words = currency_difference()
    except DatabaseError:
        return []  # whatever needs the database reports the error itself
    return [Error(f"MARKET_CURRENCY: {words}.", id="billing.E001")] if words else []

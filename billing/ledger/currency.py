"""The ledger's own currency: recorded once, and compared with the configured one."""

from typing import Any

from django.conf import settings
from django.db import connection

from billing.findings import Finding
from billing.models import LedgerCurrency
from common import clock


def record_currency(**_kwargs: Any) -> None:
    """Record the configured currency after a `migrate`, unless the ledger has one already."""
    if LedgerCurrency._meta.db_table not in connection.introspection.table_names():
        return  # migrated back to before there was one
    row = LedgerCurrency(code=settings.MARKET_CURRENCY, noted_at=clock.now())
    LedgerCurrency.objects.bulk_create([row], ignore_conflicts=True)


def currency_difference() -> str:
    """Return a text for the operator when the currencies differ, else an empty text.

    Also empty while no currency is recorded.
    """
    code = LedgerCurrency.objects.values_list("code", flat=True).first()
    if code is None or code == settings.MARKET_CURRENCY:
        return ""
    return f"the ledger is in {code}, and MARKET_CURRENCY is {settings.MARKET_CURRENCY}: set it back to {code}"


def currency_findings() -> list[Finding]:
    words = currency_difference()
    return [Finding("I33", "the market's currency is the ledger's", "ledger", words)] if words else []

"""Comparison of the ledger's own currency with the configured one."""

from django.conf import settings

from billing.findings import Finding
from billing.models import LedgerCurrency


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

"""The ledger's own currency beside the one that the market is set to."""

from django.conf import settings

from billing.findings import Finding
from billing.models import LedgerCurrency


def currency_difference() -> str:
    """What is wrong, in words for the operator; empty when they agree, or nothing is remembered yet."""
    code = LedgerCurrency.objects.values_list("code", flat=True).first()
    if code is None or code == settings.MARKET_CURRENCY:
        return ""
    return f"the ledger is in {code}, and MARKET_CURRENCY is {settings.MARKET_CURRENCY}: set it back to {code}"


def currency_findings() -> list[Finding]:
    words = currency_difference()
    return [Finding("I33", "the market's currency is the ledger's", "ledger", words)] if words else []

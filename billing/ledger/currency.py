"""Records the ledger's currency once."""

from typing import Any

from django.conf import settings
from django.db import connection

from billing.models import LedgerCurrency
from common import clock


def note_currency(**_kwargs: Any) -> None:
    """Record the configured currency after a `migrate`, unless the ledger has one already."""
    if LedgerCurrency._meta.db_table not in connection.introspection.table_names():
        return  # migrated back to before there was one
    row = LedgerCurrency(code=settings.MARKET_CURRENCY, noted_at=clock.now())
    LedgerCurrency.objects.bulk_create([row], ignore_conflicts=True)

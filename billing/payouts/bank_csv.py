"""CSV table of a batch of payouts, for a bank's upload or a bookkeeper."""

import csv
import io
from collections.abc import Iterable

from billing.models import Payout
from billing.models.payout_destinations import destination_of
from common.ids import public_id
from common.money import format_money

_HEAD = ("payout", "holder", "iban", "bank", "amount", "currency", "remittance")


def bank_csv(payouts: Iterable[Payout], currency: str) -> str:
    """Return the table with one row for each payout.

    Holders and banks cannot begin like a spreadsheet formula: the form of the account refuses that.
    """
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(_HEAD)
    for payout in payouts:
        goes_to = destination_of(payout.destination)
        name = public_id("payout", payout.pk)
        amount = format_money(payout.amount_micros)
        table.writerow((name, goes_to.holder, goes_to.iban, goes_to.bank, amount, currency, f"Berth {name}"))
    return text.getvalue()

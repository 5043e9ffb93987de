"""Issues invoices, one for each renter and month with use; numbers have no gap, contents never change.

After a restore, numbers continue at the next million: the numbers issued since the backup are known only to their
renters.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import F

from accounts.models import User
from billing.constants import INVOICE_AFTER, INVOICE_BATCH, INVOICE_MONTHS_BACK
from billing.errors import AlreadyCorrected
from billing.invoices.lines import InvoiceLine, lines_from_json, tax_within, total_of
from billing.invoices.selectors import coupon_part_of_month, lines_of_month, owners_to_invoice
from billing.models import BillingAddress, Invoice, InvoiceSeries
from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import InvalidInput, NotFound

# More than a market issues between a backup and its restore.
_NUMBERS_OF_AN_EPOCH: Final = 1_000_000


def issue_invoices(*, now: datetime) -> int:
    """Issue missing invoices of past months to all renters with use, and return how many. Safe to repeat.

    A month holds what was posted in it, so a late settlement is on the next month's invoice and never missing.
    """
    issued = 0
    for begin, end in _months_over(now):
        for owner_id in owners_to_invoice(begin=begin, end=end, limit=INVOICE_BATCH):
            issued += issue_invoice(owner_id=owner_id, begin=begin, end=end) is not None
    return issued


def issue_invoice(*, owner_id: UUID, begin: datetime, end: datetime) -> Invoice | None:
    """Issue the invoice of one renter's month; return None when it exists already or nothing was used."""
    with use_case():
        series = _locked_series()
        if Invoice.objects.filter(owner_id=owner_id, period_from=begin, corrects=None).exists():
            return None
        lines = lines_of_month(owner_id=owner_id, begin=begin, end=end)
        if not lines:
            return None
        return _write(
            series,
            lines,
            owner_id=owner_id,
            period_from=begin,
            period_to=end,
            tax_bps=settings.MARKET_TAX_BPS,
            coupon_micros=coupon_part_of_month(owner_id=owner_id, begin=begin, end=end),
            buyer=buyer_of(owner_id),
            seller=seller(),
            currency=settings.MARKET_CURRENCY,
        )


def correct_invoice(*, invoice_id: UUID, reason: str, actor: str, reissue: bool) -> list[Invoice]:
    """Cancel an invoice in full by a credit note; with `reissue`, issue it again with present addresses.

    Each invoice is corrected once; a reissued one can be corrected in turn. No money is moved.
    """
    if not reason.strip():
        raise InvalidInput("Enter a reason for the correction; it appears on the credit note.")
    with use_case():
        series = _locked_series()
        wrong = Invoice.objects.filter(pk=invoice_id, kind=Invoice.Kind.INVOICE).first()
        if wrong is None:
            raise NotFound("This invoice doesn't exist.")
        if wrong.corrections.exists():
            raise AlreadyCorrected(f"{wrong.full_number} was already corrected.")
        same: dict[str, Any] = {
            "owner_id": wrong.owner_id,
            "corrects": wrong,
            "reason": reason.strip()[:200],
            "actor": actor,
            "period_from": wrong.period_from,
            "period_to": wrong.period_to,
            "tax_bps": wrong.tax_bps,
            "currency": wrong.currency,
        }
        lines = lines_from_json(wrong.lines)
        back: dict[str, Any] = {"buyer": wrong.buyer, "seller": wrong.seller, "coupon_micros": -wrong.coupon_micros}
        notes = [_write(series, [line.reversed() for line in lines], kind=Invoice.Kind.CREDIT_NOTE, **same, **back)]
        if reissue:
            anew: dict[str, Any] = {
                "buyer": buyer_of(wrong.owner_id),
                "seller": seller(),
                "coupon_micros": wrong.coupon_micros,
            }
            notes.append(_write(series, lines, **same, **anew))
    return notes


def skip_invoice_numbers() -> None:
    """Continue at the next million, in the caller's transaction.

    Issued numbers may be missing from the books.
    """
    series = _locked_series()
    following = (series.last_number // _NUMBERS_OF_AN_EPOCH + 1) * _NUMBERS_OF_AN_EPOCH
    InvoiceSeries.objects.filter(pk=series.pk).update(last_number=following)


def seller() -> dict[str, str]:
    """Return the issuer of invoices from the settings; it is stored with each invoice."""
    party = {name: str(value) for name, value in settings.MARKET_SELLER.items()}
    return {**party, "address": "\n".join(part.strip() for part in party["address"].split(";"))}


def _locked_series() -> InvoiceSeries:
    """Return this year's counter, locked until the transaction ends; a rollback gives the number back."""
    year = clock.now().year
    InvoiceSeries.objects.bulk_create([InvoiceSeries(year=year)], ignore_conflicts=True)
    return InvoiceSeries.objects.select_for_update(of=("self",), no_key=True).get(year=year)


def _write(series: InvoiceSeries, lines: Sequence[InvoiceLine], *, tax_bps: int, **fields: Any) -> Invoice:
    InvoiceSeries.objects.filter(pk=series.pk).update(last_number=F("last_number") + 1)
    series.refresh_from_db()
    total = total_of(lines)
    invoice = Invoice.objects.create(
        year=series.year,
        number=series.last_number,
        lines=[line.frozen() for line in lines],
        total_micros=total,
        tax_bps=tax_bps,
        tax_micros=tax_within(total, tax_bps),
        issued_at=clock.now(),
        **fields,
    )
    change_counters.notify_change(f"user:{invoice.owner_id.hex}")
    return invoice


def _months_over(now: datetime) -> list[tuple[datetime, datetime]]:
    """Return the months (UTC) that ended at least INVOICE_AFTER ago, oldest first."""
    end = (now - INVOICE_AFTER).astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    months: list[tuple[datetime, datetime]] = []
    for _back in range(INVOICE_MONTHS_BACK):
        begin = (end - timedelta(days=1)).replace(day=1)
        months.insert(0, (begin, end))
        end = begin
    return months


def set_address(*, owner_id: UUID, name: str, address: str, country: str, tax_id: str) -> None:
    """Set the address used from the next invoice on; issued invoices keep theirs."""
    fields = {"name": name.strip(), "address": address.strip(), "country": country.strip().upper(), "tax_id": tax_id.strip()}
    with use_case():
        BillingAddress.objects.update_or_create(owner_id=owner_id, defaults=fields)


def buyer_of(owner_id: UUID) -> dict[str, str]:
    """Return the buyer as an invoice stores it.

    Without an address it is the name and e-mail of the account.
    """
    user = User.objects.get(pk=owner_id)
    address = BillingAddress.objects.filter(owner_id=owner_id).first()
    if address is None:
        return {"name": user.display_name or user.email, "address": "", "country": "", "tax_id": "", "email": user.email}
    return {
        "name": address.name,
        "address": address.address.replace("\r\n", "\n"),
        "country": address.country,
        "tax_id": address.tax_id,
        "email": user.email,
    }

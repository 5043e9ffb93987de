"""Texts for orders and invoices, in the active language."""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from billing.constants import (
    CPU,
    DISK_SOURCE,
    HOLD_SOURCE,
    RETENTION_SOURCE,
    SNAPSHOT_SOURCE,
    SOURCE_PREFIXES,
    VOLUME_SOURCE,
)
from billing.invoices.lines import InvoiceLine
from billing.models import Invoice

Words = str | Promise

LINE_LABELS: Final[Mapping[str, Words]] = {
    "charge": gettext_lazy("usage"),
    "prepaid": gettext_lazy("reserved term, paid upfront"),
    "exit_fee": gettext_lazy("early termination"),
    "refund": gettext_lazy("refund"),
}
MODE_LABELS: Final[Mapping[str, Words]] = {
    "hourly": gettext_lazy("on-demand"),
    "reserved": gettext_lazy("reserved"),
    "tiered": gettext_lazy("tiered"),
    "spot": gettext_lazy("spot"),
    CPU: gettext_lazy("without a GPU"),
}
SOURCE_LABELS: Final[Mapping[str, Words]] = {
    DISK_SOURCE: gettext_lazy("data disk"),
    HOLD_SOURCE: gettext_lazy("GPUs kept while stopped"),
    RETENTION_SOURCE: gettext_lazy("data kept longer"),
    VOLUME_SOURCE: gettext_lazy("volume"),
    SNAPSHOT_SOURCE: gettext_lazy("snapshot"),
}


def title_of(invoice: Invoice) -> str:
    return _("Credit note") if invoice.kind == Invoice.Kind.CREDIT_NOTE else _("Invoice")


def header_fields_of(invoice: Invoice) -> list[tuple[str, str]]:
    """Return the header fields of an invoice as pairs of name and value."""
    facts = [
        (_("Issued"), f"{invoice.issued_at:%Y-%m-%d}"),
        (_("Month"), f"{invoice.period_from:%Y-%m}"),
        (_("Currency"), invoice.currency),
    ]
    if invoice.corrects is not None:
        facts.append((_("Corrects"), invoice.corrects.full_number))
    return facts


def line_text(line: InvoiceLine) -> str:
    """Return the text of a line: its kind, billing mode and source."""
    return f"{kind_text(line)} · {source_of(line.source_kind, line.source_id)}"


def kind_text(line: InvoiceLine) -> str:
    """Return the text of a line's kind and billing mode."""
    words = [
        LINE_LABELS.get(line.kind, line.kind),
        SOURCE_LABELS.get(line.source_kind, ""),
        MODE_LABELS.get(line.mode, line.mode),
    ]
    return " · ".join(str(word) for word in words if word)


def source_of(kind: str, source_id: str) -> str:
    """Return the public id of a line's source."""
    return f"{SOURCE_PREFIXES.get(kind, kind)}_{source_id}"


def period_text(line: InvoiceLine) -> str:
    """Return a line's period to the second; the day is written once when both ends are on it."""
    begin, end = line.since, line.until
    if begin == end:
        return f"{begin:%Y-%m-%d %H:%M:%S}"
    last = f"{end:%H:%M:%S}" if begin.date() == end.date() else f"{end:%Y-%m-%d %H:%M:%S}"
    return f"{begin:%Y-%m-%d %H:%M:%S} – {last}"

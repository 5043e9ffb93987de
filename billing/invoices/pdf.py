"""PDF of an invoice in English or Chinese.

It is drawn only from stored lines: the same invoice gives the same bytes.
"""

from collections.abc import Callable, Sequence
from io import BytesIO
from itertools import groupby
from typing import Any
from xml.sax.saxutils import escape

from django.utils.translation import gettext as _
from django.utils.translation import override
from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.pdfmetrics import registerFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

from billing.invoices.lines import InvoiceLine, lines_from_json, number_of_seconds
from billing.invoices.messages import header_fields_of, kind_text, period_text, source_of, title_of
from billing.models import Invoice
from common.money import format_money

_CHINESE = "STSong-Light"  # a font that every PDF reader has for Chinese; nothing is embedded
_MARGIN = 18 * mm
_WIDTH = A4[0] - 2 * _MARGIN
_INK, _GREY, _RULE = HexColor("#1a1d24"), HexColor("#646a76"), HexColor("#d5d8de")
_COLUMNS = (0.32, 0.21, 0.17, 0.16, 0.14)
_CELL = 8.5  # in points; at this size the longest month of seconds and the smallest rate fit on one line

registerFont(UnicodeCIDFont(_CHINESE))


def invoice_pdf(invoice: Invoice, language: str) -> bytes:
    """Return the PDF document in one of the site's languages."""
    out = BytesIO()
    with override(language):
        title = f"{title_of(invoice)} {invoice.full_number}"
        paper = SimpleDocTemplate(
            out,
            pagesize=A4,
            leftMargin=_MARGIN,
            rightMargin=_MARGIN,
            topMargin=_MARGIN,
            bottomMargin=22 * mm,
            title=title,
            author=str(invoice.seller.get("name", "")),
            invariant=1,  # no creation time and no random id in the file
        )
        paper.build(_story(invoice), canvasmaker=_pages(title))
    return out.getvalue()


def _story(invoice: Invoice) -> list[Flowable]:
    lines = lines_from_json(invoice.lines)
    return [
        _head(invoice),
        Spacer(0, 8 * mm),
        _parties(invoice),
        Spacer(0, 8 * mm),
        _lines(lines),
        Spacer(0, 4 * mm),
        _sums(invoice),
        Spacer(0, 8 * mm),
        _columns([[[_text(note, colour=_GREY, size=8) for note in _notes(invoice)]]], (1,)),
    ]


def _head(invoice: Invoice) -> Table:
    left = [_text(title_of(invoice), size=20, bold=True)]
    left.append(_text(invoice.full_number, size=11, colour=_GREY))
    right = [_text(f"{name}: {value}", right=True) for name, value in header_fields_of(invoice)]
    return _columns([[left, right]], (0.5, 0.5))


def _parties(invoice: Invoice) -> Table:
    return _columns([[_party(_("Seller"), invoice.seller), _party(_("Buyer"), invoice.buyer)]], (0.5, 0.5))


def _party(title: str, party: dict[str, Any]) -> list[Flowable]:
    rows = [str(party.get("name", "")), *str(party.get("address", "")).splitlines(), str(party.get("country", ""))]
    shown: list[Flowable] = [_text(title, colour=_GREY, size=8), _text(rows[0], bold=True)]
    shown += [_text(row) for row in rows[1:] if row]
    if party.get("email"):
        shown.append(_text(str(party["email"])))
    if party.get("tax_id"):
        shown.append(_text(_("Tax number: %(number)s") % {"number": party["tax_id"]}))
    return shown


def _lines(lines: Sequence[InvoiceLine]) -> Table:
    head = [_("What"), _("When (UTC)"), _("Seconds"), _("Rate"), _("Amount")]
    rows: list[list[Any]] = [[_text(word, colour=_GREY, size=8, right=place > 1) for place, word in enumerate(head)]]
    rows += [_row(line) for line in lines]
    table = Table(rows, colWidths=[_WIDTH * part for part in _COLUMNS], repeatRows=1)
    style: list[Any] = [
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LEFTPADDING", (0, 0), (0, -1), 0),
        ("RIGHTPADDING", (-1, 0), (-1, -1), 0),
        ("LINEBELOW", (0, 0), (-1, 0), 0.8, _INK),
        ("LINEBELOW", (0, 1), (-1, -1), 0.4, _RULE),
    ]
    table.setStyle(TableStyle(style))
    return table


def _row(line: InvoiceLine) -> list[Any]:
    rate = "" if line.rate_micros is None else f"{format_money(line.rate_micros)} / {_hours(line.rate_hours)}"
    return [
        [
            _text(line.what, size=_CELL, bold=True),
            _text(kind_text(line), colour=_GREY, size=7.5),
            _text(source_of(line.source_kind, line.source_id), colour=_GREY, size=7),
        ],
        _text(period_text(line), size=_CELL),
        _text(number_of_seconds(line.microseconds) if line.rate_micros is not None else "", size=_CELL, right=True),
        _text(rate, size=_CELL, right=True),
        _text(format_money(line.amount_micros), size=_CELL, right=True),
    ]


def _hours(hours: int) -> str:
    return _("h") if hours == 1 else f"{hours} {_('h')}"


def _sums(invoice: Invoice) -> Table:
    rows = [
        (_("Total, tax included"), invoice.total_micros, True),
        (
            _("tax (%(rate)s%%)") % {"rate": f"{invoice.tax_bps / 100:g}"},
            invoice.tax_micros,
            False,
        ),
        (_("net amount"), invoice.net_micros, False),
        (_("Paid with coupons"), invoice.coupon_micros, False),
        (_("Paid from wallet"), invoice.cash_micros, False),
    ]
    cells = [
        ["", _text(name, bold=bold), _text(f"{format_money(amount)} {invoice.currency}", bold=bold, right=True)]
        for name, amount, bold in rows
    ]
    table = _columns(cells, (0.44, 0.28, 0.28))
    table.setStyle(TableStyle([("LINEBELOW", (1, 0), (-1, 0), 0.4, _RULE)]))
    return table


def _notes(invoice: Invoice) -> list[str]:
    notes = [_("Amount = seconds × rate ÷ seconds in the rate's unit, rounded to a millionth for each run.")]
    if invoice.kind == Invoice.Kind.CREDIT_NOTE:
        notes.insert(0, _("This credit note cancels the invoice in full. Reason: %(reason)s") % {"reason": invoice.reason})
    else:
        notes.append(_("Already paid from your prepaid balance. No payment is due."))
    return notes


def _columns(cells: list[list[Any]], parts: Sequence[float]) -> Table:
    table = Table(cells, colWidths=[_WIDTH * part for part in parts])
    flush = [("LEFTPADDING", (0, 0), (-1, -1), 0), ("RIGHTPADDING", (-1, 0), (-1, -1), 0)]
    table.setStyle(TableStyle([("VALIGN", (0, 0), (-1, -1), "TOP"), *flush]))
    return table


def _text(text: str, *, size: float = 9.5, bold: bool = False, right: bool = False, colour: Any = _INK) -> Paragraph:
    style = ParagraphStyle(
        "text",
        fontName="Helvetica-Bold" if bold else "Helvetica",
        fontSize=size,
        leading=size * 1.4,
        textColor=colour,
        alignment=TA_RIGHT if right else 0,
        wordWrap="CJK" if _has_chinese(text) else None,
        splitLongWords=True,
    )
    return Paragraph(marked_up(text), style)


def marked_up(text: str) -> str:
    """Return paragraph markup for Helvetica, with runs that Helvetica cannot show set in the Chinese font."""
    runs = groupby(text, key=_is_latin)
    parts = ((latin, escape("".join(run))) for latin, run in runs)
    return "".join(part if latin else f'<font name="{_CHINESE}">{part}</font>' for latin, part in parts)


def _has_chinese(text: str) -> bool:
    return not all(map(_is_latin, text))


def _is_latin(character: str) -> bool:
    """Return whether Helvetica's PDF encoding (WinAnsi) has the character."""
    try:
        return character.isprintable() and bool(character.encode("cp1252"))
    except UnicodeEncodeError:
        return False


def _pages(title: str) -> Callable[..., Canvas]:
    """Return a canvas class that writes the total number of pages on each page."""

    class Numbered(Canvas):
        """Canvas that keeps its pages until the last one, then writes their footers."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self._kept: list[dict[str, Any]] = []

        def showPage(self) -> None:
            self._kept.append(dict(self.__dict__))
            self._startPage()  # type: ignore[attr-defined]  # missing in the stubs

        def save(self) -> None:
            for number, page in enumerate(self._kept, 1):
                self.__dict__.update(page)
                _foot(self, f"{title} · {number} / {len(self._kept)}")
                super().showPage()
            super().save()

    return Numbered


def _foot(canvas: Canvas, text: str) -> None:
    line = _text(text, size=8, colour=_GREY)
    line.wrap(_WIDTH, 10 * mm)
    line.drawOn(canvas, _MARGIN, 12 * mm)

"""The invoice as a document: every figure of its frozen lines, in both languages, the same to the byte each time."""

from datetime import UTC, datetime

import pytest
from django.utils.translation import gettext, override

from billing.invoices.lines import InvoiceLine
from billing.invoices.pdf import invoice_pdf
from billing.models import Invoice
from tests.billing.pdf_text import text_of

USE = InvoiceLine(
    kind="charge",
    what="2 × RTX 4090 on lab-03",
    source_kind="instance",
    source_id="0" * 32,
    mode="hourly",
    begins="2026-10-03T08:00:00.123456+00:00",
    ends="2026-10-03T09:30:00+00:00",
    microseconds=5_400_000_000,
    rate_micros=3_600_000,
    rate_hours=1,
    amount_micros=5_400_000,
)
DISK = InvoiceLine(
    kind="charge",
    what="Data disk <200 GB> & more",
    source_kind="disk",
    source_id="1" * 32,
    mode="",
    begins="2026-10-03T08:00:00+00:00",
    ends="2026-10-06T08:00:00+00:00",
    microseconds=259_200_000_000,
    rate_micros=150_000,
    rate_hours=24,
    amount_micros=450_000,
)


def paper(lines: list[InvoiceLine], **fields: object) -> Invoice:
    known: dict[str, object] = {
        "year": 2026,
        "number": 7,
        "period_from": datetime(2026, 10, 1, tzinfo=UTC),
        "period_to": datetime(2026, 11, 1, tzinfo=UTC),
        "currency": "USD",
        "total_micros": 5_850_000,
        "tax_bps": 1_900,
        "tax_micros": 934_034,
        "coupon_micros": 2_000_000,
        "buyer": {"name": "深圳市云算科技有限公司", "address": "南山区 88 号\nShenzhen", "country": "CN", "tax_id": "9144"},
        "seller": {"name": "Berth Ltd", "address": "1 Quay Street", "tax_id": "IE1"},
        "lines": [line.frozen() for line in lines],
        "issued_at": datetime(2026, 11, 1, 6, tzinfo=UTC),
    }
    return Invoice(**{**known, **fields})


def test_every_figure_is_on_the_paper() -> None:
    text = text_of(invoice_pdf(paper([USE, DISK]), "en"))
    for words in (
        "Invoice",
        "INV-2026-000007",
        "2026-11-01",
        "Berth Ltd",
        "深圳市云算科技有限公司",
        "南山区 88 号",
        "2 × RTX 4090 on lab-03",
        "inst_" + "0" * 32,
        "2026-10-03 08:00:00 –",
        "5400",
        "3.60 / h",
        "5.40",
        "Data disk <200 GB> & more",
        "259200",
        "0.15 / 24 h",
        "0.45",
        "5.85 USD",
        "tax (19%)",
        "0.934034 USD",
        "4.915966 USD",
        "2.00 USD",
        "3.85 USD",
        "1 / 1",
    ):
        assert words in text, words


def test_in_chinese_its_words_are_chinese() -> None:
    text = text_of(invoice_pdf(paper([USE]), "zh-hans"))
    with override("zh-hans"):
        for words in ("Invoice", "Paid with coupons", "Total, tax included"):
            assert gettext(words) in text
    assert "3.60 / " in text


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_same_invoice_gives_the_same_bytes(language: str) -> None:
    invoice = paper([USE, DISK])
    assert invoice_pdf(invoice, language) == invoice_pdf(invoice, language)


def test_long_papers_have_numbered_pages() -> None:
    text = text_of(invoice_pdf(paper([USE] * 120), "en"))
    assert text.count("5400") == 120
    pages = text.count("Invoice INV-2026-000007 · ")
    assert pages > 3
    assert f"{pages} / {pages}" in text


def test_a_credit_note_says_what_it_takes_back() -> None:
    wrong = paper([USE])
    back = [USE.reversed()]
    note = paper(back, kind="credit_note", corrects=wrong, number=8, reason="wrong name", total_micros=-5_400_000)
    text = text_of(invoice_pdf(note, "en"))
    for words in ("Credit note", "CN-2026-000008", "Corrects: INV-2026-000007", "wrong name", "-5.40"):
        assert words in text


def test_letters_that_helvetica_lacks_are_shown() -> None:
    text = text_of(invoice_pdf(paper([USE], buyer={"name": "Żółw ÄÖ <b>", "address": "", "tax_id": ""}), "en"))
    assert "Żółw ÄÖ <b>" in text

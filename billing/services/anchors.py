"""Carries the head of the ledger's seals out of the database: into a folder after each seal, and daily into a mail."""

import logging
from pathlib import Path

from django.conf import settings

from accounts.models import User
from billing.anchors import anchor_text, write_anchor
from billing.models import LedgerAudit
from billing.selectors.seals import latest_seals
from common.mail import MAIL_FAULTS, send_mail
from common.money import format_money

logger = logging.getLogger(__name__)


def anchor_ledger() -> bool:
    """Write the latest seal's head into LEDGER_ANCHOR_DIR; whether a file was written. Raises OSError."""
    seal = next(iter(latest_seals(1)), None)
    if seal is None or not settings.LEDGER_ANCHOR_DIR:
        return False
    folder = Path(settings.LEDGER_ANCHOR_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    text = anchor_text(
        number=seal.number,
        head=seal.head,
        upto=seal.upto,
        records_upto=seal.records_upto or 0,
        sealed_at=seal.sealed_at.isoformat(),
    )
    return write_anchor(folder, seal.number, text)


def mail_audit(audit: LedgerAudit) -> bool:
    """Tell the operator what an audit has found, and the head that it saw, which no database can take back."""
    to = settings.OPERATOR_MAIL or list(
        User.objects.filter(is_superuser=True, is_active=True).values_list("email", flat=True)
    )
    if not to:
        return False
    verdict = "The ledger holds." if audit.count == 0 else f"The ledger does not hold: {audit.count} findings."
    lines = [
        verdict,
        *(f"{one['code']} {one['subject']}: {one['detail']}" for one in audit.findings[:20]),
        "",
        f"Last seal: {audit.seal_number or 'none'}" + (f", head {audit.head}" if audit.head else ""),
        f"Credit granted since the audit before: {format_money(audit.granted_micros)} {settings.MARKET_CURRENCY}"
        f" in {audit.grants} grants.",
    ]
    if audit.head:
        lines += ["", "Keep this mail. To compare the ledger with it later:"]
        lines += [f"manage.py verify_ledger --seal {audit.seal_number}:{audit.head}"]
    try:
        send_mail(f"[Berth] Ledger audit of {audit.started_at:%Y-%m-%d}: {verdict}", "\n".join(lines), None, to)
    except MAIL_FAULTS:
        logger.exception("the mail about the ledger's audit was not sent")
        return False
    return True

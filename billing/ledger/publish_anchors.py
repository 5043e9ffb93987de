"""Publishes the head of the ledger's seals outside the database.

After each seal to a folder and an object storage, and daily by mail.
"""

from pathlib import Path

from django.conf import settings

from accounts.mail.outbox import queue_mail
from accounts.models import User
from billing.ledger.anchor_store import anchor_place, put_anchor
from billing.ledger.anchors import anchor_text, write_anchor
from billing.ledger.seals import latest_seals
from billing.models import LedgerAudit
from common.money import format_money


def anchor_ledger() -> bool:
    """Write the latest seal's head to LEDGER_ANCHOR_DIR and the object storage.

    Returns whether one was written. A failure of one target does not keep the head from the other.

    Raises:
        OSError: a target failed.
    """
    seal = next(iter(latest_seals(1)), None)
    if seal is None:
        return False
    text = anchor_text(
        number=seal.number,
        head=seal.head,
        upto=seal.upto,
        records_upto=seal.records_upto or 0,
        sealed_at=seal.sealed_at.isoformat(),
    )
    written, faults = False, []
    for write in (_into_folder, _into_store):
        try:
            written |= write(seal.number, text)
        except OSError as error:
            faults.append(error)
    if faults:
        raise faults[0]
    return written


def _into_folder(number: int, text: str) -> bool:
    if not settings.LEDGER_ANCHOR_DIR:
        return False
    folder = Path(settings.LEDGER_ANCHOR_DIR)
    folder.mkdir(parents=True, exist_ok=True)
    return write_anchor(folder, number, text)


def _into_store(number: int, text: str) -> bool:
    place = anchor_place()
    return place is not None and put_anchor(place, number, text)


def mail_audit(audit: LedgerAudit) -> bool:
    """Mail the operator the findings and head of an audit; no database can undo a sent mail.

    Runs in the transaction that stores the audit. Returns False when there is no recipient.
    """
    to = settings.OPERATOR_MAIL or list(
        User.objects.filter(is_superuser=True, is_active=True).values_list("email", flat=True)
    )
    if not to:
        return False
    verdict = "The ledger is consistent." if audit.count == 0 else f"The ledger is inconsistent: {audit.count} findings."
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
    subject = f"[Berth] Ledger audit of {audit.started_at:%Y-%m-%d}: {verdict}"
    for address in to:
        queue_mail(to=address, subject=subject, body="\n".join(lines), key=f"audit:{audit.pk}:{address}"[:200])
    return True

"""Pictures of what proves a bill: a line explained from both sides, spending, and the staff's checks of the ledger."""

from accounts.models import User
from billing.audit.services import audit_ledger
from billing.ledger.seals import seal_ledger
from billing.statements.selectors import statement_lines
from tests.web.world import World


def proof_pages(_world: World) -> dict[str, tuple[str, str]]:
    """Name → (who, path)."""
    seal_ledger()
    audit_ledger(asked_by="nightly")
    charge = _newest("alice", "renter", "charge")
    credit = _newest("alice", "renter", "credit")
    share = _newest("hana", "host", "host_share")
    return {
        "spend": ("alice", "/wallet/spend"),
        "spend-modes": ("alice", "/wallet/spend?by=mode"),
        "spend-instances": ("alice", "/wallet/spend?by=source"),
        "spend-empty": ("hana", "/wallet/spend"),
        "line": ("alice", f"/wallet/entries/{charge}"),
        "line-credit": ("alice", f"/wallet/entries/{credit}"),
        "line-host": ("hana", f"/wallet/entries/{share}"),
        "staff-audits": ("stella", "/admin/billing/ledgeraudit/"),
        "staff-seals": ("stella", "/admin/billing/seal/"),
    }


def _newest(name: str, kind: str, entry_kind: str) -> str:
    owner = User.objects.get(email=f"{name}@example.com")
    return statement_lines(owner_id=owner.pk, kind=kind, entry_kind=entry_kind)[0].id

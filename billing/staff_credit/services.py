"""Credit granted by staff: small sums by one person, large ones with a second person's confirmation."""

from uuid import UUID

from billing.constants import GRANT_ALONE_MICROS
from billing.errors import GrantRefused
from billing.ledger.wallets import lock_granting, post_grant
from billing.models import Grant
from billing.staff_credit.selectors import granted_alone
from common import clock
from common.db.transactions import use_case
from common.errors import InvalidInput


def request_grant(*, owner_id: UUID, amount_micros: int, actor: str, key: str, reason: str) -> Grant:
    """Grant credit, or leave it to a second person; repeating the same key changes nothing.

    It waits for that person where the actor has given too much alone within GRANT_ALONE_WITHIN.

    Raises:
        InvalidInput: amount or reason is missing.
    """
    if amount_micros <= 0:
        raise InvalidInput("A grant must be more than zero.")
    if not reason.strip():
        raise InvalidInput("Enter a reason. The renter sees it on the statement.")
    now = clock.now()
    with use_case():
        lock_granting(owner_id)  # of two at once, each would see only what the actor had granted before both
        known = Grant.objects.filter(key=f"grant:{key}").first()
        if known is not None:
            return known
        alone = granted_alone(actor) + amount_micros <= GRANT_ALONE_MICROS
        grant = Grant.objects.create(
            owner_id=owner_id,
            amount_micros=amount_micros,
            reason=reason[:200],
            key=f"grant:{key}",
            requested_by=actor,
            state=Grant.State.POSTED if alone else Grant.State.PENDING,
            created_at=now,
            settled_at=now if alone else None,
        )
        if alone:
            post_grant(grant)
    return grant


def confirm_grant(*, grant_id: UUID, actor: str) -> Grant:
    """Confirm and post a grant as its second person.

    Raises:
        GrantRefused: the actor is the first person, or the grant is settled already.
    """
    owner_id = Grant.objects.values_list("owner_id", flat=True).get(pk=grant_id)
    with use_case():
        lock_granting(owner_id)
        grant = _settle(grant_id, actor, Grant.State.POSTED)
        post_grant(grant)
    return grant


def decline_grant(*, grant_id: UUID, actor: str) -> Grant:
    """Decline a grant as its second person.

    Raises:
        GrantRefused: the actor is the first person, or the grant is settled already.
    """
    with use_case():
        return _settle(grant_id, actor, Grant.State.DECLINED)


def _settle(grant_id: UUID, actor: str, state: Grant.State) -> Grant:
    grant = Grant.objects.select_for_update(of=("self",), no_key=True).order_by("pk").get(pk=grant_id)
    if grant.state != Grant.State.PENDING:
        raise GrantRefused("This grant was already processed.")
    if grant.requested_by == actor:
        raise GrantRefused("Another staff member has to confirm or decline this grant.")
    grant.state, grant.confirmed_by, grant.settled_at = state, actor, clock.now()
    grant.save(update_fields=["state", "confirmed_by", "settled_at"])
    return grant

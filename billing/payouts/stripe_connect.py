"""Accounts of host owners at Stripe: onboarding, readiness, and later changes."""

from uuid import UUID

from django.conf import settings
from django.urls import reverse

from accounts.models import User
from billing.errors import NoPayoutAccount, StripeRefused
from billing.models import ConnectedAccount, PayoutAccount, PayoutMethod
from billing.models.payout_destinations import Destination
from billing.payouts.accounts import save_payout_account
from billing.people.account_links import prove_payout_account
from billing.stripe import connect
from billing.stripe.client import ReturnUrls
from billing.stripe.connect import RemoteAccount
from common import change_counters, clock
from common.db.transactions import use_case

_FIRST_MINIMUM = 10_000_000


def start_onboarding(*, owner: User) -> str:
    """Return the address of Stripe's page on which the owner verifies their identity.

    Their account is created when missing, and again where Stripe no longer knows it.

    Raises:
        PaymentsOff: Stripe is not configured.
        StripeRefused: Stripe refused the request.
        StripeUnreachable: Stripe does not answer.
    """
    account_id = ConnectedAccount.objects.filter(owner=owner).values_list("account_id", flat=True).first()
    if account_id is None:
        made = connect.create_account(owner_id=owner.pk, email=owner.email)
        with use_case():
            row, _new = ConnectedAccount.objects.get_or_create(owner=owner, defaults={"account_id": made})
            account_id = row.account_id
    try:
        return _page_of(account_id)
    except StripeRefused as error:
        if not connect.is_missing_account(error):
            raise
    return _page_of(_instead_of(owner, account_id))


def _page_of(account_id: str) -> str:
    site = settings.SITE_URL
    returns = ReturnUrls(done=f"{site}{reverse('payout_connect_return')}", left=f"{site}{reverse('payout_connect_refresh')}")
    return connect.onboarding_page(account_id=account_id, returns=returns)


def _instead_of(owner: User, gone: str) -> str:
    made = connect.create_account(owner_id=owner.pk, email=owner.email, instead_of=gone)
    with use_case():
        rows = ConnectedAccount.objects.filter(owner=owner, account_id=gone)
        rows.update(account_id=made, is_ready=False, needs="", checked_at=clock.now())
    return ConnectedAccount.objects.values_list("account_id", flat=True).get(owner=owner)


def finish_onboarding(*, owner_id: UUID) -> ConnectedAccount:
    """Check the account after the owner's return from Stripe; once it is ready, payouts go there.

    Raises:
        NoPayoutAccount: no onboarding was started.
    """
    row = ConnectedAccount.objects.filter(pk=owner_id).first()
    if row is None:
        raise NoPayoutAccount("No Stripe account was started here.")
    sync_account(account_id=row.account_id)
    row.refresh_from_db()
    if row.is_ready:
        _use_for_payouts(row)
    return row


def sync_account(*, account_id: str) -> str:
    """Update an account from Stripe and return what was found.

    Accounts that are not of this market are ignored.
    """
    if not ConnectedAccount.objects.filter(account_id=account_id).exists():
        return "not an account of this market"
    remote = _remote(account_id)
    with use_case():
        rows = ConnectedAccount.objects.filter(account_id=account_id)
        rows.update(is_ready=remote.is_ready, needs=remote.needs, checked_at=clock.now())
        for owner_id in rows.values_list("owner_id", flat=True):
            if remote.is_ready:
                prove_payout_account(owner_id=owner_id, destination=_at_stripe(account_id))
            change_counters.notify_change(f"user:{owner_id.hex}")
    return "ready" if remote.is_ready else f"not ready: {remote.needs}"


def _remote(account_id: str) -> RemoteAccount:
    """Fetch an account; one that Stripe no longer knows counts as not ready."""
    try:
        return connect.fetch_account(account_id)
    except StripeRefused as error:
        if not connect.is_missing_account(error):
            raise
        return RemoteAccount(account_id, is_ready=False, needs=error.detail[:200])


def _use_for_payouts(row: ConnectedAccount) -> None:
    """Make the account the owner's payout account, keeping the chosen amounts and interval."""
    before = PayoutAccount.objects.filter(pk=row.pk).first()
    if before is not None and before.method == PayoutMethod.STRIPE and before.stripe_account_id == row.account_id:
        return
    save_payout_account(
        owner_id=row.pk,
        destination=_at_stripe(row.account_id),
        minimum_micros=before.minimum_micros if before else _FIRST_MINIMUM,
        automatic=before.automatic if before else True,
    )


def _at_stripe(account_id: str) -> Destination:
    return Destination(PayoutMethod.STRIPE, stripe_account_id=account_id)

"""Pays matured earnings out: opens payouts, finishes them, and holds earnings of a source back.

Opening a payout takes the money from the host's wallet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from accounts.event_log.services import record_event
from billing.constants import PAYOUT_HOLDING, PAYOUT_LEAST_MICROS, PAYOUT_SOURCE
from billing.errors import (
    NoPayoutAccount,
    NotPayable,
    PayoutAccountUnfinished,
    PayoutAccountWaits,
    PayoutsFrozen,
    PayoutUnderWay,
)
from billing.ledger.freezes import money_is_frozen
from billing.ledger.postings import Movement, lock_wallets, post
from billing.ledger.wallets import open_wallet
from billing.models import ConnectedAccount, Entry, Holdback, Payout, PayoutAccount, PayoutMethod, Posting, Wallet
from billing.models.payout_destinations import destination_of
from billing.payouts.payable_balance import PayableBalance
from billing.payouts.selectors import due_owners, payable_of
from billing.people.account_links import disprove_payout_account, is_removed, prove_payout_account
from billing.states import PAYOUT_MACHINE, PayoutState
from billing.stripe.currencies import round_down
from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import DomainError, FieldError, IllegalTransition, InvalidInput, NotFound
from common.jobs import enqueue
from common.money import format_money
from common.transitions import move

_TAKEN_BACK = "Money that it was made of was taken back or is owed by now; ask again for what can be paid out."


def request_payout(*, owner_id: UUID, requested_by: str, amount_micros: int | None = None) -> Payout:
    """Open a payout of the given amount, or of everything that can be paid out.

    Raises:
        NoPayoutAccount: no account is set.
        PayoutAccountWaits: the account is too new.
        PayoutsFrozen: staff or a restore have frozen payouts.
        PayoutUnderWay: another payout is open.
        NotPayable: the amount is more than can be paid out.
        InvalidInput: no bank can pay the amount.
    """
    if money_is_frozen():
        raise PayoutsFrozen("Berth was restored from a backup: payouts are suspended until the books have been compared.")
    with use_case():
        pocket = _lock_wallets(owner_id)
        account = PayoutAccount.objects.select_for_update(of=("self",), no_key=True).filter(owner_id=owner_id).first()
        if account is None:
            raise NoPayoutAccount("Add a payout account first: Hosting > Payouts > Account.")
        if account.frozen:
            raise PayoutsFrozen(f"Support has suspended payouts of this account: {account.frozen_reason}")
        if is_removed(owner_id=owner_id, destination=account.destination):
            raise PayoutsFrozen("Support has found that this payout account isn't yours; add another one.")
        if _is_unfinished(account.method, account.stripe_account_id):
            raise PayoutAccountUnfinished("Finish your Stripe account first: Hosting > Payouts > Account.")
        now = clock.now()
        if account.waits_at(now):
            raise PayoutAccountWaits(f"Payouts to this account start at {account.pays_from:%Y-%m-%d %H:%M} UTC.")
        amount = _amount(payable_of(owner_id=owner_id, now=now), amount_micros)
        payout = Payout.objects.create(
            owner_id=owner_id,
            method=account.method,
            amount_micros=amount,
            matured_until=now - PAYOUT_HOLDING,
            destination=account.destination.kept(),
            requested_by=requested_by,
            created_at=now,
        )
        pocket.pay(payout)
        record_event(user_id=owner_id, kind="payout.asked", subject=f"{format_money(amount)} …{payout.ending}")
        change_counters.notify_change(f"user:{owner_id.hex}")
        if payout.method == PayoutMethod.STRIPE:
            enqueue("billing.send_payout", str(payout.pk))
    return payout


def start_due_payouts(*, now: datetime) -> int:
    """Open due payouts of accounts with automatic payout and return how many."""
    return sum(_start(owner_id) for owner_id in due_owners(now=now))


def mark_sent(*, payout_id: UUID, actor: str, **fields: object) -> bool:
    """Mark a payout as sent, since it may be carried out from now on; False when it must not be.

    It may have waited for days, for staff or for its account: money that was taken back meanwhile fails it and
    stays here.
    """
    with use_case():
        pocket = _lock_wallets(_owner_of(payout_id))
        payout = _lock(payout_id)
        if payout.state != PayoutState.PENDING or _is_frozen(payout.owner_id) or money_is_frozen():
            return False
        if payable_of(owner_id=payout.owner_id, now=clock.now()).is_short:
            _fail(payout, pocket, actor=actor, failure=_TAKEN_BACK)
            return False
        if _is_unfinished(payout.method, str(payout.destination.get("stripe_account_id", ""))):
            return False
        if is_removed(owner_id=payout.owner_id, destination=destination_of(payout.destination)):
            return False
        _move(payout, PayoutState.SENT, actor=actor, sent_at=clock.now(), **fields)
    return True


def mark_paid(*, payout_id: UUID, actor: str, reference: str) -> bool:
    """Mark a payout as arrived; return False when that was known."""
    with use_case():
        payout = _lock(payout_id)
        if payout.state == PayoutState.PAID:
            return False
        _move(payout, PayoutState.PAID, actor=actor, reference=reference[:100], settled_at=clock.now(), settled_by=actor)
        prove_payout_account(owner_id=payout.owner_id, destination=destination_of(payout.destination))
    return True


def mark_failed(*, payout_id: UUID, actor: str, failure: str, from_states: Sequence[str]) -> bool:
    """Fail a payout that did not arrive or came back, and return its money to the host's earnings.

    Returns False when that was known.

    Raises:
        IllegalTransition: the payout's state is none of `from_states`.
    """
    with use_case():
        pocket = _lock_wallets(_owner_of(payout_id))
        payout = _lock(payout_id)
        if payout.state == PayoutState.FAILED:
            return False
        if payout.state not in from_states:
            raise IllegalTransition(f"A payout that is {payout.state} can't be cancelled.")
        _fail(payout, pocket, actor=actor, failure=failure[:200])
        _withdraw_proof(payout)
    return True


def _withdraw_proof(returned: Payout) -> None:
    where = destination_of(returned.destination)
    arrived = Payout.objects.filter(owner_id=returned.owner_id, state=PayoutState.PAID)
    ready = ConnectedAccount.objects.filter(owner_id=returned.owner_id, account_id=where.stripe_account_id, is_ready=True)
    elsewhere = all(destination_of(other.destination).identity != where.identity for other in arrived)
    if elsewhere and not ready.exists():
        disprove_payout_account(owner_id=returned.owner_id, destination=where)


@dataclass(frozen=True)
class _PayoutWallets:
    """Wallets between which a payout moves money, both locked."""

    host_id: UUID
    bank_id: UUID

    def pay(self, payout: Payout) -> None:
        self._post(payout, f"payout:{payout.pk}", -payout.amount_micros, payout.requested_by, payout.created_at)

    def take_back(self, payout: Payout, *, actor: str) -> None:
        self._post(payout, f"payout-back:{payout.pk}", payout.amount_micros, actor, clock.now())

    def _post(self, payout: Payout, key: str, micros: int, actor: str, at: datetime) -> None:
        memo = f"Payout to {payout.method}" if micros < 0 else f"Payout came back: {payout.failure}"
        post(
            key=key,
            kind=Posting.Kind.PAYOUT,
            source_kind=PAYOUT_SOURCE,
            source_id=payout.pk,
            memo=memo[:200],
            actor=actor,
            movements=[
                Movement(self.host_id, Entry.Kind.PAYOUT, micros),
                Movement(self.bank_id, Entry.Kind.PAYOUT, -micros),
            ],
            at=at,
        )


def _lock_wallets(owner_id: UUID) -> _PayoutWallets:
    """Lock both wallets, as the first step of a use case.

    Concurrent payouts and refunds of one owner wait here.
    """
    host = open_wallet(owner_id=owner_id, kind=Wallet.Kind.HOST)
    bank = open_wallet(owner_id=None, kind=Wallet.Kind.BANK)
    lock_wallets([host.pk, bank.pk])
    return _PayoutWallets(host.pk, bank.pk)


def _amount(payable: PayableBalance, wanted: int | None) -> int:
    if payable.under_way_micros:
        raise PayoutUnderWay(
            f"{format_money(payable.under_way_micros)} is being paid out; request the next payout once it arrives."
        )
    if wanted is not None and (wanted <= 0 or wanted != round_down(wanted, payable.currency)):
        fault = FieldError("amount", "invalid", "More than zero, and in whole cents.")
        raise InvalidInput("This amount can't be paid out.", errors=[fault])
    most, least = payable.payable_micros, PAYOUT_LEAST_MICROS
    amount = most if wanted is None else wanted
    if not least <= amount <= most:
        limits = f"At least {format_money(least)} and at most {format_money(most)} {payable.currency} can be paid out now."
        raise NotPayable(limits, payable=format_money(most), least=format_money(least))
    return amount


def _start(owner_id: UUID) -> bool:
    """Open one owner's payout and return whether it was opened.

    A refusal (frozen meanwhile, another payout under way) must not affect other owners.
    """
    try:
        request_payout(owner_id=owner_id, requested_by="weekly")
    except DomainError:
        return False
    return True


def _fail(payout: Payout, pocket: _PayoutWallets, *, actor: str, failure: str) -> None:
    _move(payout, PayoutState.FAILED, actor=actor, failure=failure, settled_at=clock.now(), settled_by=actor)
    pocket.take_back(payout, actor=actor)


def _is_frozen(owner_id: UUID) -> bool:
    accounts = PayoutAccount.objects.select_for_update(of=("self",), no_key=True)
    return accounts.filter(owner_id=owner_id, frozen=True).first() is not None


def _is_unfinished(method: str, account_id: str) -> bool:
    """Return whether Stripe has said that the account cannot be paid.

    Accounts that were not created here were checked when they were saved.
    """
    unready = ConnectedAccount.objects.filter(account_id=account_id, is_ready=False)
    return method == PayoutMethod.STRIPE and unready.exists()


def _owner_of(payout_id: UUID) -> UUID:
    owner_id = Payout.objects.filter(pk=payout_id).values_list("owner_id", flat=True).first()
    if owner_id is None:
        raise NotFound("This payout doesn't exist.")
    return owner_id


def _lock(payout_id: UUID) -> Payout:
    payout = Payout.objects.select_for_update(of=("self",), no_key=True).filter(pk=payout_id).first()
    if payout is None:
        raise NotFound("This payout doesn't exist.")
    return payout


def _move(payout: Payout, target: PayoutState, *, actor: str, **fields: Any) -> None:
    move(payout, target, machine=PAYOUT_MACHINE, reason="", actor=actor, **fields)
    change_counters.notify_change(f"user:{payout.owner_id.hex}")


def hold_back(*, owner_id: UUID, source_kind: str, source_id: UUID) -> None:
    """Hold back the earnings from a source, inside the caller's transaction; repeating it changes nothing."""
    row = Holdback(owner_id=owner_id, source_kind=source_kind, source_id=source_id)
    Holdback.objects.bulk_create([row], ignore_conflicts=True)


def release_holdback(*, source_kind: str, source_id: UUID) -> None:
    open_ones = Holdback.objects.filter(source_kind=source_kind, source_id=source_id, closed_at=None)
    open_ones.update(closed_at=clock.now())

"""Transfers between members of one team: spendable cash only, never money given by the market."""

from typing import Final
from uuid import UUID, uuid5

from accounts.models import User
from accounts.selectors import joined_member, team_of
from billing.constants import TRANSFER_SOURCE
from billing.errors import COMMITTED, GIFTS_STAY, OWES, NotTransferable, too_little
from billing.ledger.freezes import money_is_frozen
from billing.ledger.postings import Movement, lock_wallets, post
from billing.ledger.promotional_selectors import transferable_micros
from billing.ledger.wallets import open_wallet
from billing.metering.commitments import committed_micros
from billing.models import Entry, Posting
from billing.people.selectors import blocking_debt_of
from billing.transfers.selectors import Transfer, transfer_of
from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import InvalidInput
from common.ids import new_uuid
from common.money import format_money

_FROZEN: Final = (
    "The market was restored from a backup: no money is passed on until its books have been compared, since it is not known "
    "yet what went back to a card meanwhile."
)


def transfer_money(
    *, sender: User, team_id: UUID, to_id: UUID, amount_micros: int, memo: str = "", key: UUID | None = None
) -> Transfer:
    """Transfer money between two members of a team; repeating the same `key` changes nothing.

    Coupon money is in wallets of its own until an hour needs it, and is held then, so it cannot be transferred;
    credit from staff cannot either.

    Raises:
        NotFound: they are not both in the team.
        InsufficientFunds: the money is not there.
        NotTransferable: it must not be passed on.
    """
    if amount_micros <= 0:
        raise InvalidInput("A transfer must be more than zero.")
    if to_id == sender.pk:
        raise NotTransferable("You can't transfer funds to yourself.")
    # The same form sent with another amount is another transfer, as the page says.
    transfer_id = uuid5(key, f"{sender.pk}:{to_id}:{amount_micros}") if key else new_uuid()
    with use_case():
        team = team_of(sender, team_id)
        receiver = joined_member(team.pk, to_id).user
        assert receiver is not None  # it has joined
        wallets = {user.pk: open_wallet(owner_id=user.pk).pk for user in (sender, receiver)}
        own = lock_wallets(list(wallets.values()))[wallets[sender.pk]]
        known = transfer_of(transfer_id)
        if known is not None:
            return known
        _check_sender(sender)
        if own.spendable_micros < amount_micros:
            raise too_little(amount_micros, own.spendable_micros)
        most = transferable_micros(own)
        if most < amount_micros:
            raise NotTransferable(GIFTS_STAY % {"most": format_money(most)}, most=format_money(most))
        most = max(0, own.spendable_micros - committed_micros(sender.pk))
        if most < amount_micros:
            raise NotTransferable(COMMITTED % {"most": format_money(most)}, most=format_money(most))
        movements = [
            Movement(wallets[sender.pk], Entry.Kind.TRANSFER, -amount_micros),
            Movement(wallets[receiver.pk], Entry.Kind.TRANSFER, amount_micros),
        ]
        words = f"{sender.email} → {receiver.email}, {team.name}" + (f": {memo}" if memo else "")
        _post(transfer_id, words, sender, movements)
        change_counters.notify_change(f"user:{sender.pk.hex}", f"user:{receiver.pk.hex}")
    return Transfer(transfer_id, amount_micros, words[:200], clock.now())


def _check_sender(sender: User) -> None:
    if money_is_frozen():
        raise NotTransferable(_FROZEN)
    if blocking_debt_of(sender.pk):
        raise NotTransferable(OWES)


def _post(transfer_id: UUID, words: str, sender: User, movements: list[Movement]) -> None:
    post(
        key=f"transfer:{transfer_id.hex}",
        kind=Posting.Kind.TRANSFER,
        source_kind=TRANSFER_SOURCE,
        source_id=transfer_id,
        memo=words[:200],
        actor=f"user:{sender.pk.hex}",
        movements=movements,
        at=clock.now(),
    )

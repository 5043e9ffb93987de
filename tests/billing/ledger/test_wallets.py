"""Wallets are opened once, and credit is granted once for each key."""

import pytest
from django.db import IntegrityError, transaction

from accounts.models import User
from billing.ledger.wallets import grant_credit, open_wallet
from billing.models import Entry, Posting, Wallet
from common.errors import InvalidInput
from tests.billing.money import assert_sound, wallet

pytestmark = pytest.mark.django_db


def test_opening_twice_gives_the_same_wallet(alice: User) -> None:
    assert open_wallet(owner_id=alice.pk) == open_wallet(owner_id=alice.pk)
    assert open_wallet(owner_id=alice.pk, kind="host").pk != open_wallet(owner_id=alice.pk).pk
    assert open_wallet(owner_id=None, kind="platform") == open_wallet(owner_id=None, kind="platform")
    assert Wallet.objects.count() == 3


@pytest.mark.parametrize(("owned", "kind"), [(True, "platform"), (False, "renter"), (True, "savings")])
def test_a_wallet_of_the_wrong_kind_is_refused(alice: User, owned: bool, kind: str) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Wallet.objects.create(owner=alice if owned else None, kind=kind)


def test_a_grant_comes_from_outside_and_once(alice: User) -> None:
    for _ in range(2):
        grant_credit(owner_id=alice.pk, amount_micros=5_000_000, actor="stella", key="t-1", memo="welcome")
    assert wallet(alice).balance_micros == 5_000_000
    assert Wallet.objects.get(kind="funding").balance_micros == -5_000_000
    posting = Posting.objects.get()
    assert (posting.kind, posting.actor, posting.memo) == ("grant", "stella", "welcome")
    assert {entry.kind for entry in Entry.objects.all()} == {"credit", "funding"}
    assert_sound()


@pytest.mark.parametrize("amount", [0, -1])
def test_a_grant_is_more_than_nothing(alice: User, amount: int) -> None:
    with pytest.raises(InvalidInput):
        grant_credit(owner_id=alice.pk, amount_micros=amount, actor="stella", key="t-1", memo="why")
    assert not Posting.objects.exists()

"""What the tests give to many at once is what the service would have given to each."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db.models import Model

from accounts.models import User
from billing.models import Entry, Grant, Posting, Wallet
from tests.billing.funding import grant_all
from tests.billing.money import START, UNIT, assert_sound, grant

pytestmark = pytest.mark.django_db

# New for each row: its own key, and the keys of the rows that it belongs to.
OWN = {"id", "key", "idempotency_key", "posting_id", "source_id", "wallet_id", "owner_id"}


def rows(model: type[Model], **chosen: Any) -> list[dict[str, Any]]:
    found = model._default_manager.filter(**chosen).order_by("-amount_micros" if model is Grant else "pk")
    return [{name: value for name, value in row.items() if name not in OWN} for row in found.values()]


def given_to(user: User) -> dict[str, list[dict[str, Any]]]:
    wallet = Wallet.objects.get(owner=user)
    postings = Posting.objects.filter(source_id=wallet.pk)
    return {
        "wallets": rows(Wallet, owner=user),
        "grants": rows(Grant, owner=user),
        "postings": rows(Posting, source_id=wallet.pk),
        "entries": rows(Entry, posting__in=postings),
        "kept by": [{"wallet": list(postings.values_list("entries__wallet__kind", flat=True).order_by("entries__pk"))}],
    }


def test_each_row_is_what_the_service_writes(alice: User, bob: User) -> None:
    with time_machine.travel(START, tick=False) as clock:
        for micros in (5 * UNIT, 7):
            grant(alice, micros)
        grant_all([(bob, 5 * UNIT), (bob, 7)])
        assert given_to(bob) == given_to(alice)
        assert Wallet.objects.get(kind="funding").balance_micros == -2 * (5 * UNIT + 7)
        clock.shift(timedelta(seconds=1))
        assert_sound()

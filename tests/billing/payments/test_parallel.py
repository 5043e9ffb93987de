"""Several workers at once on the same payments: each is credited once, and nothing waits for each other for ever."""

import random

import pytest

from accounts.models import User
from billing.models import Posting
from billing.payments.stripe_events import apply_events
from common import clock
from tests.billing.money import UNIT, in_parallel
from tests.billing.payments.conftest import SECRET, Market, balance, outside

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS = 4


def test_many_workers_credit_once(market: Market, alice: User, bob: User) -> None:
    for owner in (alice, bob):
        for units in (10, 20, 30):
            intent = market.stripe.pay(str(market.top_up(owner, units).session_id))
            market.stripe.refund_by_hand(intent["id"], 500)
        dispute = market.stripe.dispute(intent["id"], 1000)
        market.stripe.close_dispute(dispute["id"], "won")

    def work(seed: int) -> None:
        events = list(market.stripe.events)
        random.Random(seed).shuffle(events)
        for event in events:
            assert market.post(*market.stripe.message(event, SECRET)) == 200
            apply_events(now=clock.now())

    results = in_parallel([lambda seed=seed: work(seed) for seed in range(WORKERS)])  # type: ignore[misc]  # each its own
    assert [result for result in results if result is not None] == []
    assert (balance(alice), balance(bob), outside()) == (45 * UNIT, 45 * UNIT, 90 * UNIT)
    assert Posting.objects.filter(kind="top_up").count() == 6
    assert Posting.objects.filter(kind="refund").count() == 6
    assert Posting.objects.filter(kind="dispute").count() == 4

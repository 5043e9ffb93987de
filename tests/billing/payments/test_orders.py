"""Fault 72: every order in which five messages of one payment can come, and every delay, ends in the same wallets."""

from itertools import cycle, permutations, product
from typing import Any

import pytest

from accounts.models import User
from billing.models import Dispute, Payment, Posting, Refund
from billing.payments.stripe_events import apply_event
from tests.billing.money import UNIT, make_user
from tests.billing.payments.conftest import SECRET, Market, balance

# Committed: in one long transaction every posting would leave another version of the market's wallet to step over.
pytestmark = pytest.mark.django_db(transaction=True)
STAGES = 5
WANTED = {"payment_intent.succeeded", "checkout.session.completed", "refund.created", "charge.dispute.created"}


class Story:
    """One payment of 50, of which 20 are refunded at Stripe and 30 disputed; the dispute is won or lost."""

    def __init__(self, market: Market, end: str) -> None:
        self.market, self.end = market, end
        self.owner: User = make_user("story")
        self.payment = market.top_up(self.owner, 50)
        self.first = len(market.stripe.events)
        self.stage = 0

    def advance(self) -> None:
        stripe, self.stage = self.market.stripe, self.stage + 1
        if self.stage == 1:
            self.intent = stripe.pay(str(self.payment.session_id))  # two messages: the charge's and the page's
        elif self.stage == 3:
            stripe.refund_by_hand(self.intent["id"], 2000)
        elif self.stage == 4:
            self.dispute = stripe.dispute(self.intent["id"], 3000)
        elif self.stage == 5:
            stripe.close_dispute(self.dispute["id"], self.end)

    def messages(self) -> list[dict[str, Any]]:
        """As they were written, one for each stage reached."""
        wanted = WANTED | {"charge.dispute.closed"}
        return [event for event in self.market.stripe.events[self.first :] if event["type"] in wanted][: max(2, self.stage)]

    def deliver(self, event: dict[str, Any]) -> None:
        assert self.market.post(*self.market.stripe.message(event, SECRET)) == 200
        apply_event(event_id=event["id"])

    def check(self) -> None:
        left = 30 if self.end == "won" else 0
        assert (balance(self.owner), balance(self.owner, "debt")) == (left * UNIT, 0)
        payment = Payment.objects.get(owner=self.owner)
        assert (payment.state, payment.refunded_micros) == ("succeeded", 20 * UNIT)
        assert Refund.objects.get(payment=payment).state == "succeeded"
        assert Dispute.objects.get(payment=payment).state == self.end
        kinds = sorted(Posting.objects.filter(entries__wallet__owner=self.owner).values_list("kind", flat=True).distinct())
        assert kinds == ["dispute", "refund", "top_up"]


def test_fault_072_every_order_after_all_has_happened(market: Market) -> None:
    for order, end in zip(permutations(range(STAGES)), cycle(["won", "lost"]), strict=False):
        story = Story(market, end)
        for _ in range(STAGES):
            story.advance()
        messages = story.messages()
        assert len(messages) == STAGES
        for place in order:
            story.deliver(messages[place])
            assert balance(story.owner) >= 0
        story.check()


def test_every_delay_while_it_happens(market: Market) -> None:
    """Message n is written at stage n and comes at any stage from then on: 5! ways."""
    ways = product(*(range(place, STAGES) for place in range(STAGES)))
    for arrivals, end in zip(ways, cycle(["lost", "won"]), strict=False):
        story = Story(market, end)
        for stage in range(STAGES):
            story.advance()
            late = [place for place, at in enumerate(arrivals) if at == stage]
            for place in reversed(late):
                story.deliver(story.messages()[place])
        story.check()


def test_a_page_that_expires_beside_one_that_is_paid(market: Market, alice: User) -> None:
    """Two pages of the same renter: each message finds its own payment, in each order."""
    for order in permutations(range(3)):
        owner = make_user("two")
        first = len(market.stripe.events)
        left, paid = market.top_up(owner, 10), market.top_up(owner, 40)
        market.stripe.expire(str(left.session_id))
        market.stripe.pay(str(paid.session_id))
        messages = market.stripe.events[first:]
        assert len(messages) == 3
        for place in order:
            market.deliver(messages[place])
        states = Payment.objects.filter(owner=owner).order_by("amount_micros").values_list("state", flat=True)
        assert (list(states), balance(owner)) == (["expired", "succeeded"], 40 * UNIT)

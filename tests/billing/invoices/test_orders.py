"""Orders are written once, and found by what they were for."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import time_machine

from accounts.models import User
from billing.invoices.selectors import OrderFilter, orders_of
from billing.ledger.order_log import record_order
from billing.models import Order
from tests.billing.coupon_money import BEGIN

pytestmark = pytest.mark.django_db


def order(user: User, key: str, **fields: Any) -> None:
    known = {"kind": "rent", "source_kind": "instance", "source_id": uuid4(), "title": "1 × T4"}
    record_order(owner_id=user.pk, key=key, **{**known, **fields})


def titles(user: User, **params: Any) -> list[str]:
    return [row.title for row in orders_of(owner_id=user.pk, wanted=OrderFilter(**params))]


def test_the_same_key_is_written_once(alice: User) -> None:
    for _ in range(3):
        order(alice, "rent:1", title="x" * 300)
    assert Order.objects.get().title == "x" * 200


def test_filters(alice: User, bob: User) -> None:
    source = uuid4()
    with time_machine.travel(BEGIN, tick=False):
        order(alice, "1", title="first", billing_mode="hourly", source_id=source)
    with time_machine.travel(BEGIN + timedelta(days=1), tick=False):
        order(alice, "2", title="second", kind="top_up", source_kind="payment")
        order(bob, "3", title="his")
    assert titles(alice) == ["second", "first"]
    assert titles(alice, kind="top_up") == ["second"]
    assert titles(alice, billing_mode="hourly") == ["first"]
    assert titles(alice, source_id=source) == ["first"]
    assert titles(alice, since=BEGIN + timedelta(hours=1)) == ["second"]
    assert titles(alice, until=BEGIN + timedelta(hours=1)) == ["first"]
    assert titles(bob) == ["his"]


def test_a_kind_that_nobody_knows_is_a_mistake(alice: User) -> None:
    with pytest.raises(ValueError, match="nonsense"):
        order(alice, "1", kind="nonsense")

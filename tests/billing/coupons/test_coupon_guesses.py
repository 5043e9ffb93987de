"""Coupon codes cannot be guessed: made ones are long, and tries are bounded by account and by address at every door."""

import json
import re
from collections.abc import Iterator

import pytest
import redis
import time_machine
from django.conf import settings
from django.test import Client

from accounts.models import User
from billing.constants import COUPON_TRIES, COUPON_TRIES_OF_NETWORK
from billing.coupons.codes import create_code, try_counter
from billing.models import Coupon, CouponCode

pytestmark = pytest.mark.django_db
NOON = 1_800_000_000.0 - 1_800_000_000 % 3600


@pytest.fixture(autouse=True)
def no_old_tries() -> Iterator[None]:
    redis.Redis.from_url(settings.REDIS_URL).flushdb()
    try_counter.cache_clear()
    with time_machine.travel(NOON + 60, tick=False):
        yield


def as_user(user: User, address: str = "192.0.2.1") -> Client:
    client = Client(REMOTE_ADDR=address)
    client.force_login(user)
    return client


def redeem(client: Client, code: str, query: str = "") -> tuple[int, str, str]:
    path = f"/api/v1/coupons/redeem{query}"
    reply = client.post(path, json.dumps({"code": code}), content_type="application/json")
    return reply.status_code, reply.json().get("code", ""), reply.headers.get("Retry-After", "")


def a_code(code: str = "", **more: object) -> CouponCode:
    return create_code(code=code, kind="fixed", amount_micros=1_000_000, actor="staff", confirmed_by="second", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("query", ["", "?dry_run=true"])
def test_an_account_tries_so_many_an_hour(alice: User, query: str) -> None:
    a_code("WELCOME-2027")
    client = as_user(alice)
    tries = [redeem(client, f"GUESS-{number}", query)[:2] for number in range(COUPON_TRIES)]
    assert tries == [(404, "coupon_unknown")] * COUPON_TRIES
    assert redeem(client, "WELCOME-2027", query) == (429, "too_many_codes", "3540")
    page = client.post("/wallet/coupons", {"code": "WELCOME-2027"})
    assert (page.status_code, page.headers["Retry-After"]) == (429, "3540"), "the page counts the same"
    assert not Coupon.objects.exists()
    with time_machine.travel(NOON + 3600, tick=False):
        assert redeem(client, "WELCOME-2027")[0] == 201


def test_all_accounts_at_one_address_together(db: None) -> None:
    people = [User.objects.create_user(f"p{number}@example.com", "x") for number in range(5)]
    statuses = [redeem(as_user(person), f"G-{turn}-X")[0] for person in people for turn in range(COUPON_TRIES)]
    assert statuses == [404] * COUPON_TRIES_OF_NETWORK + [429] * COUPON_TRIES
    assert redeem(as_user(people[-1], "198.51.100.1"), "OTHER")[0] == 429, "its own account has tried too often as well"
    fresh = User.objects.create_user("fresh@example.com", "x")
    assert redeem(as_user(fresh, "198.51.100.1"), "OTHER")[0] == 404


def test_right_codes_are_not_counted(alice: User) -> None:
    codes = [a_code().code for _ in range(COUPON_TRIES + 3)]
    assert {redeem(as_user(alice), code)[0] for code in codes} == {201}


def test_a_made_code_holds_sixty_bits() -> None:
    codes = {a_code().code for _ in range(50)}
    assert len(codes) == 50
    assert all(re.fullmatch(r"[A-HJ-NP-Z2-9]{4}(-[A-HJ-NP-Z2-9]{4}){2}", code) for code in codes)


@pytest.mark.parametrize(("code", "warned"), [("SUMMER", True), ("", False)])
def test_staff_are_warned_of_a_code_that_can_be_guessed(stella: User, code: str, warned: bool) -> None:
    form = {"code": code, "kind": "fixed", "amount": "5", "per_user": "1"}
    shown = as_user(stella).post("/admin/billing/couponcode/add/", form, follow=True).content.decode()
    assert CouponCode.objects.exists()
    assert ("short enough to guess" in shown) == warned

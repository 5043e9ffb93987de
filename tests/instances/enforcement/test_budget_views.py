"""The page of budgets, the banners on every page, and how long the money lasts."""

import pytest
from django.test import Client

from accounts.models import User
from accounts.teams.services import create_team
from billing.budgets.selectors import highest_notices_of
from billing.models import Budget, Standing
from common import clock
from common.ids import public_id
from instances.enforcement import arrears
from instances.enforcement.budgets import enforce_budgets, set_budget
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from tests.billing.money import UNIT, at, grant
from tests.instances.fake_host import FakeHost, order_running
from tests.instances.fixtures import Clock


@pytest.fixture
def page(client: Client, rin: User) -> Client:
    client.force_login(rin)
    return client


def text(page: Client, path: str) -> str:
    reply = page.get(path)
    assert reply.status_code == 200
    return reply.content.decode()


def form(user: User, limit: str, **more: str) -> dict[str, str]:
    return {"over": f"member:{user.pk}", "limit_micros": limit, "period": "month", **more}


def half_spent(rin: User, limit: float, *, hard: bool) -> Budget:
    return set_budget(
        owner=rin, scope="member", subject_id=None, period="total", limit_micros=round(limit * UNIT), hard=hard
    )


def run(host: FakeHost, hours: Clock, minutes: int) -> None:
    for _ in range(minutes):
        hours.advance(minutes=1)
        host.sync()


# -- the page


def test_strangers_are_sent_to_sign_in(client: Client) -> None:
    for path in ("/wallet/budgets", "/console/banners"):
        assert client.get(path)["Location"].startswith("/accounts/login/")


def test_a_budget_is_set_changed_and_removed(page: Client, rin: User) -> None:
    assert "No budgets yet" in text(page, "/wallet/budgets")
    assert page.post("/wallet/budgets", form(rin, "12.50")).status_code == 302
    budget = Budget.objects.get()
    assert (budget.limit_micros, budget.hard, budget.scope) == (12_500_000, False, "member")
    assert "$12.50" in text(page, "/wallet/budgets")
    path = f"/wallet/budgets/{public_id('budg', budget.pk)}"
    page.post(path, {"limit_micros": "20", "hard": "on"})
    budget.refresh_from_db()
    assert (budget.limit_micros, budget.hard) == (20 * UNIT, True)
    page.post(path, {"limit_micros": "nothing"})
    assert "Enter an amount, such as 12.50." in text(page, "/wallet/budgets")
    page.post(f"{path}/remove")
    assert not Budget.objects.exists()


def test_a_second_one_of_the_same_is_refused_in_words(page: Client, rin: User) -> None:
    page.post("/wallet/budgets", form(rin, "12.50"))
    reply = page.post("/wallet/budgets", form(rin, "30"))
    assert reply.status_code == 409
    shown = reply.content.decode()
    assert "This budget already exists." in shown
    assert 'value="30"' in shown, "what was typed stays"


def test_one_chooses_among_ones_own(page: Client, rin: User, bob: User, host: FakeHost) -> None:
    mine, theirs = order_running(rin, host), create_team(user=bob, name="Robotics")
    shown = text(page, "/wallet/budgets")
    assert f"instance:{mine.pk}" in shown
    assert "Robotics" not in shown
    for over in (f"member:{bob.pk}", f"team:{theirs.pk}", "member:x", "nothing"):
        assert page.post("/wallet/budgets", form(rin, "1", over=over)).status_code == 200
    assert not Budget.objects.exists()


def test_nobody_elses_is_touched(page: Client, bob: User) -> None:
    other = set_budget(owner=bob, scope="member", subject_id=None, period="total", limit_micros=UNIT, hard=False)
    path = f"/wallet/budgets/{public_id('budg', other.pk)}"
    for where in (path, f"{path}/remove"):
        assert page.post(where, {"limit_micros": "9"}).status_code == 404
    other.refresh_from_db()
    assert other.limit_micros == UNIT


# -- banners


def test_no_banner_without_a_cause(page: Client, rin: User, host: FakeHost) -> None:
    order_running(rin, host)
    arrears.enforce_standings(now=clock.now())
    assert text(page, "/console/banners").strip() == ""
    assert 'hx-get="/console/banners"' in text(page, "/instances")


def test_the_ladder_is_told_step_by_step(client: Client, alice: User, host: FakeHost, hours: Clock) -> None:
    grant(alice, 4 * UNIT)
    client.force_login(alice)
    order_running(alice, host)
    arrears.enforce_standings(now=clock.now())
    shown = text(client, "/console/banners")
    assert "Your balance is low" in shown
    assert f"{at(hours=1, minutes=6, seconds=40):%Y-%m-%dT%H:%M:%SZ}" in shown, "4.00 at 3.60 an hour"
    Standing.objects.update(state="exhausted", next_state_at=None)
    assert "instances were stopped" in text(client, "/console/banners")


def test_data_that_is_about_to_go_is_told_in_the_last_week(
    page: Client, rin: User, mallory: User, host: FakeHost, hours: Clock
) -> None:
    instance = order_running(rin, host)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    hours.advance(days=22)
    page.force_login(rin)  # the session has run out meanwhile
    assert "will be deleted soon" not in text(page, "/console/banners")
    hours.advance(days=2)
    ends = Instance.objects.get().release_at
    assert ends is not None
    assert f"{ends:%Y-%m-%dT%H:%M:%SZ}" in text(page, "/console/banners")
    page.force_login(mallory)
    assert text(page, "/console/banners").strip() == ""


def test_what_goes_beyond_two_banners_is_folded(page: Client, rin: User, host: FakeHost, hours: Clock) -> None:
    for _ in range(3):
        stop_instance(renter=rin, instance_id=order_running(rin, host).pk)
        host.settle()
    hours.advance(days=24)
    page.force_login(rin)
    whole, _, folded = text(page, "/console/banners").partition("<details")
    assert (whole.count("will be deleted soon"), folded.count("will be deleted soon")) == (2, 1)
    assert "1 more notice" in folded


def test_a_budgets_mark_stays_while_it_is_true(page: Client, rin: User, host: FakeHost, hours: Clock) -> None:
    budget = half_spent(rin, 3.60, hard=False)
    order_running(rin, host)
    run(host, hours, 31)
    enforce_budgets(now=clock.now())
    assert "Budget Alice: 50% spent" in text(page, "/console/banners")
    page.post(f"/wallet/budgets/{public_id('budg', budget.pk)}", {"limit_micros": "100"})
    assert highest_notices_of(person_id=rin.pk, now=clock.now()) == []
    assert text(page, "/console/banners").strip() == ""


# -- how long the money lasts


def test_the_runway_is_on_the_wallet_in_the_bar_and_at_the_instance(
    client: Client, alice: User, host: FakeHost, hours: Clock
) -> None:
    """10.08 at 3.60 an hour are 2.8 hours."""
    grant(alice, 10_080_000)
    client.force_login(alice)
    instance = order_running(alice, host)
    for path in ("/wallet", "/wallet/pill", f"/instances/{public_id('inst', instance.pk)}"):
        assert "2 h 48 min" in text(client, path), path
    stop_instance(renter=alice, instance_id=instance.pk)
    host.settle()
    assert "Runway" not in text(client, f"/instances/{public_id('inst', instance.pk)}")

"""Nobody sets another's spot price for nothing: the attacks of the audit and their kin, through the API."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.models import Membership, Team, User
from billing.metering.settle import settle_meters
from billing.models import AccountLink, Hold, Meter, PayoutAccount
from billing.models.payout_destinations import Destination
from billing.people.account_links import record_payout_account
from billing.people.related_accounts import related_accounts
from common import clock
from common.ids import parse_public_id
from instances.enforcement.self_dealing_bids import stop_self_dealing_bids
from instances.models import SpotBid
from instances.spot.market_tick import tick_all
from marketplace.models import SpotPrice
from tests.billing.money import UNIT, charged, grant, make_user
from tests.instances.fake_host import FakeHost
from tests.instances.fixtures import Clock, Sign
from tests.instances.spot.bidders import turn, with_spot

BARRED = (403, "bid_barred")


@pytest.fixture
def spot(host: FakeHost) -> FakeHost:
    """Four GPUs, 3.60 by the hour, spot from 0.40."""
    return with_spot(host, 400_000)


@pytest.fixture
def victim(rin: User, sign: Sign) -> Client:
    return sign(rin)


@pytest.fixture
def shill(hours: Clock, bob: User, sign: Sign) -> Client:
    grant(bob, 1_000 * UNIT)
    return sign(bob)


def post(client: Client, path: str, body: dict[str, Any]) -> Any:
    return client.post(f"/api/v1/{path}", body, content_type="application/json")


def quoted(client: Client, host: FakeHost, most: str, gpus: int = 1) -> Any:
    wish = {"offer": f"offr_{host.offer.pk.hex}", "image": "berth-base", "billing_mode": "spot", "gpu_count": gpus}
    return post(client, "quotes", {**wish, "max_price": most})


def bids(client: Client, host: FakeHost, most: str, gpus: int = 1) -> str:
    """The id of the instance, after the tick that follows its order."""
    quote = quoted(client, host, most, gpus)
    assert quote.status_code == 201, quote.content
    made = post(client, "instances", {"quote_id": quote.json()["id"]})
    assert made.status_code == 201, made.content
    turn(host)
    return str(made.json()["id"])


def pays(client: Client, instance: str) -> Any:
    return client.get(f"/api/v1/instances/{instance}").json()["billing"]["spot"]["price"]


def published(client: Client, host: FakeHost) -> Any:
    return client.get(f"/api/v1/offers/offr_{host.offer.pk.hex}/spot-prices").json()["now"]


def answer(reply: Any) -> tuple[int, str]:
    return reply.status_code, reply.json()["code"]


# -- bids that could never be granted beside the winners


def test_the_attack_of_the_audit_moves_no_price(victim: Client, shill: Client, spot: FakeHost) -> None:
    """0.94 × 4 of 4 GPUs beside a winner of one: three GPUs stay free, and the winner pays the floor."""
    mine = bids(victim, spot, "0.95")
    assert pays(victim, mine) == "0.40"
    bids(shill, spot, "0.94", 4)
    assert (pays(victim, mine), published(victim, spot)) == ("0.40", "0.40")
    assert list(SpotPrice.objects.values_list("price_micros", flat=True)) == [400_000]
    assert Meter.objects.get(closed_at=None).tariff.rate_at(10**15) == 400_000


def test_nor_with_the_other_gpus_filled_up(victim: Client, shill: Client, spot: FakeHost) -> None:
    mine = bids(victim, spot, "0.95")
    bids(shill, spot, "0.94", 4)
    for _ in range(3):
        bids(shill, spot, "0.40")
    assert (pays(victim, mine), published(victim, spot)) == ("0.40", "0.40")


def test_a_bid_that_would_take_the_gpu_does_set_the_price(victim: Client, shill: Client, spot: FakeHost) -> None:
    mine = bids(victim, spot, "0.95")
    bids(victim, spot, "0.95", 3)
    bids(shill, spot, "0.80")
    assert (pays(victim, mine), published(victim, spot)) == ("0.80", "0.80")


def test_a_bid_that_comes_and_goes_counts_for_the_time_that_it_stood(
    victim: Client, shill: Client, spot: FakeHost, hours: Clock
) -> None:
    """Ten times for half a minute costs what five minutes cost, and each time is in the public history."""
    mine = bids(victim, spot, "2.00", 4)
    began = clock.now()
    for _ in range(10):
        flickers = bids(shill, spot, "1.00", 1)
        for _ in range(2):
            spot.sync()
            hours.advance(seconds=15)
        assert pays(victim, mine) == "1.00"
        assert post(shill, f"instances/{flickers}/stop", {}).status_code == 202
        turn(spot)
        assert (pays(victim, mine), published(victim, spot)) == ("0.40", "0.40")
        for _ in range(2):
            hours.advance(seconds=15)
            spot.sync()
    assert (clock.now() - began).total_seconds() == 600
    assert post(victim, f"instances/{mine}/stop", {}).status_code == 202
    spot.settle()
    settle_meters(now=clock.now())
    # 5 min × 4 × 1.00 + 5 min × 4 × 0.40
    assert charged(parse_public_id("inst", mine)) == 466_667
    assert SpotPrice.objects.count() == 21


def test_a_bid_counts_only_while_its_first_hour_is_held(victim: Client, shill: Client, spot: FakeHost) -> None:
    mine = bids(victim, spot, "2.00", 4)
    waits = parse_public_id("inst", bids(shill, spot, "1.00"))
    assert pays(victim, mine) == "1.00"
    held = Hold.objects.filter(source_id=waits, released_at=None)
    assert held.update(amount_micros=UNIT - 1) == 1
    turn(spot)
    assert (pays(victim, mine), published(victim, spot)) == ("0.40", "0.40")
    held.update(amount_micros=UNIT)
    turn(spot)
    assert pays(victim, mine) == "1.00"


def test_a_bid_whose_wallet_cannot_hold_its_first_hour_is_not_placed(
    victim: Client, spot: FakeHost, sign: Sign, mallory: User
) -> None:
    mine = bids(victim, spot, "2.00", 4)
    grant(mallory, UNIT)
    poor = sign(mallory)
    quote = quoted(poor, spot, "1.000001").json()
    assert answer(post(poor, "instances", {"quote_id": quote["id"]})) == (402, "insufficient_funds")
    turn(spot)
    assert (pays(victim, mine), SpotBid.objects.count()) == ("0.40", 1)


# -- bids on the GPUs of one's own person


def is_the_owner(owner: User) -> User:
    return owner


def is_in_the_team(owner: User) -> User:
    other = make_user("colleague")
    team = Team.objects.create(name="lab")
    for user in (owner, other):
        Membership.objects.create(team=team, user=user, email=user.email, joined_at=clock.now())
    return other


def shares_a_card(owner: User) -> User:
    other = make_user("same-card")
    for user in (owner, other):
        AccountLink.objects.create(owner=user, kind="card", value="Xt5EWLLDS7FJjR1c")
    return other


def shares_an_iban(owner: User) -> User:
    other = make_user("same-iban")
    for user in (owner, other):
        _has_typed(user, Destination("bank", holder="H", iban="DE89370400440532013000"))
    return other


def shares_a_stripe_account(owner: User) -> User:
    other = make_user("same-stripe")
    for user in (owner, other):
        _has_typed(user, Destination("stripe", stripe_account_id="acct_12345678"))
    return other


def _has_typed(user: User, where: Destination) -> None:
    PayoutAccount.objects.create(owner=user, **where.kept())
    record_payout_account(owner_id=user.pk, destination=where)


KIN: tuple[Callable[[User], User], ...] = (
    *(is_the_owner, is_in_the_team, shares_a_card, shares_an_iban, shares_a_stripe_account),
)


@pytest.mark.parametrize("kin", KIN)
def test_nobody_bids_on_gpus_of_their_own(kin: Callable[[User], User], spot: FakeHost, hana: User, sign: Sign) -> None:
    bidder = kin(hana)
    grant(bidder, 100 * UNIT)
    api = sign(bidder)
    assert answer(quoted(api, spot, "1.00")) == BARRED
    hourly = post(api, "quotes", {"offer": f"offr_{spot.offer.pk.hex}", "image": "berth-base"})
    assert hourly.status_code == 201  # renting from oneself is allowed
    assert not SpotBid.objects.exists()


@pytest.mark.parametrize("kin", KIN[1:])
def test_nor_by_a_quote_a_bid_or_a_start_from_before(
    kin: Callable[[User], User], spot: FakeHost, hana: User, sign: Sign, victim: Client
) -> None:
    bidder = make_user("not-yet")
    grant(bidder, 100 * UNIT)
    api = sign(bidder)
    runs, stops, waits = bids(api, spot, "2.00"), bids(api, spot, "2.00"), ""
    assert post(api, f"instances/{stops}/stop", {}).status_code == 202
    turn(spot)
    mine = bids(victim, spot, "3.00", 3)
    waits = bids(api, spot, "1.00", 3)
    quote = quoted(api, spot, "1.00").json()
    assert pays(victim, mine) == "1.00"

    become(kin, bidder, hana)
    tick_all()
    assert (pays(victim, mine), published(victim, spot)) == ("0.40", "0.40")
    assert [stop_self_dealing_bids() for _ in range(2)] == [1, 0]
    turn(spot)
    seen = api.get(f"/api/v1/instances/{waits}").json()
    assert (seen["state"], seen["billing"]["spot"]["state"]) == ("stopped", "ended")
    assert api.get(f"/api/v1/instances/{runs}").json()["state"] == "running"  # what runs is not torn down
    assert answer(post(api, "instances", {"quote_id": quote["id"]})) == BARRED
    assert answer(post(api, f"instances/{stops}/start", {})) == BARRED
    assert answer(post(api, f"instances/{runs}/bid", {"max_price": "2.50"})) == BARRED


def become(kin: Callable[[User], User], bidder: User, owner: User) -> None:
    """The bidder takes the place of the account that `kin` makes."""
    stand_in = kin(owner)
    Membership.objects.filter(user=stand_in).update(user=bidder)
    AccountLink.objects.filter(owner=stand_in).update(owner=bidder)
    for account in PayoutAccount.objects.filter(owner=stand_in):
        account.delete()
        account.owner = bidder
        account.save(force_insert=True)


def test_strangers_and_former_colleagues_are_nobodys_kin(hana: User, bob: User) -> None:
    is_in_the_team(hana)
    shares_a_card(hana)
    assert bob.pk not in related_accounts(hana.pk)
    Membership.objects.filter(user=hana).delete()
    AccountLink.objects.filter(owner=hana).update(
        removed_at=clock.now(), removed_by="test", removed_reason="as if there were none"
    )
    assert related_accounts(hana.pk) == {hana.pk}
    invited = Team.objects.create(name="open")
    Membership.objects.create(team=invited, user=hana, email=hana.email, joined_at=clock.now())
    Membership.objects.create(team=invited, user=None, email=bob.email)  # invited, not joined
    assert related_accounts(hana.pk) == {hana.pk}


def test_leaving_the_team_after_a_run_lifts_no_bar(spot: FakeHost, hana: User, hours: Clock, sign: Sign) -> None:
    other = is_in_the_team(hana)
    grant(other, 100 * UNIT)
    api = sign(other)
    quote = post(api, "quotes", {"offer": f"offr_{spot.offer.pk.hex}", "image": "berth-base"}).json()
    assert post(api, "instances", {"quote_id": quote["id"]}).status_code == 201
    turn(spot)
    Membership.objects.filter(user=other).delete()
    assert answer(quoted(api, spot, "1.00")) == BARRED

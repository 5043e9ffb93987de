"""A renter's story over the API, with the bill recomputed by hand."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.http import HttpResponse
from django.test import Client

from accounts.constants import SCOPES
from accounts.models import User
from accounts.tokens.services import issue_token
from billing.metering.settle import extend_holds, settle_meters
from common import clock
from instances.enforcement.sweeps import compare_leases, enforce_deadlines, purge_expired, stop_exhausted
from marketplace.hosts.offers import check_offers
from marketplace.models import Incident
from tests.billing.money import UNIT, assert_sound, platform, wallet
from tests.instances.fake_host import FakeHost
from tests.instances.fixtures import Clock

RATE = Decimal("7.20")  # two GPUs at 3.60


def call(client: Client, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    reply: HttpResponse = getattr(client, method)(f"/api/v1{path}", body or {}, content_type="application/json")
    assert 200 <= reply.status_code < 300, reply.content
    return reply.json()  # type: ignore[attr-defined]


def run(host: FakeHost, hours: Clock, seconds: int) -> None:
    """Time in which the host reports every 20 s and the jobs run."""
    for elapsed in range(20, seconds + 1, 20):
        hours.advance(seconds=20)
        host.sync()
        extend_holds(now=clock.now())
        stop_exhausted(now=clock.now())
        if elapsed % 60 == 0:
            settle_meters(now=clock.now())
            enforce_deadlines(now=clock.now())
            purge_expired(now=clock.now())
    rest = seconds % 20
    hours.advance(seconds=rest)
    host.sync()


def by_hand(*seconds: int) -> int:
    """Each stretch of running at 7.20 an hour, rounded once, in micro-units."""
    return sum(int((RATE * stretch / 3600 * UNIT).quantize(Decimal(1), rounding=ROUND_HALF_UP)) for stretch in seconds)


def test_rent_run_meter_stop_start_settle_release(rin: User, host: FakeHost, hours: Clock) -> None:
    _, token = issue_token(user=rin, name="story", scopes=list(SCOPES))
    renter = Client(headers={"authorization": f"Bearer {token}"})

    # The market shows what is free; the quote says what it will cost; the order holds one hour.
    offers = renter.get("/api/v1/offers?gpu_count=2").json()["results"]
    offer = next(offer for offer in offers if offer["id"] == f"offr_{host.offer.pk.hex}")
    assert offer["prices"]["hourly"] == "3.60"
    wanted = {"offer": offer["id"], "gpu_count": 2, "image": "berth-base", "data_disk_gb": 50, "hours": 2}
    quote = call(renter, "post", "/quotes", wanted)
    assert (quote["due_now"], quote["hourly_rate"], quote["projected_total"]) == ("7.20", "7.20", "14.40")
    instance = call(renter, "post", "/instances", {"quote_id": quote["id"], "name": "story"})
    me = f"/instances/{instance['id']}"
    assert call(renter, "get", "/wallet")["held"] == "7.20"

    # Five minutes of loading cost nothing.
    host.sync()
    run(host, hours, 300)
    assert call(renter, "get", me)["state"] == "provisioning"
    assert call(renter, "get", me)["billing"]["cost_so_far"] == "0.00"
    host.work()
    host.sync()
    assert call(renter, "get", me)["state"] == "running"

    # 1 h 47 min 13 s of running, restarted on the way; live cost at any moment.
    run(host, hours, 3600)
    assert call(renter, "get", me)["billing"]["cost_so_far"] == "7.20"
    call(renter, "post", f"{me}/restart")
    host.settle()
    run(host, hours, 2833)
    assert int(Decimal(call(renter, "get", me)["billing"]["cost_so_far"]) * UNIT) == by_hand(6433)
    assert [line["amount"] for line in call(renter, "get", f"{me}/usage")["lines"]] == ["-7.20"]

    # Stopped: the GPUs are free, the rest of the hold is back, the data stays, nothing is charged.
    call(renter, "post", f"{me}/stop")
    host.settle()
    stopped = call(renter, "get", me)
    assert (stopped["state"], stopped["gpus"]) == ("stopped", [])
    assert stopped["release_at"].startswith("2025-03-31")
    assert call(renter, "get", "/wallet")["held"] == "0.00"
    run(host, hours, 4000)
    assert int(Decimal(call(renter, "get", me)["billing"]["cost_so_far"]) * UNIT) == by_hand(6433)

    # Started again for 61 s, with a silence of the host that is longer than the bridge and so is not charged.
    call(renter, "post", f"{me}/start")
    host.settle()
    run(host, hours, 40)
    hours.advance(seconds=121)
    host.sync()
    run(host, hours, 21)
    call(renter, "delete", me)
    host.settle()
    settle_meters(now=clock.now())
    gone = call(renter, "get", me)
    assert (gone["state"], gone["access"]["ssh"]) == ("gone", None)

    # The bill by hand: three stretches, each rounded once; a tenth to the platform; nothing left held or leased.
    total = by_hand(6433, 40, 21)
    assert total == 12_866_000 + 80_000 + 42_000
    assert wallet(rin).balance_micros == 1000 * UNIT - total
    assert wallet(rin).held_micros == 0
    assert platform().balance_micros == total // 10
    assert wallet(host.owner, "host").balance_micros == total - total // 10
    lines = call(renter, "get", f"{me}/usage")["lines"]
    assert sum(int(Decimal(line["amount"]) * UNIT) for line in lines) == -total
    assert sum(line["seconds"] for line in lines) == 6433 + 40 + 21
    kinds = [event["kind"] for event in call(renter, "get", f"{me}/events")["results"]][::-1]
    assert kinds == [
        *("rented", "provisioning", "running", "restart_asked", "running", "stop_asked", "stopped"),
        *("start_asked", "running", "release_asked", "gone"),
    ]
    assert check_offers(repair=False) == []
    assert compare_leases() == 0
    assert not Incident.objects.exists()
    assert_sound()

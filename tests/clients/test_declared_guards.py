"""What `berth apply` and `destroy` refuse before an instance is changed, released or paid for; its market is a script."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from berth import models
from tests.clients.lying_server import Market, Trick, lying_market, status
from tests.clients.samples import OWN, answers, instance, sample
from tests.clients.terminal import Terminal

HERE, ELSEWHERE = "offr_" + "1" * 32, "offr_" + "2" * 32
VOLUME = {"id": "vol_1", "name": "store", "state": "ready", "attached_to": None, "move": None}
Write = Callable[..., str]


@pytest.fixture
def market() -> Iterator[Market]:
    with lying_market() as running:
        yield running


@pytest.fixture
def renter(market: Market, tmp_path: Path) -> Terminal:
    return Terminal(tmp_path, market.url, "berth_t")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file with the instance `box` of this spec, and other documents."""

    def to_file(spec: dict[str, Any], *others: dict[str, Any]) -> str:
        path = tmp_path / "files.json"
        path.write_text(json.dumps([{"kind": "instance", "name": "box", "spec": spec}, *others]))
        return str(path)

    return to_file


def box(**changes: Any) -> dict[str, Any]:
    found = instance(**{"offer": HERE, "data_disk_gb": 60, **changes})
    found["billing"] |= {"mode": "hourly", "hourly_rate": "3.60", "disk_daily": "2.40"}
    return found


def listed(*results: Any) -> dict[str, Any]:
    return {"next": None, "previous": None, "results": list(results)}


def changing(market: Market) -> list[str]:
    """Return the requests that change an instance, or would."""
    return [
        f"{method} {path.partition('?')[0]}"
        for method, path, _, _ in market.requests
        if method != "GET" and path.startswith("/api/v1/instances")
    ]


# -- prices that rise while templates and volumes are made


def volume(size: int) -> dict[str, Any]:
    found: dict[str, Any] = {**sample(models.VolumeOut), **VOLUME, "size_gb": size, "growth": None, "daily_rate": "0.01"}
    return found


def size(hourly: str, daily: str = "2.40") -> dict[str, Any]:
    found: dict[str, Any] = sample(models.SizeOut)
    return found | {"hourly_rate": hourly, "disk_daily": daily}


GROWN = {"kind": "volume", "name": "store", "spec": {"size_gb": 3}}


def test_a_size_that_costs_more_by_then_is_not_ordered(market: Market, renter: Terminal, write: Write) -> None:
    file = write({"data_disk_gb": 80}, GROWN)
    first = (listed(box()), listed(volume(2)), volume(3), size("3.60"))
    answers(market, *first, volume(3), listed(box()), listed(volume(3)), size("9.00"))
    done = renter.run("apply", "-f", file, "--yes")
    assert (done.returncode, changing(market)) == (6, []), done.stderr
    assert "3.70 per hour in total" in done.stderr and "9.10 per hour in total" in done.stderr
    assert "the price is higher" in done.stderr


def test_the_same_price_needs_no_second_answer(market: Market, renter: Terminal, write: Write) -> None:
    file = write({"data_disk_gb": 80}, GROWN)
    first = (listed(box()), listed(volume(2)), volume(3), size("3.60"))
    answers(market, *first, volume(3), listed(box()), listed(volume(3)), size("3.60"), box())
    done = renter.run("apply", "-f", file, "--yes", "--no-wait")
    assert (done.returncode, changing(market)) == (0, [f"POST /api/v1/instances/{OWN}/resize"]), done.stderr


def test_another_offer_is_not_rented_in_its_place(market: Market, renter: Terminal, write: Write) -> None:
    def found(offer: str) -> dict[str, Any]:
        placed = sample(models.PlacedOffer) | {"id": offer, "gpu_free": 4, "gpu_spot": 0}
        return {**sample(models.OfferPage), **listed(placed)}

    quote = sample(models.QuoteOut) | {"hourly_rate": "3.60", "due_now": "3.60"}
    file = write({"filter": "4090", "data_disk_gb": 10}, GROWN)
    first = (listed(box()), listed(volume(2)), volume(3), found(HERE), quote)
    answers(market, *first, volume(3), listed(box()), listed(volume(3)), found(ELSEWHERE), quote)
    done = renter.run("apply", "-f", file, "--yes", "--replace", "box")
    assert (done.returncode, changing(market)) == (6, []), done.stderr
    assert ELSEWHERE in done.stderr


# -- what a release would cost


def reserved() -> dict[str, Any]:
    found, term = box(), sample(models.InstanceTerm)
    dates = {"starts_at": "2026-11-01T00:00:00Z", "ends_at": "2026-12-01T00:00:00Z"}
    found["billing"] |= {"mode": "reserved", "term": term | {"term": "month", "payment": "none"} | dates}
    return found


def test_what_is_reserved_is_not_replaced_while_its_term_runs(market: Market, renter: Terminal, write: Write) -> None:
    answers(market, listed(reserved()))
    done = renter.run("apply", "-f", write({"offer": ELSEWHERE}), "--yes", "--replace", "box")
    assert (done.returncode, changing(market)) == (5, []), done.stderr
    assert "Its reserved term runs until 2026-12-01 00:00 UTC." in done.stderr
    assert f"berth rm {OWN}" in done.stderr


def test_a_term_that_has_not_begun_costs_nothing(market: Market, renter: Terminal, write: Write) -> None:
    coming = reserved()
    coming["billing"]["term"] |= {"starts_at": None, "ends_at": None}
    answers(market, listed(coming))
    done = renter.run("destroy", "-f", write({}))
    assert (done.returncode, "reserved term" in done.stderr) == (2, False), done.stderr


def test_the_plan_of_a_destruction_says_that_a_term_ends_early(market: Market, renter: Terminal, write: Write) -> None:
    answers(market, listed(reserved()))
    done = renter.run("destroy", "-f", write({}))
    assert (done.returncode, changing(market)) == (2, []), done.stderr
    assert "runs until 2026-12-01 00:00 UTC, ends early." in done.stderr and "is owed" in done.stderr


# -- max_hourly_rate, which counts the disk


def test_a_size_counts_with_its_disk(market: Market, renter: Terminal, write: Write) -> None:
    answers(market, listed(box()), size("3.60", "4.80"))
    done = renter.run("apply", "-f", write({"data_disk_gb": 80, "max_hourly_rate": "3.79"}), "--yes")
    assert (done.returncode, changing(market)) == (6, []), done.stderr
    assert "costs 3.80 an hour, more than its max_hourly_rate 3.79" in done.stderr


def test_another_billing_mode_counts_with_the_disk(market: Market, renter: Terminal, write: Write) -> None:
    quote = sample(models.QuoteOut) | {"hourly_rate": "3.50", "due_now": "3.50"}
    answers(market, listed(box()), quote)
    file = write({"billing_mode": "tiered", "max_hourly_rate": "3.55"})
    done = renter.run("apply", "-f", file, "--yes")
    assert (done.returncode, changing(market)) == (6, []), done.stderr
    assert "costs 3.60 an hour, more than its max_hourly_rate 3.55" in done.stderr
    answers(market, listed(box()), quote)
    assert "convert): 3.60 per hour in total" in renter.must("plan", "-f", write({"billing_mode": "tiered"}))


# -- what is set once an instance is rented


def test_what_a_rented_instance_lacks_is_named(market: Market, renter: Terminal, write: Write) -> None:
    offer, quote = sample(models.Offer) | {"id": HERE}, sample(models.QuoteOut) | {"hourly_rate": "3.60", "due_now": "3.60"}
    rule = {"below_pct": 5, "minutes": 30}
    file = write({"offer": HERE, "allow_from": ["10.0.0.0/8"], "idle_stop": rule, "locked": False})
    answers(market, listed(), offer, quote, listed(), quote, listed(), box())
    market.tricks.append(status(409))
    done = renter.run("apply", "-f", file, "--yes")
    assert done.returncode == 5, done.stderr
    assert "instance box is rented and charged. Not set: allow_from, locked, idle_stop." in done.stderr
    assert [each.rpartition("/")[2] for each in changing(market)] == ["instances", "access"]


def test_an_allow_list_that_the_host_can_not_keep_rents_nothing(market: Market, renter: Terminal, write: Write) -> None:
    offer = sample(models.Offer) | {"id": HERE}
    file = write({"offer": HERE, "allow_from": ["10.0.0.7"]})
    answers(market, listed(), offer)
    market.tricks.append(status(409))
    done = renter.run("apply", "-f", file, "--yes")
    assert (done.returncode, changing(market)) == (5, []), done.stderr
    (quoted,) = [json.loads(body) for _, path, _, body in market.requests if path.startswith("/api/v1/quotes")]
    assert quoted["allow_from"] == ["10.0.0.7/32"]


# -- the replacement of a volume

STORE = {"kind": "volume", "name": "store", "spec": {"size_gb": 1}}


def problem(code: int, name: str, detail: str) -> Trick:
    output = {"code": name, "detail": detail, "title": "Refused", "status": code, "errors": []}
    return lambda handler, _: handler.send(code, output)


def only_store(renter: Terminal) -> str:
    path = renter.home / "store.json"
    path.write_text(json.dumps([STORE]))
    return str(path)


def deleting(market: Market) -> list[str]:
    return [path for method, path, _, _ in market.requests if method == "DELETE"]


def test_a_new_volume_has_its_price_in_the_plan(market: Market, renter: Terminal) -> None:
    answers(market, listed(volume(2)), volume(1) | {"daily_rate": "0.02"})
    output = renter.must("plan", "-f", only_store(renter))
    assert "! volume store: replace: 0.02 per day" in output
    assert "costs 0.02 a day for volumes" in output


def test_a_new_volume_without_room_deletes_nothing(market: Market, renter: Terminal) -> None:
    answers(market, listed(volume(2)))
    market.tricks.append(problem(409, "no_storage", "The host sim has no room for 1 GB at the moment."))
    done = renter.run("apply", "-f", only_store(renter), "--yes", "--replace", "store")
    assert (done.returncode, deleting(market)) == (5, []), done.stderr
    assert "x volume store: can't be done" in done.stderr and "no room for 1 GB" in done.stderr


def test_a_new_volume_that_costs_more_by_then_deletes_nothing(market: Market, renter: Terminal) -> None:
    first, then = (volume(1) | {"daily_rate": rate} for rate in ("0.02", "0.03"))
    answers(market, listed(volume(2)), first, then)
    done = renter.run("apply", "-f", only_store(renter), "--yes", "--replace", "store")
    assert (done.returncode, deleting(market)) == (6, []), done.stderr


def test_who_has_all_the_volumes_that_one_can_have_is_told_the_listed_price(market: Market, renter: Terminal) -> None:
    held = volume(2)
    place = sample(models.StorageHostOut) | {"id": held["host"]["id"], "gb_day": "0.05"}
    answers(market, listed(held))
    market.tricks.append(problem(409, "too_many_volumes", "One person has at most 50 volumes."))
    market.tricks.append(lambda handler, _: handler.send(200, [place]))
    assert "! volume store: replace: 0.05 per day" in renter.must("plan", "-f", only_store(renter))


# -- ports of a launch template


def opened(*ports: int, udp: bool = False) -> list[dict[str, Any]]:
    return [{"container": each, "host": 41_000 + each, "extra": each != 22, "udp": udp} for each in ports]


def test_the_ports_of_its_template_stay_open(market: Market, renter: Terminal, write: Write) -> None:
    live = box(launch_template={"id": "tmpl_1", "slug": "served", "title": "Served", "version": "abc123"})
    access = sample(models.AccessOut) | {"ports": [*opened(22, 8000, 9000), *opened(53, udp=True)]}
    template = sample(models.TemplateOut)
    served = [(22, "tcp"), (8000, "http"), (53, "udp")]
    template["version"]["ports"] = [{"port": port, "name": "", "protocol": protocol} for port, protocol in served]
    for spec in ({"ports": [9000]}, {"ports": [9000], "udp_ports": []}, {"ports": [53, 9000]}):
        answers(market, listed(live), access, template)
        assert "Nothing to do." in renter.must("plan", "-f", write(spec))
    assert "tmpl_1%40abc123" in market.requests[-1][1] or "tmpl_1@abc123" in market.requests[-1][1]

    answers(market, listed(live), access, template)
    (entry,) = json.loads(renter.must("plan", "-f", write({"ports": [7000]}), "--json"))
    assert entry["changes"] == [{"field": "ports", "from": [8000, 9000], "to": [7000, 8000]}]


def test_ports_of_a_template_that_is_gone_are_not_closed(market: Market, renter: Terminal, write: Write) -> None:
    live = box(launch_template={"id": "tmpl_1", "slug": "served", "title": "Served", "version": "abc123"})
    answers(market, listed(live), sample(models.AccessOut) | {"ports": opened(8000, 9000)})
    market.tricks.append(status(404))
    assert "Nothing to do." in renter.must("plan", "-f", write({"ports": [9000]}))


# -- release protection


@pytest.mark.parametrize("verb", ["apply", "destroy"])
def test_what_is_protected_is_not_released(market: Market, renter: Terminal, write: Write, verb: str) -> None:
    answers(market, listed(box(locked=True)))
    file = write({"offer": ELSEWHERE})
    done = renter.run(verb, "-f", file, "--yes", *(["--replace", "box"] if verb == "apply" else []))
    assert (done.returncode, changing(market)) == (5, []), done.stderr
    assert f"`berth api PATCH /instances/{OWN} -f locked=false`" in done.stderr


def test_a_destruction_does_all_or_nothing(market: Market, renter: Terminal, write: Write) -> None:
    other = {"kind": "volume", "name": "store", "spec": {}}
    answers(market, listed(box(locked=True)), listed(volume(2)))
    done = renter.run("destroy", "-f", write({}, other), "--yes")
    assert (done.returncode, [each for each, *_ in market.requests]) == (5, ["GET", "GET"]), done.stderr


def test_another_image_waits_for_the_lock(market: Market, renter: Terminal, write: Write) -> None:
    answers(market, listed(box(locked=True)))
    (entry,) = json.loads(renter.must("plan", "-f", write({"image": "other"}), "--json"))
    assert (entry["action"], "`locked: false`" in entry["notes"][0]) == ("blocked", True)
    answers(market, listed(box(locked=True)))
    (entry,) = json.loads(renter.must("plan", "-f", write({"image": "other", "locked": False}), "--json"))
    assert (entry["action"], entry["calls"]) == ("change", ["update", "reimage"])


# -- a price that has risen while an instance was stopped


@pytest.mark.parametrize(("limit", "sent"), [({}, None), ({"max_hourly_rate": "5.00"}, "4.90")])
def test_a_start_pays_up_to_the_limit(
    market: Market, renter: Terminal, write: Write, limit: dict[str, str], sent: str | None
) -> None:
    answers(market, listed(box(state="stopped", desired="stopped")), box())
    done = renter.run("apply", "-f", write({"desired": "running", **limit}), "--yes", "--no-wait")
    assert (done.returncode, changing(market)) == (0, [f"POST /api/v1/instances/{OWN}/start"]), done.stderr
    assert json.loads(market.requests[-1][3] or "{}").get("max_hourly_rate") == sent
    assert ("up to 4.90" in done.stderr) is (sent is not None)

"""Creates as the CLI sends them: at the searched price, once however often they are sent, and with what they ask for."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from billing.models import Hold
from instances.models import Instance
from marketplace.hosts.offers import set_price
from marketplace.models import Host
from tests.instances.fake_host import FakeHost, refused
from tests.instances.fixtures import Clock, Sign
from tests.vast.conftest import BODY, Vast
from vast.create.orders import forget_creates
from vast.models import SentCreate


@pytest.fixture
def ask(vast: Vast, host: FakeHost) -> dict[str, Any]:
    (row,) = vast.offers(num_gpus={"eq": 1}, allocated_storage=10)
    return row


def create(vast: Vast, ask: dict[str, Any], **more: Any) -> int:
    reply = vast.must("PUT", f"/asks/{ask['id']}/", {**BODY, **more})
    assert reply["success"] is True
    return int(reply["new_contract"])


def test_a_create_rents_at_the_shown_price(vast: Vast, ask: dict[str, Any]) -> None:
    number = create(vast, ask, label="train")
    row = vast.must("GET", f"/instances/{number}/", owner="me")["instances"]
    assert (row["id"], row["label"], row["num_gpus"]) == (number, "train", 1)
    assert row["dph_total"] == ask["dph_total"] == 3.6


def test_the_number_of_gpus_is_the_asks(vast: Vast, ask: dict[str, Any]) -> None:
    (four,) = vast.offers(num_gpus={"eq": 4})
    assert vast.must("GET", f"/instances/{create(vast, four)}/")["instances"]["dph_base"] == four["dph_base"] == 14.4


# -- repetitions


def test_a_repeated_create_rents_nothing_more(vast: Vast, ask: dict[str, Any], hours: Clock) -> None:
    """A client waits two minutes for each of its three answers; all may be lost."""
    first = create(vast, ask)
    for _ in range(3):
        hours.advance(seconds=121)
        assert create(vast, ask) == first
    hours.advance(seconds=298)
    assert create(vast, ask) == first
    assert (Instance.objects.count(), Hold.objects.count()) == (1, 1)


def test_another_body_token_or_time_is_another_create(
    vast: Vast, ask: dict[str, Any], hours: Clock, rin: User, sign: Sign
) -> None:
    numbers = {create(vast, ask), create(vast, ask, label="other"), create(Vast(sign(rin)), ask)}
    hours.advance(seconds=301)
    assert len(numbers | {create(vast, ask)}) == 4


def test_a_destroyed_instance_is_not_returned_again(vast: Vast, ask: dict[str, Any]) -> None:
    first = create(vast, ask)
    vast.must("DELETE", f"/instances/{first}/")
    assert create(vast, ask) != first


def test_a_refused_create_can_be_sent_again(vast: Vast, ask: dict[str, Any], host: FakeHost) -> None:
    with refused():
        assert vast.refused("PUT", f"/asks/{ask['id']}/", {**BODY, "disk": 90_000})[0] == 400
    assert create(vast, ask)


def test_old_creates_are_forgotten(vast: Vast, ask: dict[str, Any], hours: Clock) -> None:
    create(vast, ask)
    assert forget_creates() == 0
    hours.advance(hours=2)
    assert (forget_creates(), SentCreate.objects.count()) == (1, 0)


# -- prices


def test_a_risen_price_is_refused_and_a_fallen_one_is_paid(vast: Vast, ask: dict[str, Any], host: FakeHost) -> None:
    set_price(actor_id=host.owner.pk, offer_id=host.offer.pk, price_micros=3_600_001)
    assert vast.refused("PUT", f"/asks/{ask['id']}/", BODY) == (410, "no_such_ask")
    assert Instance.objects.count() == 0
    set_price(actor_id=host.owner.pk, offer_id=host.offer.pk, price_micros=3_000_000)
    number = create(vast, ask)
    assert vast.must("GET", f"/instances/{number}/")["instances"]["dph_total"] == 3.0


def test_a_risen_price_of_the_disk_is_refused(vast: Vast, ask: dict[str, Any], host: FakeHost) -> None:
    host.offer.disk_micros_gb_day += 1_000
    host.offer.save(update_fields=["disk_micros_gb_day"])
    assert vast.refused("PUT", f"/asks/{ask['id']}/", {**BODY, "disk": 100}) == (410, "no_such_ask")
    assert create(vast, ask, disk=50)  # which costs nothing


def test_taken_gpus_and_unknown_asks(vast: Vast, host: FakeHost) -> None:
    (four,) = vast.offers(num_gpus={"eq": 4})
    create(vast, four)
    assert vast.refused("PUT", f"/asks/{four['id']}/", {**BODY, "label": "again"}) == (410, "no_such_ask")
    for number in (1, 999_999_999_999_999):
        assert vast.refused("PUT", f"/asks/{number}/", BODY) == (404, "no_such_ask")


# -- bids


def test_a_bid_is_for_the_whole_machine(vast: Vast, bids: FakeHost) -> None:
    (two,) = vast.offers(type="bid", num_gpus={"eq": 2})
    assert vast.refused("PUT", f"/asks/{two['id']}/", {**BODY, "price": 1.99}) == (400, "invalid_price")
    create(vast, two, price=2.5)
    instance = Instance.objects.get()
    assert (instance.billing_mode, instance.spot_max_micros, instance.gpu_count) == ("spot", 1_250_000, 2)


def test_a_bid_of_nothing_wins_at_the_on_demand_price_at_most(vast: Vast, bids: FakeHost) -> None:
    (two,) = vast.offers(num_gpus={"eq": 2})
    create(vast, two, price=0)
    instance = Instance.objects.get()
    assert (instance.billing_mode, instance.spot_max_micros) == ("spot", 3_600_000)


@pytest.mark.parametrize("price", [-1, "0.3", True, 1e12])
def test_what_is_no_bid_is_refused(vast: Vast, ask: dict[str, Any], price: Any) -> None:
    assert vast.refused("PUT", f"/asks/{ask['id']}/", {**BODY, "price": price}) == (400, "invalid_price")


def test_an_offer_without_bids_says_so(vast: Vast, ask: dict[str, Any]) -> None:
    assert vast.refused("PUT", f"/asks/{ask['id']}/", {**BODY, "price": 1.0}) == (410, "no_such_ask")


# -- what runs


def test_environment_ports_and_start_script(vast: Vast, ask: dict[str, Any]) -> None:
    env = {"A": "1", "-p 8080:8080": "1", "-p 9000:9001/tcp": "1", "-p 22:22": "1"}
    create(vast, ask, env=env, onstart="echo hello", user="root", lang_utf8=True)
    instance = Instance.objects.get()
    assert instance.launch is not None
    assert instance.launch.env == {"A": "1", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
    assert (instance.launch.on_start, instance.launch.user, instance.launch.entrypoint) == ("echo hello", "root", [])
    assert {8080, 9001} <= {inside for inside, _ in instance.ports}


def test_a_line_of_docker_options_is_taken_too(vast: Vast, ask: dict[str, Any]) -> None:
    create(vast, ask, env="-e A='b c' -p 8081:8081")
    instance = Instance.objects.get()
    assert instance.launch is not None and instance.launch.env == {"A": "b c"}
    assert 8081 in {inside for inside, _ in instance.ports}


def test_a_udp_port_is_published_for_both_protocols(vast: Vast, ask: dict[str, Any]) -> None:
    wanted = {**BODY, "env": {"-p 51820:51820/udp": "1", "-p 8080:8080": "1"}}
    assert vast.refused("PUT", f"/asks/{ask['id']}/", wanted)[0] == 409
    Host.objects.update(publishes_udp=True)
    number = create(vast, ask, env=wanted["env"])
    row = vast.must("GET", f"/instances/{number}/")["instances"]
    assert {"8080/tcp", "51820/tcp", "51820/udp"} <= row["ports"].keys() and "8080/udp" not in row["ports"]
    assert row["ports"]["51820/udp"] == row["ports"]["51820/tcp"]


def test_args_replace_the_command(vast: Vast, ask: dict[str, Any]) -> None:
    create(vast, ask, runtype="args", onstart="bash", args=["-c", "echo hello; sleep infinity"])
    launch = Instance.objects.get().launch
    assert launch is not None
    assert (launch.entrypoint, launch.args) == (["bash"], ["-c", "echo hello; sleep infinity"])


@pytest.mark.parametrize(
    "more",
    [
        {"image": None},
        {"image": "UPPER CASE"},
        {"image": 3},
        {"env": {"-v /a:/b": "1"}},
        {"env": {"-n net": "1"}},
        {"env": {"-h": "name"}},
        {"env": {"-p 8080:8080/sctp": "1"}},
        {"env": {"-p 99999": "1"}},
        {"env": "-e 'A=b"},
        {"env": ["A"]},
        {"extra": "--privileged"},
        {"create_from": 3},
        {"disk": -1},
        {"disk": "10"},
        {"disk": 1e9},
        {"label": "x" * 81},
        {"label": "a\u202eb"},
        {"image_login": "-u alice"},
        {"args": [1], "runtype": "args"},
        {"template_hash_id": "no hash"},
        {"volume_info": "all"},
        {"onstart": ["x"]},
    ],
)
def test_what_cannot_be_done_is_refused(vast: Vast, ask: dict[str, Any], more: dict[str, Any]) -> None:
    assert vast.refused("PUT", f"/asks/{ask['id']}/", {**BODY, **more})[0] == 400
    assert Instance.objects.count() == 0


# -- several, and the first that fits


def test_several_at_once(vast: Vast, ask: dict[str, Any]) -> None:
    (two,) = vast.offers(num_gpus={"eq": 2})
    reply = vast.must("POST", "/asks/bulk/", {**BODY, "ids": [ask["id"], two["id"], 7]})
    assert reply["success"] is False and len(reply["new_contracts"]) == 2
    assert [each["success"] for each in reply["results"]] == [True, True, False]
    assert vast.refused("POST", "/asks/bulk/", {**BODY, "ids": "all"}) == (400, "invalid_args")


def test_launch_takes_the_first_of_a_search(vast: Vast, host: FakeHost) -> None:
    search = {"num_gpus": {"eq": "2"}, "order": [["score", "desc"]], "limit": 3, "allocated_storage": 16}
    reply = vast.must("PUT", "/launch_instance/", {**BODY, "q": search})
    assert vast.must("PUT", "/launch_instance/", {**BODY, "q": search}) == reply
    row = vast.must("GET", f"/instances/{reply['new_contract']}/")["instances"]
    assert row["num_gpus"] == 2
    nothing = {**BODY, "q": {**search, "gpu_name": {"eq": "H200"}}}
    assert vast.refused("PUT", "/launch_instance/", nothing) == (410, "no_such_ask")


# -- who may


def test_a_create_needs_a_token_with_the_scope(host: FakeHost, rin: User, sign: Sign, ask: dict[str, Any]) -> None:
    path = f"/asks/{ask['id']}/"
    assert Vast(Client()).refused("PUT", path, BODY)[0] == 401
    assert Vast(Client(headers={"authorization": "Bearer no"})).refused("PUT", path, BODY)[0] == 401
    assert Vast(sign(rin, "instances:read")).refused("PUT", path, BODY) == (403, "missing_scope")

"""What would cost money without a word: a request that is lost in part, a condition that is lost, a price that rises."""

from typing import Any

import pytest

from accounts.models import User
from instances.models import Instance, SpotBid
from instances.states import InstanceState
from marketplace.models import Offer
from tests.instances.fake_host import FakeHost, order_running, reload
from tests.instances.fixtures import Sign
from tests.instances.spot.bidders import bid, with_spot
from tests.vast.conftest import BODY, Vast
from vast.models import Kind
from vast.numbers.numbers import number_of


def numbers_of_instances(*instances: Instance) -> list[int]:
    return [number_of(Kind.INSTANCE, each.pk) for each in instances]


def test_one_that_fails_keeps_no_other_from_being_destroyed(vast: Vast, rin: User, host: FakeHost) -> None:
    first, locked, last = (order_running(rin, host) for _ in range(3))
    Instance.objects.filter(pk=locked.pk).update(locked=True)
    numbers = numbers_of_instances(first, locked, last)
    status, code = vast.refused("DELETE", "/instances/", {"instance_ids": [numbers[0], 999_999, *numbers[1:]]})
    assert status >= 400, code
    states = [reload(each).state for each in (first, locked, last)]
    assert states == [InstanceState.RELEASING, InstanceState.RUNNING, InstanceState.RELEASING]
    host.settle()
    vast.must("DELETE", "/instances/", {"instance_ids": [numbers[0], numbers[2]]})  # repeated


def test_one_that_fails_keeps_no_other_from_stopping(vast: Vast, rin: User, host: FakeHost) -> None:
    first, last = order_running(rin, host), order_running(rin, host)
    numbers = numbers_of_instances(first, last)
    assert vast.refused("PUT", "/instances/", {"ids": [999_999, *numbers], "state": "stopped"})[0] == 404
    assert {reload(each).state for each in (first, last)} == {InstanceState.STOPPING}


def test_a_stop_of_what_was_interrupted_ends_its_bid(vast: Vast, rin: User, host: FakeHost) -> None:
    """Its bid would start it again, and cost."""
    with_spot(host)
    instance = bid(rin, host, 2.00)
    host.settle()
    Instance.objects.filter(pk=instance.pk).update(state=InstanceState.STOPPED, desired="stopped")
    SpotBid.objects.filter(instance=instance).update(state="yielding")
    vast.must("PUT", f"/instances/{numbers_of_instances(instance)[0]}/", {"state": "stopped"})
    assert SpotBid.objects.get(instance=instance).state == "ended"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"q": {}},
        {"q": 0},
        {"q": {"dph_total": {}}},
        {"q": {"dph_total": {"lte": None}}},
        {"q": {"gpu_name": {"eq": "x" * 101}}},
        {"q": {"num_gpus": {"notin": ["9"] * 201}}},
        {"q": {"order": [["dph_total", "asc"]] * 6}},
    ],
)
def test_a_lost_condition_rents_nothing(vast: Vast, host: FakeHost, body: dict[str, Any]) -> None:
    assert vast.refused("PUT", "/launch_instance/", {**BODY, **body}) == (400, "invalid_args")
    assert not Instance.objects.exists()


def test_a_bid_without_a_price_is_limited_to_the_price_that_was_searched(vast: Vast, bids: FakeHost) -> None:
    (ask,) = vast.offers(type="bid", num_gpus={"eq": 1})
    Offer.objects.update(price_micros=50_000_000)
    made = vast.must("PUT", f"/asks/{ask['id']}/", BODY)["new_contract"]
    assert Instance.objects.get().spot_max_micros == 3_600_000, made
    Offer.objects.update(spot_floor_micros=4_000_000)
    (other,) = vast.offers(type="bid", num_gpus={"eq": 1})
    assert vast.refused("PUT", f"/asks/{ask['id']}/", {**BODY, "label": "second"}) == (410, "no_such_ask")
    assert other["id"] != ask["id"]


def test_an_update_that_changes_nothing_keeps_the_root(vast: Vast, rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    path = f"/instances/update_template/{numbers_of_instances(instance)[0]}/"
    for body in ({}, {"template_id": 1010}, {"id": 1}):
        assert vast.refused("PUT", path, body) == (400, "invalid_args")
    assert reload(instance).root_number == instance.root_number


def test_variables_need_the_right_to_connect(rin: User, vast: Vast, host: FakeHost, sign: Sign) -> None:
    narrow = Vast(sign(rin, "instances:read", "instances:write"))
    (ask,) = narrow.offers(num_gpus={"eq": 1})
    assert narrow.refused("POST", "/secrets/", {"key": "BASH_ENV", "value": "x"}) == (403, "missing_scope")
    vast.must("POST", "/secrets/", {"key": "TOKEN_OF_MINE", "value": "hidden"})
    assert narrow.refused("PUT", "/secrets/", {"key": "TOKEN_OF_MINE", "value": "x"}) == (403, "missing_scope")
    assert narrow.refused("PUT", f"/asks/{ask['id']}/", BODY) == (403, "missing_scope")
    assert not Instance.objects.exists()
    vast.must("DELETE", "/secrets/", {"key": "TOKEN_OF_MINE"})
    narrow.must("PUT", f"/asks/{ask['id']}/", BODY)


def test_filters_that_are_nested_deeply_are_refused(vast: Vast) -> None:
    deep = '{"id": {"eq": ' + "[" * 990 + "]" * 990 + "}}"
    assert vast.refused("GET", "/api/v1/instances/", select_filters=deep) == (400, "invalid_args")

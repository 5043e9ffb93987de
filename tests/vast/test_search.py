"""Searches in Vast's query syntax: slices, units, filters as text, orders, and what is refused."""

from typing import Any

import pytest
from django.test import Client

from marketplace.hosts.offers import set_price
from tests.instances.fake_host import FakeHost
from tests.vast.conftest import Vast
from vast.models import Ask


@pytest.fixture
def public(host: FakeHost) -> Vast:
    return Vast(Client())


def test_an_offer_is_shown_in_slices_with_the_price_of_the_whole_slice(public: Vast, host: FakeHost) -> None:
    rows = {row["num_gpus"]: row for row in public.offers()}
    assert sorted(rows) == [1, 2, 4]
    one, four = rows[1], rows[4]
    assert (one["dph_base"], four["dph_base"]) == (3.6, 14.4)
    assert (four["gpu_name"], four["gpu_ram"], four["gpu_total_ram"]) == ("RTX 4090", 24576, 4 * 24576)
    assert (one["gpu_frac"], four["gpu_frac"]) == (0.25, 1.0)
    assert one["cpu_cores"] == four["cpu_cores"] and one["cpu_cores_effective"] * 4 == four["cpu_cores_effective"]
    assert one["machine_id"] == four["machine_id"] and one["geolocation"] == "EU, EU"
    assert len({row["id"] for row in rows.values()}) == 3
    assert one["driver_vers"] == 550054000 and one["compute_cap"] == 890 and one["cuda_max_good"] == 12.4


NUMBERS = (
    *("cpu_cores", "cpu_cores_effective", "cpu_ram", "dph_base", "dph_total", "storage_cost", "disk_space", "gpu_ram"),
    *("num_gpus", "min_bid", "gpu_total_ram", "hosting_type", "pcie_bw", "cpu_ghz", "dlperf", "dlperf_per_dphtotal"),
    *("score", "inet_up", "inet_down", "reliability", "duration", "cuda_max_good", "direct_port_count", "id", "machine_id"),
)


def test_what_clients_cannot_do_without_is_a_number(public: Vast) -> None:
    (row, *_rest) = public.offers()
    assert [name for name in NUMBERS if not isinstance(row[name], (int, float)) or isinstance(row[name], bool)] == []
    assert all(isinstance(value, (int, float)) for value in row["search"].values())


def test_an_ask_keeps_its_number_and_another_price_is_another_one(public: Vast, host: FakeHost) -> None:
    before = {row["id"] for row in public.offers()}
    assert {row["id"] for row in public.offers()} == before
    set_price(actor_id=host.owner.pk, offer_id=host.offer.pk, price_micros=4_000_000)
    assert not before & {row["id"] for row in public.offers()}
    assert min(before) >= 20_000_000


@pytest.mark.parametrize(
    ("conditions", "counts"),
    [
        ({"num_gpus": {"eq": "2"}}, [2]),
        ({"num_gpus": {"eq": "3"}}, [3]),
        ({"num_gpus": {"in": ["1", "4"]}}, [1, 4]),
        ({"gpu_name": {"eq": "RTX 4090"}, "num_gpus": {"gte": "2"}}, [2, 4]),
        ({"gpu_name": {"in": ["RTX 3090", "RTX 4090"]}}, [1, 2, 4]),
        ({"gpu_name": {"eq": "RTX 3090"}}, []),
        ({"gpu_name": {"neq": "RTX 4090"}}, []),
        ({"gpu_ram": {"gte": 24000.0}}, [1, 2, 4]),
        ({"dph_total": {"lte": "7.5"}}, [1, 2]),
        ({"geolocation": {"in": ["US", "EU"]}}, [1, 2, 4]),
        ({"geolocation": {"notin": ["US", "EU"]}}, []),
        ({"driver_version": {"gte": 535086005}}, [1, 2, 4]),
        ({"driver_version": {"lt": "535.86.5"}}, []),
        ({"verified": {"eq": True}}, []),
        ({"verified": {"eq": "false"}}, [1, 2, 4]),
        ({"rentable": {"eq": True}, "external": {"eq": False}, "rented": {"eq": False}}, [1, 2, 4]),
        ({"cpu_arch": {"eq": "amd64"}}, []),
        ({"cpu_arch": {"neq": "arm64"}}, [1, 2, 4]),
        ({"datacenter": {"eq": True}}, []),
        ({"type": "bid"}, []),
        ({"limit": 1}, [1]),
        ({"limit": "0"}, []),
    ],
)
def test_conditions(public: Vast, conditions: dict[str, Any], counts: list[int]) -> None:
    rows = public.offers(order=[["num_gpus", "asc"]], **conditions)
    assert [row["num_gpus"] for row in rows] == counts


def test_orders(public: Vast) -> None:
    dear_first = public.offers(order=[["dph_total", "desc"], ["num_gpus", "asc"]])
    assert [row["num_gpus"] for row in dear_first] == [4, 2, 1]


def test_the_new_address_searches_the_same(public: Vast) -> None:
    new = public.must("PUT", "/search/asks/", {"select_cols": ["*"], "q": {"num_gpus": {"eq": "2"}}})["offers"]
    assert new == public.offers(num_gpus={"eq": "2"})


def test_an_ask_and_a_machine_are_found_by_their_numbers(public: Vast) -> None:
    (two,) = public.offers(num_gpus={"eq": "2"})
    assert [row["id"] for row in public.offers(id={"eq": str(two["id"])})] == [two["id"]]
    assert len(public.offers(machine_id={"eq": two["machine_id"]})) == 3
    assert public.offers(machine_id={"neq": two["machine_id"]}) == []
    assert public.offers(id={"eq": 5}) == []


def test_bids_have_asks_of_their_own(public: Vast, bids: FakeHost) -> None:
    row = public.offers(type="bid", num_gpus={"eq": 2})[0]
    (other,) = public.offers(num_gpus={"eq": 2})
    assert (row["is_bid"], row["min_bid"], row["dph_base"]) == (True, 2.0, 2.0)
    assert row["id"] != other["id"] and other["min_bid"] == 2.0


def test_the_disk_counts_into_the_total(public: Vast, host: FakeHost) -> None:
    (plain,) = public.offers(num_gpus={"eq": 1}, allocated_storage=50)
    (large,) = public.offers(num_gpus={"eq": 1}, allocated_storage=1050.0)
    assert plain["dph_total"] == plain["dph_base"] == large["dph_base"]
    assert large["dph_total"] == pytest.approx(plain["dph_total"] + plain["storage_cost"] * 1000 / 720, abs=1e-5)


@pytest.mark.parametrize(
    "body",
    [
        {"num_gpu": {"eq": 1}},
        {"num_gpus": 1},
        {"num_gpus": {"eq": "many"}},
        {"num_gpus": {"eq": "nan"}},
        {"num_gpus": {"eq": [1]}},
        {"num_gpus": {"about": 1}},
        {"num_gpus": {"in": 1}},
        {"num_gpus": {"in": ["1"] * 501}},
        {"gpu_name": {"eq": 4090}},
        {"gpu_name": {"gt": "RTX"}},
        {"verified": {"eq": "perhaps"}},
        {"order": "dph_total"},
        {"order": [["nothing", "asc"]]},
        {"order": [["dph_total", "up"]]},
        {"type": "gift"},
        {"type": ["bid"]},
        {"limit": "all"},
        {"allocated_storage": -1},
        {"allocated_storage": 1e300},
        {"id": {"eq": {}}},
    ],
)
def test_what_cannot_be_read_is_refused(public: Vast, body: dict[str, Any]) -> None:
    assert public.refused("POST", "/bundles/", body) == (400, "invalid_args")


@pytest.mark.parametrize("body", [[], "x", 3, [{"num_gpus": {"eq": 1}}]])
def test_other_bodies_are_refused(public: Vast, body: Any) -> None:
    assert public.refused("POST", "/bundles/", body)[0] == 400


def test_numbers_beyond_all_columns_find_nothing(public: Vast) -> None:
    for number in (0, -1, 2**62, 1e18, 1.5):
        assert public.offers(id={"eq": number}) == []
        assert public.offers(machine_id={"eq": number}) == []


def test_a_search_writes_each_ask_once(public: Vast) -> None:
    for _ in range(2):
        public.offers()
    assert Ask.objects.count() == 3

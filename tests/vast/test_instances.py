"""Instances as clients of Vast show, list and change them."""

import json
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.tokens.services import issue_token
from instances.models import Instance
from instances.states import InstanceState
from tests.instances.fake_host import FakeHost, order, order_running, reload
from tests.instances.fixtures import Sign
from tests.vast.conftest import Vast
from vast.contracts.states import STATUSES, UNLISTED
from vast.models import Kind
from vast.numbers.numbers import number_of


@pytest.fixture
def running(rin: User, host: FakeHost) -> Instance:
    return order_running(rin, host)


@pytest.fixture
def number(running: Instance) -> int:
    return number_of(Kind.INSTANCE, running.pk)


def row_of(vast: Vast, number: int) -> dict[str, Any]:
    row: dict[str, Any] = vast.must("GET", f"/instances/{number}/", owner="me")["instances"]
    return row


def test_every_state_has_words_that_clients_know() -> None:
    assert {*STATUSES, *UNLISTED} == set(InstanceState)
    assert {each.actual for each in STATUSES.values()} == {"loading", "running", "exited"}


def test_the_address_is_the_same_wherever_clients_look(vast: Vast, number: int) -> None:
    row = row_of(vast, number)
    assert row["actual_status"] == "running"
    assert row["ssh_host"] == row["public_ipaddr"] != ""
    assert row["ports"]["22/tcp"][0]["HostPort"] == str(row["ssh_port"])
    assert "jupyter" not in row["image_runtype"]


def test_what_crashes_clients_is_never_null(vast: Vast, number: int) -> None:
    row = row_of(vast, number)
    assert isinstance(row["start_date"], float) and row["extra_env"] == []
    assert all(isinstance(row[name], str) for name in ("label", "local_ipaddrs", "public_ipaddr", "status_msg"))
    assert isinstance(row["dph_total"], float) and isinstance(row["id"], int)


def test_stop_and_start_can_be_repeated(vast: Vast, number: int, host: FakeHost, running: Instance) -> None:
    for _ in range(2):
        vast.must("PUT", f"/instances/{number}/", {"state": "stopped"})
    assert row_of(vast, number)["intended_status"] == "stopped"
    host.settle()
    row = row_of(vast, number)
    assert (row["actual_status"], row["cur_state"], row["next_state"]) == ("exited", "stopped", "stopped")
    for _ in range(2):
        vast.must("PUT", "/instances/", {"ids": [number], "state": "running"})
    assert row_of(vast, number)["actual_status"] == "loading"
    host.settle()
    assert row_of(vast, number)["actual_status"] == "running"
    assert vast.refused("PUT", f"/instances/{number}/", {"state": "frozen"}) == (400, "invalid_args")


def test_reboot(vast: Vast, number: int, running: Instance, host: FakeHost) -> None:
    for _ in range(2):
        vast.must("PUT", f"/instances/reboot/{number}/")
    assert reload(running).run_generation == running.run_generation + 1


def test_label(vast: Vast, number: int) -> None:
    vast.must("PUT", f"/instances/{number}/", {"label": "mine"})
    assert row_of(vast, number)["label"] == "mine"
    vast.must("PUT", f"/instances/{number}/", {"label": ""})
    assert row_of(vast, number)["label"].startswith("berth-base-")
    assert vast.refused("PUT", f"/instances/{number}/", {"label": "a\nb"}) == (400, "invalid_args")


def test_destroyed_instances_are_not_there(vast: Vast, number: int) -> None:
    vast.must("DELETE", f"/instances/{number}/", {})
    assert row_of(vast, number) is None
    assert vast.must("GET", "/instances/", owner="me")["instances"] == []
    vast.must("DELETE", f"/instances/{number}/", {})  # so already
    assert vast.refused("DELETE", "/instances/999999/") == (404, "no_such_instance")
    assert vast.refused("PUT", f"/instances/{number}/", {"state": "running"}) == (404, "no_such_instance")


def test_lists_are_filtered_sorted_and_paged(vast: Vast, rin: User, host: FakeHost) -> None:
    for name in ("b", "a", "c"):
        order(rin, host, name=name)
    host.settle()
    filters = {"label": {"in": ["a", "b"]}, "actual_status": {"in": ["running"]}}
    query = {"select_filters": json.dumps(filters), "order_by": json.dumps([{"col": "label", "dir": "desc"}]), "limit": "1"}
    first = vast.must("GET", "/api/v1/instances/", **query)
    assert [row["label"] for row in first["instances"]] == ["b"]
    assert (first["instances_found"], first["label_counts"]) == (2, {"a": 1, "b": 1})
    second = vast.must("GET", "/api/v1/instances/", **query, after_token=first["next_token"])
    assert ([row["label"] for row in second["instances"]], second["next_token"]) == (["a"], None)
    cut = vast.must("GET", "/api/v1/instances/", select_cols=json.dumps(["id", "label"]), select_filters="null")
    assert set(cut["instances"][0]) == {"id", "label"} and len(cut["instances"]) == 3
    assert vast.must("GET", "/instances/filters/")["filters"] == [
        {"actual_status": "running", "verification": "unverified", "gpu_name": "RTX 4090"}
    ]


@pytest.mark.parametrize(
    "query",
    [
        {"select_filters": "{"},
        {"select_filters": "[" * 5000},
        {"select_filters": '{"label": "a"}'},
        {"select_filters": '{"label": {"regex": "a"}}'},
        {"order_by": '["id"]'},
        {"order_by": '{"col": "id"}'},
        {"limit": "-1"},
        {"limit": "x"},
        {"after_token": "eyJ"},
    ],
)
def test_lists_refuse_what_they_cannot_read(vast: Vast, query: dict[str, str]) -> None:
    assert vast.refused("GET", "/api/v1/instances/", **query) == (400, "invalid_args")


def test_values_of_any_type_in_filters_match_nothing(vast: Vast, number: int) -> None:
    filters = {"label": {"in": [None, 1, {}, []]}, "nothing": {"eq": {}}}
    assert vast.must("GET", "/api/v1/instances/", select_filters=json.dumps(filters))["instances"] == []


# -- who sees what


def test_a_stranger_finds_nothing(number: int, mallory: User, sign: Sign, running: Instance) -> None:
    other = Vast(sign(mallory))
    assert row_of(other, number) is None
    assert other.must("GET", "/instances/")["instances"] == []
    for method, path, body in (
        ("PUT", f"/instances/{number}/", {"state": "stopped"}),
        ("PUT", f"/instances/{number}/", {"label": "mine"}),
        ("PUT", f"/instances/reboot/{number}/", {}),
        ("PUT", f"/instances/command/{number}/", {"command": "ls"}),
        ("DELETE", f"/instances/{number}/", {}),
        ("PUT", "/instances/", {"ids": [number], "state": "stopped"}),
        ("DELETE", "/instances/", {"instance_ids": [number]}),
    ):
        assert other.refused(method, path, body) == (404, "no_such_instance"), path
    assert reload(running).state == InstanceState.RUNNING


def test_scopes_hold(number: int, rin: User, sign: Sign) -> None:
    reads = Vast(sign(rin, "instances:read"))
    assert row_of(reads, number)["id"] == number
    assert reads.refused("PUT", f"/instances/{number}/", {"state": "stopped"}) == (403, "missing_scope")
    assert reads.refused("DELETE", f"/instances/{number}/") == (403, "missing_scope")
    assert Vast(sign(rin, "billing:read")).refused("GET", "/instances/") == (403, "missing_scope")


def test_a_token_in_the_query_is_taken(rin: User, number: int) -> None:
    _, text = issue_token(user=rin, name="old client", scopes=["instances:read"])
    bare = Vast(Client())
    assert bare.must("GET", f"/instances/{number}/", api_key=text)["instances"]["id"] == number
    assert bare.refused("GET", "/instances/", api_key="no") == (401, "authentication_failed")


# -- what is not spoken


def test_addresses_are_found_with_and_without_a_slash(vast: Vast, number: int) -> None:
    for path in ("/instances", "/instances/", f"/instances/{number}", f"/instances/{number}/"):
        vast.must("GET", path)


def test_our_own_list_is_still_ours(vast: Vast, number: int) -> None:
    assert set(vast.client.get("/api/v1/instances").json()) == {"next", "previous", "results"}

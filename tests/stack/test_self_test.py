"""A self-test through every real part: asked over the API, made by a running agent, judged, verified, seen by all."""

from typing import Any

import httpx
import pytest

from tests.stack import renting
from tests.stack.harness import Stack
from tests.waiting import wait_until

pytestmark = pytest.mark.stack


def finished_test(client: httpx.Client, host_id: str, test_id: str) -> dict[str, Any]:
    def over() -> dict[str, Any] | None:
        tests = client.get(f"/api/v1/hosts/{host_id}/self-test").raise_for_status().json()["results"]
        return next((test for test in tests if test["id"] == test_id and test["verdict"] != "pending"), None)

    found: dict[str, Any] = wait_until("the self-test", over, timeout=120, pause=0.2)
    return found


def run_self_test(client: httpx.Client, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the test when it is over, the host then)."""
    host = next(host for host in client.get("/api/v1/hosts").json()["results"] if host["name"] == name)
    reply = client.post(f"/api/v1/hosts/{host['id']}/self-test")
    assert reply.status_code == 202, reply.text
    test = finished_test(client, host["id"], reply.json()["id"])
    return test, client.get(f"/api/v1/hosts/{host['id']}").json()


def test_a_simulated_host_is_tested_verified_and_marked(stack: Stack) -> None:
    with stack.client("hana") as hana, stack.client("alice") as alice:
        test, host = run_self_test(hana, "sim")
        assert test["verdict"] == "passed", test["checks"]
        assert test["simulated"]
        assert all(check["simulated"] and check["actual"].startswith("Simulated: ") for check in test["checks"])
        assert (host["verified"], host["simulated"]) == (True, True)
        assert [event["kind"] for event in host["events"]].count("verified") == 1
        wait_until("measurements", lambda: renting.offer_of(alice, "sim")["disk"]["read_mbps"])
        offer = renting.offer_of(alice, "sim")
        assert offer["host"]["verified"] and offer["host"]["simulated"]
        assert offer["network"]["up_mbps"]
    assert stack.sql("SELECT count(*) FROM marketplace_measurement WHERE kind = 'disk'")[0][0] >= 1

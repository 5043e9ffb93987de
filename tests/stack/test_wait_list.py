"""The wait list over real HTTP, with Celery's workers and beat: a hundred wait, ten GPUs come free."""

from typing import Any

import httpx
import pytest

from tests.stack import renting
from tests.stack.harness import Stack
from tests.waiting import wait_until

pytestmark = pytest.mark.stack

WAITERS, FREED, RENTERS = 100, 10, 5  # an account has at most 20 places
ORDER = {"q": "gpu=a10 region=queue", "action": "rent", "image": "berth-base", "max_price": "4.00", "data_disk_gb": 0}


def test_of_a_hundred_who_wait_the_first_ten_get_what_comes_free(stack: Stack) -> None:
    ports = ("--ports", "44000-44999")
    stack.enrol("queue", "--runtime", "simulated", "--simulate-gpus", f"A10:{FREED}", *ports, region="queue")
    tokens = [stack.fund(f"queue-{number}@example.com", "80.00") for number in range(RENTERS)]
    renters = [stack.client_of(token) for token in tokens]
    with stack.client("alice") as alice:
        offer = renting.offer_of(alice, "queue")
        running = [renting.rent(alice, offer, data_disk_gb=0) for _ in range(FREED)]
        for instance in running:
            renting.wait_for_state(alice, instance, "running")
        places = [_wait(renters[number % RENTERS], key=f"place-{number}") for number in range(WAITERS)]
        assert {renter.get("/api/v1/wallet").json()["held"] for renter in renters} == {"80.00"}
        assert _wait(renters[0], key="place-0") == places[0]  # the same key again is the same place
        too_many = renters[0].post("/api/v1/watches", json={"q": ""})
        assert (too_many.status_code, too_many.json()["code"]) == (409, "too_many")
        for instance in running:
            alice.delete(f"/api/v1/instances/{instance['id']}").raise_for_status()

        states = _states_once_served(stack)
        assert states == ["rented"] * FREED + ["waiting"] * (WAITERS - FREED)
        served = [_read(renters[number % RENTERS], places[number]) for number in range(FREED)]
        assert len({watch["instance"] for watch in served}) == FREED
        for number, watch in enumerate(served):
            renting.wait_for_state(renters[number % RENTERS], {"id": watch["instance"]}, "running")
        last = _read(renters[(WAITERS - 1) % RENTERS], places[-1])
        assert (last["state"], last["ahead"], last["held"]) == ("waiting", WAITERS - FREED - 1, "4.00")

        for number in range(FREED, WAITERS):
            place = places[number]
            ended = renters[number % RENTERS].delete(f"/api/v1/watches/{place['id']}").json()
            assert (ended["state"], ended["held"]) == ("cancelled", "0.00")
        held = [renter.get("/api/v1/wallet").json()["held"] for renter in renters]
        assert held == ["7.20"] * RENTERS  # two instances each, at the offer's own price
        for number, watch in enumerate(served):
            renting.release(renters[number % RENTERS], {"id": watch["instance"]})
    wait_until("all holds to be free", lambda: stack.sql(_OPEN_HOLDS) == [[0]])
    stack.manage("verify_ledger")


_OPEN_HOLDS = (
    "SELECT count(*) FROM billing_hold h JOIN billing_wallet w ON w.id = h.wallet_id"
    " JOIN accounts_user u ON u.id = w.owner_id"
    " WHERE h.released_at IS NULL AND u.email LIKE 'queue-%'"
)


def _wait(client: httpx.Client, *, key: str) -> dict[str, Any]:
    reply = client.post("/api/v1/watches", json=ORDER, headers={"Idempotency-Key": key})
    assert reply.status_code == httpx.codes.CREATED, reply.text
    place: dict[str, Any] = reply.json()
    return place


def _read(client: httpx.Client, place: dict[str, Any]) -> dict[str, Any]:
    watch: dict[str, Any] = client.get(f"/api/v1/watches/{place['id']}").raise_for_status().json()
    return watch


def _states_once_served(stack: Stack) -> list[str]:
    """In the order of the places, once as many as there were GPUs have ended."""

    def found() -> list[str] | None:
        states = [state for [state] in stack.sql("SELECT state FROM instances_watch ORDER BY place")]
        return states if states.count("waiting") <= WAITERS - FREED else None

    states: list[str] = wait_until("ten places to be served", found, timeout=60)
    return states

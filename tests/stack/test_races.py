"""Races over real HTTP: the last GPU, money for seven, one idempotency key fifty times."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx
import pytest

from tests.profiles import examples
from tests.stack import renting
from tests.stack.harness import Stack
from tests.waiting import wait_until

pytestmark = pytest.mark.stack

ROUNDS = examples(5, long=20)
RIVALS = 200
_PATIENCE_S = 60


class Crowd:
    """As many clients of one renter as threads, since a pool shared by 200 threads would be what is tested."""

    def __init__(self, stack: Stack, token: str, count: int) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        # No TLS here; `verify=False` spares each client the loading of a certificate store.
        self.clients = [httpx.Client(base_url=stack.url, headers=headers, timeout=120, verify=False) for _ in range(count)]

    def at_once(self, work: Callable[[httpx.Client, int], httpx.Response]) -> list[httpx.Response]:
        """`work(client, n)` by all threads, which start together; the replies in order."""
        barrier = Barrier(len(self.clients))

        def one(number: int) -> httpx.Response:
            barrier.wait(timeout=60)
            end = time.monotonic() + _PATIENCE_S
            while _is_shed(reply := work(self.clients[number], number)) and time.monotonic() < end:
                time.sleep(float(reply.headers["Retry-After"]))
            return reply

        with ThreadPoolExecutor(len(self.clients)) as pool:
            return list(pool.map(one, range(len(self.clients))))

    def __enter__(self) -> "Crowd":
        return self

    def __exit__(self, *_: object) -> None:
        for client in self.clients:
            client.close()


def _is_shed(reply: httpx.Response) -> bool:
    """Refused before it was begun, since so many came at once: a client waits as long as it is told, and asks again."""
    return reply.status_code == httpx.codes.SERVICE_UNAVAILABLE and _code(reply) == "busy"


def _order(client: httpx.Client, quote_id: str) -> httpx.Response:
    return client.post("/api/v1/instances", json={"quote_id": quote_id})


def _code(reply: httpx.Response) -> str:
    """The stable code of a problem document, else the beginning of whatever came."""
    if "json" in reply.headers.get("content-type", ""):
        return str(reply.json().get("code"))
    return reply.text[:200]


def test_fault_003_the_last_gpu_goes_to_exactly_one_of_200(stack: Stack) -> None:
    stack.enrol("last", "--runtime", "simulated", "--simulate-gpus", "A100:1", "--ports", "41000-41999", region="race")
    with stack.client("alice") as alice, Crowd(stack, stack.people["alice"]["token"], RIVALS) as crowd:
        offer = renting.offer_of(alice, "last")
        quotes = [renting.quote(alice, offer)["id"] for _ in range(RIVALS)]
        for _ in range(ROUNDS):
            replies = crowd.at_once(lambda client, n, quotes=quotes: _order(client, quotes[n]))  # type: ignore[misc]
            won = [number for number, reply in enumerate(replies) if reply.status_code == httpx.codes.CREATED]
            lost = [reply for reply in replies if reply.status_code != httpx.codes.CREATED]
            assert len(won) == 1
            assert {(reply.status_code, _code(reply)) for reply in lost} == {(httpx.codes.CONFLICT, "gpu_taken")}
            renting.release(alice, replies[won[0]].json())
            quotes[won[0]] = renting.quote(alice, offer)["id"]  # the others' were not used and stand for ten minutes


def test_fault_008_money_for_seven_buys_seven_of_a_hundred(stack: Stack) -> None:
    for name, ports in (("rich-1", "42000-42999"), ("rich-2", "43000-43999")):
        stack.enrol(name, "--runtime", "simulated", "--simulate-gpus", "L4:50", "--ports", ports, region="race")
    token = stack.fund("seven@example.com", "25.20")  # seven hours at 3.60
    with stack.client_of(token) as renter, Crowd(stack, token, 100) as crowd:
        offers = [renting.offer_of(renter, name) for name in ("rich-1", "rich-2")]
        quotes = [renting.quote(renter, offers[n % 2])["id"] for n in range(100)]
        replies = crowd.at_once(lambda client, n: _order(client, quotes[n]))
        won = [reply.json() for reply in replies if reply.status_code == httpx.codes.CREATED]
        lost = [reply for reply in replies if reply.status_code != httpx.codes.CREATED]
        assert len(won) == 7
        assert {(reply.status_code, reply.json()["code"]) for reply in lost} == {
            (httpx.codes.PAYMENT_REQUIRED, "insufficient_funds")
        }
        for instance in won:
            renting.release(renter, instance)
    stack.manage("verify_ledger")


def test_fault_001_one_key_fifty_times_is_one_instance_one_hold_one_reply(stack: Stack) -> None:
    with stack.client("bob") as bob, Crowd(stack, stack.people["bob"]["token"], 50) as crowd:
        quote = renting.quote(bob, renting.offer_of(bob, "sim"))
        headers = {"Idempotency-Key": "fifty-times"}
        body = {"quote_id": quote["id"], "name": "once"}
        replies = crowd.at_once(lambda client, _: client.post("/api/v1/instances", json=body, headers=headers))
        assert {reply.status_code for reply in replies} == {httpx.codes.CREATED}
        assert len({reply.content for reply in replies}) == 1
        instance = replies[0].json()
        held = stack.sql(f"SELECT count(*) FROM billing_hold WHERE source_id = '{instance['id'].removeprefix('inst_')}'")
        assert held == [[1]]
        renting.wait_for_state(bob, instance, "running")
        other = bob.post("/api/v1/instances", json={**body, "name": "twice"}, headers=headers)
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_conflict")
        renting.release(bob, instance)
        wait_until("the hold to be free", lambda: bob.get("/api/v1/wallet").json()["held"] == "0.00")

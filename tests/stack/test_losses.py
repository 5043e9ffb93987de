"""What gets lost between a renter's program and the market, and inside the market, over real HTTP."""

import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.stack import renting
from tests.stack.harness import Stack
from tests.waiting import wait_until

pytestmark = pytest.mark.stack

RENTERS = 6
ROUNDS = 3


def test_fault_009_a_reply_lost_after_the_commit_is_given_again(stack: Stack) -> None:
    """The order is sent, the connection is reset once it has been carried out, and no byte of the answer was read."""
    with stack.client("bob") as bob:
        quote = renting.quote(bob, renting.offer_of(bob, "sim"))["id"]
        body = f'{{"quote_id": "{quote}", "name": "lost"}}'
        headers = {
            "Host": f"127.0.0.1:{stack.web_port}",
            "Authorization": f"Bearer {stack.people['bob']['token']}",
            "Idempotency-Key": "lost-once",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        count = f"SELECT count(*) FROM instances_instance WHERE quote_id = '{quote.partition('_')[2]}'"
        with socket.create_connection(("127.0.0.1", stack.web_port)) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing resets
            line.sendall(f"POST /api/v1/instances HTTP/1.1\r\n{head}\r\n{body}".encode())
            wait_until("the rent is committed", lambda: stack.sql(count) == [[1]])
        again = bob.post("/api/v1/instances", content=body, headers=headers)
        assert again.status_code == httpx.codes.CREATED, again.text
        instance = again.json()
        assert bob.post("/api/v1/instances", content=body, headers=headers).json() == instance
        assert stack.sql(count) == [[1]]
        held = f"SELECT count(*) FROM billing_hold WHERE source_id = '{instance['id'].removeprefix('inst_')}'"
        assert stack.sql(held) == [[1]]
        renting.wait_for_state(bob, instance, "running")
        renting.release(bob, instance)


def test_fault_084_redis_emptied_under_load_loses_nothing(stack: Stack) -> None:
    """Renters come and go while Redis is emptied again and again: each order comes to its end, each second is paid once."""
    stack.enrol("flushed", "--runtime", "simulated", "--simulate-gpus", f"L4:{RENTERS}", "--ports", "44000-44999")
    done = threading.Event()
    flushed = 0

    def flush() -> None:
        nonlocal flushed
        while not done.wait(0.2):
            stack.flush_redis()
            flushed += 1

    def come_and_go(number: int) -> None:
        with stack.client("alice" if number % 2 else "bob") as renter:
            for _ in range(ROUNDS):
                instance = renting.rent(renter, renting.offer_of(renter, "flushed"))
                renting.wait_for_state(renter, instance, "running")
                renting.release(renter, instance)

    with ThreadPoolExecutor(RENTERS + 1) as pool:
        flushing = pool.submit(flush)
        try:
            list(pool.map(come_and_go, range(RENTERS)))
        finally:
            done.set()
        flushing.result()
    assert flushed > ROUNDS, "it was emptied while they worked"
    wait_until("all GPUs are free", lambda: _free(stack) == RENTERS)
    stack.manage("verify_ledger")


def _free(stack: Stack) -> int:
    free = "SELECT o.gpu_free FROM marketplace_offer o JOIN marketplace_host h ON h.id = o.host_id WHERE h.name = 'flushed'"
    return int(stack.sql(free)[0][0])

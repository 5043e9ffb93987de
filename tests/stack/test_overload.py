"""What holds threads holds no others: half-sent bodies, a locked table, more requests than can be answered."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import psycopg2
import pytest

from tests.stack import load
from tests.stack.harness import Stack

pytestmark = pytest.mark.stack

SOCKETS = 500
# A bound for a busy machine, not a measurement: a request behind a held thread would take as long as the hold.
AT_MOST_S = 4.0
LOCKED_S = 8.0


@pytest.fixture(scope="module")
def agent(stack: Stack) -> load.Agent:
    return load.Agent(stack).enrol()


def kinds(agent: load.Agent) -> dict[str, load.Request]:
    return {
        "health": load.get("/healthz"),
        "page": load.get("/market", Accept="text/html"),
        "search": load.get("/api/v1/offers"),
        "sync": agent.sync,
    }


def wallet_of(stack: Stack, who: str) -> load.Request:
    return load.get("/api/v1/wallet", Authorization=f"Bearer {stack.people[who]['token']}")


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[None]:
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join()


@contextmanager
def locked(stack: Stack, table: str) -> Iterator[None]:
    with psycopg2.connect(stack.postgres.get_uri()) as connection, connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


def assert_all_answer(stack: Stack, agent: load.Agent, *, rounds: int = 5) -> None:
    for name, request in kinds(agent).items():
        with closing(load.Line(stack.web_port)) as line:
            answers = [line.ask(request) for _ in range(rounds)]
        assert all(answer.status == 200 and answer.seconds < AT_MOST_S for answer in answers), (name, answers)


def test_half_sent_bodies_hold_nobody_up(stack: Stack, agent: load.Agent) -> None:
    for path in ("/api/v1/advice", "/agent/v1/enrol"):
        with load.dribbling(stack.web_port, SOCKETS, path):
            assert_all_answer(stack, agent)
            assert load.ask(stack.web_port, wallet_of(stack, "alice")).status == 200


def test_a_locked_table_holds_up_only_those_who_need_it(stack: Stack, agent: load.Agent) -> None:
    replies: list[load.Answer] = []

    def ask_for_wallets() -> None:
        replies.extend(load.at_once(stack.web_port, [wallet_of(stack, "bob")] * 24, LOCKED_S / 2))

    with locked(stack, "billing_wallet"), meanwhile(ask_for_wallets):
        until = time.monotonic() + LOCKED_S / 2
        while time.monotonic() < until:
            assert_all_answer(stack, agent, rounds=2)
    assert {answer.status for answer in replies} == {503}
    assert all(b"retry-after:" in answer.head for answer in replies)
    assert load.ask(stack.web_port, wallet_of(stack, "bob")).status == 200


def test_more_than_can_be_answered_is_refused_early_and_agents_are_not(stack: Stack, agent: load.Agent) -> None:
    crowd: list[load.Answer] = []

    def ask_for_pages() -> None:
        crowd.extend(load.at_once(stack.web_port, [load.get("/market", Accept="text/html")] * 100, 5.0))

    with meanwhile(ask_for_pages):
        until = time.monotonic() + 5.0
        while time.monotonic() < until:
            for request in (agent.sync, load.get("/healthz")):
                assert load.ask(stack.web_port, request).status == 200
    refused = [answer for answer in crowd if answer.status == 503]
    assert {answer.status for answer in crowd} == {200, 503}
    assert all(b"retry-after:" in answer.head for answer in refused)

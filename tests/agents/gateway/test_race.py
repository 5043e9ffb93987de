"""Messages of one agent on several connections at the same moment."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

import pytest
from django.db import connection
from django.http import HttpResponse

from agents.gateway.models import AgentIdentity
from agents.protocol.codec import encode
from marketplace.models import Host, JoinToken

from .conftest import SYNC, Agent, post, report

pytestmark = pytest.mark.django_db(transaction=True)
THREADS = 8
ROUNDS = 5
T = TypeVar("T")


def at_once(work: Callable[[int], T]) -> list[T]:
    """`work(0)`, `work(1)`, … all started in the same moment, each with a database connection of its own."""
    start = Barrier(THREADS)

    def run(number: int) -> T:
        try:
            start.wait()
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def send_all(agent: Agent, body: bytes, headers: list[dict[str, str]]) -> list[HttpResponse]:
    return at_once(lambda number: post(agent.client, SYNC, body, headers[number]))


def test_of_copies_of_one_message_one_is_taken(agent: Agent) -> None:
    body = encode(report())
    for _ in range(ROUNDS):
        copies = [agent.headers(body)] * THREADS
        codes = Counter(reply.status_code for reply in send_all(agent, body, copies))
        assert codes[200] == 1
        assert codes.keys() <= {200, 409, 503}


def test_of_a_burst_of_messages_the_count_never_goes_back(agent: Agent) -> None:
    body = encode(report())
    for _ in range(ROUNDS):
        replies = send_all(agent, body, [agent.headers(body) for _ in range(THREADS)])
        first = agent.sequence - THREADS + 1
        taken = [first + number for number, reply in enumerate(replies) if reply.status_code == 200]
        assert taken
        assert AgentIdentity.objects.get().last_sequence == max(taken)
    agent.sync()


def test_of_two_hosts_with_one_join_token_one_is_enrolled(agent: Agent, join_token: Callable[[], str]) -> None:
    token = join_token()
    codes = Counter(at_once(lambda _: Agent(agent.client).enrol(token).status_code))
    assert codes == {201: 1, 403: THREADS - 1}
    assert Host.objects.count() == AgentIdentity.objects.count() == 2
    assert not JoinToken.objects.filter(used_at=None).exists()

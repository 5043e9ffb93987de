"""The Python client against a whole market: lists decode, pages are walked, waits are woken, threads share a client."""

import asyncio
import inspect
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from berth import AsyncClient, Client, errors
from berth._core.calls import Fault, Reply, Request
from berth._sync.resource import Pager
from berth._sync.transport import StandardTransport
from common.http.openapi import schema
from scripts.client_code.document import Document, Operation
from tests.stack.harness import Stack

pytestmark = pytest.mark.stack

READS = [
    each
    for each in Document(schema()).operations
    if each.method == "GET" and not any(parameter.required for parameter in each.parameters)
]


class Counted(StandardTransport):
    """Counts requests by what they are for; `deaf`: the market's wake-ups don't come through."""

    def __init__(self, *, deaf: bool = False) -> None:
        super().__init__()
        self.deaf = deaf
        self.sent: list[Request] = []

    def send(self, request: Request) -> Reply | Fault:
        self.sent.append(request)
        if self.deaf and ("/live" in request.url or "/wait?" in request.url):
            return Fault("no way to the relay", sent=False)
        return super().send(request)

    def count(self, part: str) -> int:
        return sum(part in request.url for request in self.sent)


@pytest.fixture
def alice(market: Stack) -> Iterator[Client]:
    with Client(market.url, market.people["alice"]["token"]) as client:
        yield client


def rent(client: Client, name: str) -> str:
    offer = next(iter(client.offers.list(q="4090", sort="price", limit=1)))
    quote = client.quotes.create(offer=offer.id, data_disk_gb=10)
    return client.instances.create(quote_id=quote.id, name=name).id


@pytest.mark.parametrize("operation", READS, ids=lambda each: f"{each.resource}.{each.name}")
def test_every_read_decodes(market: Stack, operation: Operation) -> None:
    who = "hana" if operation.resource in ("hosts", "payouts", "payout_account") else "alice"
    with Client(market.url, market.people[who]["token"]) as client:
        try:
            answer = getattr(getattr(client, operation.resource), operation.name)()
            answer = list(answer) if isinstance(answer, Pager) else answer
        except errors.APIError as refused:
            assert refused.status in (403, 404, 409), refused
    assert len(READS) > 40


def test_pages_are_walked_once(alice: Client) -> None:
    made = [alice.tokens.create(name=f"t{number}", scopes=["instances:read"]).id for number in range(5)]
    walked = [token.id for token in alice.tokens.list(limit=2)]
    assert len(walked) == len(set(walked)) and set(made) <= set(walked)
    assert all(len(page.results) <= 2 for page in alice.tokens.list(limit=2).pages())
    for token in made:
        alice.tokens.revoke(token)


def test_a_wait_is_woken_and_does_not_ask_in_a_circle(market: Stack) -> None:
    transport = Counted()
    with Client(market.url, market.people["alice"]["token"], transport=transport) as client:
        instance = rent(client, "woken")
        seen: list[str] = []
        client.wait(instance, "running", timeout=60, seen=lambda each: seen.append(each.state))
        assert seen[-1] == "running"
        assert transport.count("/wait?") >= 1
        assert transport.count(f"/instances/{instance}") < 12
        assert all("Authorization" not in each.headers for each in transport.sent if "/wait?" in each.url)
        client.instances.release(instance)
        assert client.wait(instance, "gone", timeout=60).state == "gone"


def test_a_wait_works_without_wake_ups(market: Stack) -> None:
    transport = Counted(deaf=True)
    with Client(market.url, market.people["alice"]["token"], transport=transport) as client:
        instance = rent(client, "deaf")
        client.wait(instance, "running", timeout=90)
        assert transport.count("/wait?") == 0
        client.instances.release(instance)
        client.wait(instance, "gone", timeout=90)


def test_a_wait_for_what_was_released_fails_at_once(alice: Client) -> None:
    instance = rent(alice, "short")
    alice.wait(instance, timeout=60)
    alice.instances.release(instance)
    with pytest.raises(errors.WaitFailed):
        alice.wait(instance, "running", timeout=60)


def test_a_wait_in_vain_ends_in_time(alice: Client) -> None:
    instance = rent(alice, "vain")
    with pytest.raises(errors.WaitTimeout) as late:
        alice.wait(instance, "stopped", timeout=1.5)
    assert late.value.last.id == instance
    alice.instances.release(instance)
    alice.wait(instance, "gone", timeout=60)


def test_the_same_key_is_the_same_order(alice: Client) -> None:
    offer = next(iter(alice.offers.list(q="4090", limit=1)))
    quote = alice.quotes.create(offer=offer.id)
    order: dict[str, Any] = {"quote_id": quote.id, "idempotency_key": f"key-{quote.id}"}
    with ThreadPoolExecutor(4) as pool:
        found = {each.id for each in pool.map(lambda _: alice.instances.create(**order), range(4))}
    assert len(found) == 1
    with pytest.raises(errors.InvalidRequest) as reused:
        alice.instances.create(**order, name="another order")
    assert reused.value.code == "idempotency_conflict"
    alice.instances.release(found.pop())


def test_a_dry_run_changes_nothing(alice: Client) -> None:
    offer = next(iter(alice.offers.list(q="4090", limit=1)))
    quote = alice.quotes.create(offer=offer.id)
    before = {each.id for each in alice.instances.list()}
    alice.instances.create(quote_id=quote.id, dry_run=True)
    # Those of other tests may end meanwhile; none may be added.
    assert {each.id for each in alice.instances.list()} <= before


def test_errors_say_what_the_api_says(alice: Client) -> None:
    with pytest.raises(errors.SearchSyntaxError) as wrong:
        alice.offers.list(q="prise<1").first()
    assert (wrong.value.position, wrong.value.hint, "price" in wrong.value.extra["choices"]) == (
        0,
        "Did you mean price?",
        True,
    )
    with pytest.raises(errors.InvalidRequest) as field:
        alice.tokens.create(name="", scopes=[])
    assert {each.field for each in field.value.fields} & {"name", "scopes"}


def test_the_asynchronous_client_does_the_same(market: Stack) -> None:
    async def work() -> list[str]:
        async with AsyncClient(market.url, market.people["bob"]["token"]) as client:
            offer = (await client.offers.list(q="4090", limit=1).first()).results[0]

            async def life(name: str) -> str:
                quote = await client.quotes.create(offer=offer.id)
                instance = await client.instances.create(quote_id=quote.id, name=name)
                await client.wait(instance.id, "running", timeout=90)
                await client.instances.release(instance.id)
                return (await client.wait(instance.id, "gone", timeout=90)).state

            states = await asyncio.gather(*(life(f"async-{number}") for number in range(3)))
            assert [each.id async for each in client.instances.list()] == []
            return list(states)

    assert asyncio.run(work()) == ["gone"] * 3


def test_both_clients_have_the_same_methods() -> None:
    def signatures(client: type[Any]) -> dict[str, str]:
        from importlib import import_module

        folder = "_async" if client is AsyncClient else "_sync"
        found = {}
        for each in Document(schema()).operations:
            module = import_module(f"berth.{folder}.resources.{each.resource}")
            (kind,) = (value for name, value in vars(module).items() if name.lower() == each.resource.replace("_", ""))
            found[f"{each.resource}.{each.name}"] = str(inspect.signature(getattr(kind, each.name)).parameters)
        return found

    assert signatures(Client) == signatures(AsyncClient)

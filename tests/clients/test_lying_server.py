"""A slow, flapping and lying market: nothing is made twice, nothing that was made is lost, nothing hangs."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest

from berth import AsyncClient, Client, RetryPolicy, errors
from tests.clients import lying_server as lying
from tests.clients.lying_server import Market, Trick, lying_market

QUICK = RetryPolicy(retries=4, first_pause=0.01, longest_pause=0.05)
KEY = "ssh-ed25519 AAAA"


@pytest.fixture
def market() -> Iterator[Market]:
    with lying_market() as running:
        yield running


class Blocking:
    """The blocking client, and the asynchronous one behind the same face."""

    name = "blocking"

    def __init__(self, market: Market, **options: Any) -> None:
        self.options = {"url": market.url, "token": "berth_t", "retries": QUICK, "timeout": 1.0, **options}

    def make(self) -> str:
        with Client(**self.options) as client:
            return client.ssh_keys.create(public_key=KEY).id

    def remove(self) -> None:
        with Client(**self.options) as client:
            client.ssh_keys.delete("key_1")

    def email(self) -> str:
        with Client(**self.options) as client:
            return client.me.get().email

    def rename(self) -> str:
        with Client(**self.options) as client:
            return client.me.update(display_name="B").email


class Asynchronous(Blocking):
    name = "asynchronous"

    def make(self) -> str:
        async def work() -> str:
            async with AsyncClient(**self.options) as client:
                return (await client.ssh_keys.create(public_key=KEY)).id

        return asyncio.run(work())

    def remove(self) -> None:
        async def work() -> None:
            async with AsyncClient(**self.options) as client:
                await client.ssh_keys.delete("key_1")

        asyncio.run(work())

    def email(self) -> str:
        async def work() -> str:
            async with AsyncClient(**self.options) as client:
                return (await client.me.get()).email

        return asyncio.run(work())

    def rename(self) -> str:
        async def work() -> str:
            async with AsyncClient(**self.options) as client:
                return (await client.me.update(display_name="B")).email

        return asyncio.run(work())


@pytest.fixture(params=[Blocking, Asynchronous], ids=lambda kind: str(kind.name))
def kind(request: pytest.FixtureRequest) -> type[Blocking]:
    return cast("type[Blocking]", request.param)


TROUBLE: dict[str, list[Trick | None]] = {
    "cut before": [lying.cut_before],
    "cut after it acted": [lying.cut_after],
    "half a reply": [lying.half_reply],
    "half of the JSON": [lying.half_json],
    "silence after it acted": [lying.silence],
    "busy": [lying.status(503, Retry_After="0")],
    "too many requests": [lying.status(429, Retry_After="0")],
    "a proxy's page": [lying.page(502), lying.page(504)],
    "flapping": [lying.cut_after, lying.page(502), lying.half_reply, lying.status(503)],
    "twice the same answer": [lying.duplicate],
}


@pytest.mark.parametrize("trouble", TROUBLE)
def test_it_is_made_once_and_its_id_is_known(market: Market, kind: type[Blocking], trouble: str) -> None:
    market.tricks = list(TROUBLE[trouble])
    assert kind(market).make() == "key_1"
    assert len(market.rented) == 1
    assert len(set(market.keys())) == 1, "every attempt carries the same key"
    assert len(market.requests) == len(TROUBLE[trouble]) + (trouble != "twice the same answer")


def test_without_a_key_it_would_be_made_twice(market: Market) -> None:
    """The positive control of the market, and of the rule: a POST without a key isn't repeated once it was sent."""
    from berth._core.calls import Call
    from berth.models import Key

    market.tricks = [lying.cut_after]
    with Client(market.url, "berth_t", retries=QUICK) as client:
        call = Call("POST", "/api/v1/ssh-keys", Key, body={"public_key": KEY})
        with pytest.raises(errors.ConnectionFailed, match="may have got"):
            client.send(call)
        assert len(market.requests) == 1
        client.send(call)
    assert len(market.rented) == 2


def test_an_answer_that_comes_twice_is_not_the_next_request_s(market: Market) -> None:
    with Client(market.url, "berth_t", retries=QUICK, timeout=1.0) as client:
        market.tricks = [lying.duplicate]
        assert client.ssh_keys.create(public_key=KEY).id == "key_1"
        assert market.said_twice.wait(10)
        assert client.me.get().email == "a@b.c"


def test_a_deletion_whose_answer_was_lost_is_done(market: Market, kind: type[Blocking]) -> None:
    market.tricks = [lying.cut_after]
    kind(market).remove()
    assert len(market.requests) == 2


def test_a_deletion_of_nothing_is_refused(market: Market, kind: type[Blocking]) -> None:
    kind(market).remove()
    with pytest.raises(errors.NotFound):
        kind(market).remove()


def test_a_change_is_not_repeated_once_it_was_sent(market: Market, kind: type[Blocking]) -> None:
    """A PATCH could overwrite what somebody else has changed since."""
    market.tricks = [lying.cut_before]
    with pytest.raises(errors.ConnectionFailed, match="may have got"):
        kind(market).rename()
    assert len(market.requests) == 1
    market.tricks = [lying.status(429, Retry_After="0")]
    assert kind(market).rename() == "a@b.c"


@pytest.mark.parametrize("trick", [lying.silence, lying.drip], ids=["silence", "drip"])
def test_nothing_hangs(market: Market, kind: type[Blocking], trick: Trick) -> None:
    market.tricks = [trick] * 3
    began = time.monotonic()
    with pytest.raises(errors.RequestTimeout):
        kind(market, timeout=0.4, retries=RetryPolicy(retries=2, first_pause=0.01)).email()
    assert time.monotonic() - began < 10


def test_retry_after_is_waited_for_and_a_long_one_is_told(market: Market, kind: type[Blocking]) -> None:
    market.tricks = [lying.status(503, Retry_After="1")]
    began = time.monotonic()
    assert kind(market).email() == "a@b.c"
    assert time.monotonic() - began >= 1
    market.tricks = [lying.status(429, Retry_After="3600")]
    with pytest.raises(errors.TooManyRequests) as refused:
        kind(market).email()
    assert (refused.value.retry_after, refused.value.code, refused.value.status) == (3600, "busy", 429)


def test_what_it_can_not_do_is_said(market: Market, kind: type[Blocking]) -> None:
    market.tricks = [lying.page(502)] * 9
    with pytest.raises(errors.ServerError, match="not from Berth: <html>") as refused:
        kind(market).email()
    assert len(market.requests) == QUICK.retries + 1
    assert refused.value.code == "not_berth"


def test_a_wrong_shape_is_a_decode_error(market: Market, kind: type[Blocking]) -> None:
    market.tricks = [lambda handler, _: handler.send(200, {"email": 7})]
    with pytest.raises(errors.DecodeError, match="isn't what the API promises"):
        kind(market).email()
    assert len(market.requests) == 1


def test_unknown_fields_and_values_are_taken(market: Market, kind: type[Blocking]) -> None:
    more = {**market.act("GET", "/api/v1/me", {})[1], "colour": {"deep": [1]}}
    market.tricks = [lambda handler, _: handler.send(200, more)]
    assert kind(market).email() == "a@b.c"


def test_a_redirect_is_told_and_the_token_does_not_follow(market: Market, kind: type[Blocking]) -> None:
    market.tricks = [lambda handler, _: handler.send(301, None, Location="https://elsewhere.example/api")]
    with pytest.raises(errors.APIError, match="redirects to https://elsewhere"):
        kind(market).email()
    assert len(market.requests) == 1


def test_nobody_listens(kind: type[Blocking]) -> None:
    with pytest.raises(errors.ConnectionFailed, match="can't be reached"):
        kind(Market(port=1), retries=RetryPolicy(retries=1, first_pause=0.01)).email()

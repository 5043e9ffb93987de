"""`vastai execute`: a command that is run by the instance's host, and its result at a signed address."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from instances.lifecycle.stop import stop_instance
from instances.models import CommandRun, Instance
from storage.operations.selectors import desired_operations
from tests.instances.access.test_commands import answer
from tests.instances.fake_host import FakeHost, order_running
from tests.instances.fixtures import Clock, Sign
from tests.vast.conftest import Vast
from vast.models import Kind
from vast.numbers.numbers import number_of


@pytest.fixture
def running(rin: User, host: FakeHost) -> Instance:
    return order_running(rin, host)


@pytest.fixture
def path(running: Instance) -> str:
    return f"/instances/command/{number_of(Kind.INSTANCE, running.pk)}/"


def address_of(reply: dict[str, Any]) -> str:
    url: str = reply["result_url"]
    return url[url.index("/api/v0/") :]


def test_a_result_is_read_without_a_token_by_who_was_given_its_address(vast: Vast, path: str, host: FakeHost) -> None:
    reply = vast.must("PUT", path, {"command": "ls -l; du"})
    assert reply["writeable_path"] == ""
    (order,) = desired_operations(host.host.pk)
    assert order.args["command"] == '["/bin/sh", "-c", "ls -l; du"]'
    public = Client()
    assert public.get(address_of(reply)).status_code == 202
    answer(host, b"<b>out</b>\n", b"err\n")
    found = public.get(address_of(reply))
    assert (found.status_code, found.content) == (200, b"<b>out</b>\nerr\n")
    assert (found["Content-Type"], found["X-Content-Type-Options"]) == ("text/plain", "nosniff")
    assert public.get(address_of(reply)[:-2]).status_code == 404


def test_the_address_ends_after_two_minutes(vast: Vast, path: str, host: FakeHost, hours: Clock) -> None:
    reply = vast.must("PUT", path, {"command": "ls"})
    answer(host, b"out")
    hours.advance(minutes=3)
    assert Client().get(address_of(reply)).status_code == 404


def test_an_address_ends_with_its_account(vast: Vast, path: str, host: FakeHost, rin: User) -> None:
    reply = vast.must("PUT", path, {"command": "ls"})
    answer(host, b"out")
    User.objects.filter(pk=rin.pk).update(is_active=False)
    assert Client().get(address_of(reply)).status_code == 404


def test_what_went_wrong_is_said(vast: Vast, path: str, host: FakeHost) -> None:
    late = vast.must("PUT", path, {"command": "sleep 100"})
    answer(host, b"begun\n", outcome={"exit_code": "137", "timed_out": "yes"})
    assert Client().get(address_of(late)).content.startswith(b"begun\nThe command was ended after 60 s.")
    lost = vast.must("PUT", path, {"command": "true"})
    answer(host, outcome={}, phase="failed", failure_code="agent_restarted")
    assert Client().get(address_of(lost)).content == CommandRun.objects.get(failure_code="agent_restarted").failure.encode()


@pytest.mark.parametrize("body", [{}, {"command": ""}, {"command": ["ls"]}, {"command": "x" * 100_000}, {"command": "a\0b"}])
def test_what_is_no_command_is_refused(vast: Vast, path: str, body: dict[str, Any]) -> None:
    status, _code = vast.refused("PUT", path, body)
    assert status in (400, 422)
    assert not CommandRun.objects.exists()


def test_it_needs_an_instance_that_runs_and_the_right_to_connect(
    vast: Vast, path: str, rin: User, running: Instance, sign: Sign
) -> None:
    writes = Vast(sign(rin, "instances:read", "instances:write"))
    assert writes.refused("PUT", path, {"command": "ls"}) == (403, "missing_scope")
    stop_instance(renter=rin, instance_id=running.pk)
    assert vast.refused("PUT", path, {"command": "ls"}) == (409, "not_running")
    assert not CommandRun.objects.exists()

"""Slips as a host's agent gets them: the same as a sync would say, sealed under a key that only this host is told."""

import base64
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from django.conf import settings
from pytest_django import DjangoCaptureOnCommitCallbacks

from accounts.models import User
from agents.daemon.lib.sealed_orders import BadEarlyOrder, decrypt_early_order
from agents.protocol.messages import DesiredInstance
from common import change_counters
from common.ids import public_id
from instances.lifecycle.start import restart_instance, start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance

from .conftest import Agent, report
from .test_instances import observed

pytestmark = pytest.mark.django_db
Rent = Callable[[Agent], Instance]


class Ear:
    """Hears the slips of one topic: tests that run beside this one share the Redis."""

    def __init__(self, client: redis.Redis, topic: str) -> None:
        self._heard: Any = client.pubsub(ignore_subscribe_messages=True)  # type: ignore[no-untyped-call]  # redis-py is untyped here
        self._heard.subscribe(change_counters.early_order_channel(topic))
        self._heard.get_message(timeout=5)

    def slip(self) -> tuple[int, str]:
        """The next one, with its version."""
        message = self._heard.get_message(timeout=5)
        assert message is not None
        version, _, slip = message["data"].decode().partition(" ")
        return int(version), slip

    def silence(self) -> bool:
        return self._heard.get_message(timeout=0.05) is None


@pytest.fixture
def listen() -> Iterator[Callable[[str], Ear]]:
    client = redis.Redis.from_url(settings.REDIS_URL)
    yield lambda topic: Ear(client, topic)
    client.close()


@pytest.fixture
def ear(agent: Agent, listen: Callable[[str], Ear]) -> Ear:
    return listen(f"host:{agent.host_id}")


def orders(agent: Agent) -> DesiredInstance:
    (wanted,) = agent.sync().instances
    return wanted


def test_an_order_s_slip_says_what_the_sync_says(
    agent: Agent,
    rent: Rent,
    ear: Ear,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        rent(agent)
    version, slip = ear.slip()
    state = agent.sync()
    assert version == state.version
    assert decrypt_early_order(state.slip_key, slip) == orders(agent)
    assert slip.isascii() and re.fullmatch(r"[0-9A-Za-z_-]+", slip), "whoever carries it reads nothing of it"
    instance = Instance.objects.get()
    assert instance.jupyter_token
    inside = base64.urlsafe_b64decode(slip + "=" * (-len(slip) % 4))
    assert not any(word.encode() in inside for word in (instance.jupyter_token, instance.pk.hex, "berth-base"))


def test_its_renter_s_scripts_hear_of_each_state(
    agent: Agent,
    alice: User,
    rent: Rent,
    listen: Callable[[str], Ear],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    scripts = listen(f"user:{alice.pk.hex}")
    with django_capture_on_commit_callbacks(execute=True):
        instance = rent(agent)
        agent.sync(report(instances=[observed(instance)]))
        stop_instance(renter=alice, instance_id=instance.pk)
    orders = [json.loads(scripts.slip()[1]) for _ in range(3)]
    assert orders == [
        {"instance": public_id("inst", instance.pk), "state": state} for state in ("requested", "running", "stopping")
    ]


def test_a_start_has_a_slip_and_an_end_has_none(
    agent: Agent,
    alice: User,
    rent: Rent,
    ear: Ear,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    instance = rent(agent)
    agent.sync(report(instances=[observed(instance)]))
    with django_capture_on_commit_callbacks(execute=True):
        stop_instance(renter=alice, instance_id=instance.pk)
    assert ear.silence()
    agent.sync(report(instances=[observed(instance, "stopped")]))
    with django_capture_on_commit_callbacks(execute=True):
        start_instance(renter=alice, instance_id=instance.pk)
    _, slip = ear.slip()
    again = decrypt_early_order(agent.sync().slip_key, slip)
    assert (again.generation, again.fence) == (2, 2)
    assert again == orders(agent)


def test_a_restart_waits_for_the_sync(
    agent: Agent,
    alice: User,
    rent: Rent,
    ear: Ear,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    instance = rent(agent)
    agent.sync(report(instances=[observed(instance)]))
    with django_capture_on_commit_callbacks(execute=True):
        restart_instance(renter=alice, instance_id=instance.pk)
    assert ear.silence()


def test_each_host_has_a_key_of_its_own_and_keeps_it(enrolled: Callable[[], Agent]) -> None:
    first, second = enrolled(), enrolled()
    assert first.sync().slip_key == first.sync().slip_key
    assert first.sync().slip_key != second.sync().slip_key


def test_no_other_host_opens_it(
    agent: Agent,
    enrolled: Callable[[], Agent],
    rent: Rent,
    ear: Ear,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    other = enrolled()
    with django_capture_on_commit_callbacks(execute=True):
        rent(agent)
    _, slip = ear.slip()
    with pytest.raises(BadEarlyOrder):
        decrypt_early_order(other.sync().slip_key, slip)

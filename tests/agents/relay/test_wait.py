"""Waiting agents, over real sockets: no wake-up is lost, nobody waits for another's topic."""

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import redis

from agents.protocol.tickets import sign_ticket
from common import change_counters

from .conftest import PATIENCE_S, SECRET, MortalRedis, Relay, resetting, wait_until

BURST = 2_000
StartRelay = Callable[..., Relay]


def touch(topic: str, times: int = 1) -> None:
    for _ in range(times):
        change_counters._notify_change_now((topic,))


def test_a_change_before_the_wait_answers_at_once(relay: Relay, topic: str) -> None:
    touch(topic)
    assert relay.wait(topic, since=0) == change_counters.version_of(topic)


def test_a_change_during_the_wait_wakes(relay: Relay, topic: str) -> None:
    touch(topic)
    seen = change_counters.version_of(topic)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(relay.wait, topic, seen)
        relay.until_waiting(topic)
        touch(topic)
        assert waiting.result() == seen + 1


def test_a_wait_without_change_ends_with_the_same_version(start_relay: StartRelay, topic: str) -> None:
    relay = start_relay(hold_s=(0.05, 0.1))
    touch(topic)
    seen = change_counters.version_of(topic)
    assert relay.wait(topic, since=seen) == seen
    assert relay.switchboard.count(topic) == 0


def test_all_who_wait_for_a_topic_wake_and_no_one_else(start_relay: StartRelay, topic: str) -> None:
    relay = start_relay(hold_s=(3.0, 3.0))
    other = f"{topic}0"
    with ThreadPoolExecutor(6) as pool:
        waiting = [pool.submit(relay.wait, topic, 0) for _ in range(5)]
        other_client = pool.submit(relay.wait, other, 0)
        relay.until_waiting(topic, 5)
        relay.until_waiting(other)
        touch(topic)
        assert {reply.result() for reply in waiting} == {change_counters.version_of(topic)}
        assert other_client.result() == 0


def test_no_burst_between_two_waits_is_lost(relay: Relay, topic: str) -> None:
    touch(topic)
    seen = change_counters.version_of(topic)
    for _ in range(5):
        touch(topic, BURST)
        newest = change_counters.version_of(topic)
        assert newest == seen + BURST
        assert relay.wait(topic, since=seen) == newest
        seen = newest


def test_no_change_is_lost_while_waits_and_touches_race(relay: Relay, topic: str) -> None:
    """Each wait follows the last at once, as an agent's does; at the end it must have seen the last touch."""
    touch(topic)
    seen = change_counters.version_of(topic)
    last = seen + BURST
    toucher = threading.Thread(target=touch, args=(topic, BURST))
    toucher.start()
    while seen < last:
        version = relay.wait(topic, since=seen)
        assert version > seen, "a wait ran into its time limit although something changed"
        seen = version
    toucher.join()
    assert seen == last


def test_a_flushed_redis_wakes_by_the_next_comparison(mortal_redis: MortalRedis, start_relay: StartRelay) -> None:
    relay = start_relay(redis_url=mortal_redis.url)
    mortal_redis.client.set("wake:host:a", 17)
    mortal_redis.client.flushall()
    assert relay.wait("host:a", since=17) == 0


def test_a_counter_that_begins_again_never_meets_an_old_one(relay: Relay, topic: str) -> None:
    client = redis.Redis.from_url(os.environ["REDIS_URL"])
    touch(topic)
    seen = change_counters.version_of(topic)
    client.delete(change_counters.topic_key(topic))  # what FLUSHALL does to it
    touch(topic)
    client.close()
    assert change_counters.version_of(topic) > seen
    assert relay.wait(topic, since=seen) == change_counters.version_of(topic)


def test_a_late_message_of_a_version_already_seen_wakes_nobody(start_relay: StartRelay, topic: str) -> None:
    relay = start_relay(hold_s=(0.5, 0.5))
    touch(topic)
    seen = change_counters.version_of(topic)
    client = redis.Redis.from_url(os.environ["REDIS_URL"])
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(relay.wait, topic, seen)
        relay.until_waiting(topic)
        client.publish(change_counters.topic_key(topic), seen)
        client.publish(change_counters.topic_key(f"{topic}0"), seen + 1)
        assert waiting.result() == seen
    client.close()


@pytest.mark.parametrize(
    ("ticket", "status", "code"),
    [
        ("", 401, "bad_ticket"),
        ("nonsense", 401, "bad_ticket"),
        ("ab.cd.ef", 401, "bad_ticket"),
        ("é.é", 401, "bad_ticket"),
        (sign_ticket("another-secret", topic="host:a", expires_at=2**33), 401, "bad_ticket"),
        (sign_ticket(SECRET, topic="host:a", expires_at=1), 401, "bad_ticket"),
        (sign_ticket(SECRET, topic="user:a", expires_at=2**33), 403, "wrong_topic"),
        (sign_ticket(SECRET, topic="host:a", expires_at=2**33)[:-2], 401, "bad_ticket"),
    ],
    ids=["none", "nonsense", "three parts", "not ASCII", "forged", "expired", "for a page", "cut"],
)
def test_a_wait_needs_a_ticket_for_a_host(relay: Relay, ticket: str, status: int, code: str) -> None:
    reply = httpx.get(f"{relay.url}/agent/v1/wait", params={"since": "0", "ticket": ticket})
    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert reply.headers["content-type"] == "application/problem+json"


def test_a_person_s_wait_needs_a_ticket_of_a_person(relay: Relay, topic: str) -> None:
    reply = httpx.get(f"{relay.url}/relay/v1/wait", params={"since": "0", "ticket": relay.ticket(topic)})
    assert (reply.status_code, reply.json()["code"]) == (403, "wrong_topic")


@pytest.mark.parametrize("since", ["", "-1", "1.5", "x", "９", "1" * 5_000])
def test_since_must_be_a_whole_number(relay: Relay, topic: str, since: str) -> None:
    reply = httpx.get(f"{relay.url}/agent/v1/wait", params={"since": since, "ticket": relay.ticket(topic)})
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_since")


def test_one_topic_can_not_hold_all_connections(start_relay: StartRelay, topic: str) -> None:
    relay = start_relay(waiters_per_topic=2, hold_s=(3.0, 3.0))
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(relay.wait, topic, 0) for _ in range(2)]
        relay.until_waiting(topic, 2)
        refused = httpx.get(f"{relay.url}/agent/v1/wait", params={"since": "0", "ticket": relay.ticket(topic)})
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_waiters")
        assert refused.headers["retry-after"] == "5"
        touch(topic)
        assert all(reply.result() for reply in waiting)


def test_a_dead_redis_answers_its_waiters_and_comes_back_by_itself(
    start_relay: StartRelay, mortal_redis: MortalRedis
) -> None:
    relay = start_relay(redis_url=mortal_redis.url)
    mortal_redis.client.set("wake:host:a", 5)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(relay.wait, "host:a", 5)
        relay.until_waiting("host:a")
        mortal_redis.kill()
        assert waiting.result() == 5  # long before its 20 s are over, or `wait` would have raised
    assert not relay.switchboard.listening
    began = time.monotonic()
    assert relay.wait("host:a", since=5) == 5
    assert time.monotonic() - began > 1, "without Redis a wait must not become a hot loop"
    mortal_redis.start()
    wait_until(lambda: relay.switchboard.listening)
    mortal_redis.client.incr("wake:host:a")
    assert relay.wait("host:a", since=5) == 6


def test_a_slow_redis_is_waited_for(start_relay: StartRelay, mortal_redis: MortalRedis) -> None:
    """Taking slowness for absence would send all agents to the control plane, again and again, when it is busiest."""
    relay = start_relay(redis_url=mortal_redis.url)
    mortal_redis.client.set("wake:host:a", 7)
    mortal_redis.client.client_pause(3_000, all=True)  # milliseconds
    assert relay.wait("host:a", since=5) == 7
    assert relay.switchboard.listening


def test_the_relay_starts_before_redis_does(start_relay: StartRelay, mortal_redis: MortalRedis) -> None:
    mortal_redis.kill()
    relay = start_relay(redis_url=mortal_redis.url, listening=False)
    assert httpx.get(f"{relay.url}/healthz").json() == {
        **{"status": "ok", "redis": False, "waiters": 0},
        **{"links": 0, "tunnels": 0},
    }
    mortal_redis.start()
    wait_until(lambda: relay.switchboard.listening)
    mortal_redis.client.set("wake:host:a", 3)
    assert relay.wait("host:a", since=0) == 3


def test_a_redis_that_resets_who_comes_does_not_end_the_listening(
    start_relay: StartRelay, mortal_redis: MortalRedis
) -> None:
    """As one that is just dying does: the connection is taken and closed before the relay has said a word."""
    mortal_redis.kill()
    with resetting(mortal_redis.port) as count:
        relay = start_relay(redis_url=mortal_redis.url, listening=False)
        wait_until(lambda: count() >= 5)
        assert not relay.switchboard.listening
    mortal_redis.start()
    wait_until(lambda: relay.switchboard.listening)


def test_a_stranger_s_message_on_a_wake_channel_does_not_end_the_listening(relay: Relay, topic: str) -> None:
    client = redis.Redis.from_url(os.environ["REDIS_URL"])
    client.publish(change_counters.topic_key(topic), "no number")
    client.close()
    wait_until(lambda: relay.switchboard.listening)
    touch(topic)
    # A relay that has to subscribe anew, on a busy machine, answers blindly at first: it must come back by itself.
    wait_until(lambda: relay.wait(topic, since=0) == change_counters.version_of(topic))


def test_unknown_addresses_and_methods_get_a_problem_document(relay: Relay) -> None:
    missing = httpx.get(f"{relay.url}/agent/v1/nothing")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    wrong = httpx.post(f"{relay.url}/agent/v1/wait")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "method_not_allowed")


def test_a_stopping_relay_answers_those_who_wait(relay: Relay, topic: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(relay.wait, topic, 0)
        relay.until_waiting(topic)
        relay.stop()
        assert waiting.result() == 0


def wait_fully(relay: Relay, topic: str, since: int) -> dict[str, object]:
    query = {"since": str(since), "ticket": relay.ticket(topic)}
    answer: dict[str, object] = httpx.get(f"{relay.url}/agent/v1/wait", params=query, timeout=PATIENCE_S).json()
    return answer


def test_who_waits_for_the_next_change_gets_its_slip(relay: Relay, topic: str) -> None:
    touch(topic)
    seen = change_counters.version_of(topic)
    with ThreadPoolExecutor(2) as pool:
        waiting, behind = pool.submit(wait_fully, relay, topic, seen), pool.submit(wait_fully, relay, topic, seen - 1)
        assert behind.result() == {"version": seen}
        relay.until_waiting(topic)
        change_counters._notify_change_now((topic,), {topic: "a slip: {}"})
        assert waiting.result() == {"version": seen + 1, "slip": "a slip: {}"}


def test_a_slip_is_kept_for_nobody(relay: Relay, topic: str) -> None:
    """Who was not waiting at that moment learns of the change alone, and asks."""
    touch(topic)
    seen = change_counters.version_of(topic)
    change_counters._notify_change_now((topic,), {topic: "a slip"})
    assert wait_fully(relay, topic, seen) == {"version": seen + 1}


def test_a_slip_reaches_its_own_topic_only(start_relay: StartRelay, topic: str) -> None:
    relay = start_relay()
    other = f"{topic}0"
    touch(topic)
    touch(other)
    with ThreadPoolExecutor(2) as pool:
        waits = [pool.submit(wait_fully, relay, name, change_counters.version_of(name)) for name in (topic, other)]
        relay.until_waiting(topic)
        relay.until_waiting(other)
        change_counters._notify_change_now((topic, other), {topic: "a slip"})
        assert ["slip" in wait.result() for wait in waits] == [True, False]


def test_a_stranger_s_slip_does_not_end_the_listening(relay: Relay, topic: str) -> None:
    other_client = redis.Redis.from_url(os.environ["REDIS_URL"])
    other_client.publish(change_counters.early_order_channel(topic), "no version")
    other_client.close()
    touch(topic)
    assert relay.wait(topic, since=0) == change_counters.version_of(topic)

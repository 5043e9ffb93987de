"""Scripts that wait hear what has changed: all of it, or they are told to look."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import redis

from agents.relay import recent_changes
from agents.relay.recent_changes import RecentChanges
from common import change_counters

from .conftest import PATIENCE_S, MortalRedis, Relay

RUNNING, STOPPED = '{"state":"running"}', '{"state":"stopped"}'
StartRelay = Callable[..., Relay]


@pytest.fixture
def person(topic: str) -> str:
    return topic.removeprefix("host:")


def tell(person: str, *news: str) -> None:
    """One change for each; "" is one that nothing is told of."""
    for each in news:
        change_counters._notify_change_now((f"user:{person}",), {f"user:{person}": each})


def listen(relay: Relay, person: str, since: int, kind: str = "news", **only: Any) -> Any:
    query = {"since": str(since), "ticket": relay.ticket(f"{kind}:{person}"), **only}
    return httpx.get(f"{relay.url}/relay/v1/wait", params=query, timeout=PATIENCE_S).json()


def test_who_waits_hears_what_it_was(relay: Relay, person: str) -> None:
    tell(person, "")
    seen = listen(relay, person, 0)["version"]
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(listen, relay, person, seen)
        relay.until_waiting(f"user:{person}")
        tell(person, RUNNING)
        assert waiting.result() == {"version": seen + 1, "changes": [{"state": "running"}]}


def test_who_comes_a_moment_later_hears_all_of_it_in_order(relay: Relay, person: str) -> None:
    tell(person, "")
    seen = listen(relay, person, 0)["version"]
    tell(person, RUNNING, "", STOPPED)
    assert listen(relay, person, seen) == {"version": seen + 3, "changes": [{"state": "running"}, {"state": "stopped"}]}
    assert listen(relay, person, seen + 1) == {"version": seen + 3, "changes": [{"state": "stopped"}]}


def of(instance: str, state: str) -> str:
    return f'{{"instance":"{instance}","state":"{state}"}}'


def test_a_script_may_wait_for_one_instance_to_reach_a_state(relay: Relay, person: str) -> None:
    tell(person, "")
    seen = listen(relay, person, 0)["version"]
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(listen, relay, person, seen, instance="a", state=["running", "failed"])
        relay.until_waiting(f"user:{person}")
        tell(person, of("a", "provisioning"), of("b", "running"), "", of("a", "running"))
        assert waiting.result() == {"version": seen + 4, "changes": [{"instance": "a", "state": "running"}]}
    assert listen(relay, person, seen, instance="b") == {
        "version": seen + 4,
        "changes": [{"instance": "b", "state": "running"}],
    }
    assert [each["instance"] for each in listen(relay, person, seen, state="running")["changes"]] == ["b", "a"]


def test_what_is_not_known_ends_the_wait_for_a_state_too(start_relay: StartRelay, person: str) -> None:
    relay = start_relay(hold_s=(0.2, 0.2))
    tell(person, "")
    seen = listen(relay, person, 0)["version"]
    tell(person, *[of("a", "provisioning")] * (recent_changes.CHANGES + 1))
    assert listen(relay, person, seen, state="running") == {"version": seen + recent_changes.CHANGES + 1}
    assert listen(relay, person, seen + 1, state="running") == {"version": seen + 1}, "the time is over: look"


def test_only_who_may_read_instances_can_wait_for_their_states(relay: Relay, person: str) -> None:
    answer = listen(relay, person, 0, kind="user", state="running")
    assert (answer["status"], answer["code"]) == (403, "no_news")


def test_of_what_came_before_anyone_waited_nothing_is_known(relay: Relay, person: str) -> None:
    tell(person, "")
    seen = change_counters.version_of(f"user:{person}")
    tell(person, RUNNING)
    assert listen(relay, person, seen) == {"version": seen + 1}
    assert listen(relay, person, 0) == {"version": seen + 1}


def test_a_ticket_that_is_not_for_news_hears_none(relay: Relay, person: str) -> None:
    tell(person, "")
    seen = listen(relay, person, 0)["version"]
    tell(person, RUNNING)
    assert listen(relay, person, seen, kind="user") == {"version": seen + 1}


def test_what_no_script_waited_for_is_not_remembered(relay: Relay, person: str) -> None:
    """A page's stream and an agent's wait begin no memory: a slip of a host has its instance's secrets."""
    tell(person, "")
    seen = listen(relay, person, 0, kind="user")["version"]
    tell(person, RUNNING)
    assert listen(relay, person, seen) == {"version": seen + 1}


def test_more_than_is_remembered_is_told_by_the_version_alone(relay: Relay, person: str) -> None:
    tell(person, "")
    seen = listen(relay, person, 0)["version"]
    tell(person, *[RUNNING] * (recent_changes.CHANGES + 1))
    newest = seen + recent_changes.CHANGES + 1
    assert listen(relay, person, seen) == {"version": newest}
    assert len(listen(relay, person, seen + 1)["changes"]) == recent_changes.CHANGES


def test_news_that_are_none_are_left_out(relay: Relay, person: str) -> None:
    tell(person, "")
    seen = listen(relay, person, 0)["version"]
    tell(person, "no JSON", "7", RUNNING)
    assert listen(relay, person, seen) == {"version": seen + 3, "changes": [{"state": "running"}]}


def test_a_redis_that_was_away_leaves_no_old_news(start_relay: StartRelay, mortal_redis: MortalRedis, person: str) -> None:
    relay = start_relay(redis_url=mortal_redis.url)
    own = redis.Redis.from_url(mortal_redis.url)
    topic = f"user:{person}"
    own.eval(*change_counters.touch_command(topic))
    seen = listen(relay, person, 0)["version"]
    own.eval(*change_counters.touch_command(topic, RUNNING))
    assert listen(relay, person, seen)["changes"] == [{"state": "running"}]
    own.close()
    mortal_redis.kill()
    assert "changes" not in listen(relay, person, seen)


def test_an_agent_s_ticket_is_for_no_news(relay: Relay, person: str) -> None:
    for kind, place in (("host", "/relay/v1/wait"), ("news", "/agent/v1/wait"), ("news", "/relay/v1/events")):
        query = {"since": "0", "ticket": relay.ticket(f"{kind}:{person}")}
        reply = httpx.get(f"{relay.url}{place}", params=query, timeout=PATIENCE_S)
        assert (reply.status_code, reply.json()["code"]) == (403, "wrong_topic")


def test_the_topic_that_was_waited_for_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_changes, "TOPICS", 2)
    known = RecentChanges()
    for topic in ("a", "b", "a", "c"):
        known.subscribe(topic)
    for topic in "abc":
        known.record(topic, 1, "news")
    assert [known.between(topic, 0, 1) for topic in "abc"] == [("news",), None, ("news",)]


def test_a_gap_is_no_answer() -> None:
    known = RecentChanges()
    known.subscribe("a")
    known.record("a", 1, "first")
    known.record("a", 3, "third")
    assert known.between("a", 0, 3) is None
    assert known.between("a", 2, 3) == ("third",)
    assert known.between("a", 3, 3) is None

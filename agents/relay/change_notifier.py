"""Requests that wait for a topic, and the one Redis subscription that ends their wait."""

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from agents.relay.recent_changes import RecentChanges
from agents.relay.ticket_checks import ENDED, ENDED_PREFIX, RevokedHosts, TicketChecker

logger = logging.getLogger("berth.relay")

KEY_PREFIX = "wake:"
PAYLOAD_PREFIX = "slip:"  # content of the change, published just before the counter
# Long, so that a busy event loop does not mistake its own delay for a dead Redis. A killed Redis resets its connections
# and is noticed at once; only a hanging one is noticed after this time.
REDIS_TIMEOUT_S = 10.0
QUIET_S = 10.0  # a quiet subscription is pinged after this time, and given up after twice as long
BACKOFF_S = (0.1, 5.0)  # first and longest pause between attempts to reach Redis, in seconds
# uvloop raises RuntimeError if a connection closes between accept and its first data ("the handler is closed"); a
# message that is no number raises ValueError. Neither may end the subscription: without it the relay would merely look
# idle.
REDIS_FAULTS = (RedisError, OSError, RuntimeError, ValueError)

# Without Redis, agents sync by themselves, but neither all at once nor in a hot loop: a wait then lasts 2 to 5 s, or
# longer if more than this many agents a second would return. Requests that wait when Redis is lost are answered at
# twice that rate.
BLIND_HOLD_S = (2.0, 5.0)
BLIND_ANSWERS_PER_S = 500


NewsFilter = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Change:
    """Outcome of a wait.

    `version` is the topic's counter, or None if it is unknown. `slip` is the content of exactly this change, if it
    had one. `news` are the contents of all changes since the version that the waiter had seen, or None if they are
    not all known.
    """

    version: int | None
    slip: str = ""
    news: tuple[str, ...] | None = None


class LongPoll:
    """One waiting request: the counter it has seen, the future that ends its wait, and which news end it."""

    __slots__ = ("future", "since", "wanted")

    def __init__(self, since: int, future: "asyncio.Future[Change]", wanted: NewsFilter | None = None) -> None:
        self.since = since
        self.future = future
        self.wanted = wanted

    def answer(self, version: int | None, slip: str = "", news: tuple[str, ...] | None = None) -> None:
        if not self.future.done():
            self.future.set_result(Change(version, slip, news))


class ChangeNotifier:
    """Waiting requests by topic.

    One connection subscribes to every `wake:*` channel, another reads counters in batches. No wake-up can be lost
    while Redis answers: the subscription exists before a waiter is added, and the waiter's counter is compared only
    after it was added. When the subscription breaks, all waiting requests are answered.
    """

    def __init__(self, redis_url: str, ticket_checker: TicketChecker | None = None) -> None:
        self._ticket_checker = ticket_checker or TicketChecker("")
        self._redis = Redis.from_url(
            redis_url,
            protocol=2,
            max_connections=2,
            socket_timeout=REDIS_TIMEOUT_S,
            socket_connect_timeout=REDIS_TIMEOUT_S,
            # The library's own reconnection would hide that messages were lost in between.
            retry=Retry(NoBackoff(), 0),
        )
        self._waiters: defaultdict[str, set[LongPoll]] = defaultdict(set)
        self._recent = RecentChanges()
        self._number = 0
        self._questions: list[tuple[str, LongPoll]] = []
        self._reader: asyncio.Task[None] | None = None
        self._listener: asyncio.Task[None] | None = None
        self.listening = False
        self.closing = False
        self.ended = RevokedHosts()
        self.cut: Callable[[str], None] = lambda host: None  # closes what a revoked host holds open

    def __len__(self) -> int:
        return self._number

    async def start(self) -> None:
        self._listener = asyncio.create_task(self._keep_listening())

    async def stop(self) -> None:
        self.close()
        for task in (self._listener, self._reader):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        await self._redis.aclose()

    def close(self) -> None:
        """Answer all waiting requests, and every later one at once: the program is about to end."""
        self.closing = True
        for waiter in self._all():
            waiter.answer(waiter.since)

    def count(self, topic: str) -> int:
        return len(self._waiters.get(topic, ()))

    @property
    def has_compared(self) -> bool:
        """Return whether no counter is waiting to be compared."""
        return self._reader is None or self._reader.done()

    async def wait(
        self, topic: str, *, since: int, hold_s: float, keep_news: bool = False, wanted: NewsFilter | None = None
    ) -> Change:
        """Return the topic's counter as soon as it differs from `since`; `since` itself after `hold_s`.

        The version is None if Redis is or becomes unreachable: whether something changed is then unknown, and the
        caller should look. With `keep_news`, the contents of this topic's changes are kept from now on, as news for
        its next waiter. `wanted` then selects the news that end the wait; a change whose news are not known ends it
        too.
        """
        if self.closing:
            return Change(since)
        if keep_news:
            self._recent.subscribe(topic)
        waiter = self._add(topic, LongPoll(since, asyncio.get_running_loop().create_future(), wanted))
        outcome: int | None = since
        if self.listening:
            self._queue_comparison(topic, waiter)
        else:
            hold_s, outcome = min(hold_s, self._blind_hold()), None
        timer = asyncio.get_running_loop().call_later(hold_s, waiter.answer, outcome)
        try:
            return await waiter.future
        finally:
            timer.cancel()
            self._remove(topic, waiter)

    def _add(self, topic: str, waiter: LongPoll) -> LongPoll:
        self._waiters[topic].add(waiter)
        self._number += 1
        return waiter

    def _remove(self, topic: str, waiter: LongPoll) -> None:
        waiters = self._waiters[topic]
        waiters.discard(waiter)
        self._number -= 1
        if not waiters:
            del self._waiters[topic]

    def _all(self) -> list[LongPoll]:
        return [waiter for waiters in self._waiters.values() for waiter in waiters]

    def _blind_hold(self) -> float:
        shortest, longest = BLIND_HOLD_S
        return random.uniform(shortest, max(longest, self._number / BLIND_ANSWERS_PER_S))  # noqa: S311 it spreads load

    def _queue_comparison(self, topic: str, waiter: LongPoll) -> None:
        """Queue a comparison of the topic's counter; one query compares all that are queued."""
        self._questions.append((topic, waiter))
        if self._reader is None or self._reader.done():
            self._reader = asyncio.create_task(self._compare_counters())

    async def _compare_counters(self) -> None:
        while self._questions:
            questions, self._questions = self._questions, []
            try:
                values = await self._redis.mget([KEY_PREFIX + topic for topic, _ in questions])
            except REDIS_FAULTS:
                # They wait on. If Redis is gone, the subscription fails as well, and then all are answered.
                self._questions = [question for question in questions + self._questions if not question[1].future.done()]
                await asyncio.sleep(BACKOFF_S[0])
                continue
            for (topic, waiter), value in zip(questions, values, strict=True):
                self._notify(topic, waiter, int(value) if value and value.isdigit() else 0)

    async def _keep_listening(self) -> None:
        pause = BACKOFF_S[0]
        while True:
            try:
                async with self._redis.pubsub() as subscription:
                    await self._subscribe(subscription)
                    pause = BACKOFF_S[0]
                    await self._dispatch(subscription)
            except REDIS_FAULTS as error:
                self._on_redis_lost(error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, BACKOFF_S[1])

    async def _subscribe(self, subscription: PubSub) -> None:
        await subscription.psubscribe(f"{KEY_PREFIX}*", f"{PAYLOAD_PREFIX}*", ENDED, f"{ENDED_PREFIX}*")
        if await subscription.get_message(timeout=REDIS_TIMEOUT_S) is None:
            raise RedisError("Redis did not confirm the subscription.")
        # After subscribing, so that none is missed.
        ended: Any = await self._redis.zrange(ENDED, 0, -1, withscores=True)
        self._ticket_checker.add_revocations({name.decode(): int(until) for name, until in ended})
        async for key in self._redis.scan_iter(f"{ENDED_PREFIX}*"):  # including those that were never received as a message
            words = await self._redis.get(key)
            self._end(key.decode(), words if isinstance(words, bytes) else b"")
        self.listening = True
        logger.info("listening to Redis")

    async def _dispatch(self, subscription: PubSub) -> None:
        is_waiting = False
        while True:
            message = await subscription.get_message(timeout=QUIET_S)
            if message is None:
                if is_waiting:
                    raise RedisError("Redis gave no sign of life.")
                await subscription.ping()
                is_waiting = True
                continue
            is_waiting = False
            if message["type"] == "pmessage":
                self._deliver(message["channel"].decode(), message["data"])

    def _deliver(self, channel: str, content: bytes) -> None:
        if channel == ENDED:
            until, _, name = content.decode(errors="replace").partition(" ")
            if until.isdecimal():
                self._ticket_checker.learn(name, int(until))
        elif channel.startswith(PAYLOAD_PREFIX):
            version, _, slip = content.decode(errors="replace").partition(" ")
            if version.isdecimal():  # only a hint: a malformed one must not cost the others their wake-ups
                self._deliver_payload(channel[len(PAYLOAD_PREFIX) :], int(version), slip)
        elif channel.startswith(ENDED_PREFIX):
            self._end(channel, content)
        else:
            self._wake(channel[len(KEY_PREFIX) :], int(content))

    def _end(self, channel: str, content: bytes) -> None:
        topic = channel[len(ENDED_PREFIX) :]
        host = self.ended.record(topic, content.decode(errors="replace"))
        if host:
            for waiter in self._waiters.get(topic, ()):
                waiter.answer(waiter.since)
            self.cut(host)

    def _deliver_payload(self, topic: str, version: int, slip: str) -> None:
        """Answer the waiters that lack only this change; the counter wakes the others for a whole sync."""
        self._recent.record(topic, version, slip)
        for waiter in self._waiters.get(topic, ()):
            if waiter.since == version - 1:
                self._notify(topic, waiter, version, slip)

    def _wake(self, topic: str, version: int) -> None:
        self._recent.record(topic, version)
        for waiter in self._waiters.get(topic, ()):
            self._notify(topic, waiter, version)

    def _notify(self, topic: str, waiter: LongPoll, version: int, slip: str = "") -> None:
        # A waiter that has seen this version already arrived after the change; the message of Redis was only slower.
        if waiter.since == version:
            return
        news = self._recent.between(topic, waiter.since, version)
        if waiter.wanted is None or news is None or any(map(waiter.wanted, news)):
            waiter.answer(version, slip, news)

    def _on_redis_lost(self, error: Exception) -> None:
        if not self.listening:
            return
        self.listening = False
        self._ticket_checker.lose()
        self._recent.forget()
        logger.warning("Redis is lost (%s): answering %d waiters", error, len(self))
        loop, spread_s = asyncio.get_running_loop(), max(1.0, self._number / BLIND_ANSWERS_PER_S / 2)
        for waiter in self._all():
            loop.call_later(random.uniform(0, spread_s), waiter.answer, None)  # noqa: S311 it spreads load

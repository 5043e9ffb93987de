"""Waiting for something to change: the market wakes us, and where it can't, we ask less and less often."""

import time
from collections.abc import Callable, Collection
from typing import Any, Final, Protocol, TypeVar

import msgspec

from berth import errors
from berth._core.calls import Call, Pause
from berth._core.wire import Script, Site, exchange

T = TypeVar("T")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 5.0
HOLD_S: Final = 40.0  # the market answers after 20 to 30 s even if nothing changes
ENDINGS: Final = frozenset({"failed", "gone"})


class _Live(msgspec.Struct):
    wait_url: str


class _Woken(msgspec.Struct):
    version: int


class InstanceState(Protocol):
    """What is known of an instance while one waits for it."""

    @property
    def id(self) -> str: ...

    @property
    def state(self) -> str: ...

    @property
    def desired(self) -> str: ...


I = TypeVar("I", bound=InstanceState)  # noqa: E741 an instance


class ChangeWaiter:
    """The market's wake-ups (`GET /live`), or pauses that grow where they don't work."""

    def __init__(self, site: Site, *, about: str = "") -> None:
        self._site, self._about = site, about
        self._address = ""
        self._version = 0
        self._silent_until = 0.0
        self._pause = FIRST_PAUSE_S

    def wait(self, longest: float) -> Script[None]:
        """Return after the next change, or after a while."""
        if time.monotonic() < self._silent_until:
            yield from self._rest(longest)
            return
        try:
            if not self._address:
                live = yield from exchange(Call("GET", "/api/v1/live", _Live), self._site)
                self._address = live.wait_url
            woken = yield from exchange(self._call(longest), self._site)
        except errors.BerthError:
            self._address, self._silent_until = "", time.monotonic() + LONGEST_PAUSE_S * 2
            yield from self._rest(longest)
            return
        self._pause = FIRST_PAUSE_S
        if woken.version == self._version == 0:
            yield from self._rest(longest)  # a relay that answers nothing new at once must not be asked in a circle
        self._version = woken.version

    def _call(self, longest: float) -> Call[_Woken]:
        joint = "&" if "?" in self._address else "?"
        about = f"&instance={self._about}" if self._about and self._version else ""
        path = f"{self._address}{joint}since={self._version}{about}"
        return Call("GET", path, _Woken, timeout=min(HOLD_S, longest + 1), anonymous=True)

    def _rest(self, longest: float) -> Script[None]:
        yield Pause(min(self._pause, max(0.0, longest)))
        self._pause = min(LONGEST_PAUSE_S, self._pause * 1.6)


def until(
    site: Site,
    call: Call[T],
    done: Callable[[T], bool],
    *,
    timeout: float,
    about: str = "",
    seen: Callable[[T], None] | None = None,
) -> Script[T]:
    """Ask until `done` says so, woken by the market; `seen` is told of each answer.

    Raises:
        WaitTimeout: it didn't become true in time.
    """
    ends, waiter, answered = time.monotonic() + timeout, ChangeWaiter(site, about=about), False
    while True:
        try:
            answer = yield from exchange(call, site)
        except (errors.ConnectionFailed, errors.ServerError, errors.TooManyRequests):
            if not answered or time.monotonic() >= ends:
                raise
            yield Pause(LONGEST_PAUSE_S)  # a market that is away for a while doesn't end the wait
            continue
        answered = True
        if seen is not None:
            seen(answer)
        if done(answer):
            return answer
        left = ends - time.monotonic()
        if left <= 0:
            raise errors.WaitTimeout(f"Waited {timeout:.0f} s in vain.", answer)
        yield from waiter.wait(left)


def until_state(
    site: Site,
    call: Call[I],
    states: Collection[str],
    *,
    timeout: float,
    seen: Callable[[I], None] | None = None,
) -> Script[I]:
    """Wait until an instance is in one of the states.

    Raises:
        WaitFailed: it can't come to any of them.
        WaitTimeout: it didn't in time.
    """

    def done(instance: I) -> bool:
        if instance.state in states:
            return True
        if instance.state in ENDINGS or _is_final_elsewhere(instance, states):
            why = _failure(instance)
            text = f"{instance.id} is {instance.state}, not {' or '.join(sorted(states))}{why}"
            raise errors.WaitFailed(text, instance)
        return False

    about = call.path.rpartition("/")[2]
    return (yield from until(site, call, done, timeout=timeout, about=about, seen=seen))


def _is_final_elsewhere(instance: InstanceState, states: Collection[str]) -> bool:
    """Return whether it stays where it is: stopped, and nobody has asked for anything else."""
    return instance.state == "stopped" and instance.desired == "stopped" and "gone" not in states


def _failure(instance: Any) -> str:
    failure = getattr(instance, "failure", None)
    return f": {getattr(failure, 'detail', failure)}" if failure else ""

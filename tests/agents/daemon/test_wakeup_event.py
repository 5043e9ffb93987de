"""The alarm: no ring is lost, soon is soon, and sleep ends by itself."""

import threading
import time

from agents.daemon.lib.sync_primitives import WakeupEvent


def _slept(alarm: WakeupEvent, at_most: float) -> float:
    begun = time.monotonic()
    alarm.sleep(at_most)
    return time.monotonic() - begun


def test_a_ring_before_the_sleep_is_not_lost() -> None:
    alarm = WakeupEvent()
    alarm.ring()
    assert _slept(alarm, 10) < 1
    assert _slept(alarm, 0.05) >= 0.05, "and counts once"


def test_soon_is_not_at_once_and_at_once_is_sooner() -> None:
    alarm = WakeupEvent()
    alarm.ring(0.1)
    assert 0.1 <= _slept(alarm, 10) < 2
    alarm.ring(5)
    threading.Timer(0.05, alarm.ring).start()
    assert _slept(alarm, 10) < 2


def test_no_sleep_for_no_time() -> None:
    assert _slept(WakeupEvent(), 0) < 0.5

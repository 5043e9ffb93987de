"""What instances do by themselves: timers, the week, the stop of what idles; each once, late rather than twice."""

from datetime import datetime, time, timedelta
from typing import Any

import pytest
from django.db.models import F

from accounts.models import User
from common import clock
from common.errors import IllegalTransition, InvalidInput
from instances.core.timer_selectors import idle_stop_times
from instances.errors import Locked
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, InstanceEvent, InstanceSample
from instances.release.services import release_instance
from instances.schedules.recurrence import Entry
from instances.schedules.settings import IdleRule, SettingsChange, Week, change_settings
from instances.schedules.timers import run_due_timers, stop_idle
from marketplace.hosts.heartbeat import mark_silent_hosts
from marketplace.models import Offer
from tests.billing.money import UNIT, grant
from tests.instances.fake_host import FakeHost, order_running, refused, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import assert_all_well, pass_time

# START is Saturday, 2025-03-01 09:30 UTC: 17:30 in Shanghai.
SHANGHAI = "Asia/Shanghai"


def change(renter: User, instance: Instance, **changes: Any) -> Instance:
    return change_settings(renter=renter, instance_id=instance.pk, wanted=SettingsChange(changes))


def week(*entries: tuple[str, tuple[int, ...], str]) -> Week:
    return Week([Entry(action, days, time.fromisoformat(at)) for action, days, at in entries], SHANGHAI)


def events(instance: Instance) -> list[str]:
    return list(InstanceEvent.objects.filter(instance=instance).order_by("pk").values_list("kind", flat=True))


def state(instance: Instance) -> str:
    return reload(instance).state


def beat() -> int:
    return run_due_timers(now=clock.now())


def in_hours(count: float) -> datetime:
    return clock.now() + timedelta(hours=count)


def test_a_timed_stop_happens_once(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    change(rin, instance, stop_at=in_hours(2))
    hours.advance(hours=1, minutes=59)
    assert beat() == 0
    hours.advance(minutes=1)
    assert beat() == 1
    assert (state(instance), reload(instance).timed_stop_at, reload(instance).due_at) == ("stopping", None, None)
    host.settle()
    assert beat() == 0
    start_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    hours.advance(days=1)
    assert (beat(), state(instance)) == (0, "running")
    assert events(instance).count("timed_stop") == 1
    assert_all_well()


def test_a_timed_release_and_the_lock_that_refuses_it(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    change(rin, instance, release_at=in_hours(2))
    change(rin, instance, locked=True)
    with refused(), pytest.raises(Locked):
        release_instance(renter=rin, instance_id=instance.pk)
    assert "release" not in reload(instance).actions
    hours.advance(hours=2)
    assert beat() == 1
    assert (state(instance), reload(instance).timed_release_at) == ("running", None)
    assert events(instance)[-1] == "timed_release_locked"
    with refused(), pytest.raises(InvalidInput, match="release protection"):
        change(rin, instance, release_at=in_hours(2))
    change(rin, instance, locked=False, release_at=in_hours(1))
    hours.advance(hours=1)
    assert beat() == 1
    host.settle()
    assert state(instance) == "gone"
    with refused(), pytest.raises(IllegalTransition):
        change(rin, instance, stop_at=in_hours(1))
    assert_all_well()


def test_a_week_stops_and_starts_in_the_renters_zone(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    change(rin, instance, week=week(("stop", (5,), "18:00"), ("start", (6,), "09:00")))
    assert reload(instance).due_at == in_hours(0.5).replace(microsecond=0, second=0)
    pass_time(host, hours, 1800)
    host.settle()
    assert (state(instance), events(instance)[-2:]) == ("stopped", ["weekly_stop", "stopped"])
    hours.advance(hours=15)
    host.sync()
    assert beat() == 1
    assert state(instance) == "starting"
    assert "weekly_start" in events(instance)
    host.settle()
    assert state(instance) == "running"
    due = reload(instance).due_at
    assert due is not None
    assert (due - clock.now()).days == 6, "the next stop is a week after the last"
    change(rin, instance, week=None)
    assert (reload(instance).weekly, reload(instance).due_at) == ([], None)
    assert_all_well()


def test_a_start_takes_its_turn_in_line_and_the_next_stop_gives_it_up(
    rin: User, bob: User, host: FakeHost, hours: Clock
) -> None:
    grant(bob, 1_000 * UNIT)
    instance = order_running(rin, host)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    order_running(bob, host, gpu_count=4)
    change(rin, instance, week=week(("start", (5,), "18:00"), ("stop", (5,), "20:00")))
    pass_time(host, hours, 1800)
    assert state(instance) == "waiting"
    pass_time(host, hours, 7200)
    assert state(instance) == "stopped"
    assert_all_well()


def test_a_dearer_start_fails_with_its_reason_and_the_next_time_stands(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    change(rin, instance, week=week(("start", (5, 6), "18:00")))
    Offer.objects.filter(pk=host.offer.pk).update(price_micros=F("price_micros") * 2, version=F("version") + 1)
    hours.advance(minutes=30)
    host.sync()
    assert beat() == 1
    assert (state(instance), events(instance)[-1]) == ("stopped", "schedule_failed")
    due = reload(instance).due_at
    assert due is not None
    assert due - clock.now() == timedelta(days=1, microseconds=-clock.now().microsecond)


def test_a_silent_host_is_asked_again_for_a_while(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    change(rin, instance, week=week(("start", (5,), "18:00")))
    hours.advance(minutes=31)
    mark_silent_hosts(now=clock.now())
    assert (beat(), events(instance)[-1]) == (0, "schedule_set")
    hours.advance(minutes=5)
    host.sync()
    assert (beat(), state(instance)) == (1, "starting")


def test_after_an_outage_only_what_came_last_counts(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    change(rin, instance, week=week(("stop", (5,), "18:00"), ("start", (5,), "19:00"), ("stop", (5,), "20:00")))
    hours.advance(hours=3)
    assert (beat(), state(instance)) == (1, "stopping")
    assert events(instance).count("weekly_stop") == 1
    assert "weekly_start" not in events(instance)


def test_what_the_renter_did_since_is_not_undone(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    change(rin, instance, week=week(("stop", (5,), "18:00")))
    hours.advance(minutes=40)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    start_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert (beat(), state(instance)) == (1, "running"), "it was started after that stop had come round"


def test_a_change_of_another_thing_loses_nothing_that_is_due(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = order_running(rin, host)
    change(rin, instance, week=week(("stop", (5,), "18:00")))
    hours.advance(minutes=31)
    change(rin, instance, name="renamed")
    change(rin, instance, stop_at=in_hours(5))
    assert (beat(), state(instance)) == (1, "stopping")


@pytest.mark.parametrize(
    "changes",
    [
        {"stop_at": datetime.fromisoformat("2025-03-01T09:00:00Z")},
        {"stop_at": datetime.fromisoformat("2027-03-01T09:00:00Z")},
        {"week": Week([Entry("stop", (0,), time(8))], "Mars/Olympus")},
        {"week": Week([Entry("stop", (), time(8))], SHANGHAI)},
        {"week": week(("stop", (0, 1), "08:00"), ("start", (1,), "08:00"))},
        {"week": Week([Entry("stop", (0,), time(8))] * 29, SHANGHAI)},
        {"idle": IdleRule(0, 30)},
        {"idle": IdleRule(5, 5)},
        {"idle": IdleRule(5, 721)},
    ],
)
def test_what_cannot_be_is_refused_whole(rin: User, host: FakeHost, changes: dict[str, Any]) -> None:
    instance = order_running(rin, host)
    with refused(), pytest.raises(InvalidInput):
        change(rin, instance, name="new", **changes)
    assert reload(instance).name == "box"


# -- idling


def sample(instance: Instance, *, util: float, sessions: int = 0, minutes: int, every: int = 60) -> None:
    """Samples of the last so many minutes."""
    now = clock.now()
    InstanceSample.objects.bulk_create(
        InstanceSample(
            instance=instance,
            at=now - timedelta(seconds=back),
            **{"cpu_pct": 1, "ram_mb": 1, "disk_mb": 1, "rx_bytes": 0, "tx_bytes": 0, "vram_used_mb": 0},
            gpu_util_pct=util,
            sessions=sessions,
        )
        for back in range(0, minutes * 60, every)
    )


def idles(rin: User, host: FakeHost, hours: Clock) -> Instance:
    """Running for an hour under a rule of 5 % for 30 minutes, set at its start."""
    instance = order_running(rin, host)
    change(rin, instance, idle=IdleRule(5, 30))
    hours.advance(hours=1)
    host.sync()
    return reload(instance)


def test_what_idles_is_stopped_once(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = idles(rin, host, hours)
    sample(instance, util=4.9, minutes=31)
    assert stop_idle(now=clock.now()) == 1
    assert (state(instance), events(instance)[-1]) == ("stopping", "idle_stop")
    assert stop_idle(now=clock.now()) == 0
    host.settle()
    assert state(instance) == "stopped"


def test_work_a_session_silence_and_a_new_rule_keep_it(rin: User, host: FakeHost, hours: Clock) -> None:
    instance = idles(rin, host, hours)
    assert stop_idle(now=clock.now()) == 0, "no sample at all proves nothing"
    sample(instance, util=0, minutes=20)
    assert stop_idle(now=clock.now()) == 0, "ten of the thirty minutes are unknown"
    InstanceSample.objects.all().delete()
    sample(instance, util=0, minutes=31, sessions=1)
    assert stop_idle(now=clock.now()) == 0, "somebody is in it"
    InstanceSample.objects.update(sessions=0)
    InstanceSample.objects.filter(at__lt=clock.now() - timedelta(minutes=10)).update(gpu_util_pct=5)
    assert stop_idle(now=clock.now()) == 0, "it worked ten minutes ago"
    InstanceSample.objects.update(gpu_util_pct=0)
    change(rin, instance, idle=IdleRule(5, 40))
    hours.advance(minutes=39)
    sample(instance, util=0, minutes=39)
    assert stop_idle(now=clock.now()) == 0, "what was before the rule does not count"
    assert idle_stop_times([reload(instance)])[instance.pk] == clock.now() + timedelta(minutes=1)
    hours.advance(minutes=2)
    sample(instance, util=0, minutes=2)
    assert stop_idle(now=clock.now()) == 1

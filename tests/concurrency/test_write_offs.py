"""A write-off against the agent that comes back at the same moment: the first to commit decides, and never both."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest

from accounts.models import User
from common import clock
from common.errors import DomainError, StaleRow
from instances.enforcement.sweeps import compare_leases
from instances.models import Instance
from instances.write_offs.services import settle_write_offs
from marketplace.hosts import write_offs
from marketplace.hosts.hosts import record_report
from marketplace.hosts.offers import check_offers
from marketplace.hosts.write_offs import write_off_host
from marketplace.models import Host, HostWriteOff, Lease
from storage.models import Image
from tests.billing.money import assert_sound, in_parallel
from tests.instances.fake_host import FakeHost, again, order_running
from tests.lock_waits import take_locks_down, wait_until_one_waits_for_us

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 6
REASON = "Nobody has heard of it for a day."


@pytest.fixture
def silent(hana: User, rich: User, image: Image) -> tuple[FakeHost, Instance]:
    return a_silent_host(hana, rich)


def a_silent_host(owner: User, renter: User) -> tuple[FakeHost, Instance]:
    host = FakeHost(owner)
    instance = order_running(renter, host)
    Host.objects.filter(pk=host.host.pk).update(state="silent", last_seen_at=clock.now() - timedelta(hours=2))
    return host, instance


def writes_off(staff: User, host: FakeHost) -> Callable[[], object]:
    return partial(write_off_host, staff=staff, host_id=host.host.pk, reason=REASON, now=clock.now())


def test_fault_025_a_write_off_and_a_report_never_both(rich: User, hana: User, stella: User, image: Image) -> None:
    outcomes: Counter[str] = Counter()
    for _ in range(ROUNDS):
        host, instance = a_silent_host(hana, rich)
        report = host.report()
        results = in_parallel([writes_off(stella, host), partial(host.deliver, report)])
        refusal = next((each for each in results if isinstance(each, DomainError)), None)
        settle_write_offs(now=clock.now())
        state = Host.objects.get(pk=host.host.pk).state
        written = HostWriteOff.objects.filter(pk=host.host.pk).exists()
        assert (state == "retired") == written
        assert (refusal is None) == written
        assert again(instance).state == ("gone" if written else "running")
        assert Lease.objects.filter(holder=instance.pk, released_at=None).count() == (0 if written else 1)
        outcomes[state] += 1
    assert compare_leases() == 0
    assert check_offers(repair=False) == []
    assert_sound()


def raced(monkeypatch: pytest.MonkeyPatch, staff: User, host: FakeHost, *, waited_for: bool) -> tuple[Host, list[object]]:
    """The report comes in after the write-off has judged the host dead, and before it has committed."""
    judge, heard = write_offs.check_dead, []

    def judge_and_hear(row: Host, now: object) -> None:
        judge(row, now)  # type: ignore[arg-type]
        heard.append(True)
        in_background.append(start(partial(host.deliver, host.report())))
        wait_until_one_waits_for_us() if waited_for else in_background[0].result(timeout=30)

    in_background: list[Future[object]] = []
    with ThreadPoolExecutor(1) as pool:

        def start(work: Callable[[], object]) -> Future[object]:
            return pool.submit(lambda: in_parallel([work])[0])

        monkeypatch.setattr(write_offs, "check_dead", judge_and_hear)
        writes_off(staff, host)()
        results = [each.result(timeout=30) for each in in_background]
    assert heard
    return Host.objects.get(pk=host.host.pk), results


def test_a_report_waits_for_the_write_off_and_then_counts_for_nothing(
    monkeypatch: pytest.MonkeyPatch, stella: User, silent: tuple[FakeHost, Instance]
) -> None:
    host, instance = silent
    row, results = raced(monkeypatch, stella, host, waited_for=True)
    assert not any(isinstance(each, Exception) for each in results)
    assert row.state == "retired"
    assert row.last_seen_at < clock.now() - timedelta(hours=1), "the report that came too late was not written down"
    assert not record_report(host_id=row.pk, at=clock.now(), engine_age_s=0.0, agent_version="1")
    settle_write_offs(now=clock.now())
    assert again(instance).state == "gone"


def test_the_lock_matters(monkeypatch: pytest.MonkeyPatch, stella: User, silent: tuple[FakeHost, Instance]) -> None:
    """Control: without it a host is written off although its report has just been taken and committed."""
    host, _instance = silent
    take_locks_down(monkeypatch)
    with pytest.raises(StaleRow):  # the compare-and-swap of its state is what is left between the two
        raced(monkeypatch, stella, host, waited_for=False)

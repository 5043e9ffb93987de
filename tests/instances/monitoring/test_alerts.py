"""Use over time against an oracle; alerts from their cause to mail, webhook, page and end."""

import json
import random
import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from statistics import fmean
from typing import Any

import pytest
import time_machine
from django.test import Client

from accounts.models import User, Webhook, WebhookEvent
from accounts.tokens.services import issue_token
from agents.protocol.messages import GpuSample
from agents.protocol.messages import InstanceSample as Told
from agents.protocol.telemetry_messages import SecondTrace
from common import clock
from common.ids import public_id
from instances.constants import ALERT_QUIET_AFTER
from instances.core.gpu_xid_errors import XIDS, xid_of
from instances.core.observations import ObservedRow
from instances.host_reports.reconcile import observe_report
from instances.lifecycle.stop import stop_instance
from instances.models import Alert, Instance, InstanceEvent, InstanceSample, InstanceUsage
from instances.monitoring.alerts import GpuEventRow, record_gpu_events, update_alerts
from instances.monitoring.mail import queue_alert_mails
from instances.monitoring.rollups import delete_old_samples, roll_up_use
from instances.monitoring.usage_selectors import metrics_of
from instances.states import FaultOf
from instances.volumes.usage import record_disk_usage
from marketplace.hosts.hosts import record_report
from marketplace.models import Incident
from storage.volumes.usage import DiskUseRow
from tests.instances.fake_host import FakeHost, order_running, reload
from tests.instances.fixtures import Clock
from tests.mails import killed_at, sent

GIB = 1024


def api_of(user: User) -> Client:
    _, text = issue_token(user=user, name="t", scopes=["instances:read", "instances:write"])
    return Client(headers={"authorization": f"Bearer {text}"})


def send(client: Client, method: str, path: str, body: object = None) -> Any:
    return client.generic(method, f"/api/v1{path}", json.dumps(body), content_type="application/json")


@pytest.fixture
def running(rin: User, host: FakeHost) -> Instance:
    return reload(order_running(rin, host))


def sample_of(instance: Instance, *, util: int = 50, ram: int = 1000, disk: int = 10, kills: int = 0) -> Told:
    gpus = [GpuSample(uuid, util, 1000, 60, 200) for uuid in instance.gpu_uuids]
    return Told(cpu_pct=100.0, ram_mb=ram, disk_mb=disk, rx_bytes=10, tx_bytes=20, gpus=gpus, oom_kills=kills)


def report(host: FakeHost, instance: Instance, sample: Told) -> None:
    row = ObservedRow(instance.pk, instance.run_generation, "running", gpu_uuids=tuple(instance.gpu_uuids), sample=sample)
    record_report(host_id=host.host.pk, at=clock.now(), engine_age_s=0.0, agent_version="1")
    observe_report(host_id=host.host.pk, rows=[row], absent=(), foreign=(), at=clock.now())


def pass_time(host: FakeHost, instance: Instance, hours: Clock, minutes: int, **use: int) -> None:
    """So many minutes of the same use, with the sweeps that follow it."""
    for _ in range(minutes):
        for _ in range(3):
            hours.advance(seconds=20)
            report(host, instance, sample_of(instance, **use))
        roll_up_use(now=clock.now())
        update_alerts(now=clock.now())


# -- use over time


def test_every_grain_is_what_its_samples_say_however_often_it_was_made(running: Instance, rin: User) -> None:
    """Two days with gaps, rolled up at random moments, twice each time, against means of the samples themselves."""
    chance, begin = random.Random(5), datetime(2026, 3, 1, 22, 10, tzinfo=UTC)
    samples = []
    for number in range(2 * 24 * 60):
        if number % 700 < 600:  # gaps of 100 minutes
            samples.append(
                InstanceSample(
                    instance=running,
                    at=begin + timedelta(seconds=60 * number + chance.randint(0, 59)),
                    cpu_pct=chance.uniform(0, 800),
                    ram_mb=chance.randint(1, 5000),
                    disk_mb=number,
                    rx_bytes=chance.randint(0, 10**10),
                    tx_bytes=1,
                    gpu_util_pct=chance.uniform(0, 100),
                    vram_used_mb=chance.randint(0, 24_000),
                    power_w=chance.randint(0, 400),
                    temperature_c=chance.randint(30, 90),
                )
            )
    end, at = begin + timedelta(days=2), 0
    with time_machine.travel(end, tick=False):
        while at < len(samples):
            size = chance.randint(1, 900)
            InstanceSample.objects.bulk_create(samples[at : at + size])
            at += size
            for _ in range(2):
                roll_up_use(now=end)
        for grain, cut in (("minute", 60), ("hour", 3600), ("day", 86_400)):
            _agrees(InstanceUsage.objects.filter(instance=running, grain=grain), samples, cut)
        daily = list(InstanceUsage.objects.filter(grain="day").order_by("at").values_list("rx_bytes", flat=True))
        assert sum(daily) == sum(sample.rx_bytes for sample in samples)
        assert [point.rx_bytes for point in _month(running, end)] == daily
    delete_old_samples(now=end + timedelta(days=20))
    assert not InstanceSample.objects.exists()
    assert sorted(set(InstanceUsage.objects.values_list("grain", flat=True))) == ["day", "hour"]
    roll_up_use(now=end + timedelta(days=20))
    assert [point.rx_bytes for point in _month(running, end)] == daily


def _month(instance: Instance, end: datetime) -> list[Any]:
    return metrics_of(instance, since=end - timedelta(days=30), until=end, step_s=86_400)


def _agrees(rows: Iterable[InstanceUsage], samples: list[InstanceSample], cut: int) -> None:
    parts: dict[int, list[InstanceSample]] = {}
    for sample in samples:
        parts.setdefault(int(sample.at.timestamp()) // cut, []).append(sample)
    made = {int(row.at.timestamp()) // cut: row for row in rows}
    assert made.keys() == parts.keys()
    for key, part in parts.items():
        row = made[key]
        assert (row.samples, row.rx_bytes) == (len(part), sum(one.rx_bytes for one in part))
        assert row.cpu_pct == pytest.approx(fmean(one.cpu_pct for one in part))
        assert row.ram_mb == pytest.approx(fmean(one.ram_mb for one in part))
        assert row.power_w == pytest.approx(fmean(one.power_w for one in part))
        assert row.gpu_util_pct == pytest.approx(fmean(one.gpu_util_pct for one in part))
        assert row.gpu_util_max_pct == pytest.approx(max(one.gpu_util_pct for one in part))
        assert (row.ram_max_mb, row.disk_mb) == (max(one.ram_mb for one in part), max(one.disk_mb for one in part))
        assert row.temperature_c == max(one.temperature_c for one in part)


def test_metrics_from_seconds_to_days_through_the_api(
    running: Instance, rin: User, host: FakeHost, hours: Clock, client: Client
) -> None:
    api, path = api_of(rin), f"/instances/{public_id('inst', running.pk)}/metrics"
    for number in range(4):
        hours.advance(seconds=20)
        seconds = list(range(20 * number, 20 * number + 20))
        trace = SecondTrace(seconds, [1000] * 20, [300] * 20, [70] * 20, [150] * 20, [2048] * 20)
        report(host, running, Told(**{**vars(sample_of(running)), "trace": trace}))
    latest = clock.now()
    hours.advance(seconds=1)
    fine = send(api, "GET", f"{path}?minutes=5&step=1").json()
    assert fine["made_of"] == "second"
    assert [point["gpu_util_pct"] for point in fine["points"]] == list(range(80))
    assert fine["points"][-1]["at"] == f"{latest:%Y-%m-%dT%H:%M:%SZ}"
    assert fine["gpus"] == [
        {"uuid": running.gpu_uuids[0], "util_pct": 50, "vram_used_mb": 1000, "temperature_c": 60, "power_w": 200}
    ]
    by_report = send(api, "GET", f"{path}?minutes=60").json()
    assert (by_report["step"], by_report["made_of"]) == (20, "sample")
    assert [point["gpu_util_pct"] for point in by_report["points"]] == [9.5, 29.5, 49.5, 69.5], "means of the seconds"
    roll_up_use(now=clock.now())
    assert send(api, "GET", f"{path}?minutes=10080&step=3600").json()["made_of"] == "hour"
    refused = send(api, "GET", f"{path}?minutes=10080&step=1")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "step")
    client.force_login(rin)
    use = f"/instances/{public_id('inst', running.pk)}/use"
    drawn = {key: client.get(f"{use}?range={key}").json() for key in ("10m", "1h", "24h", "1y", "nonsense")}
    assert [drawn[key]["range"] for key in drawn] == ["10m", "1h", "24h", "1y", "1h"]
    assert len(drawn["10m"]["at"]) == 80
    names = [graph["name"] for graph in drawn["1h"]["graphs"]]
    assert names == ["gpu", "vram", "power", "temp", "cpu", "ram", "disk", "net"]
    assert len(drawn["24h"]["graphs"][0]["series"]) == 2


# -- alerts


def test_idle_gpus_from_the_first_mail_to_the_end(
    running: Instance, rin: User, host: FakeHost, hours: Clock, client: Client
) -> None:
    Webhook.objects.create(user=rin, url="https://9.9.9.9/", kinds=["alert.raised", "alert.resolved"], sealed_secret="x")
    pass_time(host, running, hours, 29, util=0)
    assert not Alert.objects.exists()
    pass_time(host, running, hours, 2, util=0)
    alert = Alert.objects.get()
    assert (alert.kind, alert.facts["minutes"]) == ("gpu_idle", 30)
    assert queue_alert_mails(now=clock.now()) == 1
    assert queue_alert_mails(now=clock.now()) == 0
    [message] = sent()
    assert "30 minutes" in message.body and "3.60" in message.body
    client.force_login(rin)
    page = client.get(f"/instances/{public_id('inst', running.pk)}").content.decode()
    assert "GPUs are idle" in page
    assert "GPUs are idle" in client.get("/console/banners").content.decode()
    on_page = {"HX-Current-URL": "http://testserver/activity"}
    assert "GPUs are idle" not in client.get("/console/banners", headers=on_page).content.decode()
    hours.advance(minutes=10)  # its host is silent: nothing is over by that
    update_alerts(now=clock.now())
    assert Alert.objects.get().resolved_at is None
    pass_time(host, running, hours, 2, util=80)
    alert.refresh_from_db()
    assert alert.resolution == "over"
    assert list(WebhookEvent.objects.order_by("at").values_list("kind", flat=True)) == ["alert.raised", "alert.resolved"]
    assert set(InstanceEvent.objects.values_list("kind", flat=True)) >= {"alert_gpu_idle", "alert_over"}


def test_mail_about_an_alert_is_lost_with_no_worker_and_not_sent_when_it_is_over(
    running: Instance, rin: User, host: FakeHost, hours: Clock
) -> None:
    pass_time(host, running, hours, 31, util=0)
    with killed_at("instances.monitoring.mail.queue_mail"):
        queue_alert_mails(now=clock.now())
    assert queue_alert_mails(now=clock.now()) == 1
    with killed_at("common.mail.mail.EmailMessage.send"):
        sent()
    pass_time(host, running, hours, 2, util=80)
    assert Alert.objects.get().resolution == "over"
    assert sent() == []


def test_set_aside_muted_and_ended(running: Instance, rin: User, host: FakeHost, hours: Clock, mallory: User) -> None:
    api, other = api_of(rin), api_of(mallory)
    pass_time(host, running, hours, 31, util=1)
    row = send(api, "GET", "/alerts?open=true").json()["results"][0]
    assert (row["kind"], row["fault_of"], row["resolved_at"]) == ("gpu_idle", None, None)
    assert send(other, "POST", f"/alerts/{row['id']}/resolve", {}).status_code == 404
    assert send(api, "POST", f"/alerts/{row['id']}/resolve", {}).json()["resolution"] == "renter"
    pass_time(host, running, hours, 2, util=1)
    assert send(api, "GET", "/alerts?open=true").json()["results"] == [], "set aside for a day"
    rules = f"/instances/{public_id('inst', running.pk)}/alert-rules"
    assert send(api, "PUT", rules, {"muted": ["gpu_idle"]}).json() == {"muted": ["gpu_idle"]}
    Alert.objects.all().delete()
    pass_time(host, running, hours, 2, util=1)
    assert not Alert.objects.exists()
    assert send(api, "PUT", rules, {"muted": []}).status_code == 200
    pass_time(host, running, hours, 2, util=1)
    stop_instance(renter=rin, instance_id=running.pk)
    update_alerts(now=clock.now())
    assert Alert.objects.get().resolution == "ended"


def test_a_full_disk_and_full_memory_do_not_flicker(rin: User, host: FakeHost, hours: Clock, running: Instance) -> None:
    Instance.objects.filter(pk=running.pk).update(data_disk_gb=10)
    limit, now = running.ram_mb, clock.now()
    full = DiskUseRow(running.pk, used_mb=1, total_mb=10_000, inodes_used=95, inodes_total=100)
    record_disk_usage(host_id=host.host.pk, rows=[full], at=now)

    def open_kinds() -> set[str]:
        return set(Alert.objects.filter(resolved_at=None).values_list("kind", flat=True))

    pass_time(host, running, hours, 3, disk=int(8.9 * GIB), ram=int(0.94 * limit))
    assert open_kinds() == {"inodes_full"}
    record_disk_usage(host_id=host.host.pk, rows=[replace(full, inodes_used=10)], at=clock.now())
    pass_time(host, running, hours, 1, disk=int(8.9 * GIB), ram=int(0.94 * limit))
    assert open_kinds() == set()
    pass_time(host, running, hours, 3, disk=int(9.1 * GIB), ram=int(0.96 * limit))
    assert open_kinds() == {"disk_full", "memory_high"}
    pass_time(host, running, hours, 3, disk=int(8.7 * GIB), ram=int(0.90 * limit))
    assert open_kinds() == {"disk_full", "memory_high"}, "lower, but not yet over"
    pass_time(host, running, hours, 3, disk=int(8.4 * GIB), ram=int(0.80 * limit))
    assert open_kinds() == set()
    assert Alert.objects.count() == 3


def test_each_kill_for_lack_of_memory_is_told_of_once(running: Instance, rin: User, host: FakeHost, hours: Clock) -> None:
    pass_time(host, running, hours, 1)
    pass_time(host, running, hours, 2, kills=1)
    alert = Alert.objects.get()
    assert (alert.kind, alert.facts["kills"]) == ("out_of_memory", 1)
    send(api_of(rin), "POST", f"/alerts/{public_id('alrt', alert.pk)}/resolve", {})
    pass_time(host, running, hours, 2, kills=1)
    assert Alert.objects.count() == 1
    pass_time(host, running, hours, 1, kills=3)
    assert Alert.objects.filter(resolved_at=None).get().facts["kills"] == 3
    update_alerts(now=clock.now() + ALERT_QUIET_AFTER + timedelta(minutes=5))
    assert not Alert.objects.filter(resolved_at=None).exists()


def test_fault_050_a_gpus_fault_reaches_who_runs_on_it_with_whose_fault_it_is(
    running: Instance, rin: User, host: FakeHost, hours: Clock, client: Client
) -> None:
    gpu = running.gpu_uuids[0]
    elsewhere = [GpuEventRow("GPU-of-nobody", 31), GpuEventRow(next(iter(_others(host, gpu))), 13)]
    assert record_gpu_events(host_id=host.host.pk, rows=elsewhere, at=clock.now()) == 0
    assert not Incident.objects.exists(), "what programs do is no matter for the staff"
    rows = [GpuEventRow(gpu, 31, 2), GpuEventRow(gpu, 48), GpuEventRow(gpu, 777)]
    assert record_gpu_events(host_id=host.host.pk, rows=rows, at=clock.now()) == 3
    assert record_gpu_events(host_id=host.host.pk, rows=rows[:1], at=clock.now()) == 0
    faults = {alert.facts["xid"]: alert for alert in Alert.objects.all()}
    assert {xid: alert.fault_of for xid, alert in faults.items()} == {31: "renter", 48: "host", 777: "platform"}
    assert faults[31].facts["count"] == 4
    assert Incident.objects.get().kind == "gpu_fault"
    client.force_login(rin)
    page = client.get(f"/instances/{public_id('inst', running.pk)}").content.decode()
    assert "not the host" in page and "This is the host" in page and "show whose fault it is" in page


def _others(host: FakeHost, gpu: str) -> set[str]:
    return {uuid for uuid in host.offer.gpus.values_list("uuid", flat=True)} - {gpu}


def test_fault_050_the_table_of_xids() -> None:
    """Fault 50: what programs cause is never the host's fault, as NVIDIA's own plugin has it."""
    assert all(xid_of(number).fault_of == FaultOf.RENTER for number in (13, 31, 43, 45, 68, 109))
    assert all(xid_of(number).fault_of == FaultOf.HOST for number in (48, 62, 64, 74, 79, 94, 95, 119))
    assert xid_of(4242).fault_of == FaultOf.PLATFORM
    assert all(str(xid.title) and str(xid.advice) for xid in XIDS.values())


# -- everything that happened


def test_activity_by_instance_and_group(  # noqa: PLR0917  (fixtures)
    running: Instance, rin: User, host: FakeHost, hours: Clock, client: Client, mallory: User
) -> None:
    pass_time(host, running, hours, 31, util=0)
    api, instance = api_of(rin), public_id("inst", running.pk)
    kinds = [row["kind"] for row in send(api, "GET", "/events").json()["results"]]
    assert kinds[0] == "alert_gpu_idle" and "rented" in kinds
    alone = send(api, "GET", f"/events?group=alerts&instance={instance}").json()["results"]
    assert [row["group"] for row in alone] == ["alerts"]
    life = send(api, "GET", "/events?group=life").json()["results"]
    assert {"rented", "running"} <= {row["kind"] for row in life} and "alert_gpu_idle" not in {row["kind"] for row in life}
    later = f"{clock.now() + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
    assert send(api, "GET", f"/events?since={later}").json()["results"] == []
    assert send(api, "GET", "/events?group=no").status_code == 400
    assert send(api_of(mallory), "GET", f"/events?instance={instance}").json()["results"] == []
    client.force_login(rin)
    whole = client.get("/activity").content.decode()
    assert "GPUs are idle" in whole and "Rented" in whole
    part = client.get(f"/activity?group=life&instance={instance}", headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part and "Rented" in part
    alert = Alert.objects.get()
    set_aside = client.post(f"/alerts/{public_id('alrt', alert.pk)}/resolve", {"mute": "1"}, headers={"HX-Request": "true"})
    assert (set_aside.status_code, set_aside.headers["HX-Trigger"]) == (204, "changed")
    assert not re.search("GPUs are idle</strong>", client.get("/activity").content.decode())


def test_programs_are_told_of_a_life(rin: User, host: FakeHost, hours: Clock) -> None:
    Webhook.objects.create(user=rin, url="https://9.9.9.9/", sealed_secret="x")
    instance = order_running(rin, host)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    told_kinds = list(WebhookEvent.objects.order_by("at").values_list("kind", "payload__state", "payload__instance"))
    name = public_id("inst", instance.pk)
    assert told_kinds == [("instance.started", "running", name), ("instance.stopped", "stopped", name)]

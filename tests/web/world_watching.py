"""Pictures of watching: a month of use, alerts of each kind, webhooks with a log."""

import math
from datetime import timedelta

from accounts.models import User, Webhook, WebhookDelivery, WebhookEvent
from accounts.webhooks.settings import add_webhook, send_test
from common import clock
from common.ids import public_id
from instances.models import Alert, Instance, InstanceSample, InstanceTrace, InstanceUsage
from instances.monitoring.rollups import roll_up_use
from tests.web.world import World


def watching_pages(world: World) -> dict[str, tuple[str, str]]:
    """Name → (who, path)."""
    alice, instance = User.objects.get(email="alice@example.com"), world.instances["running"]
    Instance.objects.filter(pk=instance.pk).update(data_disk_gb=50)
    a_month_of_use(instance)
    for kind, key, facts in (
        ("gpu_idle", "", {"minutes": 30, "rate_micros": 460_000, "most_pct": 0.4}),
        ("gpu_fault", "79", {"xid": 79, "gpu": "GPU-0194d2aa-7a5b-7c9e-8e53-5d0c6cbb7d11", "count": 1}),
        ("gpu_fault", "31", {"xid": 31, "gpu": "GPU-0194d2aa-7a5b-7c9e-8e53-5d0c6cbb7d11", "count": 3}),
        ("memory_high", "", {"percent": 97, "used_mb": 60_000, "limit_mb": 62_000}),
    ):
        Alert.objects.create(instance=instance, kind=kind, key=key, facts=facts)
    hook, _ = add_webhook(user=alice, url="https://9.9.9.9/berth/events?team=vision-lab", description="Pager of the lab")
    add_webhook(user=alice, url="https://9.9.9.10/", kinds=["instance.failed", "alert.raised"])
    Webhook.objects.filter(pk=hook.pk).update(failing_since=clock.now() - timedelta(hours=3))
    a_log(alice, hook)
    send_test(user=alice, webhook_id=hook.pk)
    return {
        "activity": ("alice", "/activity"),
        "activity-empty": ("hana", "/activity"),
        "webhooks": ("alice", "/settings/webhooks"),
        "webhooks-empty": ("hana", "/settings/webhooks"),
        "webhook": ("alice", f"/settings/webhooks/{public_id('hook', hook.pk)}"),
        "docs-webhooks": ("", "/docs/webhooks"),
    }


def a_month_of_use(instance: Instance) -> None:
    now = clock.now()
    samples, uuids = [], instance.gpu_uuids or ["GPU-0", "GPU-1"]
    for number in range(2, 360):
        load = 0.5 + 0.4 * math.sin(number / 25)
        samples.append(
            InstanceSample(
                instance=instance,
                at=now - timedelta(seconds=20 * number),
                cpu_pct=300 * load,
                ram_mb=int(20_000 * load),
                disk_mb=12_000,
                rx_bytes=int(10**6 * load),
                tx_bytes=int(10**5 * load),
                gpu_util_pct=100 * load,
                vram_used_mb=int(20_000 * load),
                power_w=int(100 + 300 * load),
                temperature_c=int(40 + 40 * load),
                gpus=[[uuid, int(100 * load), 10_000, 61, 250] for uuid in uuids],
            )
        )
    InstanceSample.objects.bulk_create(samples)
    seconds = {name: [int(50 + 40 * math.sin(at / 3)) for at in range(20)] for name in ("gpu", "power", "temp", "cpu")}
    seconds |= {"vram": [9000] * 20, "ram": [8000] * 20}
    InstanceTrace.objects.bulk_create(
        InstanceTrace(instance=instance, at=now - timedelta(seconds=20 * number), values=seconds) for number in range(25)
    )
    roll_up_use(now=now)
    hours = [_hour(instance, number) for number in range(3, 700) if number % 100 > 12]
    InstanceUsage.objects.bulk_create(hours, ignore_conflicts=True)


def _hour(instance: Instance, number: int) -> InstanceUsage:
    load = 0.5 + 0.4 * math.sin(number / 40)
    begin = clock.now().replace(minute=0, second=0, microsecond=0)
    return InstanceUsage(
        instance=instance,
        grain="hour",
        at=begin - timedelta(hours=number),
        samples=180,
        cpu_pct=300 * load,
        ram_mb=20_000 * load,
        ram_max_mb=20_000,
        disk_mb=9_000,
        rx_bytes=int(10**9 * load),
        tx_bytes=10**8,
        gpu_util_pct=90 * load,
        gpu_util_max_pct=min(100, 120 * load),
        vram_used_mb=20_000 * load,
        vram_max_mb=20_000,
        power_w=100 + 300 * load,
        temperature_c=int(40 + 40 * load),
    )


def a_log(alice: User, hook: Webhook) -> None:
    """One taken, one on its way to a second attempt, one given up."""
    now = clock.now()
    ok, bad = {"at": f"{now:%Y-%m-%dT%H:%M:%SZ}", "ms": 84}, {"at": f"{now:%Y-%m-%dT%H:%M:%SZ}", "ms": 10_003}
    for kind, fields in (
        ("instance.started", {"delivered_at": now, "status": 204, "tries": [{**ok, "status": 204, "fault": ""}]}),
        ("instance.stopped", {"fault": "timeout", "tries": [{**bad, "status": None, "fault": "timeout"}]}),
        ("alert.raised", {"gave_up_at": now, "status": 503, "fault": "status", "answer": "upstream is down"}),
    ):
        event = WebhookEvent.objects.create(user=alice, kind=kind, payload={"instance": "inst_0194", "name": "train-llama"})
        due = now + timedelta(minutes=5) if "fault" in fields and "gave_up_at" not in fields else None
        WebhookDelivery.objects.create(webhook=hook, event=event, attempts=2, due_at=due, **fields)

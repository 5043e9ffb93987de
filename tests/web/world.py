"""A market with realistic contents, made by the services alone: for screenshots and for clicking through."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import sin
from typing import Any

import time_machine
from allauth.account.models import EmailAddress

from accounts.models import User
from accounts.ssh_keys.services import add_ssh_key
from accounts.tokens.services import issue_token
from billing.ledger.wallets import grant_credit
from billing.metering.settle import extend_holds, settle_meters
from common import clock
from instances.core.observations import ObservedRow
from instances.host_reports.reconcile import observe_report
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, Watch
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from instances.wait_list.entries import EntryOrder
from instances.wait_list.wait_list import cancel_entry, create_entry, serve_entries
from marketplace.hosts.hosts import ReportedGpu, ReportedHost, enrol_host, record_report
from marketplace.hosts.join_tokens import issue_join_token
from marketplace.leasing.availability import refresh_offers_of_host
from marketplace.models import Host, Offer
from tests.host_messages import with_message
from tests.web.self_tests import add_self_tests
from tests.web.trust import add_history

PASSWORD = "correct-horse-battery"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGCqXPQTDcPHQN8I54mzs9YTTn0qPmGQxnqy4Ip3bO5o alice@laptop"
OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIfEkd19TExgZjdNxhRAXXLDfdkTKGQTlJLTaqLYzDnT new@desk"
UNIT = 1_000_000

# name, region, GPU as NVML names it, how many, VRAM in MiB, price, cores, RAM in GiB, simulated
HOSTS = (
    ("lab-03", "eu-west", "NVIDIA GeForce RTX 4090", 8, 24_564, 460_000, 128, 512, False),
    ("lab-07", "eu-west", "NVIDIA GeForce RTX 3090", 4, 24_576, 260_000, 64, 256, False),
    ("hpc-a1", "us-east", "NVIDIA A100-SXM4-80GB", 8, 81_920, 1_380_000, 128, 1024, False),
    ("hpc-h2", "us-east", "NVIDIA H100 80GB HBM3", 8, 81_559, 2_490_000, 192, 2048, False),
    ("sh-gpu-12", "Shanghai", "NVIDIA GeForce RTX 4090", 4, 24_564, 420_000, 64, 256, False),
    ("sh-gpu-15", "Shanghai", "NVIDIA L40S", 4, 46_068, 890_000, 96, 384, False),
    ("attic", "nordics", "NVIDIA GeForce RTX 2080 Ti", 2, 11_264, 110_000, 16, 64, False),
    ("sim-eu-1", "eu-west", "NVIDIA GeForce RTX 4090", 4, 24_564, 300_000, 64, 256, True),
    ("sim-us-2", "us-west", "NVIDIA A100-SXM4-80GB", 8, 81_920, 990_000, 128, 1024, True),
    ("sim-asia-1", "Singapore", "Tesla T4", 4, 15_360, 140_000, 32, 128, True),
)


# What has been measured, and what is known of the past; the other hosts are new.
MEASURED: dict[str, dict[str, Any]] = {
    name: {
        "disk_read_mbps": read,
        "disk_write_mbps": read * 7 // 10,
        "disk_samples": 12,
        "disk_measured_at": clock.now() - timedelta(hours=5),
        "net_up_mbps": net // 2,
        "net_down_mbps": net,
        "net_samples": 31,
        "net_measured_at": clock.now() - timedelta(hours=2),
        "reliability_ppm": ppm,
        "nvlink": "hpc" in name,
    }
    for name, read, net, ppm in (
        ("lab-03", 3_400, 940, 998_700),
        ("hpc-a1", 6_200, 9_400, 999_600),
        ("hpc-h2", 6_800, 9_600, 1_000_000),
        ("sh-gpu-12", 1_900, 480, 971_200),
    )
}


@dataclass(frozen=True)
class GpuUse:
    util_pct: int
    vram_used_mb: int
    uuid: str = "GPU-0"
    temperature_c: int = 64
    power_w: int = 310


@dataclass(frozen=True)
class Use:
    cpu_pct: float
    ram_mb: int
    disk_mb: int
    rx_bytes: int
    tx_bytes: int
    gpus: list[GpuUse] = field(default_factory=list)
    sessions: int = 0
    oom_kills: int = 0
    trace: None = None


@dataclass(frozen=True)
class World:
    alice: User
    hana: User
    hosts: dict[str, Host]
    instances: dict[str, Instance]

    def offer_of(self, host: str) -> Offer:
        return self.hosts[host].offers.get()


def person(email: str, name: str, **rights: object) -> User:
    user = User.objects.create_user(email, PASSWORD, display_name=name, **rights)
    EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
    return user


def add_hosts(owner: User) -> dict[str, Host]:
    hosts = {}
    for number, (name, region, gpu, count, vram, price, cores, ram, simulated) in enumerate(HOSTS):
        _token, secret = issue_join_token(owner=owner, host_name=name, region=region, price_micros=price)
        shape = ReportedHost(
            hostname=name,
            runtime="simulated" if simulated else "docker",
            runtime_version="27.3.1",
            kernel="6.8.0",
            cpu_model="AMD EPYC 7763 64-Core",
            cpu_cores=cores,
            ram_mb=ram * 1024,
            disk_total_gb=4000,
            disk_free_gb=3120,
            disk_kind="nvme",
            driver="560.35.03",
            cuda="12.6",
            gpus=[
                ReportedGpu(
                    uuid=f"GPU-{number:04d}{index:04d}-5f2e-4c1b-9a77-d0c3a1e9b6{index:02d}",
                    name=gpu,
                    vram_mb=vram,
                    index=index,
                )
                for index in range(count)
            ],
            images=["berth/base:1"],
            port_first=40_000,
            port_last=40_999,
            address=f"{name}.example.net",
        )
        hosts[name] = enrol_host(token=secret, shape=shape, agent_version="0.1.0")
    add_self_tests(hosts)
    for name, facts in MEASURED.items():
        Host.objects.filter(name=name).update(**facts)
    terms = {"week": 800, "month": 2_000}
    Offer.objects.filter(host__name__in=MEASURED).update(disk_micros_gb_day=240, reserved_discounts=terms)
    Offer.objects.filter(host__name="lab-03").update(spot_floor_micros=180_000)
    found = {host.name: host for host in Host.objects.all()}
    for host in found.values():
        refresh_offers_of_host(host_id=host.pk)
    return found


def order(renter: User, host: Host, *, gpus: int, name: str) -> Instance:
    quote = create_quote(
        renter=renter, offer_id=host.offers.get().pk, image="berth-base", gpu_count=gpus, data_disk_gb=50, hours=24
    )
    return rent_instance(renter=renter, quote_id=quote.pk, name=name)


def report(instance: Instance, phase: str, **facts: Any) -> None:
    instance.refresh_from_db()
    row = ObservedRow(
        id=instance.pk, generation=instance.run_generation, phase=phase, gpu_uuids=instance.gpu_uuids, **with_message(facts)
    )
    observe_report(host_id=instance.host_id, rows=[row], absent=[], foreign=[], at=clock.now())


def run_for(instance: Instance, *, since: datetime, until: datetime, step: timedelta) -> None:
    """Reports every `step`, with plausible use, and the jobs that a running market does meanwhile."""
    at = since
    while at < until:
        with time_machine.travel(at, tick=False):
            report(instance, "running", sample=_use(instance, at))
            extend_holds(now=at)
        at += step
    with time_machine.travel(until, tick=False):
        settle_meters(now=until)


def _use(instance: Instance, at: datetime) -> Use:
    wave = sin(at.timestamp() / 300)
    gpus = [GpuUse(int(82 + 14 * wave), int(17_500 + 900 * wave)) for _ in instance.gpu_uuids]
    return Use(
        cpu_pct=instance.cpu_millis / 10 * (0.55 + 0.2 * wave),
        ram_mb=int(instance.ram_mb * (0.4 + 0.05 * wave)),
        disk_mb=18_000,
        rx_bytes=int(2_600_000 + 1_900_000 * wave),
        tx_bytes=int(420_000 + 200_000 * wave),
        gpus=gpus,
    )


def add_instances(renter: User, hosts: dict[str, Host], now: datetime) -> dict[str, Instance]:
    made: dict[str, Instance] = {}
    start = now - timedelta(hours=5, minutes=12)
    with time_machine.travel(start, tick=False):
        made["running"] = order(renter, hosts["lab-03"], gpus=2, name="llama-finetune")
        report(made["running"], "pulling", detail="Loading berth/base:1")
    with time_machine.travel(start + timedelta(seconds=40), tick=False):
        report(made["running"], "running")
    run_for(made["running"], since=start + timedelta(seconds=60), until=now, step=timedelta(seconds=60))
    with time_machine.travel(now - timedelta(hours=3), tick=False):
        made["stopped"] = order(renter, hosts["sh-gpu-12"], gpus=1, name="evaluation")
        report(made["stopped"], "running")
    run_for(
        made["stopped"],
        since=now - timedelta(hours=3) + timedelta(seconds=60),
        until=now - timedelta(hours=1, minutes=20),
        step=timedelta(seconds=60),
    )
    with time_machine.travel(now - timedelta(hours=1, minutes=20), tick=False):
        stop_instance(renter=renter, instance_id=made["stopped"].pk)
        report(made["stopped"], "stopped")
    with time_machine.travel(now - timedelta(minutes=9), tick=False):
        made["failed"] = order(renter, hosts["lab-07"], gpus=1, name="vision-baseline")
        report(made["failed"], "failed", failure_code="ssh_silent", detail="No SSH banner within 60 s.")
    with time_machine.travel(now - timedelta(seconds=20), tick=False):
        made["moving"] = order(renter, hosts["hpc-a1"], gpus=4, name="pretrain-7b")
        report(made["moving"], "pulling", detail="Loading berth/base:1: 3 of 7 layers, 412 of 980 MB")
    return made


def add_watches(renter: User) -> None:
    """Places of every kind: waiting to rent and to hear, told, failed, cancelled, expired."""
    order = EntryOrder(image="berth-base", max_price_micros=900_000, data_disk_gb=50, name="night-run")
    create_entry(user=renter, line="gpu=a100 count=8 price<0.90", action="rent", order=order)
    long = "gpu in [h200,b200] region in [eu-west,us-east] vram>=140 verified"
    create_entry(user=renter, line=long, lifetime=timedelta(days=30))
    entry = create_entry(user=renter, line="rtx-3090 price<0.30 not simulated")
    serve_entries(now=clock.now())
    cancelled = create_entry(user=renter, line="gtx-1080-ti")
    cancel_entry(user=renter, watch_id=cancelled.pk)
    assert Watch.objects.get(pk=entry.pk).state == "told"


def keep_alive(hosts: dict[str, Host]) -> None:
    """What each host's agent says every few seconds."""
    for host in hosts.values():
        record_report(host_id=host.pk, at=clock.now(), engine_age_s=0.1, agent_version="0.1.0")


def add_people() -> tuple[User, User]:
    alice = person("alice@example.com", "Alice")
    hana = person("hana@example.com", "Hana", is_host_owner=True)
    person("stella@example.com", "Stella", is_staff=True, is_superuser=True)
    add_ssh_key(user=alice, name="", public_key=KEY)
    issue_token(user=alice, name="notebook", scopes=["instances:read", "instances:write"])
    grant_credit(owner_id=alice.pk, amount_micros=250 * UNIT, actor="staff", key="world", memo="Welcome credit")
    return alice, hana


def build_world(*, with_instances: bool = True) -> World:
    now = clock.now()
    with time_machine.travel(now - timedelta(days=2), tick=False):
        alice, hana = add_people()
        hosts = add_hosts(hana)
    keep_alive(hosts)
    made = add_instances(alice, hosts, now) if with_instances else {}
    add_history(hosts["lab-03"], now)
    if with_instances:
        add_watches(alice)
    keep_alive(hosts)
    return World(alice=alice, hana=hana, hosts=hosts, instances=made)

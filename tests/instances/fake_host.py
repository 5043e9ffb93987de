"""A host without an engine: plays the agent by the rules of `agents.daemon`, straight through the services, no HTTP."""

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction

from accounts.models import User
from common import clock
from common.ids import parse_public_id
from common.messages.message import Message
from common.money import parse_money
from instances.core.observations import ObservedRow
from instances.core.selectors import DesiredRow
from instances.enforcement.silent_hosts import pause_on_silent_hosts
from instances.host_reports.reconcile import observe_report
from instances.models import Instance
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from instances.transfers.selectors import desired_on_host
from marketplace.hosts.hosts import ReportedGpu, ReportedHost, enrol_host, record_report
from marketplace.hosts.join_tokens import issue_join_token
from marketplace.models import Host, Offer
from storage.images.register import register_image
from storage.models import Image
from tests.host_messages import message_of

_numbers = itertools.count()


@contextmanager
def refused() -> Iterator[None]:
    """Around a use case that is to fail in a test that goes on: takes back its work alone, as its own transaction would.

    Tests run inside a transaction that Django marks as a test's; the mark lets a use case be the outermost of its own.
    """
    with marked_block():
        yield


def marked_block() -> transaction.Atomic:
    """A savepoint inside which a use case may believe that it is the outermost."""
    block = transaction.atomic()
    block._from_testcase = True  # type: ignore[attr-defined]  # as django.test.TestCase marks its own
    return block


@dataclass(frozen=True)
class GpuUse:
    """Use of one GPU."""

    util_pct: int = 50
    vram_used_mb: int = 1000
    uuid: str = "GPU-0"
    temperature_c: int = 60
    power_w: int = 300


@dataclass(frozen=True)
class Use:
    """Use of one instance."""

    cpu_pct: float = 150.0
    ram_mb: int = 2048
    disk_mb: int = 100
    rx_bytes: int = 1000
    tx_bytes: int = 2000
    gpus: Sequence[GpuUse] = (GpuUse(40, 1000), GpuUse(60, 3000))
    sessions: int = 0
    oom_kills: int = 0
    trace: None = None


@dataclass
class Box:
    """What the agent remembers of one instance, and its container if there is one."""

    fence: int = 0
    generation: int = 0
    run: str = "running"
    wanted_gpus: tuple[str, ...] = ()
    container: str = ""  # "", "running" or "exited"
    made_for: int = 0
    gpus: tuple[str, ...] = ()
    failed: int = 0
    code: str = ""
    detail: str | Message = ""
    cleared: bool = False
    ran_s: float = 0.0  # of a run that has ended
    cut: str = ""  # why nobody reaches it
    cut_code: str = "path_broken"


@dataclass(frozen=True)
class FakeReport:
    """What one report says."""

    rows: tuple[ObservedRow, ...]
    absent: tuple[UUID, ...]


@dataclass
class FakeHost:
    """One enrolled host. `sync` is one exchange, `work` what the agent does between two."""

    owner: User
    gpus: int = 4
    price: str = "3.60"
    model: str = "NVIDIA GeForce RTX 4090"
    ports: int = 300
    simulated: bool = True
    boxes: dict[UUID, Box] = field(default_factory=dict)

    def __post_init__(self) -> None:
        number = next(_numbers)
        name = f"host-{number}"
        _, token = issue_join_token(owner=self.owner, host_name=name, region="eu", price_micros=parse_money(self.price))
        shape = ReportedHost(
            hostname=name,
            runtime="simulated" if self.simulated else "docker",
            runtime_version="1",
            kernel="6",
            cpu_model="CPU",
            cpu_cores=32,
            ram_mb=131_072,
            disk_total_gb=2000,
            disk_free_gb=1500,
            disk_kind="nvme",
            driver="550.54",
            cuda="12.4",
            gpus=[
                ReportedGpu(f"GPU-{number:04}-{index}", self.model, 24_564, index=index, simulated=self.simulated)
                for index in range(self.gpus)
            ],
            port_first=40_000,
            port_last=40_000 + self.ports - 1,
            address="127.0.0.1",
        )
        self.shape = shape
        self.host = enrol_host(token=token, shape=shape, agent_version="1")
        self.offer = Offer.objects.get(host=self.host)

    def was_there(self) -> None:
        """It has reported all the while, without as many exchanges: what lies there was proven, what runs was not."""
        Host.objects.filter(pk=self.host.pk).update(last_seen_at=clock.now())

    # -- the exchange

    def sync(self) -> list[UUID]:
        """Report what is, take what should be; the strangers that the market names."""
        foreign = self.deliver(self.report())
        self.accept(desired_on_host(self.host.pk))
        return foreign

    def settle(self) -> None:
        """Exchange, work, exchange: what follows one change of the desired state. Without one, the work changes nothing."""
        reported = self.report()
        self.sync()
        self.work()
        if self.report() != reported:
            self.sync()

    def report(self) -> FakeReport:
        rows = [_row(key, box) for key, box in self.boxes.items() if not box.cleared]
        return FakeReport(tuple(rows), tuple(key for key, box in self.boxes.items() if box.cleared))

    def deliver(self, report: FakeReport) -> list[UUID]:
        at = clock.now()
        pause_on_silent_hosts(now=at, host_id=self.host.pk)
        record_report(host_id=self.host.pk, at=at, engine_age_s=0.0, agent_version="1")
        return observe_report(host_id=self.host.pk, rows=report.rows, absent=report.absent, foreign=(), at=at)

    def accept(self, desired: Sequence[DesiredRow]) -> None:
        """Take the desired state over, refusing what is older than anything accepted before."""
        for wanted in desired:
            box = self.boxes.setdefault(wanted.id, Box())
            back = box.run == "gone" and wanted.run != "gone"
            if wanted.fence < box.fence or wanted.generation < box.generation or (back and wanted.fence == box.fence):
                continue
            if back:  # moved away and here again
                box = self.boxes[wanted.id] = Box()
            box.fence, box.generation, box.run = wanted.fence, wanted.generation, wanted.run
            box.wanted_gpus = tuple(wanted.gpu_uuids)
        named = {wanted.id for wanted in desired}
        self.boxes = {key: box for key, box in self.boxes.items() if key in named or not box.cleared}

    # -- the work

    def work(self) -> None:
        """Bring every container to where it should be; what must end ends first, as GPUs are exclusive on a host too."""
        for box in sorted(self.boxes.values(), key=lambda item: item.run == "running"):
            _work_on(box)
        running = [uuid for box in self.boxes.values() if box.container == "running" for uuid in box.gpus]
        assert len(running) == len(set(running)), "two containers with one GPU (I32)"

    def break_next(self, instance: Instance, code: str, detail: str | Message = "") -> None:
        """Its next step fails for good."""
        box = self.boxes[instance.pk]
        box.failed, box.code, box.detail = box.generation, code, detail

    def end(self, instance: Instance, code: str = "exited", *, ran_s: float = 0.0) -> None:
        """Its container ends by itself."""
        box = self.boxes[instance.pk]
        assert box.container == "running"
        box.container, box.code, box.detail, box.ran_s = "exited", code, "It ended with code 1.", ran_s

    def cut_off(
        self, instance: Instance, why: str = "The bridge of its network is down on the host.", code: str = "path_broken"
    ) -> None:
        """Nobody reaches it, until it is said again with nothing."""
        self.boxes[instance.pk].cut, self.boxes[instance.pk].cut_code = why, code

    def pause(self, instance: Instance) -> None:
        """Somebody pauses its container, until `cut_off` is called with nothing."""
        self.cut_off(instance, "The container is paused on the host.", "paused")

    def running(self) -> set[UUID]:
        return {key for key, box in self.boxes.items() if box.container == "running"}


def _work_on(box: Box) -> None:
    if box.run == "gone":
        box.container, box.gpus, box.cleared = "", (), True
    elif box.run == "stopped" or box.failed == box.generation:
        box.container = "exited" if box.container else ""
        box.gpus = ()
    elif box.made_for < box.generation:
        box.container, box.made_for, box.gpus, box.code = "running", box.generation, box.wanted_gpus, ""


def _row(key: UUID, box: Box) -> ObservedRow:
    phase, generation = _phase(box)
    reported = phase in ("failed", "exited")
    if phase == "running" and box.cut:
        return ObservedRow(
            id=key, generation=generation, phase="unknown", detail=message_of(box.cut), failure_code=box.cut_code
        )
    return ObservedRow(
        id=key,
        generation=generation,
        phase=phase,
        gpu_uuids=box.gpus,
        container="c0ffee" if box.container else "",
        run_seconds=box.ran_s if phase == "exited" else 0.0,
        detail=message_of(box.detail) if reported else None,
        failure_code=box.code if reported else "",
    )


def _phase(box: Box) -> tuple[str, int]:
    """As `agents.daemon.reconciler.report_phases` judges."""
    if box.run != "running":
        ending = box.container == "running" or box.run == "gone"
        return ("stopping" if ending else "stopped"), box.generation
    if box.failed == box.generation:
        return "failed", box.generation
    if not box.container:
        return "creating", box.generation
    return box.container, box.made_for


# -- the renter's side


def base_image() -> Image:
    """The official image; tests that truncate tables take the migration's row away."""
    return register_image(
        slug="berth-base", reference="berth/base:1", title="Berth base", has_jupyter=True, has_tensorboard=True
    )


def order(
    renter: User, host: FakeHost, *, gpu_count: int = 1, name: str = "box", mode: str = "hourly", disk: int = 10
) -> Instance:
    """Quote and rent: of terms a day, of bids twice the floor."""
    of_mode: dict[str, dict[str, Any]] = {"reserved": {"term": "day"}, "spot": {"max_price_micros": 2_000_000}}
    quote = create_quote(
        renter=renter,
        offer_id=host.offer.pk,
        image="berth-base",
        gpu_count=gpu_count,
        data_disk_gb=disk,
        billing_mode=mode,
        **of_mode.get(mode, {}),
    )
    return rent_instance(renter=renter, quote_id=quote.pk, name=name)


def order_running(renter: User, host: FakeHost, *, gpu_count: int = 1) -> Instance:
    instance = order(renter, host, gpu_count=gpu_count)
    host.settle()
    return reload(instance)


def reload(instance: Instance) -> Instance:
    """Return the row as it is in the database now."""
    return Instance.objects.select_related("host", "offer", "image").get(pk=instance.pk)


def by_id(text: str) -> Instance:
    return Instance.objects.get(pk=parse_public_id("inst", text))

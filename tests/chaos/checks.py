"""What must hold whatever happens, read past the market: from the engines, the disks and the tables."""

import contextlib
import io
import tarfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from typing import Any, Final

import docker
import requests

from agents.daemon.docker_engine.container_spec import GPUS_LABEL, INSTANCE_LABEL
from tests.chaos.hosts import Host
from tests.stack.harness import Stack

START_CREDIT: Final = 1_000_000_000  # micro-units, as tests/stack/seed.py gives
SLACK_S: Final = 20.0  # of one run: the stop's grace, and how exactly an engine that died tells when its containers ended


@dataclass
class Truth:
    """What the engines said while it went on. `wrong` is what should never be."""

    hosts: list[Host]
    runs: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)  # (container, begin): to its last sight
    owner: dict[str, str] = field(default_factory=dict)  # container: instance
    counted: dict[str, tuple[int, int]] = field(default_factory=dict)  # instance: what its two files had reached
    wrong: list[str] = field(default_factory=list)

    def look(self) -> None:
        """Both engines, as far as they answer."""
        running: dict[str, list[str]] = defaultdict(list)
        for host in self.hosts:
            with contextlib.suppress(docker.errors.DockerException, requests.RequestException, OSError):
                self._look_at(host, running)
        self.wrong += [f"{len(where)} containers of {instance} run" for instance, where in running.items() if len(where) > 1]

    def _look_at(self, host: Host, running: dict[str, list[str]]) -> None:
        gpus: dict[str, str] = {}
        with contextlib.closing(docker.APIClient(base_url=host.engine.socket, version="1.41", timeout=5)) as engine:
            for item in engine.containers(filters={"label": INSTANCE_LABEL}):
                instance = item["Labels"][INSTANCE_LABEL]
                found = engine.inspect_container(item["Id"])
                if not found["State"]["Running"]:
                    continue
                running[instance].append(host.name)
                for gpu in filter(None, item["Labels"].get(GPUS_LABEL, "").split(",")):
                    if gpus.setdefault(gpu, instance) != instance:
                        self.wrong.append(f"{gpu} runs for {gpus[gpu]} and for {instance}")
                self._note(item["Id"], instance, found["State"]["StartedAt"])

    def _note(self, container: str, instance: str, started: str) -> None:
        begin = datetime.fromisoformat(started[:19] + "+00:00").timestamp()
        self.owner[container] = instance
        self.runs[container, str(begin)] = (begin, time.time())

    def ran_s(self, instance: str) -> tuple[float, int]:
        """Seconds, at least, for which the engine was seen to run it, and in how many runs."""
        own = [run for (container, _), run in self.runs.items() if self.owner[container] == instance]
        return sum(last - begin for begin, last in own), len(own)

    def read_witness(self, host: Host, instance: str) -> None:
        """Its counts on root and data disk go on without a gap, from at least where they were seen before."""
        with contextlib.closing(docker.APIClient(base_url=host.engine.socket, version="1.41", timeout=20)) as engine:
            [item] = engine.containers(filters={"label": f"{INSTANCE_LABEL}={instance}"})
            reached = tuple(self._count(engine, item["Id"], path, instance) for path in ("/witness", "/data/witness"))
        before = self.counted.get(instance, (0, 0))
        if any(now < then for now, then in zip(reached, before, strict=True)):
            self.wrong.append(f"{instance} on {host.name} lost data: {before} before, {reached} now")
        self.counted[instance] = (reached[0], reached[1])

    def _count(self, engine: Any, container: str, path: str, instance: str) -> int:
        pieces, _ = engine.get_archive(container, path)
        with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as archive:
            file = archive.extractfile("witness")
            assert file is not None
            numbers = [int(line) for line in file.read().split()]
        if numbers != list(range(1, len(numbers) + 1)):
            self.wrong.append(f"{path} of {instance} has gaps")
        return len(numbers)


def check_money(stack: Stack, truth: Truth, instances: list[str]) -> dict[str, Any]:
    """After everything was given back: the ledger, an independent sum, and no charge for a second that nothing ran."""
    wrong = truth.wrong
    stack.manage("verify_ledger")
    charged = _charged_micros(stack, wrong)
    [[balance]] = stack.sql(
        "SELECT balance_micros FROM billing_wallet w JOIN accounts_user u ON u.id = w.owner_id"
        " WHERE u.email = 'alice@example.com'"
    )
    [[given_back]] = stack.sql(_GIVEN_BACK)
    if START_CREDIT - int(balance) != charged - int(given_back):
        wrong.append(f"the wallet paid {START_CREDIT - int(balance)}, the independent sum is {charged} less {given_back}")
    for what, table in (("a GPU is still leased", "marketplace_lease"), ("money is still held", "billing_hold")):
        if stack.sql(f"SELECT id FROM {table} WHERE released_at IS NULL"):
            wrong.append(what)
    seconds = {str(key): float(value) for key, value in stack.sql(_SECONDS)}
    for instance in instances:
        ran, runs = truth.ran_s(instance)
        if seconds.get(instance, 0.0) > ran + SLACK_S * runs:
            wrong.append(f"{instance} was charged for {seconds[instance]:.0f} s and seen running for {ran:.0f} s")
    ran_all = sum(truth.ran_s(instance)[0] for instance in instances)
    return {
        "charged_micros": charged,
        "given_back_micros": int(given_back),
        "charged_s": round(sum(seconds.values())),
        "ran_s": round(ran_all),
    }


# For the runs that an engine's end cut short: its host's fault.
_GIVEN_BACK: Final = (
    "SELECT coalesce(sum(e.amount_micros), 0)::bigint FROM billing_entry e JOIN billing_posting p ON p.id = e.posting_id"
    " JOIN billing_wallet w ON w.id = e.wallet_id JOIN accounts_user u ON u.id = w.owner_id"
    " WHERE p.kind = 'credit' AND u.email = 'alice@example.com'"
)
_SECONDS: Final = (
    "SELECT replace(m.source_id::text, '-', ''), sum(extract(epoch FROM u.period_to - u.period_from)) FROM billing_usage u"
    " JOIN billing_meter m ON m.id = u.meter_id WHERE m.source_kind = 'instance' AND NOT m.calendar GROUP BY 1"
)


def _charged_micros(stack: Stack, wrong: list[str]) -> int:
    """Each meter by fractions: round(rate × all seconds / 3600) must be the sum of its lines, however they were cut."""
    rows = stack.sql(
        "SELECT m.id::text, u.rate_micros, m.rate_hours, m.base_us,"
        " sum((extract(epoch FROM u.period_to - u.period_from) * 1000000)::bigint)::bigint, sum(u.charge_micros)::bigint"
        " FROM billing_usage u JOIN billing_meter m ON m.id = u.meter_id GROUP BY 1, 2, 3, 4"
    )
    total = 0
    for meter, rate, hours, base, lasted_us, charged in rows:
        per_us = Fraction(int(rate), int(hours) * 3600 * 1_000_000)
        until = round(per_us * (int(base) + int(lasted_us))) - round(per_us * int(base))
        if abs(until - int(charged)) > 1:  # halves may be rounded either way
            wrong.append(f"meter {meter} charged {charged}, {until} by fractions")
        total += int(charged)
    return total

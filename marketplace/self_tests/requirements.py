"""Requirements on a host: for each check of a self-test its limit, the limit's source, and the remedy.

Lowering a limit lets more hosts be verified; `needed` says which checks verification depends on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from marketplace.gpu_catalogue.catalogue import by_slug, nominal_vram_gb

# A GPU's FMA rate against the catalogue's FP32 figure, which holds at boost clock. Our own choice: low-power models
# (T4, L4: 70 W) stay well below their boost clock under full load; a throttled or forged GPU does not reach half.
COMPUTE_SHARE: Final = 0.5
# Drivers reserve memory for error correction, 6 % on the models of the catalogue. Our own choice.
MEMORY_TOLERANCE: Final = 0.10
_MIB_PER_GIB: Final = 1024
FINISHED: Final = "finished"  # reported only if the self-test did not finish
UDP_PORTS: Final = "udp_ports"  # reported by agents that have one to test


@dataclass(frozen=True)
class Requirement:
    """One check.

    `bound` limits its value to `least` or `most` that many `unit`; with `agent`, the agent's verdict counts.
    """

    title: str | Promise
    rule: Literal["least", "most", "agent", "inventory", "memory", "compute", "shown"]
    remedy: str | Promise = ""
    unmeasured: str | Promise = ""  # the remedy where the machine lacks what the measurement needs
    needed: bool = True
    told_since: bool = False  # required only if the agent reports it: older agents cannot
    per_gpu: bool = False
    bound: float = 0.0
    unit: str = ""
    source: str = ""


REQUIREMENTS: Final[dict[str, Requirement]] = {
    "engine_version": Requirement(
        _("Container engine"),
        "agent",
        _("Install a newer Docker Engine, then restart the agent."),
        source="Docker 20.10: control groups v2, and --gpus by UUID.",
    ),
    "kernel": Requirement(
        _("Kernel"),
        "agent",
        _("Upgrade the operating system."),
        source="4.18 (RHEL 8), the oldest that NVIDIA's present drivers are built for.",
    ),
    "root_limit": Requirement(
        _("System disk"),
        "agent",
        _("Use the engine's overlay2 storage driver, and run it in the same mount namespace as the agent."),
        needed=False,
        source="Else one renter can fill the disk of all.",
    ),
    "gpu_present": Requirement(
        _("GPUs present"),
        "inventory",
        _("Check dmesg for Xid errors, reseat the GPU and its power cables, and restart the machine."),
        source="The GPUs that the host enrolled with.",
    ),
    "gpu_exclusive": Requirement(
        _("GPU free of other programs"),
        "agent",
        _("Stop other programs on this GPU (nvidia-smi lists them), and don't run them while the host is listed."),
        per_gpu=True,
        source="A GPU is leased to one holder (docs/locks.md).",
    ),
    "gpu_memory": Requirement(
        _("GPU memory"),
        "memory",
        _(
            "The GPU has less memory than its model should have. Remove it from this host, or report the "
            "error in the catalog."
        ),
        per_gpu=True,
        unit="MiB",
        source="The catalogue's size of the model, less a tenth.",
    ),
    "gpu_compute": Requirement(
        _("GPU performance (FP32)"),
        "compute",
        _("Check for throttling (nvidia-smi -q -d PERFORMANCE): power limit, heat, or a faulty power cable."),
        unmeasured=_("Install the driver's CUDA library (libcuda.so.1). NVML alone can't measure performance."),
        per_gpu=True,
        unit="TFLOPS",
        source="Half of the catalogue's FP32 figure.",
    ),
    "disk_free": Requirement(
        _("Free disk"),
        "least",
        _("Free up disk space in the agent's folder, or move it to a larger disk."),
        bound=50,
        unit="GB",
        source="The data disk that every instance has for free.",
    ),
    "disk_read": Requirement(
        _("Disk reads"),
        "least",
        _("Move the agent's folder to an SSD, and check for other load on this disk (iostat -x 1)."),
        bound=100,
        unit="MB/s",
        source="Our own choice: below a single hard disk.",
    ),
    "disk_write": Requirement(
        _("Disk writes"),
        "least",
        _("Move the agent's folder to an SSD, and check for other load on this disk (iostat -x 1)."),
        bound=100,
        unit="MB/s",
        source="Our own choice: below a single hard disk.",
    ),
    "disk_random_read": Requirement(_("Random disk reads"), "shown", needed=False, unit="IOPS"),
    "disk_random_write": Requirement(_("Random disk writes"), "shown", needed=False, unit="IOPS"),
    "network_up": Requirement(
        _("Network upload"),
        "least",
        _("Check for other traffic, and for a proxy or firewall between this host and Berth."),
        bound=10,
        unit="Mbit/s",
        source="The listing minimum of the largest market of this kind.",
    ),
    "network_down": Requirement(
        _("Network download"),
        "least",
        _("Check for other traffic, and for a proxy or firewall between this host and Berth."),
        bound=10,
        unit="Mbit/s",
        source="The listing minimum of the largest market of this kind.",
    ),
    "ports": Requirement(
        _("Ports reachable from outside"),
        "agent",
        _(
            "Open these TCP ports: in the machine's firewall, in the provider's firewall, and as port "
            "forwards on the router, if any. If that isn't possible, add the machine with --behind-nat; "
            "renters then connect through Berth's relay."
        ),
        source="Renters reach published ports directly; the market's relay dials them as they would.",
        told_since=True,
    ),
    UDP_PORTS: Requirement(
        _("UDP ports reachable from outside"),
        "agent",
        _(
            "Open the same ports for UDP as for TCP: in the machine's firewall, in the provider's firewall, and as "
            "port forwards on the router, if any. Until a self-test reaches them, orders with UDP ports are refused here."
        ),
        needed=False,
        source="Renters reach published UDP ports directly; the market's relay sends datagrams as they would.",
    ),
    "clock": Requirement(
        _("Clock"),
        "most",
        _("Enable NTP time synchronization (timedatectl set-ntp true)."),
        needed=False,
        bound=5,
        unit="s",
        source="Our own choice: certificates and logs; the protocol itself needs no clock.",
    ),
    FINISHED: Requirement(
        _("Self-test completed"), "agent", _("Check the agent's log, fix what is stuck, and run the self-test again.")
    ),
}
_REASONS: Final[dict[str, Promise]] = {
    "in_use": _("Not tested: the GPU is in use by an instance."),
    "not_measurable": _("Can't be measured on this machine."),
    "disk_nearly_full": _("Not tested: the disk is almost full."),
    "refused": _("The speed test wasn't accepted right now."),
    "failed": _("The measurement was interrupted."),
    "out_of_time": _("Timed out."),
}


@dataclass(frozen=True)
class CheckRow:
    """One finding as the agent reports it; see the protocol's Check."""

    id: str
    passed: bool | None = None
    actual: str = ""
    required: str = ""
    remedy: str = ""
    value: float | None = None
    unit: str = ""
    gpu: str = ""
    reason: str = ""
    simulated: bool = False


def evaluated_check(row: CheckRow, *, models: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    """Return the finding with the market's verdict, as it is stored.

    `passed` is null only for what could not be tested. `models` has slug and reported VRAM (MiB) of each GPU of
    the host.
    """
    known = REQUIREMENTS.get(row.id)
    passed, required = _verdict(row, known, models)
    with override("en"):
        remedy = _mends(known, row.reason) or row.remedy
        return {
            "id": row.id,
            "gpu": row.gpu or None,
            "passed": passed,
            "value": row.value,
            "unit": (known.unit if known else "") or row.unit,
            "actual": row.actual,
            "required": required,
            "remedy": "" if passed else remedy,
            "needed": known is not None and known.needed,
            "reason": row.reason if row.reason in _REASONS else "",
            "simulated": row.simulated,
            "as_of": None,
        }


def _verdict(row: CheckRow, known: Requirement | None, models: Mapping[str, tuple[str, int]]) -> tuple[bool | None, str]:
    """Return (passed, requirement); an agent's own failure never becomes a pass."""
    if known is None or known.rule == "agent":
        return row.passed, row.required
    bound, required = _bound(row, known, models)
    if row.passed is False or row.reason or row.value is None:
        return (False if row.passed is False else None), required
    if known.rule == "most":
        return row.value <= bound, required
    if known.rule == "inventory":
        return row.value == bound, required
    return row.value >= bound, required


def _bound(row: CheckRow, known: Requirement, models: Mapping[str, tuple[str, int]]) -> tuple[float, str]:
    slug, vram_mb = models.get(row.gpu, ("", 0))
    if known.rule == "inventory":
        return float(max(1, len(models))), f"{max(1, len(models))}, as enrolled"
    if known.rule == "memory":
        # Of the sizes that the model is built with, never of what the GPU itself reports: this detects a
        # forged name.
        sizes = by_slug(slug).vram_gb or (nominal_vram_gb(slug, vram_mb),)
        nominal_gb = min(sizes, key=lambda size: abs(size * _MIB_PER_GIB - vram_mb))
        least = round(nominal_gb * _MIB_PER_GIB * (1 - MEMORY_TOLERANCE))
        return least, f"at least {least} MiB of {nominal_gb} GB"
    if known.rule == "compute":
        figure = by_slug(slug).fp32_tflops
        if figure is None:
            return 0.0, "no figure in the catalogue"
        return figure * COMPUTE_SHARE, f"at least {figure * COMPUTE_SHARE:g} TFLOPS, half of {figure:g}"
    if known.rule == "shown":
        return 0.0, ""
    return known.bound, f"at {known.rule} {known.bound:g} {known.unit}"


def title_of(check_id: str) -> str:
    """Return a check's title in the reader's language, or its id if this version does not know it."""
    known = REQUIREMENTS.get(check_id)
    return str(known.title) if known else check_id.replace("_", " ")


def remedy_of(check: Mapping[str, Any]) -> str:
    """Return why there is no finding, and the remedy, in the reader's language.

    It is empty where nothing is wrong.
    """
    if check["passed"]:
        return ""
    remedy = _mends(REQUIREMENTS.get(check["id"]), check["reason"]) or str(check["remedy"])
    return " ".join(filter(None, (str(_REASONS.get(check["reason"], "")), remedy)))


def _mends(known: Requirement | None, reason: str) -> str:
    if known is None:
        return ""
    return str(known.unmeasured if known.unmeasured and reason == "not_measurable" else known.remedy)

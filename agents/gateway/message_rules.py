"""Validation rules for every field that an agent may send.

An agent may be hostile, and its texts and figures reach pages, the API and shells. A new field of a message fails
the tests until it has a rule here. Texts for people are limited in length; codes are of closed vocabularies, with
"unknown" for all others; figures must be possible for a real machine.
"""

from typing import Final

from agents.gateway.rule_builders import (
    ADDRESS,
    ANY,
    at_most,
    code,
    equal_lengths,
    matching,
    newest,
    only,
    optional,
    or_empty,
    real,
    text,
    texts,
    vital,
    whole,
    word_list,
)
from agents.protocol.codec import Rule, Rules
from agents.protocol.codes import FAILURES, OPERATION_FAILURES, REASONS
from agents.protocol.launch_messages import StartScript
from agents.protocol.messages import (
    Check,
    DiskUse,
    EnrolRequest,
    GpuFacts,
    GpuSample,
    Holding,
    HostFacts,
    InstanceSample,
    LayerProgress,
    ObservedInstance,
    ObservedOperation,
    Report,
    SelfTestResult,
)
from agents.protocol.progress_messages import Said
from agents.protocol.telemetry_messages import GpuEvent, SecondTrace

UNKNOWN: Final = "unknown"
SENTENCE: Final = 300
_MOST_BYTES: Final = 2**50  # 1 PiB
_MOST_MB: Final = 2**30
_MOST_VRAM_MB: Final = 2**21  # 2 TiB
_MOST_CORES: Final = 4096
_MOST_CPU_PCT: Final = 100 * _MOST_CORES
_MOST_WATT: Final = 10_000
_MOST_CELSIUS: Final = 200
_FASTEST_MBPS: Final = 10_000_000
_YEAR_2100: Final = 4_102_444_800  # in Unix seconds
_CENTURY_S: Final = 3_155_760_000
_DAY_S: Final = 86_400
_WHOLE: Final = 2**53
_TRACED_S: Final = 120
_LARGEST_LOG: Final = 2 * 1024 * 1024
_LARGEST_OUTPUT: Final = 400_000  # 256 KiB of a command's output, in base64

ID: Final = matching(r"[0-9a-f]{32}")
GPU_UUID: Final = matching(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,79}")
REFERENCE: Final = r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,399}"
_VERSION: Final = r"[0-9A-Za-z][0-9A-Za-z.+~:_ -]{0,39}"
_COUNT: Final = whole(0, _WHOLE, 0)
_SIZE: Final = whole(0, _MOST_BYTES, 0)
_DECIMAL: Final = matching(r"[0-9]{1,15}")
_SPEED: Final = optional(whole(0, _FASTEST_MBPS, None))
_STAMP: Final = optional(whole(0, _YEAR_2100, None))

# Values that operations may return, by name; `lines` is a log, which `instances.access.logs` parses.
OUTCOMES: Final[dict[str, Rule]] = {
    **dict.fromkeys(("bytes", "copied_bytes", "copied_files", "cuts", "deleted_files", "resumed_at"), _DECIMAL),
    **dict.fromkeys(("same_files", "size_bytes", "size_gb", "stored_bytes"), _DECIMAL),
    "applied": code(("now", "at_next_start")),
    "checksum": matching(r"[0-9A-Za-z:+/=-]{1,128}"),
    "cut": code(("yes", "")),
    **dict.fromkeys(("stdout_cut", "stderr_cut", "timed_out"), code(("yes", ""))),
    **dict.fromkeys(("stdout", "stderr"), matching(f"[0-9A-Za-z+/=]{{0,{_LARGEST_OUTPUT}}}")),
    "duration_ms": _DECIMAL,
    "exit_code": matching(r"(-?[0-9]{1,9})?"),
    "digest": matching(r"(sha256:[0-9a-f]{64})?"),
    "lines": Rule(lambda value: value[:_LARGEST_LOG]),
    "reference": matching(REFERENCE),
    "simulated": code(("true",)),
    "way": code(("direct", "relay")),
}

BOUNDS: Final[Rules] = {
    Said: {
        "code": matching(r"[a-z][a-z_]{0,39}"),
        "params": only({**dict.fromkeys(("done", "total", "ready", "layers"), _DECIMAL), "why": text(SENTENCE)}),
    },
    GpuFacts: {
        "uuid": GPU_UUID,
        "name": text(120),
        "vram_mb": whole(0, _MOST_VRAM_MB),
        "index": whole(0, 1023, 0),
        "pcie_gen": whole(0, 15, 0),
        "pcie_width": whole(0, 64, 0),
        "simulated": Rule(ANY.read, True),
        "healthy": Rule(ANY.read, False),
        "detail": text(SENTENCE),
    },
    HostFacts: {
        "hostname": text(255),
        "runtime": ANY,
        "runtime_version": or_empty(matching(_VERSION, UNKNOWN)),
        "kernel": or_empty(matching(r"[0-9A-Za-z][0-9A-Za-z.+~:_-]{0,119}", UNKNOWN)),
        "cpu_model": text(120),
        "cpu_cores": whole(1, _MOST_CORES),
        "ram_mb": whole(1, _MOST_MB),
        "disk_total_gb": whole(0, _MOST_MB),
        "disk_free_gb": whole(0, _MOST_MB),
        "disk_kind": Rule(ANY.read, UNKNOWN),
        "driver": or_empty(matching(_VERSION, UNKNOWN)),
        "cuda": or_empty(matching(r"[0-9]{1,2}\.[0-9]{1,2}", "")),
        "gpus": ANY,  # their number is limited in `marketplace.hosts.inventory`
        "images": word_list(REFERENCE, 500),
        "port_first": whole(0, 65_535),
        "port_last": whole(0, 65_535),
        "address": ADDRESS,
        "warnings": texts(SENTENCE, 32),
        "nvlink": ANY,
        "disk_read_mbps": _SPEED,
        "disk_write_mbps": _SPEED,
        "disk_measured_at": _STAMP,
        "net_up_mbps": _SPEED,
        "net_down_mbps": _SPEED,
        "net_measured_at": _STAMP,
        "keeps_ssh_list": ANY,
        "root_limit": code(("", "disk", "none"), ""),
        "launch_settings": ANY,
        "publishes_udp": ANY,
        "behind_nat": ANY,
    },
    Check: {
        "id": matching(r"[a-z][a-z0-9_]{0,39}"),
        "passed": ANY,
        "actual": text(SENTENCE),
        "required": text(200),
        "remedy": text(SENTENCE),
        "value": optional(real(-1e12, 1e12, None)),
        "unit": code(("", "MiB", "GB", "TFLOPS", "MB/s", "Mbit/s", "IOPS", "s"), ""),
        "gpu": or_empty(GPU_UUID),
        "reason": code(("", *REASONS), "failed"),
        "simulated": Rule(ANY.read, True),
    },
    SelfTestResult: {"id": ID, "checks": ANY, "seconds": real(0, _DAY_S, 0.0)},
    ObservedOperation: {
        "id": ID,
        "phase": ANY,
        "done_bytes": _SIZE,
        "total_bytes": _SIZE,
        "detail": text(SENTENCE),
        "failure_code": code(("", *FAILURES, *OPERATION_FAILURES), UNKNOWN),
        "outcome": only(OUTCOMES),
        "said": ANY,
        "done_files": _COUNT,
        "total_files": _COUNT,
    },
    GpuSample: {
        "uuid": GPU_UUID,
        "util_pct": whole(0, 100),
        "vram_used_mb": whole(0, _MOST_VRAM_MB),
        "temperature_c": whole(0, _MOST_CELSIUS),
        "power_w": whole(0, _MOST_WATT),
    },
    InstanceSample: {
        "cpu_pct": real(0, _MOST_CPU_PCT),
        "ram_mb": whole(0, _MOST_MB),
        "disk_mb": whole(0, _MOST_MB),
        "rx_bytes": whole(0, _MOST_BYTES),
        "tx_bytes": whole(0, _MOST_BYTES),
        "gpus": at_most(64),
        "oom_kills": whole(0, 1_000_000, 0),
        "trace": Rule(equal_lengths, None),
        "sessions": whole(0, 100_000, 0),
    },
    SecondTrace: {
        "gpu": newest(_TRACED_S, 0, 100),
        "vram": newest(_TRACED_S, 0, 64 * _MOST_VRAM_MB),
        "power": newest(_TRACED_S, 0, 64 * _MOST_WATT),
        "temp": newest(_TRACED_S, 0, _MOST_CELSIUS),
        "cpu": newest(_TRACED_S, 0, _MOST_CPU_PCT),
        "ram": newest(_TRACED_S, 0, _MOST_MB),
    },
    DiskUse: {
        "id": ID,
        "used_mb": whole(0, _WHOLE),
        "total_mb": whole(0, _WHOLE),
        "inodes_used": whole(0, _WHOLE),
        "inodes_total": whole(0, _WHOLE),
        "trouble": optional(code(("", "missing", "read_only"), None)),
    },
    LayerProgress: {
        "id": matching(r"[0-9a-zA-Z]{1,12}"),
        "done_bytes": _SIZE,
        "total_bytes": _SIZE,
        "step": code(("waiting", "downloading", "downloaded", "unpacking", "ready"), "waiting"),
        "unpacked_bytes": _SIZE,
    },
    ObservedInstance: {
        "id": ID,
        "generation": whole(0, _WHOLE),
        "phase": ANY,
        "gpu_uuids": word_list(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,79}", 64),
        "container": or_empty(matching(r"[0-9A-Za-z_.-]{1,128}", "")),
        "run_seconds": real(0, _CENTURY_S, 0.0),
        "detail": text(SENTENCE),
        "failure_code": code(("", *FAILURES), UNKNOWN),
        "sample": ANY,
        "said": ANY,
        "layers": at_most(64),
        "on_start": ANY,
        "ready": ANY,
    },
    StartScript: {"state": ANY, "exit_code": optional(whole(0, 255, None))},
    Holding: {
        "id": ID,
        "generation": whole(0, _WHOLE),
        "fence": whole(0, _WHOLE),
        "run": ANY,
        "gpu_uuids": word_list(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,79}", 64),
    },
    GpuEvent: {"uuid": GPU_UUID, "xid": whole(1, 9999), "count": vital(whole(1, 1_000_000))},
    Report: {
        "agent_version": matching(r"[0-9A-Za-z][0-9A-Za-z.+-]{0,19}", UNKNOWN),
        "versions": at_most(16),
        "facts": ANY,
        "instances": ANY,
        "absent": word_list(r"[0-9a-f]{32}", 10_000),
        "foreign": word_list(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", 100),
        "engine_age_s": real(0, _CENTURY_S, float(_DAY_S)),
        "self_test": ANY,
        "operations": ANY,
        "gpu_events": at_most(64),
        "disks": ANY,
        "epoch": optional(whole(0, _YEAR_2100, None)),
        "holdings": at_most(10_000),
    },
    EnrolRequest: {
        "token": ANY,
        "public_key": ANY,
        "agent_version": matching(r"[0-9A-Za-z][0-9A-Za-z.+-]{0,19}", UNKNOWN),
        "versions": at_most(16),
        "facts": ANY,
    },
}
# At enrolment somebody reads the answer, so a wrong address is refused; later, the host keeps the address that it has.
BOUNDS_AT_ENROLMENT: Final[Rules] = {**BOUNDS, HostFacts: {**BOUNDS[HostFacts], "address": ANY}}

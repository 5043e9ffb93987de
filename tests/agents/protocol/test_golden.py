"""The wire as it was agreed: each message against a golden file, so that no field changes its name or type unnoticed.

`python -m tests.agents.protocol.test_golden` writes the files anew after a change that is meant.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from agents.protocol.codec import decode, encode
from agents.protocol.launch_messages import Launch, ReadinessCheck, StartScript
from agents.protocol.messages import (
    Check,
    DesiredInstance,
    DesiredState,
    EnrolReply,
    EnrolRequest,
    GpuFacts,
    GpuSample,
    Holding,
    HostFacts,
    InstanceSample,
    LayerProgress,
    ObservedInstance,
    ObservedOperation,
    OperationOrder,
    PrefetchImage,
    Report,
    SelfTestResult,
    Tunnel,
    WaitAnswer,
)
from agents.protocol.progress_messages import say
from agents.protocol.telemetry_messages import GpuEvent, SecondTrace

FOLDER = Path(__file__).with_name("golden")
GPU = "GPU-8f6d2c1a-0b5e-4a52-9d3c-2f1e0d9c8b7a"
ID = "0190a1b2c3d47e5f8a9b0c1d2e3f4a5b"

FACTS = HostFacts(
    hostname="gpu-01",
    runtime="docker",
    runtime_version="20.10.24",
    kernel="6.1.0-18-amd64",
    cpu_model="AMD EPYC 7763",
    cpu_cores=64,
    ram_mb=515_000,
    disk_total_gb=3840,
    disk_free_gb=3000,
    disk_kind="nvme",
    driver="560.35.03",
    cuda="12.6",
    gpus=[GpuFacts(GPU, "NVIDIA GeForce RTX 4090", 24564, 0, 4, 16), GpuFacts("GPU-2", "Tesla T4", 15360, 1, healthy=False)],
    images=["berth/base:1"],
    port_first=40000,
    port_last=40999,
    address="gpu-01.example.org",
    warnings=["No GPU was found."],
    nvlink=False,
    root_limit="disk",
    disk_read_mbps=3200,
    disk_write_mbps=1800,
    disk_measured_at=1_790_000_000,
    keeps_ssh_list=True,
    launch_settings=True,
    publishes_udp=True,
)
TRACE = SecondTrace([95, 97], [20000, 20001], [400, 410], [70, 71], [150, 151], [2047, 2048])
MESSAGES: dict[str, Any] = {
    "report": Report(
        agent_version="0.1.0",
        versions=[1],
        facts=FACTS,
        instances=[
            ObservedInstance(
                id=ID,
                generation=3,
                phase="running",
                gpu_uuids=[GPU],
                container="4f1c",
                run_seconds=12.5,
                sample=InstanceSample(150.5, 2048, 300, 1000, 2000, [GpuSample(GPU, 97, 20000, 71, 410)], 1, TRACE, 2),
                on_start=StartScript("ended", 0),
                ready="ready",
            ),
            ObservedInstance(id="f" * 32, generation=1, phase="failed", detail="容器没有启动", failure_code="ssh_silent"),
            ObservedInstance(
                id="e" * 32,
                generation=1,
                phase="pulling",
                detail="Loading the image: 12 of 60 MiB, 1 of 2 layers ready.",
                layers=[
                    LayerProgress("a3ed95caeb02", 12_582_912, 62_914_560, "downloading"),
                    LayerProgress("b0c1", step="ready"),
                ],
                said=say("loading_image", done=12, total=60, ready=1, layers=2),
            ),
        ],
        absent=["a" * 32],
        foreign=["berth-x-1"],
        epoch=1_790_000_000,
        holdings=[Holding("d" * 32, 8, 6, "running", [GPU])],
        engine_age_s=0.5,
        gpu_events=[GpuEvent(GPU, 79, 2)],
        self_test=SelfTestResult(
            ID,
            [
                Check("engine_version", True, "20.10.24", "at least 20.10", "Install a newer Docker Engine."),
                Check("gpu_compute", value=78.5, unit="TFLOPS", actual="78.5 TFLOPS FP32", gpu=GPU),
                Check("gpu_compute", gpu="GPU-2", reason="in_use", simulated=True),
            ],
            12.5,
        ),
        operations=[
            ObservedOperation("b" * 32, "running", 4096, 8192, "Copying.", said=say("copying")),
            ObservedOperation("c" * 32, "failed", failure_code="disk_full", detail="No room.", outcome={"kept": "yes"}),
        ],
    ),
    "report_without_facts": Report(agent_version="0.1.0", versions=[1], facts=None),
    "desired_state": DesiredState(
        protocol=1,
        version=17,
        wait_url="https://market.example.org/agent/v1/wait",
        wait_ticket="body.mac",
        instances=[
            DesiredInstance(
                id=ID,
                generation=3,
                fence=2,
                run="running",
                image="berth/base:1",
                gpu_uuids=[GPU],
                cpu_millis=16000,
                ram_mb=128_000,
                data_disk_gb=50,
                system_disk_gb=20,
                ports=[(22, 40000), (8888, 40001)],
                udp_ports=[8888],
                ssh_keys=["ssh-ed25519 AAAA alice@example"],
                env={"JUPYTER_TOKEN": "secret"},
                preempt_at=1_790_000_120,
                password_hash="$7$CU..../....salt$hash",
                allow_from=["203.0.113.0/24", "2001:db8::/32"],
                has_ssh=False,
                image_bytes=3_200_000_000,
                registry_auth={"username": "ann", "password": "secret"},
                launch=Launch(
                    env={"MODEL": "tiny"},
                    secrets={"TOKEN": "secret"},
                    secrets_digest="ab" * 32,
                    command=["python", "serve.py"],
                    entrypoint=["/usr/bin/env"],
                    workdir="/workspace",
                    user="1000:1000",
                    shm_mb=1024,
                    on_start="echo hello",
                    readiness=ReadinessCheck("http", 8000, "/health", 60),
                ),
            )
        ],
        operations=[OperationOrder("b" * 32, "snapshot", {"volume": ID})],
        now=1_790_000_000,
        link_url="wss://market.example.org/relay/v1/link",
        link_ticket="body.mac",
        epoch=1_790_000_000,
        tunnels=[Tunnel(20022, ID, 22, "body.mac")],
        images=[PrefetchImage("registry.example.org/berth/torch@sha256:" + "0" * 64, 9)],
        need_facts=True,
        self_test="b" * 32,
        slip_key="5a" * 32,
    ),
    "wait_answer": WaitAnswer(18, "0" * 64 + "{}"),
    "enrol_request": EnrolRequest("join-token", "ab" * 32, "0.1.0", [1], FACTS),
    "enrol_reply": EnrolReply(ID, "gpu-01", 1),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_are_what_they_were(name: str) -> None:
    golden = (FOLDER / f"{name}.json").read_bytes()
    assert json.loads(encode(MESSAGES[name])) == json.loads(golden)
    assert decode(type(MESSAGES[name]), golden) == MESSAGES[name]


def test_a_report_of_an_older_agent_is_still_read() -> None:
    """Only what the first version had: every field added since has a default."""
    least = {"agent_version": "0.0.1", "versions": [1], "facts": None}
    assert decode(Report, json.dumps(least).encode()) == Report("0.0.1", [1], None)


def test_facts_of_an_older_agent_are_still_read() -> None:
    golden = json.loads((FOLDER / "enrol_request.json").read_bytes())
    measured = ("nvlink", "disk_read_mbps", "disk_write_mbps", "disk_measured_at")
    for name in (*measured, "keeps_ssh_list", "net_up_mbps", "net_down_mbps", "net_measured_at"):
        del golden["facts"][name]
    read = decode(EnrolRequest, json.dumps(golden).encode()).facts
    assert (read.hostname, read.nvlink, read.disk_read_mbps, read.net_measured_at) == ("gpu-01", None, None, None)


def write_golden_files() -> None:
    for name, message in MESSAGES.items():
        text = json.dumps(json.loads(encode(message)), indent=2, ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    write_golden_files()

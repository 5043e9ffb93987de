"""The body of a create call as a pure function: what can be asked, and what cannot."""

import ipaddress
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.daemon.docker_engine.container_spec import (
    EngineOptions,
    bridge_name,
    container_body,
    container_env,
    network_options,
)
from agents.daemon.engine.interface import ContainerOrder, spec_of
from agents.protocol.messages import DesiredInstance

ID = "a" * 32
OPTIONS = EngineOptions("host-1", "127.0.0.1", seccomp="{}")


def wanted(**changes: Any) -> DesiredInstance:
    first = DesiredInstance(
        ID, 3, 2, "running", "i", gpu_uuids=["GPU-1", "GPU-2"], cpu_millis=2500, ram_mb=1000, ports=[(22, 40000)]
    )
    return replace(first, **changes)


def body(desired: DesiredInstance, data: str = "/d") -> dict[str, Any]:
    return container_body(ContainerOrder(desired, "image", "/access", data), OPTIONS)


def test_nothing_dangerous_can_be_expressed() -> None:
    """fault 101: whatever a control plane fills in, these stay as they are."""
    allowed = {item.name for item in fields(DesiredInstance)}
    assert allowed == {
        *("id", "generation", "fence", "run", "image", "gpu_uuids", "simulated_gpus", "cpu_millis", "ram_mb", "pids_limit"),
        *("data_disk_gb", "system_disk_gb", "ports", "ssh_keys", "env", "stop_grace_s", "preempt_at", "root"),
        *("password_hash", "allow_from", "mounts", "root_brought", "has_ssh", "image_bytes", "registry_auth", "untouched"),
        "udp_ports",  # which of `ports` are published for UDP too: names no other port
        "launch",  # of the program, its variables and its user: `test_launch_spec.py`
        *("root_made", "data_disk_made"),  # whether what is missing may be made: nothing that a container is made of
    }, "a new field of the wire needs a thought here"


def test_udp_is_published_beside_tcp_at_the_same_port_of_the_host() -> None:
    first = wanted(ports=[(22, 40000), (5353, 40001)], udp_ports=[5353, 9999])
    bindings = body(first)["HostConfig"]["PortBindings"]
    assert bindings == {
        "22/tcp": [{"HostIp": "127.0.0.1", "HostPort": "40000"}],
        "5353/tcp": [{"HostIp": "127.0.0.1", "HostPort": "40001"}],
        "5353/udp": [{"HostIp": "127.0.0.1", "HostPort": "40001"}],
    }
    assert body(first)["ExposedPorts"].keys() == bindings.keys()
    assert spec_of(first) != spec_of(replace(first, udp_ports=[]))


@given(st.builds(DesiredInstance, id=st.just(ID), ports=st.just([(22, 40000)])))
def test_fault_101_the_walls_stand_for_any_desired_instance(desired: DesiredInstance) -> None:
    config = body(desired)["HostConfig"]
    assert config["Privileged"] is False
    assert config["CapDrop"] == ["ALL"]
    assert config["Devices"] == config["DeviceCgroupRules"] == config["Binds"] == []
    assert (config["PidMode"], config["UTSMode"], config["UsernsMode"]) == ("", "", "")
    assert config["NetworkMode"] == f"berth-{ID}"
    assert [item["Source"] for item in config["Mounts"]] == ["/access", "/d"]
    assert config["RestartPolicy"] == {"Name": "no"}
    assert "seccomp={}" in config["SecurityOpt"]


def test_a_registry_s_login_is_in_no_container() -> None:
    """fault 97's kin: what only the pull needs is in no label, variable or command."""
    login = {"username": "ann", "password": "hush-hush"}
    assert "hush" not in str(body(wanted(registry_auth=login, has_ssh=False)))
    assert "hush" not in repr(wanted(registry_auth=login))
    assert (body(wanted(has_ssh=False))["Tty"], body(wanted())["Tty"]) == (True, False)


def test_shares_and_labels() -> None:
    made = body(wanted())
    config = made["HostConfig"]
    assert config["NanoCpus"] == 2_500_000_000
    assert config["Memory"] == config["MemorySwap"] == 1000 * 1024**2
    assert config["ShmSize"] == 500 * 1024**2
    assert body(wanted(ram_mb=1_000_000))["HostConfig"]["ShmSize"] == 64 * 1024**3
    assert made["Labels"] == {
        "berth.instance": ID,
        "berth.host": "host-1",
        "berth.fence": "2",
        "berth.spec": spec_of(wanted()),
        "berth.gpus": "GPU-1,GPU-2",
        "berth.root": "0",
        "berth.limits": "2500 1000 4096",
        "berth.launch": "",
        # What an image may say of these is overridden.
        **dict.fromkeys(("berth.official", "berth.parcel", "berth.sync", "berth.sync-host", "berth.system_disk_gb"), ""),
    }


def test_real_gpus_are_asked_for_by_uuid() -> None:
    (request,) = body(wanted())["HostConfig"]["DeviceRequests"]
    assert request == {"Driver": "nvidia", "DeviceIDs": ["GPU-1", "GPU-2"], "Capabilities": [["gpu"]]}
    assert "NVIDIA_VISIBLE_DEVICES=GPU-1,GPU-2" in container_env(wanted())
    assert not any(item.startswith("BERTH_SIMULATED") for item in container_env(wanted()))


def test_simulated_gpus_and_none_at_all() -> None:
    simulated = wanted(simulated_gpus=True)
    assert body(simulated)["HostConfig"]["DeviceRequests"] == []
    assert "BERTH_SIMULATED_GPUS=1" in container_env(simulated)
    assert "NVIDIA_VISIBLE_DEVICES=void" in container_env(wanted(gpu_uuids=[]))
    assert body(wanted(gpu_uuids=[]))["HostConfig"]["DeviceRequests"] == []


def test_secrets_stand_nowhere_in_the_body() -> None:
    assert "s3cret" not in str(body(wanted(env={"JUPYTER_TOKEN": "s3cret"}, ssh_keys=["s3cret"])))


@pytest.mark.parametrize("data", ["", "/d"])
def test_the_data_disk_is_optional(data: str) -> None:
    assert len(body(wanted(), data)["HostConfig"]["Mounts"]) == 1 + bool(data)


@given(st.uuids().map(lambda value: value.hex), st.integers(0, 63))
def test_networks_are_small_and_inside_the_pool(instance: str, attempt: int) -> None:
    made = network_options(instance, OPTIONS, attempt)
    subnet = ipaddress.ip_network(made["ipam"]["Config"][0]["Subnet"])
    assert subnet.prefixlen == 29
    assert subnet.subnet_of(ipaddress.ip_network("10.209.0.0/16"))  # type: ignore[arg-type]  # both are of version 4
    assert len(bridge_name(instance)) == 15
    assert made["options"]["com.docker.network.bridge.enable_icc"] == "false"
    assert made["enable_ipv6"] is False


def test_another_attempt_is_another_network() -> None:
    found = {network_options(ID, OPTIONS, attempt)["ipam"]["Config"][0]["Subnet"] for attempt in range(64)}
    assert len(found) > 60

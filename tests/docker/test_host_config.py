"""The created container, point by point, as the engine itself shows it (faults.md section 5)."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.docker_engine.container_spec import CAPABILITIES, bridge_name
from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.market import Market
from tests.docker.conftest import Host, Ssh

pytestmark = pytest.mark.docker  # one engine, one firewall


@pytest.fixture(scope="module")
def running(new_module_host: Callable[[Market], Host], new_order: Callable[..., DesiredInstance]) -> Any:
    """One running instance that every test here looks at."""
    with Market() as market:
        host = new_module_host(market)
        order = new_order(host, cpu_millis=1250, ram_mb=768, pids_limit=300)
        host.start()
        market.want(order)
        market.until_phase(order.id, "running", 1)
        yield host, order, host.inspect(order)
        host.stop()


def test_shares(running: tuple[Host, DesiredInstance, dict[str, Any]]) -> None:
    config = running[2]["HostConfig"]
    assert config["NanoCpus"] == 1_250_000_000
    assert config["Memory"] == config["MemorySwap"] == 768 * 1024**2
    assert config["PidsLimit"] == 300
    assert config["ShmSize"] == 384 * 1024**2
    assert config["OomKillDisable"] in (False, None)
    assert config["OomScoreAdj"] == 500


def test_walls(running: tuple[Host, DesiredInstance, dict[str, Any]]) -> None:
    config = running[2]["HostConfig"]
    assert config["Privileged"] is False
    assert config["CapDrop"] == ["ALL"]
    assert sorted(cap.removeprefix("CAP_") for cap in config["CapAdd"]) == sorted(CAPABILITIES)
    assert "no-new-privileges:true" in config["SecurityOpt"]
    assert not any(item.endswith("unconfined") for item in config["SecurityOpt"])
    assert not config["Devices"] and not config["DeviceCgroupRules"] and not config["Binds"]
    assert (config["IpcMode"], config["CgroupnsMode"]) == ("private", "private")
    assert (config["PidMode"], config["UTSMode"], config["UsernsMode"]) == ("", "", "")
    assert config["MaskedPaths"] and config["ReadonlyPaths"]


def test_walls_from_inside(running: tuple[Host, DesiredInstance, dict[str, Any]], ssh: Ssh) -> None:
    status = ssh.must(running[1], "cat /proc/self/status")
    found = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    bits = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7}
    bits |= {"NET_BIND_SERVICE": 10, "SYS_CHROOT": 18, "AUDIT_WRITE": 29}
    assert int(found["CapBnd"], 16) == sum(1 << bits[name] for name in CAPABILITIES)
    assert found["NoNewPrivs"].strip() == "1"
    assert found["Seccomp"].strip() == "2"
    assert ssh.run(running[1], "mknod /root/disk b 8 0").returncode != 0
    assert ssh.run(running[1], "mount -t tmpfs none /mnt").returncode != 0
    assert ssh.run(running[1], "unshare -Ur true").returncode != 0
    for family, lawful in ((2, True), (1, True), (38, False), (40, False)):
        tried = ssh.run(running[1], f"python3 -c 'import socket; socket.socket({family}, 1)'")
        assert (tried.returncode == 0) is lawful, (family, tried.stderr)
    # io_uring_setup is number 425 on every processor.
    call = "import ctypes; c = ctypes.CDLL(None, use_errno=True); c.syscall(425, 1, 0); print(ctypes.get_errno())"
    assert ssh.must(running[1], f'python3 -c "{call}"').strip() == "1", "EPERM"
    assert ssh.run(running[1], "echo 1 >/proc/sys/vm/drop_caches").returncode != 0


def test_life(running: tuple[Host, DesiredInstance, dict[str, Any]]) -> None:
    config = running[2]["HostConfig"]
    assert config["RestartPolicy"]["Name"] == "no"
    assert config["AutoRemove"] is False
    assert config["Init"] is True
    assert config["LogConfig"]["Type"] == "local"
    assert config["LogConfig"]["Config"] == {"max-size": "10m", "max-file": "2", "mode": "non-blocking"}


def test_identity(running: tuple[Host, DesiredInstance, dict[str, Any]]) -> None:
    host, order, found = running
    assert found["Name"] == f"/berth-{order.id}-1"
    labels = found["Config"]["Labels"]
    assert labels["berth.instance"] == order.id
    assert labels["berth.fence"] == "1"
    assert labels["berth.host"] == host.config.host_id
    assert len(labels["berth.spec"]) == 16
    assert not any("secret-token" in str(value) for value in (labels, found["Config"]["Env"], found["Args"]))


def test_network(running: tuple[Host, DesiredInstance, dict[str, Any]]) -> None:
    host, order, found = running
    ports = found["HostConfig"]["PortBindings"]
    assert {key: value[0]["HostIp"] for key, value in ports.items()} == {"22/tcp": "127.0.0.1", "8888/tcp": "127.0.0.1"}
    assert {int(value[0]["HostPort"]) for value in ports.values()} == {outside for _, outside in order.ports}
    assert found["HostConfig"]["PublishAllPorts"] is False
    network = host.engine.inspect_network(f"berth-{order.id}")
    assert network["EnableIPv6"] is False
    assert network["Options"]["com.docker.network.bridge.enable_icc"] == "false"
    assert network["Options"]["com.docker.network.bridge.name"] == bridge_name(order.id)
    assert list(found["NetworkSettings"]["Networks"]) == [f"berth-{order.id}"]


def test_mounts(running: tuple[Host, DesiredInstance, dict[str, Any]]) -> None:
    host, order, found = running
    mounts = {item["Destination"]: item for item in found["Mounts"]}
    assert set(mounts) == {"/run/berth", "/data"}
    assert mounts["/run/berth"]["RW"] is False
    assert mounts["/data"]["RW"] is True
    assert {item["Propagation"] for item in mounts.values()} == {"rprivate"}
    folder = host.state / "access" / order.id
    assert {path.name: oct(path.stat().st_mode & 0o777) for path in folder.iterdir()} == {
        "authorized_keys": "0o644",
        "env": "0o600",
    }


def test_simulated_gpus_by_environment(running: tuple[Host, DesiredInstance, dict[str, Any]]) -> None:
    env = running[2]["Config"]["Env"]
    assert [item for item in env if item.startswith("NVIDIA_VISIBLE_DEVICES=")] == [
        f"NVIDIA_VISIBLE_DEVICES={running[1].gpu_uuids[0]}"
    ]
    assert "BERTH_SIMULATED_GPUS=1" in env
    assert not running[2]["HostConfig"]["DeviceRequests"]


def test_real_gpus_by_device_request(host: Host, order: DesiredInstance) -> None:
    """The engine takes the request; the hook that would bring the device in does nothing on a machine without one."""
    real = replace(order, simulated_gpus=False, data_disk_gb=0, gpu_uuids=["GPU-aaaa", "GPU-bbbb"])
    host.start()
    host.market.want(real)
    host.market.until_phase(order.id, "running", 1)
    found = host.inspect(real)
    (request,) = found["HostConfig"]["DeviceRequests"]
    assert (request["Driver"], request["DeviceIDs"], request["Capabilities"]) == ("nvidia", real.gpu_uuids, [["gpu"]])
    inside = Path(f"/proc/{found['State']['Pid']}/environ").read_bytes().decode().split("\0")
    assert "NVIDIA_VISIBLE_DEVICES=GPU-aaaa,GPU-bbbb" in inside


def test_fault_096_an_image_cannot_ask_for_more_gpus(
    host: Host, order: DesiredInstance, greedy_image: str, ssh: Ssh
) -> None:
    greedy = replace(order, image=greedy_image, data_disk_gb=0)
    host.start()
    host.market.want(greedy)
    host.market.until_phase(order.id, "running", 1)
    env = host.inspect(greedy)["Config"]["Env"]
    assert [item for item in env if item.startswith(("NVIDIA_VISIBLE", "LD_PRELOAD"))] == [
        f"NVIDIA_VISIBLE_DEVICES={order.gpu_uuids[0]}",
        "LD_PRELOAD=",
    ]
    assert f"NVIDIA_VISIBLE_DEVICES={order.gpu_uuids[0]}" in ssh.must(greedy, "env")

"""The system-call filter: the engine's own, with less."""

import json

from agents.daemon.docker_engine.container_spec import PROFILE, profile_text

AF_ALG, AF_VSOCK = 38, 40


def test_what_must_not_be_there() -> None:
    allowed = {
        name
        for rule in json.loads(profile_text("x86_64"))["syscalls"]
        if rule["action"] == "SCMP_ACT_ALLOW"
        for name in rule["names"]
    }
    forbidden = {
        "bpf",
        "perf_event_open",
        "userfaultfd",
        "keyctl",
        "add_key",
        "request_key",
        "open_by_handle_at",
        "socketcall",
    }
    forbidden |= {
        "io_uring_setup",
        "io_uring_enter",
        "io_uring_register",
        "unshare",
        "mount",
        "setns",
        "kexec_load",
        "reboot",
    }
    assert not allowed & forbidden
    assert {"read", "execve", "clone", "socket", "ptrace", "futex"} <= allowed


def test_socket_families() -> None:
    rules = [rule["args"][0] for rule in json.loads(PROFILE.read_text())["syscalls"] if rule["names"] == ["socket"]]
    compare = {"SCMP_CMP_LT": int.__lt__, "SCMP_CMP_EQ": int.__eq__, "SCMP_CMP_GT": int.__gt__}
    passed = {family for family in range(64) if any(compare[rule["op"]](family, rule["value"]) for rule in rules)}
    assert passed == set(range(64)) - {AF_ALG, AF_VSOCK}


def test_other_processors_keep_the_engines_own() -> None:
    assert profile_text("aarch64") == ""

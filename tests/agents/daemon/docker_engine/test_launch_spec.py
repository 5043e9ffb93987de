"""What a renter runs as parts of a create call, without an engine."""

from dataclasses import replace
from typing import Any

import pytest

from agents.daemon.docker_engine.container_spec import EngineOptions, container_body
from agents.daemon.docker_engine.launch_spec import LAUNCH_LABEL, bare_config, ssh_variables
from agents.daemon.engine.interface import ContainerOrder, spec_of
from agents.daemon.reconciler.access_folder import access_files
from agents.protocol.launch_messages import Launch
from agents.protocol.messages import DesiredInstance

PLANTED = "s3cret-planted"
LAUNCH = Launch(
    env={"MODEL": "tiny"},
    secrets={"TOKEN": PLANTED},
    secrets_digest="ab",
    command=["serve"],
    entrypoint=["/run"],
    workdir="/w",
    user="7",
    shm_mb=100,
)


def wanted(**changes: Any) -> DesiredInstance:
    plain = DesiredInstance("a" * 32, 1, 1, "running", "i", ram_mb=1000, ports=[(22, 40000)], launch=LAUNCH)
    return replace(plain, **changes)


def body(desired: DesiredInstance) -> dict[str, Any]:
    return container_body(ContainerOrder(desired, "image", "/access", ""), EngineOptions("host-1"))


def test_an_image_with_ssh_keeps_its_entrypoint() -> None:
    made = body(wanted())
    assert "Entrypoint" not in made
    assert "User" not in made
    assert made["Cmd"][-4:] == ["7", "/w", "/run", "serve"]
    assert "MODEL=tiny" in made["Env"]
    assert PLANTED not in str(made)
    assert f"TOKEN={PLANTED}\n" in access_files(wanted())["env"]


def test_another_image_is_overridden() -> None:
    made = body(wanted(has_ssh=False))
    assert (made["Entrypoint"], made["Cmd"], made["WorkingDir"], made["User"]) == (["/run"], ["serve"], "/w", "7")
    assert f"TOKEN={PLANTED}" in made["Env"]
    assert PLANTED not in str(made["Labels"])
    assert PLANTED not in str(access_files(wanted(has_ssh=False)))


def test_nothing_given_leaves_the_call_as_it_was() -> None:
    made = body(wanted(launch=None))
    assert not {"Cmd", "Entrypoint", "User", "WorkingDir"} & made.keys()
    assert made["Labels"][LAUNCH_LABEL] == ""
    assert spec_of(wanted(launch=None)) != spec_of(wanted())


@pytest.mark.parametrize(("requested", "ram", "size"), [(100, 1000, 100), (5000, 1000, 1000), (0, 1000, 500)])
def test_shared_memory_stays_within_the_memory(requested: int, ram: int, size: int) -> None:
    made = body(wanted(launch=replace(LAUNCH, shm_mb=requested), ram_mb=ram))
    assert made["HostConfig"]["ShmSize"] == size * 1024**2


def test_what_berth_sets_cannot_be_set() -> None:
    evil = {"NVIDIA_VISIBLE_DEVICES": "all", "LD_PRELOAD": "/x", "LD_AUDIT": "/x", "BERTH_INSTANCE": "b", "": "x"}
    evil |= {"NVIDIA_MOFED": "enabled", "NVIDIA_GDS": "enabled", "NVIDIA_MIG_CONFIG_DEVICES": "all"}
    made = body(wanted(has_ssh=False, launch=Launch(env=evil)))
    assert [item for item in made["Env"] if item.startswith("LD_")] == ["LD_PRELOAD=", "LD_AUDIT="]
    assert not [item for item in made["Env"] if item.endswith("=enabled") or item.startswith("NVIDIA_MIG")]
    assert {"NVIDIA_MOFED=", "NVIDIA_GDS="} < set(made["Env"])  # over what an image says, too
    assert [item for item in made["Env"] if item.startswith("NVIDIA_V")] == ["NVIDIA_VISIBLE_DEVICES=void"]
    assert made["HostConfig"]["CapDrop"] == ["ALL"]
    assert made["HostConfig"]["Privileged"] is False


def test_what_needs_another_container() -> None:
    spec = spec_of(wanted())
    changes: list[dict[str, Any]] = [
        {"env": {}},
        {"command": []},
        {"user": "8"},
        {"shm_mb": 1},
        {"workdir": "/x"},
        {"entrypoint": []},
    ]
    for change in changes:
        assert spec_of(wanted(launch=replace(LAUNCH, **change))) != spec
    same: list[dict[str, Any]] = [{"on_start": "x"}, {"secrets": {}, "secrets_digest": ""}]
    for kept in same:
        assert spec_of(wanted(launch=replace(LAUNCH, **kept))) == spec
    other = replace(LAUNCH, secrets_digest="cd")
    assert spec_of(wanted(has_ssh=False, launch=other)) != spec_of(wanted(has_ssh=False))


class Engine:
    """Two inspections."""

    def inspect_container(self, container: str) -> Any:
        return {"Image": "x", "Config": {"Labels": {LAUNCH_LABEL: '["A", "B"]'} if container == "with" else {}}}

    def inspect_image(self, image: str) -> Any:
        return {"Config": {"Env": ["A=first=1", "C=3"], "Cmd": None, "Entrypoint": ["/e"], "WorkingDir": "", "User": ""}}


def test_an_image_of_the_container_forgets_the_settings() -> None:
    assert bare_config(Engine(), "without") is None
    assert bare_config(Engine(), "with") == {
        "Env": ["A=first=1", "B"],
        "Cmd": [],
        "Entrypoint": ["/e"],
        "WorkingDir": "/",
        "User": "0",
    }


def test_variables_of_ssh_sessions_are_one_line() -> None:
    line = ssh_variables({"A": 'say "hi" \\ #no', "B": "two\nlines", "C": "", 'D"\\': "x"})
    assert line == 'SetEnv "A=say \\"hi\\" \\\\ #no" "C="\n'
    assert ssh_variables({"B": "two\nlines"}) == ""

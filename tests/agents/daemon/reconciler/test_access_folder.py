"""The folder at /run/berth: whole files, the right modes, and nothing smuggled in."""

import json
import subprocess
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agents.daemon.reconciler.access_folder import AccessFolders, access_digest, access_files
from agents.protocol.messages import DesiredInstance


def wanted(**changes: Any) -> DesiredInstance:
    return DesiredInstance(**{"id": "a" * 32, "generation": 1, "fence": 1, "run": "running", "image": "i", **changes})


def test_keys_and_environment_are_written(tmp_path: Path) -> None:
    folders = AccessFolders(tmp_path / "access")
    desired = wanted(ssh_keys=["ssh-ed25519 AAAA a", " ssh-ed25519 BBBB b "], env={"TOKEN": "it's"})
    folder = folders.write(desired)
    assert (folder / "authorized_keys").read_text() == "ssh-ed25519 AAAA a\nssh-ed25519 BBBB b\n"
    assert (folder / "env").read_text() == "TOKEN='it'\"'\"'s'\n"
    assert (folder / "env").stat().st_mode & 0o777 == 0o600
    assert folders.digest(desired.id) == access_digest(desired)


def test_the_digest_is_known_after_a_restart_and_not_after_dropping(tmp_path: Path) -> None:
    desired = wanted(ssh_keys=["k"])
    AccessFolders(tmp_path / "access").write(desired)
    again = AccessFolders(tmp_path / "access")
    assert again.digest(desired.id) == access_digest(desired)
    assert access_digest(wanted(ssh_keys=["other"])) != access_digest(desired)
    again.delete(desired.id)
    assert again.digest(desired.id) == ""
    assert again.leftovers(desired.id) == []


def test_a_key_cannot_bring_a_second_line() -> None:
    files = access_files(wanted(ssh_keys=["good", "bad\nroot-key", "bad\rroot-key"]))
    assert files["authorized_keys"] == "good\n"


@settings(max_examples=30, deadline=None)
@given(
    st.dictionaries(st.text(max_size=8), st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20), max_size=4)
)
def test_a_shell_reads_back_exactly_what_was_meant(env: dict[str, str]) -> None:
    script = access_files(wanted(env=env))["env"] + "".join(
        f'printf "%s\\0" "${name}"\n' for name in sorted(env) if name.isidentifier() and name.isascii()
    )
    shown = subprocess.run(["sh"], input=script.encode(), capture_output=True, check=True).stdout
    expected = [value for name, value in sorted(env.items()) if name.isidentifier() and name.isascii()]
    assert shown.decode().split("\0")[:-1] == expected


def test_a_notice_is_a_file_while_it_stands_and_only_then(tmp_path: Path) -> None:
    folders, calm = AccessFolders(tmp_path / "access"), wanted(ssh_keys=["k"])
    noticed = wanted(ssh_keys=["k"], preempt_at=1_790_000_120)
    folder = folders.write(calm)
    assert folders.has_current_notice(calm)
    assert not folders.has_current_notice(noticed)
    folders.write(noticed)
    assert json.loads((folder / "preempt.json").read_text()) == {
        "reason": "spot",
        "preempt_at": "2026-09-21T14:15:20Z",
        "preempt_at_unix": 1_790_000_120,
    }
    assert (folder / "preempt.json").stat().st_mode & 0o777 == 0o644
    again = AccessFolders(tmp_path / "access")
    assert again.digest(noticed.id) == access_digest(noticed) != access_digest(calm)
    assert again.has_current_notice(noticed)
    assert not again.has_current_notice(wanted(preempt_at=1_790_000_999))
    again.write(calm)
    assert not (folder / "preempt.json").exists()
    assert AccessFolders(tmp_path / "access").digest(calm.id) == access_digest(calm)

"""The files that nothing imports: requirements, compose, Makefile, the demo's fleet. What they promise holds together."""

import json
import re
import shutil
import subprocess
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from agents.daemon.gpu.nvml import parse_gpu_list
from devserver.processes import JOBS, WEB_OPTIONS
from devserver.simulated_hosts import FLEET
from instances.backups.backup import SECRET_FILES
from marketplace.gpu_catalogue.catalogue import by_slug, recognise_model
from tests.ops.conftest import ROOT

REQUIREMENTS = ROOT / "requirements"
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())


@pytest.mark.parametrize("path", sorted(REQUIREMENTS.glob("*.txt")), ids=lambda path: path.name)
def test_requirements_are_locked_by_hash_and_name_no_registry(path: Path) -> None:
    text = path.read_text()
    assert "://" not in text
    assert "--index" not in text
    for requirement in re.split(r"\n(?=\S)", text.strip()):
        assert re.match(r"[a-z0-9.\-]+==\S+", requirement), requirement
        assert "--hash=sha256:" in requirement, requirement


def test_front_end_lock_names_no_registry() -> None:
    lock = json.loads((ROOT / "package-lock.json").read_text())
    assert not any("resolved" in package for package in lock["packages"].values())
    assert all("integrity" in package for name, package in lock["packages"].items() if name)


def test_locks_agree() -> None:
    """The same versions of a package (one for each Python that a lock tells apart), whichever file names it."""
    found: dict[str, set[frozenset[str]]] = {}
    for path in REQUIREMENTS.glob("*.txt"):
        own: dict[str, set[str]] = {}
        for name, version in re.findall(r"^([a-z0-9.\-]+)==(\S+)", path.read_text(), re.MULTILINE):
            own.setdefault(name, set()).add(version)
        for name, versions in own.items():
            found.setdefault(name, set()).add(frozenset(versions))
    assert {name: versions for name, versions in found.items() if len(versions) > 1} == {}


def test_every_secret_of_compose_is_made_by_the_script(tmp_path: Path) -> None:
    made = tmp_path / "secrets"
    subprocess.run([ROOT / "deploy" / "make-secrets", made], check=True, capture_output=True, timeout=60)
    wanted = {Path(secret["file"]).name for secret in COMPOSE["secrets"].values()}
    assert {path.name for path in made.iterdir()} == wanted
    key = (made / "secret_key").read_text()
    assert len(key) >= 48
    subprocess.run([ROOT / "deploy" / "make-secrets", made], check=True, capture_output=True, timeout=60)
    assert (made / "secret_key").read_text() == key


def test_a_pair_of_the_registry_that_was_made_by_half_is_made_anew(tmp_path: Path) -> None:
    """As after Ctrl-C, or a full disk, between the two files."""
    script, made = ROOT / "deploy" / "make-secrets", tmp_path / "secrets"
    subprocess.run([script, made], check=True, capture_output=True, timeout=60)
    key = (made / "registry_key").read_text()
    (made / "registry_certificate").unlink()
    subprocess.run([script, made], check=True, capture_output=True, timeout=60)
    assert (made / "registry_certificate").exists() and (made / "registry_key").read_text() != key


def test_a_machine_without_openssl_is_told_so(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "dirname", "mkdir", "chmod", "python3", "cat"):
        (programs / name).symlink_to(str(shutil.which(name)))
    script = [str(programs / "bash"), str(ROOT / "deploy" / "make-secrets"), str(tmp_path / "secrets")]
    found = subprocess.run(script, check=False, capture_output=True, text=True, timeout=60, env={"PATH": str(programs)})
    assert found.returncode == 1
    assert "openssl is missing" in found.stderr
    assert not (tmp_path / "secrets" / "registry_key").exists()


def test_every_secret_that_a_service_reads_is_given_to_it() -> None:
    for name, service in COMPOSE["services"].items():
        files = {Path(value).name for key, value in service.get("environment", {}).items() if key.endswith("_FILE")}
        assert files <= set(service.get("secrets", [])), name
    assert set(COMPOSE["services"]) == {
        *("proxy", "migrate", "web", "relay", "worker", "beat", "registry", "db", "redis", "agent", "enrol", "maintenance"),
    }
    assert all(COMPOSE["services"][name]["profiles"] == ["agent"] for name in ("agent", "enrol"))


def test_backups_see_all_that_they_keep() -> None:
    """The owner's database, every secret of the backup, the anchors and the registry's files."""
    service = COMPOSE["services"]["maintenance"]
    assert service["profiles"] == ["maintenance"]
    assert set(SECRET_FILES) <= set(service["secrets"])
    assert service["environment"]["DATABASE_URL_FILE"].endswith("/database_url")
    shared = {volume.partition(":")[0] for volume in service["volumes"]}
    assert {COMPOSE["services"]["registry"]["volumes"][0].partition(":")[0], "anchors"} <= shared
    assert not set(COMPOSE["services"]["web"]["volumes"]) & {"registry:/registry"}


def test_only_the_proxy_is_reachable() -> None:
    assert [name for name, service in COMPOSE["services"].items() if "ports" in service] == ["proxy"]


def test_help_lists_every_public_target() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60).stdout
    for target in ("up", "down", "test", "lint", "bench", "lock", "e2e", "help"):
        assert re.search(rf"make {target} ", shown), target


def test_fleet_is_of_known_models_at_prices_above_nothing() -> None:
    assert len({host.name for host in FLEET}) == len(FLEET) >= 20
    assert len({host.region for host in FLEET}) >= 5
    for host in FLEET:
        ((model, count),) = parse_gpu_list(host.gpus)
        assert count > 0
        assert Decimal(host.price) > 0
        assert by_slug(recognise_model(model).slug) is not None


def test_the_image_serves_the_web_as_make_up_does() -> None:
    *_, command = re.findall(r"^CMD (\[.*?\])$", (ROOT / "Dockerfile").read_text(), re.DOTALL | re.MULTILINE)
    words = json.loads(command.replace("\\\n", ""))
    assert tuple(words[-len(WEB_OPTIONS) :]) == WEB_OPTIONS


def test_the_jobs_wait_as_long_as_jobs_may() -> None:
    for name in ("worker", "beat"):
        assert COMPOSE["services"][name]["environment"].items() >= JOBS.items()

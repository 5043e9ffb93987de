"""Two agents with one identity, really two processes on a copied state folder, against the real gateway."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from agents.gateway.models import RefusedMessage
from agents.gateway.services import sync
from marketplace.hosts.join_tokens import issue_join_token
from marketplace.models import Host, HostEvent, Incident, Offer
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[3]


def berth_agent(*words: str) -> list[str]:
    return [sys.executable, "-m", "agents.daemon", *words]


def test_fault_020_a_copied_state_folder_freezes_the_host_with_an_alert(
    live_server: LiveServer, hana: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "REPORT_INTERVAL_S", 0.3)
    _, token = issue_join_token(owner=hana, host_name="rig", region="eu", price_micros=1_000_000)
    original, copy = tmp_path / "original", tmp_path / "copy"
    gpus = ["--runtime", "simulated", "--simulate-gpus", "RTX 4090:1", "--state-dir", str(original)]
    enrolment = berth_agent("enrol", "--url", live_server.url, "--token", token, *gpus)
    subprocess.run(enrolment, check=True, cwd=ROOT, timeout=60, capture_output=True)
    first = subprocess.Popen(berth_agent("run", "--state-dir", str(original)), cwd=ROOT, stderr=subprocess.DEVNULL)
    second = None
    try:
        host = Host.objects.get()
        wait_until("the first reports", lambda: Host.objects.get().last_seen_at > host.enrolled_at)
        shutil.copytree(original, copy)
        second = subprocess.Popen(berth_agent("run", "--state-dir", str(copy)), cwd=ROOT, stderr=subprocess.DEVNULL)
        wait_until("the host is frozen", lambda: Host.objects.get().state == "frozen")
        wait_until("an incident", lambda: Incident.objects.filter(kind="two_agents", closed_at=None).exists())
        assert HostEvent.objects.get(kind="frozen").detail == "Two agents use the identity of this host."
        assert RefusedMessage.objects.filter(reason="two_agents").exists()
        assert Offer.objects.get().gpu_free == 0, "nothing new is rented there"
    finally:
        for process in filter(None, (first, second)):
            process.terminate()
            process.wait(30)

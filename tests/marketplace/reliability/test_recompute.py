"""The independent script gives the shown number of every host, from the public API alone."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.test import Client

from accounts.models import User
from common.ids import public_id
from marketplace.models import Host, Offer
from marketplace.reliability.events import refresh_reliability
from scripts import recompute_reliability as script
from tests.billing.money import START
from tests.marketplace.histories import simulate_hosts
from tests.marketplace.shapes import enrolled
from tests.profiles import examples

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "recompute_reliability.py"


def ledger_of(host: Host) -> dict[str, Any]:
    found: dict[str, Any] = Client().get(f"/api/v1/hosts/{public_id('host', host.pk)}/reliability").json()
    return found


def test_many_simulated_hosts(hana: User) -> None:
    count = examples(250, long=1_000)
    with time_machine.travel(START, tick=False):
        hosts = simulate_hosts(hana, count, START)
        changed = refresh_reliability(now=START)
        assert refresh_reliability(now=START) == 0
        shown = dict(Host.objects.values_list("pk", "reliability_ppm"))
        in_offers = dict(Offer.objects.values_list("host_id", "reliability_ppm"))
        ledgers = {host.pk: ledger_of(host) for host in hosts}
    assert {key: script.recompute(ledger) for key, ledger in ledgers.items()} == shown == in_offers
    assert {key: ledger["score_ppm"] for key, ledger in ledgers.items()} == shown
    numbers = {number for number in shown.values() if number is not None}
    assert changed == sum(number is not None for number in shown.values()) > 0.9 * count
    assert len(numbers) > 0.4 * count
    assert min(numbers) < 700_000
    assert max(numbers) == 1_000_000
    assert None in shown.values()


def test_the_script_alone_without_the_repository(hana: User, tmp_path: Path) -> None:
    """An isolated interpreter that cannot import anything but the standard library; a wrong number is found."""
    with time_machine.travel(START, tick=False):
        hosts = simulate_hosts(hana, 20, START)
        files = [tmp_path / f"{number}.json" for number in range(20)]
        for host, file in zip(hosts, files, strict=True):
            file.write_text(json.dumps(ledger_of(host)), encoding="utf-8")
    copy = tmp_path / "recompute.py"
    copy.write_text(SCRIPT.read_text(encoding="utf-8"), encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(copy), *map(str, files)]
    good = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (good.returncode, good.stdout.count("computed"), good.stderr) == (0, 20, "")
    ledger = json.loads(files[0].read_text(encoding="utf-8"))
    files[0].write_text(json.dumps({**ledger, "score_ppm": 123_400}), encoding="utf-8")
    bad = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (bad.returncode, bad.stdout.count("DIFFERS")) == (1, 1)


def test_it_walks_the_market_and_compares_the_offers_too(
    hana: User, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = Client()
    monkeypatch.setattr(script, "fetch", lambda address: client.get(address).json())
    with time_machine.travel(START, tick=False) as now:
        hosts = [enrolled(hana, 1, name=f"rig-{number}") for number in range(3)]
        now.shift(3 * 86_400)
        Host.objects.update(last_seen_at=START)
        moment = START.replace(day=START.day + 3)
        refresh_reliability(now=moment)
        assert script.main(["http://testserver/api/v1"]) == 0
        assert script.main(["http://testserver/api/v1", public_id("host", hosts[0].pk)]) == 0
        Offer.objects.filter(host=hosts[1]).update(reliability_ppm=1)
        assert script.main(["http://testserver/api/v1/"]) == 1
    printed = capsys.readouterr().out
    assert (printed.count("computed 97.14 %"), printed.count("DIFFERS")) == (7, 1)
    assert script.main([]) == 2

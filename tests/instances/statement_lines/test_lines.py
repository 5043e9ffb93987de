"""A line explained: the same for renter and host, signed, sealed, with its gaps and reports; and for nobody else."""

import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from django.test import Client

from accounts.constants import SCOPES
from accounts.models import User
from accounts.tokens.services import issue_token
from billing.ledger.seals import seal_ledger
from billing.metering.settle import extend_holds, settle_meters
from billing.statements.selectors import statement_lines
from common import clock
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, InstanceSample
from tests.billing.money import assert_sound
from tests.instances.fake_host import FakeHost, order_running
from tests.instances.fixtures import Clock, host, hours, image, rin

__all__ = ["host", "hours", "image", "rin"]

SCRIPT = Path(__file__).parents[3] / "scripts" / "verify_records.py"


def api(user: User) -> Client:
    _, token = issue_token(user=user, name="t", scopes=list(SCOPES))
    return Client(headers={"authorization": f"Bearer {token}"})


def read(client: Client, path: str) -> Any:
    reply = client.get(f"/api/v1{path}")
    assert reply.status_code == 200, reply.content
    return json.loads(reply.content)


def run(host: FakeHost, hours: Clock, seconds: int) -> None:
    for _ in range(seconds // 60):
        hours.advance(seconds=60)
        host.sync()
        extend_holds(now=clock.now())


@pytest.fixture
def story(rin: User, host: FakeHost, hours: Clock) -> Instance:
    """An hour and ten minutes, five minutes of a silent host, ten minutes more, then a stop."""
    instance = order_running(rin, host, gpu_count=2)
    run(host, hours, 4200)
    hours.advance(seconds=300)
    run(host, hours, 600)
    stop_instance(renter=rin, instance_id=instance.pk)
    hours.advance(seconds=3)
    host.settle()
    settle_meters(now=clock.now())
    return instance


def test_every_line_is_explained_and_the_sum_is_right(rin: User, story: Instance) -> None:
    lines = [line for line in statement_lines(owner_id=rin.pk) if line.kind == "charge"]
    assert len(lines) == 3  # an hour; ten minutes up to the gap; what came after it
    for line in lines:
        explained = read(api(rin), f"/wallet/entries/{line.id}")
        use = explained["use"]
        assert use["cost_after_micros"] - use["cost_before_micros"] == -line.amount_micros
        assert abs(float(use["seconds"]) * 7.20 / 3600 * 1e6 + line.amount_micros) <= 1
        assert explained["instance"] == f"inst_{story.pk.hex}"
        assert explained["reports"] is not None and explained["seal"] is None
    after_gap, before_gap, whole = (read(api(rin), f"/wallet/entries/{line.id}")["use"] for line in lines)
    assert (whole["seconds"], whole["gap_before"], whole["gap_after"]) == ("3600", None, None)
    assert before_gap["gap_after"]["why"] == after_gap["gap_before"]["why"] == "silent"
    assert before_gap["gap_after"]["seconds"] == 360.0  # the silence and the minute up to the next report
    assert after_gap["gap_after"]["end"] is None


def test_both_sides_see_the_same_record_and_its_signature_holds(rin: User, hana: User, story: Instance) -> None:
    ours, theirs = (read(api(user), "/usage-records") for user in (rin, hana))
    assert json.dumps(ours) == json.dumps(theirs) and len(ours["records"]) == 3
    published = json.loads(Client().get("/.well-known/berth-ledger-key").content)
    assert published["key_id"] == ours["key_id"]
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(published["public_key"]))
    for signed in ours["records"]:
        text = json.dumps(signed["record"], sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        key.verify(bytes.fromhex(signed["signature"]), text)
        with pytest.raises(InvalidSignature):
            key.verify(bytes.fromhex(signed["signature"]), text.replace(b'"rate_micros":7', b'"rate_micros":6'))
    total = sum(signed["record"]["charge_micros"] for signed in ours["records"])
    assert total == -sum(line.amount_micros for line in statement_lines(owner_id=rin.pk) if line.kind == "charge")


def saved(folder: Path, user: User, change: Callable[[list[Any]], object] = lambda records: None) -> list[str]:
    """The key and the pages as a person with `curl` keeps them."""
    files = [folder / "key.json"]
    files[0].write_bytes(Client().get("/.well-known/berth-ledger-key").content)
    after: int | None = 0
    while after is not None:
        page = read(api(user), f"/usage-records?limit=2&after={after}")
        change(page["records"])
        files.append(folder / f"{after}.json")
        files[-1].write_text(json.dumps(page))
        after = page["next"]
    return [str(file) for file in files]


def checked_offline(files: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-I", SCRIPT, *files], capture_output=True, text=True, check=False)


def test_records_are_checked_without_the_market(rin: User, story: Instance, tmp_path: Path) -> None:
    done = checked_offline(saved(tmp_path, rin))
    charged = -sum(line.amount_micros for line in statement_lines(owner_id=rin.pk) if line.kind == "charge")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"3 records, charged {charged} millionths, of it ")


FORGERIES: dict[str, tuple[Callable[[list[Any]], object], str]] = {
    "a charge": (lambda records: records[0]["record"].update(charge_micros=1), "signature does not hold"),
    "a name": (lambda records: records[0]["record"].update(what="free"), "signature does not hold"),
    "a signature": (lambda records: records[0].update(signature="00" * 64), "signature does not hold"),
    "no hex": (lambda records: records[0].update(signature="zz"), "signature does not hold"),
    "a record left out": (lambda records: records.pop(0), ""),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_record_that_was_changed_is_found(rin: User, story: Instance, tmp_path: Path, name: str) -> None:
    change, words = FORGERIES[name]
    done = checked_offline(saved(tmp_path, rin, change))
    assert words in done.stdout and done.returncode == (1 if words else 0), done.stdout


def test_a_gap_a_double_and_a_wrong_sum_are_told_whoever_signed_them(rin: User, story: Instance) -> None:
    script = runpy.run_path(str(SCRIPT))
    signed = [each["record"] for each in read(api(rin), "/usage-records")["records"]]
    records = sorted(signed, key=lambda record: str(record["period_from"]))
    hour, rest = records[0], records[1]
    assert rest["period_from"] == hour["period_to"] and not list(script["broken_chains"](records))
    assert list(script["broken_chains"]([hour, {**rest, "period_from": "2099-01-01T00:00:00.000000Z"}]))
    assert list(script["broken_chains"]([hour, hour]))
    assert not list(script["wrong_sums"](hour))
    assert len(list(script["wrong_sums"]({**hour, "charge_micros": hour["charge_micros"] + 2}))) == 2
    assert len(list(script["wrong_sums"]({**hour, "share_micros": hour["share_micros"] + 1}))) == 1


def test_records_come_in_pages_and_by_time(rin: User, story: Instance) -> None:
    first = read(api(rin), "/usage-records?limit=2")
    rest = read(api(rin), f"/usage-records?limit=2&after={first['next']}")
    assert (len(first["records"]), len(rest["records"]), rest["next"]) == (2, 1, None)
    later = (clock.now() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert read(api(rin), f"/usage-records?since={later}")["records"] == []


def test_the_host_reads_the_same_line_from_its_own_side(rin: User, hana: User, story: Instance) -> None:
    ours = read(api(rin), f"/wallet/entries/{statement_lines(owner_id=rin.pk, entry_kind='charge')[0].id}")
    share = statement_lines(owner_id=hana.pk, kind="host")[0]
    theirs = read(api(hana), f"/wallet/entries/{share.id}")
    assert (ours["side"], theirs["side"]) == ("renter", "host")
    assert ours["signed"] == theirs["signed"] and ours["use"] == theirs["use"] and ours["reports"] == theirs["reports"]
    assert theirs["amount"] == theirs["use"]["host_share"]


def test_a_line_names_the_seal_that_it_is_under(rin: User, story: Instance) -> None:
    sealed = seal_ledger()
    assert sealed is not None
    line = statement_lines(owner_id=rin.pk)[0]
    assert read(api(rin), f"/wallet/entries/{line.id}")["seal"]["head"] == sealed.head
    assert read(api(rin), "/seals")[0]["head"] == sealed.head
    assert_sound()


@pytest.mark.parametrize("text", ["", "x", "1-", "-1", "9" * 30, "0", "1-2-3", "１"])
def test_what_is_no_line_is_not_found(rin: User, story: Instance, text: str) -> None:
    assert api(rin).get(f"/api/v1/wallet/entries/{text or '%20'}").status_code == 404


def test_a_strangers_line_does_not_exist(rin: User, mallory: User, story: Instance, client: Client) -> None:
    line = statement_lines(owner_id=rin.pk)[0]
    assert api(mallory).get(f"/api/v1/wallet/entries/{line.id}").status_code == 404
    client.force_login(mallory)
    assert client.get(f"/wallet/entries/{line.id}").status_code == 404
    # nor does a row under an entry that it is not part of
    grant_entry = statement_lines(owner_id=rin.pk, entry_kind="credit")[0].id
    assert api(rin).get(f"/api/v1/wallet/entries/{grant_entry}-{line.usage_id}").status_code == 404


def test_the_page_says_it_in_words(rin: User, story: Instance, client: Client) -> None:
    InstanceSample.objects.update(gpu_util_pct=97.5)
    client.force_login(rin)
    for line in statement_lines(owner_id=rin.pk):
        reply = client.get(f"/wallet/entries/{line.id}")
        assert reply.status_code == 200
        page = reply.content.decode()
        assert ("Calculation" in page) == (line.kind == "charge")
    newest = statement_lines(owner_id=rin.pk, entry_kind="charge")[0]
    page = client.get(f"/wallet/entries/{newest.id}").content.decode()
    assert "Not charged before" in page and "silent for over 120 s" in page

"""Anchors: signed, written once, and compared with the chain by every audit."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts.models import User
from billing.ledger import anchor_store
from billing.ledger.anchor_selectors import anchor_findings
from billing.ledger.publish_anchors import anchor_ledger
from billing.ledger.seals import seal_ledger
from billing.models import Seal
from config.env import read_object_store
from tests.billing.money import UNIT, execute, grant, triggers_off
from tests.storage.object_store import BUCKET, REGION, ObjectStore

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(settings: Any, tmp_path: Path, alice: User) -> Path:
    settings.LEDGER_ANCHOR_DIR = str(tmp_path / "anchors")
    grant(alice, UNIT)
    seal_ledger()
    assert anchor_ledger()
    return tmp_path / "anchors"


def test_a_seal_is_anchored_once(folder: Path) -> None:
    (file,) = folder.iterdir()
    assert file.name == "seal-000000001.json"
    assert json.loads(file.read_text())["head"] == Seal.objects.get().head
    assert not anchor_ledger()
    assert anchor_findings() == []


def test_before_the_first_seal_there_is_nothing_to_compare(settings: Any, tmp_path: Path, alice: User) -> None:
    settings.LEDGER_ANCHOR_DIR = str(tmp_path / "anchors")
    grant(alice, UNIT)
    assert anchor_findings() == []
    call_command("verify_ledger", stdout=StringIO())


def test_a_chain_that_is_gone_is_found_by_its_anchor(folder: Path) -> None:
    with triggers_off():
        execute("DELETE FROM billing_seal")
    assert [finding.code for finding in anchor_findings()] == ["I11"]


def test_a_chain_made_anew_is_found_by_its_anchor_alone(folder: Path) -> None:
    with triggers_off():
        execute("DELETE FROM billing_seal")
        execute("UPDATE billing_posting SET memo = 'x'")
    seal_ledger()
    (finding,) = anchor_findings()
    assert finding.code == "I11" and "the head of seal 1 was" in finding.detail
    with pytest.raises(CommandError):
        call_command("verify_ledger", stdout=StringIO())


@pytest.mark.parametrize("change", ["head", "number", "signature", "garbage", "folder"])
def test_an_anchor_that_was_tampered_with_is_found(folder: Path, change: str) -> None:
    (file,) = folder.iterdir()
    content = json.loads(file.read_text())
    if change == "folder":
        file.unlink()
        folder.rmdir()
    elif change == "garbage":
        file.write_text("{")
    else:
        content[change] = 1 if change == "number" else "0" * len(content[change])
        content["upto"] += change == "number"
        file.write_text(json.dumps(content))
    assert [finding.code for finding in anchor_findings()] == ["I11"]


def test_an_anchor_of_a_former_key_still_counts(folder: Path, settings: Any) -> None:
    from billing.ledger.signing import public_key

    former = public_key()
    settings.LEDGER_SIGNING_KEY = "ab" * 32
    assert [finding.code for finding in anchor_findings()] == ["I11"]
    settings.LEDGER_FORMER_KEYS = [former]
    assert anchor_findings() == []


def test_a_head_from_a_mail_is_compared(folder: Path) -> None:
    head = Seal.objects.get().head
    call_command("verify_ledger", "--seal", f"1:{head}", stdout=StringIO())
    for wrong in (f"1:{'0' * 64}", f"7:{head}"):
        with pytest.raises(CommandError):
            call_command("verify_ledger", "--seal", wrong, stdout=StringIO())


# -- in an object storage


@pytest.fixture(scope="module")
def bucket() -> Iterator[ObjectStore]:
    with ObjectStore() as running:
        yield running


@pytest.fixture
def store(bucket: ObjectStore, settings: Any, alice: User) -> ObjectStore:
    bucket.clear()
    settings.OUTBOUND_ALLOWED_NETWORKS = [bucket.network]
    settings.LEDGER_ANCHOR_STORE = {
        "endpoint": bucket.endpoint,
        "region": REGION,
        "bucket": BUCKET,
        "prefix": "berth/market",
        "key_id": bucket.key.key_id,
        "secret": bucket.key.secret,
    }
    sealed(alice, 1)
    return bucket


def sealed(user: User, times: int) -> None:
    for _ in range(times):
        grant(user, UNIT)
        seal_ledger()
        assert anchor_ledger()


def body(store: ObjectStore, name: str) -> bytes:
    content: bytes = store.client().get_object(Bucket=BUCKET, Key=name)["Body"].read()
    return content


NAME = "berth/market/seal-000000001.json"


def test_a_head_is_put_into_the_bucket_once(store: ObjectStore) -> None:
    first = body(store, NAME)
    assert json.loads(first)["head"] == Seal.objects.get().head
    assert not anchor_ledger()
    store.put(NAME, b"{}")
    assert not anchor_ledger()
    assert body(store, NAME) == b"{}"


def test_what_the_bucket_has_is_compared_page_by_page(
    store: ObjectStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anchor_store, "_PAGE", 2)
    sealed(alice, 4)
    assert len(store.files()) == 5
    assert anchor_findings() == []
    with triggers_off():
        execute("DELETE FROM billing_seal WHERE number > 1")
        execute("UPDATE billing_posting SET memo = 'x' WHERE id > (SELECT upto FROM billing_seal)")
    seal_ledger()
    details = [finding.detail for finding in anchor_findings()]
    assert len(details) == 4 and "the head of seal 2 was" in details[0] and "seal 3 is missing" in details[1]
    with pytest.raises(CommandError):
        call_command("verify_ledger", stdout=StringIO())


def test_of_many_the_newest_and_some_others_are_read(
    store: ObjectStore, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed(alice, 5)
    monkeypatch.setattr(anchor_store, "READ_NEWEST", 2)
    monkeypatch.setattr(anchor_store, "READ_OTHERS", 1)
    place = anchor_store.anchor_place()
    assert place is not None
    numbers = [anchor.number for anchor in anchor_store.stored_anchors(place)]
    assert len(numbers) == 3 and numbers[1:] == [5, 6] and numbers[0] in {1, 2, 3, 4}


@pytest.mark.parametrize("change", ["head", "garbage", "login", "bucket", "network"])
def test_a_bucket_that_was_tampered_with_or_cannot_be_read_is_found(store: ObjectStore, settings: Any, change: str) -> None:
    if change == "head":
        store.put(NAME, json.dumps({**json.loads(body(store, NAME)), "head": "0" * 64}).encode())
    elif change == "garbage":
        store.put(NAME, b"\xff{")
    elif change == "network":
        settings.OUTBOUND_ALLOWED_NETWORKS = []
    else:
        wrong = {"login": {"secret": "x"}, "bucket": {"bucket": "nobody-has-this"}}[change]
        settings.LEDGER_ANCHOR_STORE = {**settings.LEDGER_ANCHOR_STORE, **wrong}
    assert [finding.code for finding in anchor_findings()] == ["I11"]


def test_a_bucket_that_is_away_keeps_no_head_from_the_folder(
    store: ObjectStore, settings: Any, tmp_path: Path, alice: User
) -> None:
    settings.LEDGER_ANCHOR_DIR = str(tmp_path)
    settings.OUTBOUND_ALLOWED_NETWORKS = []
    grant(alice, UNIT)
    seal_ledger()
    with pytest.raises(OSError, match="can't be reached"):
        anchor_ledger()
    assert [path.name for path in tmp_path.iterdir()] == ["seal-000000002.json"]


def test_the_bucket_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_object_store("X_STORE") is None
    for name, value in {"ENDPOINT": "https://s3.example.org/", "BUCKET": "b", "KEY_ID": "k", "SECRET": "s"}.items():
        monkeypatch.setenv(f"X_STORE_{name}", value)
    found = read_object_store("X_STORE")
    assert found is not None and (found["endpoint"], found["region"]) == ("https://s3.example.org", "us-east-1")
    monkeypatch.delenv("X_STORE_SECRET")
    with pytest.raises(ImproperlyConfigured):
        read_object_store("X_STORE")
    monkeypatch.setenv("X_STORE_ENDPOINT", "s3.example.org")
    with pytest.raises(ImproperlyConfigured):
        read_object_store("X_STORE")

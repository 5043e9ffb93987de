"""Anchors: signed, written once, and compared with the chain by every audit."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from accounts.models import User
from billing.models import Seal
from billing.selectors.anchors import anchor_findings
from billing.services.anchors import anchor_ledger
from billing.services.seals import seal_ledger
from tests.billing.money import UNIT, execute, grant, triggers_off

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
    from billing.signing import public_key

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

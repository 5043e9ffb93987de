"""The demo's people: made once, the same after every start, and never outside development."""

import json
import stat
from pathlib import Path

import pytest
from allauth.account.models import EmailAddress
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from accounts.models import User
from accounts.selectors import all_ssh_keys_of, live_token, tokens_of
from billing.ledger.selectors import wallet_of
from common import clock
from common.money import parse_money
from devserver.seed import RENTER_CREDIT, seed

pytestmark = pytest.mark.django_db(transaction=True)
URL = "http://127.0.0.1:8000"


def demo(state: Path) -> dict[str, dict[str, str]]:
    users: dict[str, dict[str, str]] = json.loads((state / "demo.json").read_text())["users"]
    return users


def test_demo_file_has_what_scripts_need(tmp_path: Path) -> None:
    seed(state=tmp_path, url=URL)
    assert json.loads((tmp_path / "demo.json").read_text())["url"] == URL
    for role, user in demo(tmp_path).items():
        token = live_token(user["token"])
        assert token is not None
        assert token.user.email == user["email"] == f"{role}@berth.example"
        assert token.user.check_password(user["password"])
        assert EmailAddress.objects.get(user=token.user).verified


def test_roles(tmp_path: Path) -> None:
    seed(state=tmp_path, url=URL)
    rights = {user.email.partition("@")[0]: (user.is_host_owner, user.is_superuser) for user in User.objects.all()}
    assert rights == {"renter": (False, False), "host": (True, False), "admin": (True, True)}


def test_second_seed_changes_nothing(tmp_path: Path) -> None:
    seed(state=tmp_path, url=URL)
    before = (demo(tmp_path), (tmp_path / "demo_key").read_text())
    seed(state=tmp_path, url=URL)
    assert (demo(tmp_path), (tmp_path / "demo_key").read_text()) == before
    renter = User.objects.get(email="renter@berth.example")
    assert wallet_of(owner_id=renter.pk, now=clock.now()).balance_micros == parse_money(RENTER_CREDIT)
    assert all_ssh_keys_of(renter).count() == 1
    assert tokens_of(renter).count() == 1


def test_revoked_token_is_replaced(tmp_path: Path) -> None:
    seed(state=tmp_path, url=URL)
    old = demo(tmp_path)["renter"]["token"]
    token = live_token(old)
    assert token is not None
    token.revoked_at = clock.now()
    token.save()
    seed(state=tmp_path, url=URL)
    assert demo(tmp_path)["renter"]["token"] != old
    assert live_token(demo(tmp_path)["renter"]["token"])


def test_new_address_is_written(tmp_path: Path) -> None:
    seed(state=tmp_path, url=URL)
    tokens = demo(tmp_path)
    seed(state=tmp_path, url="http://127.0.0.1:8100")
    assert json.loads((tmp_path / "demo.json").read_text())["url"] == "http://127.0.0.1:8100"
    assert demo(tmp_path) == tokens


def test_secrets_are_for_their_owner_alone(tmp_path: Path) -> None:
    seed(state=tmp_path, url=URL)
    for name in ("demo.json", "demo_key"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_refused_where_simulation_is_not_allowed(tmp_path: Path, settings: Settings) -> None:
    settings.SIMULATION_ALLOWED = False
    with pytest.raises(ImproperlyConfigured, match="development"):
        seed(state=tmp_path, url=URL)
    assert not User.objects.exists()
    assert not (tmp_path / "demo.json").exists()

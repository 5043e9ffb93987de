"""Staff need a second factor at every door of theirs; production cannot do without, the demo says that it does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from accounts.selectors import acts_as_staff
from common.errors import Forbidden
from storage.volumes.data_sets import withdraw_data_set
from tests.config.test_settings import ROOT, WHOLE


@pytest.fixture(autouse=True)
def required(settings: Settings) -> None:
    settings.STAFF_SECOND_FACTOR = True


def as_user(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.mark.parametrize(
    "path", ["/admin/", "/admin/accounts/user/", "/admin/billing/wallet/", "/admin/billing/couponcode/add/"]
)
def test_staff_without_one_are_led_to_set_it_up(stella: User, path: str) -> None:
    reply = as_user(stella).get(path, follow=True)
    assert [step for step, _status in reply.redirect_chain][-1].startswith(
        ("/accounts/2fa/totp/activate/", "/accounts/reauthenticate/")
    )
    TOTP.activate(stella, generate_totp_secret())
    assert as_user(stella).get(path).status_code == 200


def test_nothing_is_done_by_posting_either(stella: User, alice: User) -> None:
    reply = as_user(stella).post(f"/admin/accounts/user/{alice.pk}/change/", {"email": alice.email})
    assert reply.status_code == 302
    alice.refresh_from_db()
    assert alice.is_active


def test_staff_s_rights_elsewhere_are_closed_too(stella: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.volumes.data_sets.data_set_named", lambda slug: None)
    with pytest.raises(Forbidden):
        withdraw_data_set(staff=stella, slug="any")
    away = Client(REMOTE_ADDR="192.0.2.1")
    away.force_login(stella)
    assert away.get("/metrics").status_code == 403
    TOTP.activate(stella, generate_totp_secret())
    assert away.get("/metrics").status_code == 200


def test_others_are_refused_as_before(alice: User) -> None:
    assert as_user(alice).get("/admin/", follow=True).status_code == 403


def test_no_door_of_staff_asks_less() -> None:
    """Whoever reads is_staff to open something asks acts_as_staff instead."""
    apps = ("accounts", "agents", "billing", "common", "config", "instances", "marketplace", "storage", "vast", "workloads")
    reading = [
        str(path.relative_to(ROOT))
        for app in apps
        for path in (ROOT / app).rglob("*.py")
        if ".is_staff" in path.read_text(encoding="utf-8") and "migrations" not in path.parts
    ]
    assert sorted(reading) == ["accounts/selectors.py", "accounts/web/admin_sites.py"]  # where to set it up; the rule itself


def test_the_demo_does_without_and_says_so(stella: User, settings: Settings) -> None:
    settings.STAFF_SECOND_FACTOR = False
    assert acts_as_staff(stella)
    assert "STAFF_SECOND_FACTOR" in (ROOT / "devserver" / "stack.py").read_text(encoding="utf-8")


def test_production_requires_it_and_names_its_cookies_for_this_host_alone() -> None:
    names = (
        "STAFF_SECOND_FACTOR",
        "SESSION_COOKIE_NAME",
        "CSRF_COOKIE_NAME",
        "SESSION_COOKIE_SECURE",
        "SESSION_COOKIE_DOMAIN",
    )
    shown = f"from django.conf import settings as s; print([getattr(s, name) for name in {names}])"
    own = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    environment = {**own, **WHOLE, "DJANGO_SETTINGS_MODULE": "config.settings.prod"}
    result = subprocess.run(
        [sys.executable, "-c", shown], cwd=Path(ROOT), env=environment, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[True, '__Host-sessionid', '__Host-csrftoken', True, None]"


def test_under_those_names_everything_works(alice: User, settings: Settings) -> None:
    settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME = "__Host-sessionid", "__Host-csrftoken"
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    from accounts.users.profile import add_person

    add_person(email="kim@example.com", password="correct-horse-battery")
    browser = Client(enforce_csrf_checks=True)
    token = browser.get("/accounts/login/", secure=True).cookies["__Host-csrftoken"].value
    form = {"login": "kim@example.com", "password": "correct-horse-battery", "csrfmiddlewaretoken": token}
    reply = browser.post("/accounts/login/", form, secure=True, headers={"referer": "https://testserver/accounts/login/"})
    assert reply.status_code == 302
    for name in ("__Host-sessionid", "__Host-device"):
        cookie = reply.cookies[name]
        assert (bool(cookie["secure"]), cookie["path"], cookie["domain"]) == (True, "/", "")
    assert browser.get("/api/v1/me", secure=True).json()["email"] == "kim@example.com"

"""Demo users: a renter with credit and an SSH key, a host owner and an operator; for development only."""

import json
from pathlib import Path
from typing import TypedDict

from allauth.account.models import EmailAddress
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from accounts.constants import SCOPES
from accounts.errors import SshKeyExists
from accounts.models import User
from accounts.selectors import live_token
from accounts.ssh_keys.services import add_ssh_key
from accounts.tokens.services import issue_token
from billing.ledger.wallets import grant_credit
from common.money import parse_money

RENTER_CREDIT = "1000.00"
TOKEN_NAME = "demo"  # noqa: S105 (a name, no secret)


class DemoUser(TypedDict):
    """Entry of each demo user in demo.json, for scripts."""

    email: str
    password: str
    token: str


_PEOPLE: dict[str, tuple[str, dict[str, object]]] = {
    "renter": ("Rin Renter", {}),
    "host": ("Hana Host", {"is_host_owner": True}),
    "admin": ("Ada Admin", {"is_staff": True, "is_superuser": True, "is_host_owner": True}),
}


def seed(*, state: Path, url: str) -> None:
    """Make what is missing and write demo.json; a repeated call keeps tokens and keys."""
    if not settings.SIMULATION_ALLOWED:
        raise ImproperlyConfigured("Demo users exist in development alone; these settings do not allow simulation.")
    known = _known_tokens(state / "demo.json")
    users = {role: _seed_user(role, known.get(role, "")) for role in _PEOPLE}
    renter = User.objects.get(email=users["renter"]["email"])
    grant_credit(
        owner_id=renter.pk,
        amount_micros=parse_money(RENTER_CREDIT),
        actor="demo",
        key="demo:renter",
        memo="Demo credit",
    )
    _seed_ssh_key(renter, state / "demo_key")
    _write_private(state / "demo.json", json.dumps({"url": url, "users": users}, indent=2) + "\n")


def _seed_user(role: str, known_token: str) -> DemoUser:
    email, password = f"{role}@berth.example", f"berth-demo-{role}"
    name, rights = _PEOPLE[role]
    user = User.objects.filter(email=email).first() or User.objects.create_user(email, password, display_name=name, **rights)
    EmailAddress.objects.get_or_create(user=user, email=email, defaults={"verified": True, "primary": True})
    return {"email": email, "password": password, "token": _token_of(user, known_token)}


def _token_of(user: User, known_token: str) -> str:
    token = live_token(known_token)
    if token is not None and token.user_id == user.pk:
        return known_token
    _, text = issue_token(user=user, name=TOKEN_NAME, scopes=list(SCOPES))
    return text


def _seed_ssh_key(renter: User, private_file: Path) -> None:
    public_file = private_file.with_name(private_file.name + ".pub")
    if not (private_file.exists() and public_file.exists()):
        key = Ed25519PrivateKey.generate()
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
        )
        public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        _write_private(private_file, private.decode())
        public_file.write_text(f"{public.decode()} demo\n", encoding="utf-8")
    try:
        add_ssh_key(user=renter, name="demo", public_key=public_file.read_text(encoding="utf-8"))
    except SshKeyExists:
        return


def _known_tokens(demo_file: Path) -> dict[str, str]:
    if not demo_file.exists():
        return {}
    users = json.loads(demo_file.read_text(encoding="utf-8"))["users"]
    return {role: user["token"] for role, user in users.items()}


def _write_private(path: Path, text: str) -> None:
    """Write a file atomically, readable by its owner alone from the first byte."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)

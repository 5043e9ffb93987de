"""Contents of a stack, made through the services in a process of their own; prints JSON."""

import json
import sys

import django

django.setup()

from accounts.constants import SCOPES  # noqa: E402  (Django must be set up first)
from accounts.models import User  # noqa: E402
from accounts.ssh_keys.services import add_ssh_key  # noqa: E402
from accounts.tokens.services import issue_token  # noqa: E402
from billing.ledger.wallets import grant_credit  # noqa: E402
from common.money import parse_money  # noqa: E402
from storage.images.register import register_image  # noqa: E402

# A key pair made for tests alone; the private half lies beside this file's users (tests/docker makes its own).
PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti alice@example"


def person(email: str, *, credit: str = "0", key: str = "", **fields: object) -> dict[str, str]:
    user = User.objects.create_user(email, "correct-horse-battery", **fields)
    _, secret = issue_token(user=user, name="stack", scopes=list(SCOPES))
    if parse_money(credit):
        grant_credit(owner_id=user.pk, amount_micros=parse_money(credit), actor="test", key=f"seed:{email}", memo="seed")
    if key:
        add_ssh_key(user=user, name="laptop", public_key=key)
    return {"email": email, "token": secret, "id": user.pk.hex}


def people() -> dict[str, dict[str, str]]:
    return {
        "alice": person("alice@example.com", credit="1000", key=PUBLIC_KEY),
        "bob": person("bob@example.com", credit="1000"),
        "hana": person("hana@example.com", is_host_owner=True),
        "mallory": person("mallory@example.com"),
    }


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["people"]:
            answer: object = people()
        case ["renter", email, amount]:
            answer = person(email, credit=amount)
        case ["renters", name, count, amount]:
            answer = [person(f"{name}-{number}@example.com", credit=amount) for number in range(int(count))]
        case ["image", slug, reference]:
            answer = str(register_image(slug=slug, reference=reference, title=slug).pk)
        case other:
            sys.exit(f"unknown: {other}")
    print(json.dumps(answer, default=str))

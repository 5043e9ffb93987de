"""The user as clients of Vast read it."""

from typing import Any

from accounts.models import User
from accounts.selectors import all_ssh_keys_of
from billing.standing.selectors import wallet_now
from common import clock
from vast.models import Kind
from vast.numbers.numbers import number_of
from vast.search.rows import dollars


def user_row(user: User, *, money: bool) -> dict[str, Any]:
    """Return the user; the balance is included only with `money`, since not every token may see it."""
    wallet = wallet_now(owner_id=user.pk, now=clock.now()) if money else None
    key = all_ssh_keys_of(user).first()
    return {
        "id": number_of(Kind.USER, user.pk),
        "username": user.email,
        "email": user.email,
        "email_verified": True,
        "fullname": user.display_name,
        "credit": dollars(wallet.live_micros) if wallet else 0.0,
        "balance": dollars(wallet.spendable_micros) if wallet else 0.0,
        "can_pay": bool(wallet and wallet.spendable_micros > 0),
        "has_billing": bool(wallet),
        "ssh_key": key.public_key if key else None,
        "host_agreement_accepted": user.is_host_owner,
        "host_only": False,
    }

"""Accounts of host owners at Stripe that are connected to the market: made here, filled in on Stripe's own pages."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from billing.errors import StripeRefused
from billing.stripe.client import Returns, calls
from billing.stripe.objects import OWNER_MARK

if TYPE_CHECKING:
    from stripe.params import AccountCreateParams

_LONGEST: Final = 200


@dataclass(frozen=True)
class RemoteAccount:
    """An account as Stripe has it. `needs` is what Stripe still asks of its owner, in Stripe's names."""

    id: str
    is_ready: bool
    needs: str


def create_account(*, owner_id: UUID, email: str, instead_of: str = "") -> str:
    """Stripe asks for all else on its own pages. The same owner again gets the same account.

    `instead_of`: an account that Stripe does not know any more.
    """
    about: AccountCreateParams = {
        "type": "express",
        "email": email,
        "capabilities": {"transfers": {"requested": True}},
        "metadata": {OWNER_MARK: owner_id.hex},
    }
    with calls() as api:
        return api.v1.accounts.create(about, {"idempotency_key": f"account:{owner_id.hex}:{instead_of}"}).id


def is_missing_account(error: StripeRefused) -> bool:
    """Whether Stripe has refused since the account is none of the market's: closed or deleted there, or of another key."""
    return error.extra.get("reason") in ("account_invalid", "resource_missing")


def onboarding_page(*, account_id: str, returns: Returns) -> str:
    """The address of a page of Stripe's that can be opened once, within minutes. `left` is for one that has expired."""
    with calls() as api:
        made = api.v1.account_links.create(
            {
                "account": account_id,
                "type": "account_onboarding",
                "return_url": returns.done,
                "refresh_url": returns.left,
            }
        )
    return made.url


def fetch_account(account_id: str) -> RemoteAccount:
    """Ready is what Stripe says is ready: a capability that is missing, pending or inactive is none."""
    with calls() as api:
        found: dict[str, Any] = api.v1.accounts.retrieve(account_id).to_dict()
    transfers = (found.get("capabilities") or {}).get("transfers")
    asked = found.get("requirements") or {}
    due = [*(asked.get("past_due") or []), *(asked.get("currently_due") or [])]
    needs = str(asked.get("disabled_reason") or "") or ", ".join(dict.fromkeys(map(str, due)))
    is_ready = transfers == "active" and found.get("payouts_enabled") is True
    return RemoteAccount(id=str(found["id"]), is_ready=is_ready, needs=needs[:_LONGEST])


def check_account(account_id: str) -> None:
    """Raises StripeRefused unless this account is connected to the market and may receive transfers."""
    if not fetch_account(account_id).is_ready:
        raise StripeRefused("Stripe still needs something from you before this account can receive transfers.")

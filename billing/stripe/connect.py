"""Connected accounts of host owners at Stripe: created here, completed on Stripe's own pages."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from billing.errors import StripeRefused
from billing.stripe.client import ReturnUrls, stripe_calls
from billing.stripe.objects import OWNER_MARK

if TYPE_CHECKING:
    from stripe.params import AccountCreateParams

_LONGEST: Final = 200


@dataclass(frozen=True)
class RemoteAccount:
    """An account as Stripe has it; `needs` lists what Stripe still requires, by Stripe's names."""

    id: str
    is_ready: bool
    needs: str


def create_account(*, owner_id: UUID, email: str, instead_of: str = "") -> str:
    """Create a connected account and return its id; the same owner gets the same account again.

    Stripe asks for everything else on its own pages. `instead_of` is an account that Stripe no longer knows.
    """
    about: AccountCreateParams = {
        "type": "express",
        "email": email,
        "capabilities": {"transfers": {"requested": True}},
        "metadata": {OWNER_MARK: owner_id.hex},
    }
    with stripe_calls() as api:
        return api.v1.accounts.create(about, {"idempotency_key": f"account:{owner_id.hex}:{instead_of}"}).id


def is_missing_account(error: StripeRefused) -> bool:
    """Return whether Stripe refused because the account is not connected to the market.

    It was closed or deleted there, or belongs to another key.
    """
    return error.extra.get("reason") in ("account_invalid", "resource_missing")


def onboarding_page(*, account_id: str, returns: ReturnUrls) -> str:
    """Return the address of a Stripe page that can be opened once, within minutes.

    Stripe sends visitors of an expired page to `left`.
    """
    with stripe_calls() as api:
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
    """Fetch an account; it is ready only if Stripe says so.

    A capability that is missing, pending or inactive does not count.
    """
    with stripe_calls() as api:
        found: dict[str, Any] = api.v1.accounts.retrieve(account_id).to_dict()
    transfers = (found.get("capabilities") or {}).get("transfers")
    requirements = found.get("requirements") or {}
    due = [*(requirements.get("past_due") or []), *(requirements.get("currently_due") or [])]
    needs = str(requirements.get("disabled_reason") or "") or ", ".join(dict.fromkeys(map(str, due)))
    is_ready = transfers == "active" and found.get("payouts_enabled") is True
    return RemoteAccount(id=str(found["id"]), is_ready=is_ready, needs=needs[:_LONGEST])


def check_account(account_id: str) -> None:
    """Refuse an account that cannot receive transfers.

    Raises:
        StripeRefused: it is not connected to the market, or not ready.
    """
    if not fetch_account(account_id).is_ready:
        raise StripeRefused("Stripe needs more information from you before this account can receive transfers.")

"""Addresses on renters' invoices."""

from uuid import UUID

from accounts.models import User
from billing.models import BillingAddress
from common.db.transactions import use_case


def set_address(*, owner_id: UUID, name: str, address: str, country: str, tax_id: str) -> None:
    """Set the address used from the next invoice on; issued invoices keep theirs."""
    fields = {"name": name.strip(), "address": address.strip(), "country": country.strip().upper(), "tax_id": tax_id.strip()}
    with use_case():
        BillingAddress.objects.update_or_create(owner_id=owner_id, defaults=fields)


def buyer_of(owner_id: UUID) -> dict[str, str]:
    """Return the buyer as an invoice stores it.

    Without an address it is the name and e-mail of the account.
    """
    user = User.objects.get(pk=owner_id)
    given = BillingAddress.objects.filter(owner_id=owner_id).first()
    if given is None:
        return {"name": user.display_name or user.email, "address": "", "country": "", "tax_id": "", "email": user.email}
    return {
        "name": given.name,
        "address": given.address.replace("\r\n", "\n"),
        "country": given.country,
        "tax_id": given.tax_id,
        "email": user.email,
    }

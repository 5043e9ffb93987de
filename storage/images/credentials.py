"""Logins for private registries, checked when they are saved and stored encrypted."""

from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import User
from common import clock
from common.db.transactions import use_case
from common.encryption import encrypt
from common.errors import wrong_field
from storage.clients.oci_registry.client import Login, check_login
from storage.clients.oci_registry.references import parse_registry
from storage.constants import REGISTRIES_AT_MOST
from storage.errors import TooManyImages
from storage.images.selectors import registries_of, registry_at, registry_of
from storage.models import Registry


def check_registry_login(*, host: str, username: str, password: str) -> str:
    """Check a login with its registry and return the registry's canonical name.

    It makes network requests, so call it outside transactions.
    """
    name = parse_registry(host)
    if not username or not password or ":" in username:
        raise wrong_field("username", _("Enter the registry's username and password or access token."))
    check_login(name, Login(username, password))
    return name


def save_registry(*, owner: User, host: str, username: str, password: str) -> Registry:
    """Save a checked login in place of an earlier one for the same registry."""
    with use_case():
        if registry_at(owner, host) is None and registries_of(owner).count() >= REGISTRIES_AT_MOST:
            raise TooManyImages(f"You have saved {REGISTRIES_AT_MOST} registries. Remove one that you no longer use.")
        saved, _made = Registry.objects.update_or_create(
            owner=owner,
            host=host,
            defaults={"username": username, "sealed_password": encrypt(password), "checked_at": clock.now()},
        )
    return saved


def remove_registry(*, owner: User, registry_id: UUID) -> None:
    """Delete a login.

    Images of this registry stay listed, but nobody can rent with them until a login is saved again; running instances
    are not affected.
    """
    with use_case():
        registry_of(owner, registry_id).delete()

"""Properties of an instance's image for its host, beside the reference."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from django.db.models import F

from common.encryption import decrypt
from instances.states import Desired, InstanceState
from storage.images.registry_grants import PULL, market_repository, registry_grant
from storage.states import ImageSource

# Annotations for the query of a host's desired instances.
IMAGE_COLUMNS: Final[Mapping[str, F]] = {
    "image_reference": F("image__reference"),
    "image_has_ssh": F("image__has_ssh"),
    "image_size": F("image__size_bytes"),
    "image_source": F("image__source"),
    "image_owner": F("image__owner_id"),
    "image_digest": F("image__digest"),
    "login_user": F("image__registry__username"),
    "login_secret": F("image__registry__sealed_password"),
}
_BEGINS: Final = (InstanceState.REQUESTED, InstanceState.PROVISIONING, InstanceState.STARTING, InstanceState.RESTARTING)


def with_image(desired: Any, row: Any) -> Any:
    """Return the desired row with the image's properties.

    The login for its registry is included only while the container is to be started.
    """
    begins = desired.run == Desired.RUNNING and row.state in _BEGINS
    return replace(
        desired,
        has_ssh=row.image_has_ssh,
        image_bytes=row.image_size,
        # A command of the renter may keep SSH from answering, like changes of the root do.
        untouched=row.image_source == ImageSource.OFFICIAL and not row.has_own_root and row.launch_id is None,
        registry_auth=_login(row) if begins else {},
    )


def _login(row: Any) -> dict[str, str]:
    if row.login_secret:
        return {"username": row.login_user, "password": decrypt(row.login_secret)}
    if row.image_source == "saved" and row.image_digest and market_repository(row.image_owner, row.image_id):
        username, password = registry_grant(row.image_owner, row.image_id, PULL)
        return {"username": username, "password": password}
    return {}

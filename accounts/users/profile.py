"""User accounts: created by staff or seed data, edited by their owner."""

from uuid import UUID

from allauth.account.models import EmailAddress

from accounts.event_log.services import record_event
from accounts.models import User
from common.db.transactions import use_case


def add_person(*, email: str, password: str, display_name: str = "", is_host_owner: bool = False) -> User:
    """Create a user with a verified address, or return the existing one.

    For seed data and staff, not for sign-up.
    """
    with use_case():
        person = User.objects.filter(email__iexact=email).first()
        if person is None:
            person = User.objects.create_user(email, password, display_name=display_name, is_host_owner=is_host_owner)
        EmailAddress.objects.update_or_create(user=person, email=person.email, defaults={"verified": True, "primary": True})
    return person


def record_language(*, user_id: UUID, language: str) -> None:
    """Record the language in which the user reads pages; later mails are written in it."""
    with use_case():
        User.objects.filter(pk=user_id).update(language=language)


def edit_profile(*, user_id: UUID, display_name: str | None = None, is_host_owner: bool | None = None) -> User:
    """Change the given fields.

    Being a host owner only opens the host panel; it can be given up at any time.
    """
    changes = {"display_name": display_name, "is_host_owner": is_host_owner}
    changes = {name: value for name, value in changes.items() if value is not None}
    with use_case():
        person = User.objects.select_for_update(no_key=True).get(pk=user_id)
        for name, value in changes.items():
            setattr(person, name, value)
        if changes:
            person.save(update_fields=list(changes))
            record_event(user_id=user_id, kind="profile.changed", subject=", ".join(changes))
    return person

"""People made by seeds and staff, profiles edited by their owners."""

from allauth.account.models import EmailAddress

from accounts.models import User
from accounts.users.profile import add_person, edit_profile


def test_a_person_is_added_once_with_a_verified_address(db: None) -> None:
    first = add_person(email="Demo@Example.com", password="correct-horse-battery", display_name="Demo")
    again = add_person(email="demo@example.COM", password="another-password")
    assert first == again
    assert first.email == "demo@example.com"
    assert again.check_password("correct-horse-battery")
    assert EmailAddress.objects.filter(user=first, verified=True, primary=True).count() == 1


def test_only_what_is_given_changes(alice: User) -> None:
    edit_profile(user_id=alice.pk, display_name="Alice L.")
    person = edit_profile(user_id=alice.pk, is_host_owner=True)
    assert (person.display_name, person.is_host_owner) == ("Alice L.", True)
    assert edit_profile(user_id=alice.pk).display_name == "Alice L."
    assert User.objects.get(pk=alice.pk).is_staff is False

"""The way in: sign-up, verification by mail, login, reset, second factor, throttling."""

import re

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core import mail
from django.test import Client

from accounts.mail.outbox import send_mails
from accounts.models import OutgoingMail, User
from accounts.users.profile import add_person
from common import clock
from tests.one_time_code import current_code

PASSWORD = "correct-horse-battery"


def link_in_mail() -> str:
    """Of the last mail, which leaves after the answer to the request that caused it."""
    send_mails(now=clock.now())
    found = re.search(r"https?://[^/\s]+(/\S+)", str(mail.outbox[-1].body))
    assert found is not None
    return found.group(1)


def sign_in(client: Client, email: str, password: str = PASSWORD) -> str:
    """Where the login leads, or "" when it is refused."""
    reply = client.post("/accounts/login/", {"login": email, "password": password})
    return str(reply.headers.get("Location", ""))


def is_signed_in(client: Client) -> bool:
    return client.get("/api/v1/me").status_code == 200


def test_sign_up_then_verify_then_sign_in(client: Client, db: None) -> None:
    form = {"email": "New.Person@Example.com", "password1": PASSWORD, "password2": PASSWORD}
    assert client.post("/accounts/signup/", form).status_code == 302
    person = User.objects.get()
    assert person.email == "new.person@example.com"
    assert mail.outbox == [], "mail leaves after the answer"
    link_in_mail()
    assert mail.outbox[-1].to == ["new.person@example.com"]
    assert not is_signed_in(client)
    assert sign_in(client, person.email) == "/accounts/confirm-email/"  # not before verification
    confirmation = link_in_mail()
    assert client.get(confirmation).status_code == 200
    assert client.post(confirmation).status_code == 302
    assert sign_in(client, "NEW.person@example.com") == "/instances"
    assert is_signed_in(client)
    client.post("/accounts/logout/")
    assert not is_signed_in(client)


@pytest.mark.parametrize("password", ["short", "password1234", "new.person@example.com"])
def test_weak_passwords_are_refused(client: Client, db: None, password: str) -> None:
    form = {"email": "new.person@example.com", "password1": password, "password2": password}
    assert client.post("/accounts/signup/", form).status_code == 200
    assert not User.objects.exists()


def test_sign_up_does_not_tell_who_is_known(client: Client, db: None) -> None:
    add_person(email="known@example.com", password=PASSWORD)
    form = {"password1": PASSWORD, "password2": PASSWORD}
    known = client.post("/accounts/signup/", {**form, "email": "KNOWN@example.com"})
    new = client.post("/accounts/signup/", {**form, "email": "new@example.com"})
    assert (known.status_code, known.headers["Location"]) == (new.status_code, new.headers["Location"])
    assert User.objects.filter(email__iexact="known@example.com").count() == 1


def test_sign_up_does_the_same_work_whether_the_address_is_known(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work, not the clock: passwords hashed, mails queued, mails sent while somebody waits (none)."""
    add_person(email="known@example.com", password=PASSWORD)
    hashed: list[str] = []
    encode = MD5PasswordHasher.encode

    def counting(self: MD5PasswordHasher, password: str, salt: str) -> str:
        hashed.append(password)
        return encode(self, password, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", counting)
    work = []
    for email in ("known@example.com", "new@example.com"):
        hashed.clear()
        OutgoingMail.objects.all().delete()
        client.post("/accounts/signup/", {"password1": PASSWORD, "password2": PASSWORD, "email": email})
        work.append((len(hashed), OutgoingMail.objects.filter(to=email).count(), len(mail.outbox)))
    assert work == [(1, 1, 0), (1, 1, 0)]


def test_a_forgotten_password_is_replaced_by_mail(client: Client, db: None) -> None:
    add_person(email="kim@example.com", password="the-old-password-7")
    assert client.post("/accounts/password/reset/", {"email": "kim@example.com"}).status_code == 302
    form_address = client.get(link_in_mail()).headers["Location"]
    reply = client.post(form_address, {"password1": PASSWORD, "password2": PASSWORD})
    assert reply.status_code == 302
    assert sign_in(Client(), "kim@example.com", "the-old-password-7") == ""
    assert sign_in(Client(), "kim@example.com") == "/instances"


def test_the_second_factor_is_asked_for(client: Client, db: None) -> None:
    person = add_person(email="kim@example.com", password=PASSWORD)
    secret = generate_totp_secret()
    TOTP.activate(person, secret)
    assert Authenticator.objects.filter(user=person).exists()
    assert sign_in(client, "kim@example.com") == "/accounts/2fa/authenticate/"
    assert not is_signed_in(client)
    wrong = client.post("/accounts/2fa/authenticate/", {"code": "000000"})
    assert wrong.status_code == 200
    assert not is_signed_in(client)
    code = current_code(secret)
    assert client.post("/accounts/2fa/authenticate/", {"code": code}).headers["Location"] == "/instances"
    assert is_signed_in(client)


def test_the_code_of_a_phone_whose_clock_is_a_little_off_is_taken(client: Client, db: None) -> None:
    secret = generate_totp_secret()
    TOTP.activate(add_person(email="kim@example.com", password=PASSWORD), secret)
    sign_in(client, "kim@example.com")
    assert client.post("/accounts/2fa/authenticate/", {"code": current_code(secret, ahead=3)}).status_code == 200
    assert not is_signed_in(client)
    client.post("/accounts/2fa/authenticate/", {"code": current_code(secret, ahead=1)})
    assert is_signed_in(client)


def test_the_second_factor_is_set_up_on_its_page(client: Client, db: None) -> None:
    person = add_person(email="kim@example.com", password=PASSWORD)
    sign_in(client, "kim@example.com")
    asked_again = client.get("/accounts/2fa/totp/activate/").headers["Location"]
    assert asked_again.startswith("/accounts/reauthenticate/")  # a session left open must not be enough
    assert client.get(asked_again).status_code == 200
    assert client.post(asked_again, {"password": PASSWORD}).headers["Location"] == "/accounts/2fa/totp/activate/"
    page = client.get("/accounts/2fa/totp/activate/")
    assert page.status_code == 200
    secret = page.context["form"].secret
    assert secret in page.content.decode()
    wrong = client.post("/accounts/2fa/totp/activate/", {"code": "000000"})
    assert (wrong.status_code, Authenticator.objects.count()) == (200, 0)
    assert client.post("/accounts/2fa/totp/activate/", {"code": current_code(secret)}).status_code == 302
    kinds = set(Authenticator.objects.filter(user=person).values_list("type", flat=True))
    assert kinds == {"totp", "recovery_codes"}
    assert sign_in(Client(), "kim@example.com") == "/accounts/2fa/authenticate/"


@pytest.mark.parametrize("page", ["login/", "signup/", "password/reset/", "password/reset/done/", "confirm-email/"])
def test_pages_for_strangers(client: Client, db: None, page: str) -> None:
    reply = client.get(f"/accounts/{page}")
    assert reply.status_code == 200
    assert "unsafe" not in reply.headers["Content-Security-Policy"]


@pytest.mark.parametrize("page", ["logout/", "password/change/", "email/", "2fa/", "reauthenticate/"])
def test_pages_for_members(client: Client, db: None, page: str) -> None:
    add_person(email="kim@example.com", password=PASSWORD)
    sign_in(client, "kim@example.com")
    assert client.get(f"/accounts/{page}").status_code == 200
    assert client.get(f"/accounts/{page}", headers={"accept-language": "zh-hans"}).status_code == 200


def test_fault_100_guessing_is_slowed_down(client: Client, db: None) -> None:
    add_person(email="kim@example.com", password=PASSWORD)
    for _ in range(5):
        assert sign_in(client, "kim@example.com", "a-wrong-password") == ""
    refused = client.post("/accounts/login/", {"login": "kim@example.com", "password": PASSWORD})
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "300")  # even the right one, for now
    assert not is_signed_in(client)


def test_a_stranger_cannot_lock_an_owner_out(db: None) -> None:
    """From elsewhere the owner gets in at once, and in a known browser even while many networks guess."""
    add_person(email="kim@example.com", password=PASSWORD)
    home = Client(REMOTE_ADDR="192.0.2.1")
    assert sign_in(home, "kim@example.com") == "/instances"
    home.post("/accounts/logout/")
    other_client = Client(REMOTE_ADDR="198.51.100.7")
    for _ in range(6):
        sign_in(other_client, "kim@example.com", "a-wrong-password")
    assert sign_in(Client(REMOTE_ADDR="192.0.2.9"), "kim@example.com") == "/instances"
    for network in range(21):  # 21 × 5 wrong ones: beyond what one account takes in an hour
        for _ in range(5):
            sign_in(Client(REMOTE_ADDR=f"203.0.113.{network}"), "kim@example.com", "a-wrong-password")
    unknown = Client(REMOTE_ADDR="192.0.2.77").post("/accounts/login/", {"login": "kim@example.com", "password": PASSWORD})
    assert (unknown.status_code, unknown.headers["Retry-After"]) == (429, "3600")
    assert sign_in(home, "kim@example.com") == "/instances", "a browser that its owner has used is counted by itself"


def test_the_cookie_of_another_account_opens_no_door(db: None) -> None:
    add_person(email="kim@example.com", password=PASSWORD)
    add_person(email="mal@example.com", password=PASSWORD)
    guesser = Client()
    sign_in(guesser, "mal@example.com")
    guesser.post("/accounts/logout/")
    replies = [guesser.post("/accounts/login/", {"login": "kim@example.com", "password": "wrong"}) for _ in range(6)]
    assert [reply.status_code for reply in replies] == [200] * 5 + [429]


@pytest.mark.parametrize(("page", "tries"), [("login/", 31), ("signup/", 21), ("password/reset/", 21)])
def test_every_429_says_when_to_come_back(client: Client, db: None, page: str, tries: int) -> None:
    replies = [client.post(f"/accounts/{page}", {"email": f"p{number}@example.com"}) for number in range(tries)]
    assert replies[-1].status_code == 429
    assert replies[-1].headers["Retry-After"] == "60"
    assert "Too many attempts" in replies[-1].content.decode()


def test_staff_sign_in_by_the_same_door(client: Client, stella: User) -> None:
    reply = client.get("/admin/")
    while reply.status_code == 302 and reply.headers["Location"].startswith("/admin/"):
        reply = client.get(reply.headers["Location"])
    assert reply.status_code == 302
    assert reply.headers["Location"].startswith("/accounts/login/")

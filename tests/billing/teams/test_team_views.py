"""Pages of teams, walked by owner, member and stranger."""

import re

import pytest
from django.test import Client

from accounts.models import Membership, Team, User
from accounts.teams.invitations import invite_member
from accounts.teams.services import create_team
from common import clock
from common.ids import public_id
from tests.billing.money import UNIT, pay_in, wallet
from tests.mails import sent


@pytest.fixture
def team(alice: User, bob: User) -> Team:
    found = create_team(user=alice, name="Vision <lab>")
    Membership.objects.create(team=found, user=bob, email=bob.email, joined_at=clock.now())
    pay_in(alice, 10 * UNIT)
    return found


@pytest.fixture
def path(team: Team) -> str:
    return f"/settings/teams/{public_id('team', team.pk)}"


Pair = tuple[User, User]


@pytest.fixture
def pair(alice: User, bob: User) -> Pair:
    return alice, bob


def as_(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def text(client: Client, path: str) -> str:
    return client.get(path).content.decode()


def place(team: Team, user: User) -> str:
    return public_id("memb", Membership.objects.get(team=team, user=user).pk)


def test_strangers_are_sent_to_sign_in_or_told_nothing(client: Client, mallory: User, path: str) -> None:
    for address in ("/settings/teams", path, "/settings/teams/join/x"):
        assert client.get(address)["Location"].startswith("/accounts/login/")
    other_user = as_(mallory)
    assert "You're not in a team yet" in text(other_user, "/settings/teams")
    assert other_user.get(path).status_code == 404
    for verb in ("rename", "delete", "transfer"):
        assert other_user.post(f"{path}/{verb}", {"name": "x"}).status_code in (302, 303, 404)
    assert Team.objects.get().name == "Vision <lab>"


def test_a_team_is_made(alice: User) -> None:
    reply = as_(alice).post("/settings/teams", {"name": "Robotics"})
    assert reply["Location"] == f"/settings/teams/{public_id('team', Team.objects.get().pk)}"
    assert "Robotics" in text(as_(alice), "/settings/teams")


def test_owners_see_more_than_members(alice: User, bob: User, path: str) -> None:
    owner, member = text(as_(alice), path), text(as_(bob), path)
    for words in ("Vision &lt;lab&gt;", "bob@example.com", "Transfer funds"):
        assert words in owner
        assert words in member
    for words in ("Make owner", "Delete team", "Rename", 'name="role"'):
        assert words in owner
        assert words not in member
    assert (owner.count("$0.00"), member.count("$0.00")) == (3, 2), "both and their sum; one's own, and what one may send"


def test_an_invitation_is_shown_once_mailed_and_accepted(alice: User, hana: User, path: str) -> None:
    shown = as_(alice).post(path, {"email": "hana@example.com", "role": "member"}).content.decode()
    (link,) = re.findall(r"https?://[^<]+(/settings/teams/join/[^<]+)</code>", shown)
    assert link in sent("Invitation")[0].body
    assert link not in text(as_(alice), path)
    guest = as_(hana)
    assert "You're invited to join the team" in text(guest, link)
    assert not Membership.objects.filter(user=hana).exists(), "looking at it is not joining"
    assert guest.post(link)["Location"] == path
    assert guest.get(link).status_code == 404


def test_who_is_in_already_is_not_invited(alice: User, path: str) -> None:
    reply = as_(alice).post(path, {"email": "bob@example.com", "role": "member"})
    assert reply.status_code == 409
    assert "This person is already in the team." in reply.content.decode()


def test_only_the_invited_address_sees_who_invites(alice: User, mallory: User, team: Team) -> None:
    _, secret = invite_member(user=alice, team_id=team.pk, email="hana@example.com")
    assert as_(mallory).get(f"/settings/teams/join/{secret}").status_code == 404


def sending(path: str, user: User, to: User, amount: str) -> dict[str, str]:
    (key,) = re.findall(r'name="send-key" value="([^"]+)"', text(as_(user), path))
    return {"send-to_id": str(to.pk), "send-amount_micros": amount, "send-memo": "for the run", "send-key": key}


def test_money_is_passed_on_once_however_often_the_form_is_sent(alice: User, bob: User, path: str) -> None:
    form = sending(path, alice, bob, "4.00")
    for _ in range(2):
        assert as_(alice).post(f"{path}/transfer", form).status_code == 302
    assert (wallet(alice).balance_micros, wallet(bob).balance_micros) == (6 * UNIT, 4 * UNIT)
    assert as_(alice).post(f"{path}/transfer", form | {"send-amount_micros": "1"}).status_code == 302
    assert wallet(bob).balance_micros == 5 * UNIT, "gone back to and sent with another amount, it is another transfer"
    assert "for the run" in text(as_(bob), "/wallet/statement")


@pytest.mark.parametrize(
    ("amount", "status", "words"),
    [
        ("11", 402, 'role="alert"'),
        ("0", 400, "Enter an amount above zero."),
        ("a lot", 400, "Enter an amount, such as 12.50."),
    ],
)
def test_what_cannot_be_sent_is_said_at_the_form(pair: Pair, path: str, amount: str, status: int, words: str) -> None:
    reply = as_(pair[0]).post(f"{path}/transfer", sending(path, *pair, amount))
    assert reply.status_code == status
    shown = reply.content.decode()
    assert words in shown
    assert f'value="{amount}"' in shown, "what was typed stays"
    assert wallet(pair[0]).balance_micros == 10 * UNIT


def test_roles_leaving_and_the_end(alice: User, bob: User, team: Team, path: str) -> None:
    owner = as_(alice)
    assert owner.post(f"{path}/rename", {"name": "Lab"}).status_code == 302
    assert owner.post(f"{path}/members/{place(team, bob)}/role", {"role": "owner"}).status_code == 302
    assert "Make member" in text(as_(bob), path)
    assert as_(bob).post(f"{path}/members/{place(team, bob)}/remove")["Location"] == "/settings/teams"
    refused = owner.post(f"{path}/members/{place(team, alice)}/remove", follow=True)
    assert "The last owner can&#x27;t leave the team." in refused.content.decode()
    assert owner.post(f"{path}/delete")["Location"] == "/settings/teams"
    assert not Team.objects.exists()

"""Teams: who may join, by which address and for how long; what roles may; that there is an owner at all times."""

from datetime import timedelta

import pytest
import time_machine

from accounts.constants import INVITATION_LIFETIME, INVITED_AGAIN_AFTER
from accounts.errors import AlreadyMember, InvitationExpired, LastOwner
from accounts.models import Membership, Team, User
from accounts.selectors import members_of, owned_team_members, team_of, teams_of
from accounts.teams import invitations, services
from common import clock
from common.errors import Forbidden, NotFound
from tests.instances.fake_host import refused
from tests.mails import sent


@pytest.fixture
def lab(alice: User) -> Team:
    return services.create_team(user=alice, name="Lab")


@pytest.fixture
def pair(lab: Team, alice: User, bob: User) -> Team:
    _, secret = invitations.invite_member(user=alice, team_id=lab.pk, email=bob.email)
    services.accept_invitation(user=bob, secret=secret)
    return lab


def place(team: Team, user: User) -> Membership:
    return members_of(team.pk).get(user=user)


def test_whoever_makes_a_team_owns_it(lab: Team, alice: User, bob: User) -> None:
    assert team_of(alice, lab.pk).role == "owner"  # type: ignore[attr-defined]
    assert not teams_of(bob).exists()
    with pytest.raises(NotFound):
        team_of(bob, lab.pk)


def test_only_the_invited_address_can_join(lab: Team, alice: User, bob: User, mallory: User) -> None:
    member, secret = invitations.invite_member(user=alice, team_id=lab.pk, email="BOB@example.com")
    assert secret not in (member.invite_hash, str(member)), "only its hash is kept"
    with pytest.raises(NotFound), refused():
        services.accept_invitation(user=mallory, secret=secret)
    assert services.accept_invitation(user=bob, secret=secret).pk == lab.pk
    assert place(lab, bob).role == "member"
    with pytest.raises(NotFound), refused():
        services.accept_invitation(user=bob, secret=secret)


def test_an_invitation_is_good_for_seven_days(lab: Team, alice: User, bob: User) -> None:
    with time_machine.travel(clock.now(), tick=False) as traveller:
        _, secret = invitations.invite_member(user=alice, team_id=lab.pk, email=bob.email)
        traveller.shift(INVITATION_LIFETIME)
        with pytest.raises(InvitationExpired), refused():
            services.accept_invitation(user=bob, secret=secret)
        traveller.shift(timedelta(seconds=-1))
        assert services.accept_invitation(user=bob, secret=secret)


def test_invited_again_the_old_link_is_void(lab: Team, alice: User, bob: User) -> None:
    with time_machine.travel(clock.now(), tick=False) as traveller:
        _, old = invitations.invite_member(user=alice, team_id=lab.pk, email=bob.email)
        traveller.shift(INVITED_AGAIN_AFTER)
        _, new = invitations.invite_member(user=alice, team_id=lab.pk, email=bob.email, role="owner")
    with pytest.raises(NotFound), refused():
        services.accept_invitation(user=bob, secret=old)
    services.accept_invitation(user=bob, secret=new)
    assert place(lab, bob).role == "owner"
    with pytest.raises(AlreadyMember), refused():
        invitations.invite_member(user=alice, team_id=lab.pk, email=bob.email)


def test_the_invitation_is_mailed_with_its_link(lab: Team, alice: User) -> None:
    _, secret = invitations.invite_member(user=alice, team_id=lab.pk, email="new@example.com")
    [message] = sent()
    assert message.to == ["new@example.com"]
    assert f"/settings/teams/join/{secret}" in message.body


def test_a_member_may_neither_invite_nor_rename_nor_remove_others(pair: Team, alice: User, bob: User) -> None:
    attempts = (
        lambda: invitations.invite_member(user=bob, team_id=pair.pk, email="x@example.com"),
        lambda: services.rename_team(user=bob, team_id=pair.pk, name="Mine"),
        lambda: services.set_role(user=bob, team_id=pair.pk, member_id=place(pair, bob).pk, role="owner"),
        lambda: services.remove_member(user=bob, team_id=pair.pk, member_id=place(pair, alice).pk),
        lambda: services.delete_team(user=bob, team_id=pair.pk),
    )
    for attempt in attempts:
        with pytest.raises(Forbidden), refused():
            attempt()


def test_the_last_owner_stays(pair: Team, alice: User, bob: User) -> None:
    own = place(pair, alice).pk
    for attempt in (
        lambda: services.remove_member(user=alice, team_id=pair.pk, member_id=own),
        lambda: services.set_role(user=alice, team_id=pair.pk, member_id=own, role="member"),
        lambda: services.delete_team(user=alice, team_id=pair.pk),
    ):
        with pytest.raises(LastOwner), refused():
            attempt()
    services.set_role(user=alice, team_id=pair.pk, member_id=place(pair, bob).pk, role="owner")
    services.remove_member(user=alice, team_id=pair.pk, member_id=own)
    assert not teams_of(alice).exists()
    services.delete_team(user=bob, team_id=pair.pk)
    assert not Team.objects.exists()


def test_a_member_may_leave_and_an_owner_remove(pair: Team, alice: User, bob: User) -> None:
    services.remove_member(user=bob, team_id=pair.pk, member_id=place(pair, bob).pk)
    assert not teams_of(bob).exists()
    with time_machine.travel(clock.now() + INVITED_AGAIN_AFTER):
        member, secret = invitations.invite_member(user=alice, team_id=pair.pk, email=bob.email)
    services.remove_member(user=alice, team_id=pair.pk, member_id=member.pk)
    with pytest.raises(NotFound), refused():
        services.accept_invitation(user=bob, secret=secret)


def test_owners_alone_see_members(pair: Team, alice: User, bob: User, mallory: User) -> None:
    assert list(owned_team_members(alice)) == [bob]
    assert not owned_team_members(bob).exists()
    assert not owned_team_members(mallory).exists()

"""Teams: members, and money that their owners hand out."""

from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET

from berth.cli.framework import nouns, session
from berth.cli.lookup import pick
from berth.cli.ordering import KEY, place_once
from berth.cli.output import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from berth import models

COLUMNS: "Sequence[Column[models.TeamOut]]" = (
    Column("NAME", lambda team: team.name),
    Column("YOUR ROLE", lambda team: team.role),
    Column("ID", lambda team: team.id),
)
MEMBERS: "Sequence[Column[models.MemberOut]]" = (
    Column("NAME", lambda member: member.name),
    Column("EMAIL", lambda member: member.email),
    Column("ROLE", lambda member: member.role),
    Column("JOINED", lambda member: member.joined_at),
    Column("ID", lambda member: member.id),
)
_ROLE = click.option("--role", help="Role as in the console: owner, admin, member …")


def _team(text: str) -> str:
    return str(pick(session().client.teams.list(), text, "team", name=lambda each: str(each.name)).id)


@nouns("team")
def team() -> None:
    """Teams, members and transfers."""


@team.command("ls")
def ls() -> None:
    """List your teams."""
    session().out.rows(session().client.teams.list(), COLUMNS, name=lambda each: str(each.name), empty="You are in no team.")


@team.command("create")
@click.argument("name")
def create(name: str) -> None:
    """Create a team."""
    made = session().client.teams.create(name=name)
    session().out.facts(made, [("Team", made.name), ("ID", made.id)], name=made.id)


@team.command("members")
@click.argument("name")
def members(name: str) -> None:
    """List a team's members."""
    session().out.rows(session().client.teams.members_list(_team(name)), MEMBERS, name=lambda each: str(each.email))


@team.command("invite")
@click.argument("name")
@click.argument("email")
@_ROLE
def invite(name: str, email: str, role: str | None) -> None:
    """Invite somebody by email."""
    made = session().client.teams.invite(_team(name), email=email, role=role or UNSET)
    facts = [("Invited", made.email), ("Role", made.role), ("Until", made.expires_at), ("Secret", made.secret)]
    session().out.facts(made, facts, name=made.email)


@team.command("join")
@click.argument("secret")
def join(secret: str) -> None:
    """Accept an invitation with the secret from it."""
    joined = session().client.teams.join(secret=secret)
    session().out.facts(joined, [("Team", joined.name), ("Role", joined.role)], name=joined.name)


@team.command("role")
@click.argument("name")
@click.argument("member")
@click.argument("role")
def role(name: str, member: str, role: str) -> None:
    """Change a member's role."""
    client, team_id = session().client, _team(name)
    found = pick(client.teams.members_list(team_id), member, "member", name=lambda each: str(each.email))
    changed = client.teams.set_role(team_id, found.id, role=role)
    session().out.facts(changed, [("Member", changed.email), ("Role", changed.role)], name=changed.email)


@team.command("remove")
@click.argument("name")
@click.argument("member")
def remove(name: str, member: str) -> None:
    """Remove a member, or withdraw an invitation."""
    client, team_id = session().client, _team(name)
    found = pick(client.teams.members_list(team_id), member, "member", name=lambda each: str(each.email), exact=True)
    client.teams.remove_member(team_id, found.id)
    session().out.note(f"Removed {found.email}.")


@team.command("transfer")
@click.argument("name")
@click.argument("to")
@click.argument("amount")
@click.option("--memo", default="")
@click.option("--yes", "-y", is_flag=True, help="Don't ask")
@KEY
def transfer(*, name: str, to: str, amount: str, key: str | None, memo: str, yes: bool) -> None:
    """Send money from your wallet to a member's: `berth team transfer LAB ada@example.com 20`."""
    client, team_id = session().client, _team(name)
    found = pick(client.teams.members_list(team_id), to, "member", name=lambda each: str(each.email), exact=yes)
    session().confirm(f"Send {amount} to {found.email}?", yes=yes)
    order: dict[str, Any] = {"to": found.user_id or found.id, "amount": amount, "memo": memo or UNSET}
    sent = place_once(
        lambda own: client.teams.transfer(team_id, **order, idempotency_key=own),
        key=key,
        again=["team", "transfer", team_id, found.id, amount, *(["--memo", memo] if memo else [])],
        look="berth wallet --entries",
    )
    session().out.json(sent) if session().out.is_json else session().out.note(f"Sent {amount} to {found.email}.")

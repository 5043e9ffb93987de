# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `teams`."""

from __future__ import annotations

from decimal import Decimal

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Pager, Resource


class Teams(Resource):
    def list(
        self, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> Pager[models.PaginatedTeamOutList, models.TeamOut]:
        """List the teams that you are in, or create one.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call("GET", "/api/v1/teams", models.PaginatedTeamOutList, query={"limit": limit}, timeout=timeout),
            models.TeamOut,
        )

    def create(
        self, *, name: str, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.TeamOut:
        """List the teams that you are in, or create one."""
        return self._send(
            Call(
                "POST",
                "/api/v1/teams",
                models.TeamOut,
                body={"name": name},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def get(self, team_id: str, *, timeout: float | None = None) -> models.TeamOut:
        """Return, rename or delete one team."""
        return self._send(Call("GET", f"/api/v1/teams/{self._part(team_id)}", models.TeamOut, timeout=timeout))

    def rename(self, team_id: str, *, name: str | UnsetType = UNSET, timeout: float | None = None) -> models.TeamOut:
        """Return, rename or delete one team."""
        return self._send(
            Call("PATCH", f"/api/v1/teams/{self._part(team_id)}", models.TeamOut, body={"name": name}, timeout=timeout)
        )

    def delete(self, team_id: str, *, timeout: float | None = None) -> None:
        """Return, rename or delete one team."""
        return self._send(Call("DELETE", f"/api/v1/teams/{self._part(team_id)}", type(None), timeout=timeout))

    def members_list(
        self, team_id: str, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> Pager[models.PaginatedMemberOutList, models.MemberOut]:
        """List members and invitations of a team, or invite someone.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call(
                "GET",
                f"/api/v1/teams/{self._part(team_id)}/members",
                models.PaginatedMemberOutList,
                query={"limit": limit},
                timeout=timeout,
            ),
            models.MemberOut,
        )

    def invite(
        self,
        team_id: str,
        *,
        email: str,
        role: models.Role | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.InvitationOut:
        """List members and invitations of a team, or invite someone."""
        return self._send(
            Call(
                "POST",
                f"/api/v1/teams/{self._part(team_id)}/members",
                models.InvitationOut,
                body={"email": email, "role": role},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def set_role(
        self, team_id: str, member_id: str, *, role: models.Role | UnsetType = UNSET, timeout: float | None = None
    ) -> models.MemberOut:
        """Set the role of a member or remove one; members can always remove themselves."""
        return self._send(
            Call(
                "PATCH",
                f"/api/v1/teams/{self._part(team_id)}/members/{self._part(member_id)}",
                models.MemberOut,
                body={"role": role},
                timeout=timeout,
            )
        )

    def remove_member(self, team_id: str, member_id: str, *, timeout: float | None = None) -> None:
        """Set the role of a member or remove one; members can always remove themselves."""
        return self._send(
            Call(
                "DELETE", f"/api/v1/teams/{self._part(team_id)}/members/{self._part(member_id)}", type(None), timeout=timeout
            )
        )

    def spending(
        self, team_id: str, *, month: str | UnsetType = UNSET, timeout: float | None = None
    ) -> tuple[models.SpendingOut, ...]:
        """List the spending of all members as an owner, or your own as a member.

        Args:
            month: For example 2026-11; default: the current month
        """
        return self._send(
            Call(
                "GET",
                f"/api/v1/teams/{self._part(team_id)}/spending",
                tuple[models.SpendingOut, ...],
                query={"month": month},
                timeout=timeout,
            )
        )

    def transfer(
        self,
        team_id: str,
        *,
        to: str,
        amount: Decimal | str,
        memo: str | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.TransferOut:
        """Transfer money to a member of the same team.

        Args:
            to: user_… of the team
            amount: A decimal string, such as 12.50
        """
        return self._send(
            Call(
                "POST",
                f"/api/v1/teams/{self._part(team_id)}/transfers",
                models.TransferOut,
                body={"to": to, "amount": amount, "memo": memo},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def join(
        self, *, secret: str, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.TeamOut:
        """Accept an invitation to your own address."""
        return self._send(
            Call(
                "POST",
                "/api/v1/teams/join",
                models.TeamOut,
                body={"secret": secret},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

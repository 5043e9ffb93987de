"""Pictures of teams, budgets and the banners: a team of two, budgets half and nearly spent, a wallet that runs low."""

from datetime import timedelta
from uuid import UUID

from accounts.models import User
from accounts.teams.invitations import invite_member
from accounts.teams.services import accept_invitation, create_team
from billing.budgets.selectors import budget_views
from billing.models import Standing, Wallet
from billing.transfers.services import transfer_money
from common import clock
from common.ids import public_id
from instances.enforcement.budgets import enforce_budgets, set_budget
from instances.models import Instance
from tests.billing.money import pay_in
from tests.web.world import PASSWORD, UNIT, World


def limit_pages(world: World) -> dict[str, tuple[str, str]]:
    """Name → (who, path)."""
    alice = User.objects.get(email="alice@example.com")
    wen = User.objects.create_user("wen@example.com", PASSWORD, display_name="Wen Li")
    team = create_team(user=alice, name="Vision lab")
    _, secret = invite_member(user=alice, team_id=team.pk, email=wen.email)
    accept_invitation(user=wen, secret=secret)
    invite_member(user=alice, team_id=team.pk, email="somebody.with.a.long.address@department.university.example")
    _, invitation = invite_member(user=alice, team_id=create_team(user=alice, name="Robotics").pk, email="hana@example.com")
    pay_in(alice, 25 * UNIT)
    transfer_money(sender=alice, team_id=team.pk, to_id=wen.pk, amount_micros=25 * UNIT, memo="for the ablations")
    _budgets(alice, wen, team.pk, world.instances["running"])
    wallet = Wallet.objects.get(owner=alice, kind="renter")
    soon = clock.now() + timedelta(hours=17)
    Standing.objects.update_or_create(wallet=wallet, defaults={"state": "low", "next_state_at": soon})
    ending = Instance.objects.filter(pk=world.instances["stopped"].pk)
    ending.update(release_at=clock.now() + timedelta(days=2, hours=5))
    return {
        "budgets": ("alice", "/wallet/budgets"),
        "budgets-empty": ("hana", "/wallet/budgets"),
        "teams": ("alice", "/settings/teams"),
        "teams-empty": ("hana", "/settings/teams"),
        "team": ("alice", f"/settings/teams/{public_id('team', team.pk)}"),
        "team-join": ("hana", f"/settings/teams/join/{invitation}"),
        "banners": ("alice", "/instances"),
    }


def _budgets(alice: User, wen: User, team_id: UUID, running: Instance) -> None:
    """Limits by what is spent already, so that the bars are at every mark."""
    everything = set_budget(owner=alice, scope="member", subject_id=None, period="total", limit_micros=UNIT, hard=False)
    (view,) = budget_views([everything], now=clock.now())
    spent = max(UNIT, view.use.spent_micros)
    everything.delete()
    subjects: tuple[tuple[UUID | None, str, int, str], ...] = (
        (None, "member", 115, "month"),
        (running.pk, "instance", 400, "total"),
        (team_id, "team", 180, "month"),
        (wen.pk, "member", 100, "month"),
    )
    for subject, scope, percent, period in subjects:
        limit = spent * percent // 100
        hard = scope == "instance"
        set_budget(owner=alice, scope=scope, subject_id=subject, period=period, limit_micros=limit, hard=hard)
    enforce_budgets(now=clock.now())

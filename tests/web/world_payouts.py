"""Host owners' months for pictures: GPUs rented and given back, payouts in every state, and one balance below zero."""

from datetime import datetime, timedelta
from uuid import UUID

import time_machine

from accounts.models import Membership, User
from accounts.teams.services import create_team
from billing.debts.services import freeze_owed_money
from billing.metering.host_fault_credits import credit_source
from billing.payouts.accounts import freeze_payouts
from billing.payouts.bank_export import confirm_payout, export_batch, return_payout
from billing.transfers.services import transfer_money
from common import clock
from common.db.transactions import use_case
from common.ids import new_uuid, public_id
from instances.models import Instance, Quote
from marketplace.models import Gpu, Host, Lease
from tests.billing.payouts.world import account, ask, earn, take_back, top_up
from tests.web.world import World, person

_LONGEST = 40
_OUTAGE = 6
# Days ago → whether the bank turns it down. The last one is under way.
_PAYOUTS = {21: False, 14: True, 13: False, 0: False}


def payout_pages(world: World) -> dict[str, tuple[str, str]]:
    """Name → (who, path); makes what they show."""
    now, renter = clock.now(), person("hugo@example.com", "Hugo")
    account(world.hana)
    for day in range(_LONGEST, -1, -1):
        if day:
            _day_of_rents(renter, world, now=now, day=day)
        if day in _PAYOUTS:
            _payout(world.hana, now - timedelta(days=day), fails=_PAYOUTS[day], arrives=day > 0)
    stella = User.objects.get(email="stella@example.com")
    _below_zero(stella, now)
    earn(world.hana, 12, ago=3, renter=world.hana, now=now)
    _owes(person("owen@example.com", "Owen"), person("fay@example.com", "Fay"), now)
    offer = world.offer_of("lab-03")
    own = f"/offers/{public_id('offr', offer.pk)}/rent?billing_mode=reserved&term=month&payment=none"
    return {
        "rent-own": ("hana", own),
        "wallet-owes": ("owen", "/wallet/top-up"),
        "earnings": ("hana", "/hosts/earnings"),
        "earnings-days": ("hana", "/hosts/earnings?by=day"),
        "earnings-hosts": ("hana", "/hosts/earnings?by=host"),
        "earnings-none": ("alice", "/hosts/earnings"),
        "payouts": ("hana", "/hosts/payouts"),
        "payouts-none": ("alice", "/hosts/payouts"),
        "payouts-below-zero": ("stella", "/hosts/payouts"),
        "payout-account": ("hana", "/hosts/payouts/account"),
        "payout-account-first": ("alice", "/hosts/payouts/account"),
        "panel-earnings": ("hana", "/host-panel/billing/usage/"),
        "panel-payouts": ("hana", "/host-panel/billing/payout/"),
        "panel-payout-account": ("hana", "/host-panel/billing/payoutaccount/"),
        "staff-payouts": ("stella", "/admin/billing/payout/"),
        "staff-payout-accounts": ("stella", "/admin/billing/payoutaccount/"),
    }


def _day_of_rents(renter: User, world: World, *, now: datetime, day: int) -> None:
    lab = world.hosts["lab-03"]
    _rent(renter, lab, now=now, day=day, gpus=1 + day % 3, units=11 + day * 7 % 13)
    if day % 4 == 0:
        _rent(renter, world.hosts["sh-gpu-12"], now=now, day=day, gpus=2, units=6.5)
    if day == _OUTAGE:
        _given_back(_rent(renter, lab, now=now, day=day, gpus=2, units=9), now=now, day=day)


def _rent(renter: User, host: Host, *, now: datetime, day: int, gpus: int, units: float) -> UUID:
    """An hour at that price on the first GPUs of the host, by an instance that is gone."""
    begin, like = now - timedelta(days=day, hours=1), Instance.objects.order_by("created_at")[0]
    offer = host.offers.all()[0]
    quote = Quote.objects.create(**{**_values(like.quote), "id": new_uuid(), "offer_id": offer.pk, "renter_id": renter.pk})
    gone = {"state": "gone", "desired": "gone", "released_at": begin + timedelta(hours=1), "name": "gone", "ports": []}
    places = {"id": new_uuid(), "quote_id": quote.pk, "renter_id": renter.pk, "host_id": host.pk, "offer_id": offer.pk}
    instance = Instance.objects.create(**{**_values(like), **gone, **places})
    for gpu in Gpu.objects.filter(host=host).order_by("index")[:gpus]:
        Lease.objects.create(
            gpu=gpu,
            offer=offer,
            holder=instance.pk,
            price_micros=offer.price_micros,
            cpu_millis=0,
            ram_mb=0,
            leased_at=begin,
            released_at=begin + timedelta(hours=1),
            release_reason="end",
        )
    return earn(host.owner, units, ago=day, renter=renter, now=now, of=("instance", instance.pk))


def _values(row: Quote | Instance) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def _given_back(source_id: UUID, *, now: datetime, day: int, kind: str = "instance") -> None:
    end = now - timedelta(days=day)
    with use_case():
        credit_source(
            source_kind=kind,
            source_id=source_id,
            key=f"pictures:{source_id.hex}",
            since=end - timedelta(hours=1),
            until=end,
            reason="The host was silent.",
            actor="system",
        )


def _payout(owner: User, at: datetime, *, fails: bool, arrives: bool) -> None:
    payout = ask(owner, at=at)
    if not arrives:
        return
    with time_machine.travel(at + timedelta(hours=3), tick=False):
        export_batch(actor="stella@example.com")
        if fails:
            return_payout(payout_id=payout.pk, actor="stella@example.com", reason="The bank knows no such account.")
        else:
            confirm_payout(payout_id=payout.pk, actor="stella@example.com", reference=f"SEPA-{at:%Y%m%d}-0417")


def _below_zero(owner: User, now: datetime) -> None:
    source_id = earn(owner, 100, ago=40, now=now)
    account(owner)
    payout = ask(owner, at=now - timedelta(days=30))
    confirm_payout(payout_id=payout.pk, actor="staff", reference="SEPA-0391")
    _given_back(source_id, now=now, day=40, kind="disk")
    freeze_payouts(owner_id=owner.pk, reason="We have written to you about your tax number.")


def _owes(owner: User, friend: User, now: datetime) -> None:
    """A disputed payment that was spent, and a friend's that lies in the wallet."""
    payment = top_up(owner, 30, at=now - timedelta(days=9))
    earn(friend, 25, ago=8, renter=owner, now=now, granted=False)
    take_back(payment, at=now - timedelta(days=2))
    team = create_team(user=friend, name="Friends")
    Membership.objects.create(team=team, user=owner, email=owner.email, joined_at=now)
    other = top_up(friend, 40, at=now - timedelta(days=1))
    transfer_money(sender=friend, team_id=team.pk, to_id=owner.pk, amount_micros=40_000_000)
    take_back(other, at=now)
    freeze_owed_money()

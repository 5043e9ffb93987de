"""Verification of hosts: the latest self-test passed, on the present hardware, and is recent enough."""

import hashlib
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from common import change_counters
from common.db.transactions import use_case
from common.errors import IllegalTransition, NotFound
from common.messages.message import English, Message
from common.messages.rendering import columns
from marketplace.constants import VERIFIED_FOR
from marketplace.host_messages import Doubt, DriverChanged, NotVerified, RefusalWithdrawn, SimulatedTestPassed, TestPassed
from marketplace.leasing.availability import refresh_offers_of_host
from marketplace.models import Gpu, Host, HostEvent, SelfTest
from marketplace.states import Verdict, Verification

_OVER = (Verdict.PASSED, Verdict.FAILED)


def hardware_of(host: Host) -> str:
    """Return a digest of the present GPUs and the driver, for which alone a self-test is valid."""
    uuids = Gpu.objects.filter(host=host, present=True).order_by("uuid").values_list("uuid", flat=True)
    return hashlib.sha256("\n".join([host.driver, *uuids]).encode()).hexdigest()


def update_verification(*, host: Host, now: datetime, actor: str) -> None:
    """Verify the host, or let its verification lapse, according to its self-tests.

    The caller has locked the host's row. A refusal by staff stays until staff revoke it.
    """
    doubt = _doubt(host, now)
    if host.awaits_test and not doubt:
        _await_test(host, waits=False, why=None, actor=actor)
    if host.verification == Verification.REFUSED:
        return
    if not doubt and host.verification != Verification.VERIFIED:
        what = SimulatedTestPassed() if host.simulated else TestPassed()
        _verify(host, Verification.VERIFIED, why=what, actor=actor, at=now)
    elif doubt and host.verification == Verification.VERIFIED:
        _verify(host, Verification.LAPSED, why=NotVerified(doubt=doubt), actor=actor)


def close_until_tested(*, host: Host, was: str, actor: str) -> None:
    """Close the host to new rents after its driver changed from `was`, until a self-test passes.

    Running instances go on; the self-test needs each GPU free once. The caller has locked the host's row.
    """
    why = DriverChanged(before=was, after=host.driver)
    _await_test(host, waits=True, why=why, actor=actor)


def refuse_verification(*, host_id: UUID, reason: str, actor: str) -> None:
    """Refuse verification by decision of staff, whatever the self-tests say."""
    with use_case():
        host = _lock(host_id)
        if host.verification != Verification.REFUSED:
            _verify(host, Verification.REFUSED, why=English(sentence=reason), actor=actor)


def restore_verification(*, host_id: UUID, now: datetime, actor: str) -> None:
    """Revoke a refusal: from now on the self-tests decide again.

    Raises:
        IllegalTransition: verification was not refused.
    """
    with use_case():
        host = _lock(host_id)
        if host.verification != Verification.REFUSED:
            raise IllegalTransition("Verification was not refused to this host.")
        _verify(host, Verification.UNVERIFIED, why=RefusalWithdrawn(), actor=actor)
        update_verification(host=host, now=now, actor=actor)


def lapse_stale(*, now: datetime) -> int:
    """End the verification of every host without a recent self-test; return how many were checked."""
    fresh = SelfTest.objects.filter(host=OuterRef("pk"), verdict=Verdict.PASSED, finished_at__gt=now - VERIFIED_FOR)
    old = Host.objects.filter(~Q(Exists(fresh)), verification=Verification.VERIFIED).order_by("pk")
    host_ids = list(old.values_list("pk", flat=True))
    for host_id in host_ids:
        with use_case():
            update_verification(host=_lock(host_id), now=now, actor="sweep")
    return len(host_ids)


def _doubt(host: Host, now: datetime) -> Doubt | None:
    """Return why the host cannot be verified, or an empty text."""
    last = SelfTest.objects.filter(host=host, verdict__in=_OVER).order_by("-finished_at", "-id").first()
    if last is None or last.finished_at is None:
        return Doubt.UNTESTED
    if last.verdict != Verdict.PASSED:
        return Doubt.FAILED
    if last.hardware != hardware_of(host):
        return Doubt.CHANGED
    return None if last.finished_at > now - VERIFIED_FOR else Doubt.OLD


def _await_test(host: Host, *, waits: bool, why: Message | None, actor: str) -> None:
    host.awaits_test = waits
    host.save(update_fields=["awaits_test"])
    kind = "awaits_test" if waits else "awaits_test_ended"
    HostEvent.objects.create(host=host, kind=kind, actor=actor[:80], **columns("detail", why))
    refresh_offers_of_host(host_id=host.pk)


def _verify(host: Host, target: Verification, *, why: Message, actor: str, at: datetime | None = None) -> None:
    host.verification = target
    host.verified_at = at
    host.save(update_fields=["verification", "verified_at"])
    HostEvent.objects.create(host=host, kind=str(target), actor=actor[:80], **columns("detail", why))
    refresh_offers_of_host(host_id=host.pk)
    change_counters.notify_change(f"user:{host.owner_id.hex}")


def _lock(host_id: UUID) -> Host:
    host = Host.objects.select_for_update(of=("self",), no_key=True).filter(pk=host_id).order_by("pk").first()
    if host is None:
        raise NotFound("This host doesn't exist.")
    return host

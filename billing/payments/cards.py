"""Saved cards and rules of automatic top-up; only ids of Stripe are stored, never a card number."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from django.utils.translation import get_language

from accounts.event_log.services import record_event
from accounts.models import User
from billing.errors import NoSavedCard, StripeRefused
from billing.models import PaymentProfile
from billing.people.account_links import record_card
from billing.stripe import client
from billing.stripe.client import Buyer, ReturnUrls
from billing.stripe.currencies import to_minor, top_up_limits
from billing.stripe.objects import Card
from common import change_counters
from common.db.transactions import use_case
from common.errors import FieldError, InvalidInput
from common.money import format_money

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class AutoRule:
    """Rule of automatic top-up.

    When less than `threshold` can be spent, `amount` is charged to the saved card, at most `monthly_cap` a month.
    """

    enabled: bool
    threshold_micros: int
    amount_micros: int
    monthly_cap_micros: int


def customer_of(*, owner: User) -> str:
    """Return the renter's customer id at Stripe, created when missing."""
    known = PaymentProfile.objects.filter(owner=owner).values_list("customer_id", flat=True).first()
    if known:
        return known
    customer_id = client.create_customer(owner_id=owner.pk, email=owner.email)
    with use_case():
        profile = lock_profile(owner.pk)
        if profile.customer_id is None:
            PaymentProfile.objects.filter(pk=owner.pk).update(customer_id=customer_id)
            return customer_id
    return profile.customer_id


def with_customer(*, owner: User, call: Callable[[str], Answer]) -> Answer:
    """Call `call` with the renter's customer id; create the customer again if it was deleted at Stripe."""
    customer_id = customer_of(owner=owner)
    try:
        return call(customer_id)
    except StripeRefused as error:
        if not client.is_missing_customer(error):
            raise
    return call(_customer_instead_of(owner, customer_id))


def clear_customer(*, owner_id: UUID, customer_id: str) -> None:
    """Forget a customer that Stripe no longer knows, and with it the card.

    Runs inside a use case.
    """
    profile = lock_profile(owner_id)
    if profile.customer_id == customer_id:
        PaymentProfile.objects.filter(pk=owner_id).update(
            customer_id=None, card_id="", card_brand="", card_last4="", auto_enabled=False
        )
        change_counters.notify_change(f"user:{owner_id.hex}")


def _customer_instead_of(owner: User, gone: str) -> str:
    made = client.create_customer(owner_id=owner.pk, email=owner.email, instead_of=gone)
    with use_case():
        clear_customer(owner_id=owner.pk, customer_id=gone)
        PaymentProfile.objects.filter(pk=owner.pk, customer_id=None).update(customer_id=made)
    return made


def start_card_setup(*, owner: User, key: str) -> str:
    """Return the address of Stripe's page for saving a card."""
    page = f"{settings.SITE_URL}{reverse('top_up')}"
    returns = ReturnUrls(done=f"{page}?card=1", left=page)

    def call(customer_id: str) -> str:
        return client.open_card_setup(buyer=Buyer(owner.pk, customer_id), returns=returns, key=key).url

    return with_customer(owner=owner, call=call)


def store_card(*, owner_id: UUID, customer_id: str, card: Card) -> None:
    """Store a card that Stripe has saved, and clear a failure of the rule.

    Runs inside the caller's transaction.
    """
    profile = lock_profile(owner_id)
    PaymentProfile.objects.filter(pk=owner_id).update(
        customer_id=profile.customer_id or customer_id or None,
        card_id=card.id,
        card_brand=card.brand[:20],
        card_last4=card.last4[:4],
        auto_failure="",
        auto_told_at=None,
    )
    record_card(owner_id=owner_id, fingerprint=card.fingerprint)
    change_counters.notify_change(f"user:{owner_id.hex}")


def remove_card(*, owner_id: UUID) -> None:
    """Remove the card here and at Stripe, and stop automatic top-ups; repeating it is harmless."""
    with use_case():
        profile = lock_profile(owner_id)
        PaymentProfile.objects.filter(pk=owner_id).update(
            card_id="", card_brand="", card_last4="", auto_enabled=False, auto_failure="", auto_told_at=None
        )
    if profile.card_id:
        try:
            client.detach_card(profile.card_id)
        except StripeRefused:
            return  # it was removed there already


def save_auto_rule(*, owner_id: UUID, rule: AutoRule) -> None:
    """Save the rule of automatic top-up; saving it also makes it try again after a failure.

    Raises:
        NoSavedCard: the rule is enabled without a card.
        InvalidInput: an amount is not allowed.
    """
    _check(rule)
    with use_case():
        profile = lock_profile(owner_id)
        if rule.enabled and not profile.card_id:
            raise NoSavedCard("Save a card first. It is charged when the balance is low.")
        PaymentProfile.objects.filter(pk=owner_id).update(
            auto_enabled=rule.enabled,
            auto_threshold_micros=rule.threshold_micros,
            auto_amount_micros=rule.amount_micros,
            auto_monthly_cap_micros=rule.monthly_cap_micros,
            auto_failure="",
            auto_told_at=None,
            language=(get_language() or "en")[:10],
        )
        summary = f"< {format_money(rule.threshold_micros)} → +{format_money(rule.amount_micros)}" if rule.enabled else ""
        record_event(user_id=owner_id, kind="limit.auto_top_up", subject=summary)


def record_auto_failure(*, owner_id: UUID, failure: str) -> None:
    """Record that the card was refused, inside a transaction.

    The rule pauses until its owner acts; a sweep mails them.
    """
    PaymentProfile.objects.filter(pk=owner_id).update(auto_failure=failure[:200], auto_told_at=None)


def _check(rule: AutoRule) -> None:
    if not rule.enabled:
        return
    limits = top_up_limits(settings.MARKET_CURRENCY)
    span = f"from {format_money(limits.least_micros)} to {format_money(limits.most_micros)}"
    if not limits.least_micros <= rule.amount_micros <= limits.most_micros:
        raise _wrong("amount", f"Choose an amount {span}.")
    to_minor(rule.amount_micros, settings.MARKET_CURRENCY)
    if not 0 < rule.threshold_micros <= limits.most_micros:
        raise _wrong("threshold", f"Choose a threshold above zero, at most {format_money(limits.most_micros)}.")
    if rule.monthly_cap_micros < rule.amount_micros:
        raise _wrong("monthly_cap", "The most in a month is at least one amount.")


def _wrong(name: str, detail: str) -> InvalidInput:
    return InvalidInput(detail, errors=[FieldError(name, "invalid", detail)])


def lock_profile(owner_id: UUID) -> PaymentProfile:
    """Lock and return the owner's payment profile, created when missing, until the transaction ends."""
    PaymentProfile.objects.bulk_create([PaymentProfile(owner_id=owner_id)], ignore_conflicts=True)
    return PaymentProfile.objects.select_for_update(of=("self",), no_key=True).order_by("pk").get(pk=owner_id)

"""Claims of quotes: an order must match its quote, and each quote is good for one order."""

from dataclasses import dataclass, fields
from hmac import compare_digest
from uuid import UUID

from django.db.models import F

from accounts.models import User
from common import clock
from common.db.prepared import CHANGED, Prepared
from common.errors import DomainError, FieldError, Forbidden, NotFound
from common.ids import public_id
from common.money import format_money
from instances.core.selectors import quote_of, whole_quotes
from instances.errors import QuoteExpired, QuoteMismatch, QuoteUsed
from instances.launch.settings import SETTING_NAMES, LaunchSettings, digest
from instances.launch.store import settings_of
from instances.models import Quote
from instances.orders.quotes import quote_signature, renew_quote
from marketplace.errors import OfferClosed

_NOT_OF_A_QUOTE = ("max_total_micros", "signature", "template_version")

_CLAIM = Prepared(
    lambda **own: whole_quotes(**own).annotate(
        claimed=CHANGED, renter_active=F("renter__is_active"), owner_active=F("offer__host__owner__is_active")
    ),
    change="""
        UPDATE instances_quote SET used_at = %(now)s
        WHERE id = %(pk)s AND renter_id = %(renter_id)s AND used_at IS NULL AND expires_at > %(now)s""",
    pk=UUID,
    renter_id=UUID,
)


@dataclass(frozen=True)
class Expected:
    """The client's expectations of a quote; None for what it did not state.

    `image` is a slug or a public id, `launch` the launch settings as a whole, `template_version` what they come from.
    """

    offer_id: UUID | None = None
    image: str | None = None
    gpu_count: int | None = None
    billing_mode: str | None = None
    data_disk_gb: int | None = None
    term: str | None = None
    payment: str | None = None
    max_total_micros: int | None = None
    signature: str | None = None
    launch: LaunchSettings | None = None
    template_version: UUID | None = None

    @property
    def stated_values(self) -> dict[str, object]:
        """Return the stated values with which a quote can be requested again."""
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _NOT_OF_A_QUOTE}
        return {name: value for name, value in named.items() if value is not None}


ANYTHING = Expected()


def check_match(quote: Quote, expected: Expected) -> None:
    """Raise QuoteMismatch, which names each difference between order and quote."""
    differences = [_difference(quote, name, wanted) for name, wanted in expected.stated_values.items() if name != "launch"]
    found = [each for each in differences if each is not None] + _launch_differences(quote, expected.launch)
    if expected.template_version not in (None, quote.template_version):
        found.append(FieldError("launch_template", "mismatch", "launch_template: the quote and the order differ."))
    if expected.signature is not None and not compare_digest(expected.signature.encode(), quote_signature(quote).encode()):
        found.append(FieldError("signature", "mismatch", "This is not the signature of the quote as it was made."))
    most = expected.max_total_micros
    if most is not None and max(quote.due_now_micros, quote.projected_micros) > most:
        dear = f"due now {format_money(quote.due_now_micros)}, projected {format_money(quote.projected_micros)}"
        found.append(FieldError("max_total", "exceeded", f"The quote says {dear}; the order allows {format_money(most)}."))
    if found:
        detail = " ".join(each.detail for each in found)
        raise QuoteMismatch(f"The order doesn't match the quote. {detail}", errors=found)


def claim_quote(renter: User, quote_id: UUID, *, for_instance: UUID | None = None) -> Quote:
    """Mark the quote as used in this transaction and return it with offer, host and image.

    Of two orders on one quote the second waits here. `for_instance` is the instance that the quote changes, None for
    a new rent. Raises QuoteUsed, QuoteExpired, NotFound, Forbidden or OfferClosed.
    """
    now = clock.now()
    quote = _CLAIM.first(now=now, pk=quote_id, renter_id=renter.pk)
    if quote is None or not quote.claimed:  # type: ignore[attr-defined]  # annotated
        if quote_of(renter, quote_id).used_at is not None:  # read again, since another order may have claimed it just now
            raise QuoteUsed("This quote was already used; request a new one for another order.")
        raise QuoteExpired("This quote has expired; request a new one.")
    quote.used_at = now
    if quote.for_instance_id != for_instance:
        raise NotFound("This quote doesn't match the request: new rentals and changes in place use separate quotes.")
    if not quote.renter_active:  # type: ignore[attr-defined]  # as above: switched off since the request came in
        raise Forbidden("This account is disabled.")
    if for_instance is None and not quote.owner_active:  # type: ignore[attr-defined]  # as above
        raise OfferClosed("The host owner's account is disabled.")
    if for_instance is None and not quote.image.active:
        raise NotFound("The quote's image is no longer offered; request a new quote with another image.")
    return quote


def quote_for_order(*, renter: User, quote_id: UUID, expected: Expected) -> Quote | None:
    """Return a new quote for what was ordered, or None where it cannot be made."""
    try:
        changes = _completed(quote_of(renter, quote_id), expected)
        return renew_quote(renter=renter, quote_id=quote_id, **changes)
    except DomainError:
        return None


def _completed(quote: Quote, expected: Expected) -> dict[str, object]:
    """Return the changes for a new quote, without values that belong only to the quote's former mode."""
    changes = expected.stated_values
    if changes.get("billing_mode", quote.billing_mode) != quote.billing_mode:
        changes = {"term": "", "payment": "", "max_price_micros": None, **changes}
    return changes


def _launch_differences(quote: Quote, wanted: LaunchSettings | None) -> list[FieldError]:
    """Return the launch settings that are not the quote's; no value is repeated, since one may be a secret."""
    quoted = quote.launch.digest if quote.launch else ""
    if wanted is None or compare_digest(digest(wanted), quoted):
        return []
    before = settings_of(quote.launch)
    names = [name for name in SETTING_NAMES if getattr(before, name) != getattr(wanted, name)]
    return [FieldError(name, "mismatch", f"{name}: the quote and the order differ.") for name in names]


def _difference(quote: Quote, name: str, wanted: object) -> FieldError | None:
    quoted: object = quote.image.slug if name == "image" else getattr(quote, name)
    same = {quoted, public_id("img", quote.image_id)} if name == "image" else {quoted}
    if wanted in same:
        return None
    if isinstance(wanted, UUID) and isinstance(quoted, UUID):
        quoted, wanted = public_id("offr", quoted), public_id("offr", wanted)
    field = name.removesuffix("_id")
    return FieldError(field, "mismatch", f"{field}: the quote says {quoted}, the order {wanted}.")

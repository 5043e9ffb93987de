"""The market's signature on a quote, with which a client can prove that the terms are the market's."""

import json

from django.utils.crypto import salted_hmac

from instances.models import Quote

_SALT = "berth.quote.1"
_SIGNED = (
    *("offer_version", "image_id", "billing_mode", "gpu_count", "data_disk_gb", "hours", "term", "payment"),
    *("max_price_micros", "rate_micros_per_hour", "due_now_micros", "projected_micros", "committed_micros", "lines"),
    "for_instance_id",
)


def quote_signature(quote: Quote) -> str:
    """Return the HMAC-SHA256 over all terms of the quote, its owner and its expiry."""
    terms = [quote.pk.hex, quote.renter_id.hex, quote.offer_id.hex, int(quote.expires_at.timestamp() * 1_000_000)]
    text = json.dumps([*terms, *(getattr(quote, name) for name in _SIGNED)], sort_keys=True, default=str)
    return salted_hmac(_SALT, text, algorithm="sha256").hexdigest()

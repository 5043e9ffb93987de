"""Why an attempt failed, in words, by code: for pages and for the mail about a channel that was turned off."""

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

FAULT_LABELS: Final[dict[str, str | Promise]] = {
    "status": _("The service returned an error"),
    "redirect": _("The service redirected the request; redirects aren't followed"),
    "rate_limited": _("The service asked us to slow down"),
    "rejected": _("The service couldn't read this message"),
    "channel_gone": _("The channel no longer exists, or Berth isn't allowed to post to it"),
    "credentials": _("The service doesn't accept the token"),
    "signature": _("The service doesn't accept the signature. Check the signing secret."),
    "keyword": _("The robot requires a keyword. Set the keyword “Berth”."),
    "not_allowed_address": _("The robot doesn't accept our IP address. Use another security setting."),
    "timeout": _("No response within 10 seconds"),
    "refused": _("Connection refused: nothing is listening at this address"),
    "unresolved": _("The domain name can't be resolved"),
    "not_public": _("The domain name resolves to a private address"),
    "needs_https": _("Enter an address that starts with https://"),
    "tls": _("The certificate isn't trusted"),
    "broken": _("The connection was lost"),
    "bad_address": _("Enter a URL, such as https://example.com/berth"),
    "bad_port": _("This port isn't allowed"),
    "secret_lost": _("The stored credentials can't be read. Enter them again."),
    "expired": _("Expired: the channel was paused for more than a day"),
}

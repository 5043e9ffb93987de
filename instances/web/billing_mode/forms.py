"""Form of the page that changes the billing mode of an instance or renews its term."""

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext_lazy as _

from billing.pricing.estimates import HOURLY, RESERVED
from instances.billing_mode.change_quotes import changes_of
from instances.pricing.price_fields import MODE_HINTS, ModeFields

if TYPE_CHECKING:
    from instances.models import Instance
    from marketplace.leasing.offer_selectors import OfferView

_ENDS = _("Ends the term now. Time used is recalculated without the discount, plus 5%; the rest is refunded.")
_RENEWS = _("Another term, starting when the current one ends.")


class ChangeForm(ModeFields):
    """Form of the changes that are possible for this instance now and sold by its offer."""

    def __init__(self, *args: Any, instance: "Instance", offer: "OfferView", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.reserved = instance.billing_mode == RESERVED
        self.sell(offer, changes_of(instance))

    @property
    def is_renewal(self) -> bool:
        return self.reserved and self.cleaned_data["billing_mode"] == RESERVED

    @property
    def mode_hints(self) -> dict[str, Any]:
        return MODE_HINTS | ({HOURLY: _ENDS, RESERVED: _RENEWS} if self.reserved else {})

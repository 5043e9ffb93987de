"""Tags and filters of all templates: money, sizes, times, icons, form fields."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django import template
from django.forms import BoundField, CheckboxInput, CheckboxSelectMultiple, RadioSelect, Select
from django.template import Context
from django.templatetags.static import static
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.device_names import device_name
from accounts.event_log.messages import title_of
from billing.invoices.lines import number_of_seconds
from billing.invoices.messages import MODE_LABELS, line_text, period_text
from common.core_counts import core_count, core_count_label
from common.http.secret_paths import return_address
from common.ids import public_id
from common.json import to_json
from common.money import currency_sign
from marketplace.advisor.formatting import format_hours
from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.search.messages import LENGTH_LABELS
from marketplace.self_tests.report import report_of
from marketplace.states import HostState

register = template.Library()
register.filter("in_hours", format_hours)
register.filter("self_test_report", report_of)
register.simple_tag(currency_sign)
register.filter("line_text", line_text)
register.filter("event_title", title_of)
register.filter("device_name", device_name)
register.filter("period_text", period_text)
register.filter("exact_seconds", number_of_seconds)
register.filter("return_address", return_address)
register.filter("cores", core_count)
register.filter("core_count_label", core_count_label)

_MIB_PER_GIB = 1024
_COLORS = {
    "running": "green",
    "online": "green",
    "requested": "blue",
    "provisioning": "blue",
    "starting": "blue",
    "restarting": "blue",
    "copying": "blue",
    "stopping": "orange",
    "releasing": "orange",
    "waiting": "blue",
    "told": "green",
    "rented": "green",
    "silent": "orange",
    "failed": "red",
    "frozen": "red",
    "pending": "blue",
    "succeeded": "green",
    "won": "green",
    "open": "orange",
    "lost": "red",
    "creating": "blue",
    "restoring": "blue",
    "ready": "green",
    "done": "green",
    "deleting": "orange",
}
_KINDS: dict[str, str | Promise] = {
    "charge": _("usage"),
    "host_share": _("your share"),
    "platform_fee": _("platform fee"),
    "credit": _("account credit"),
    "funding": _("funding"),
    "refund": _("refund"),
    "top_up": _("top-up"),
    "card_refund": _("refund to the card"),
    "dispute": _("dispute"),
    "coupon": _("coupon"),
    "bonus": _("used bonus of a refunded top-up"),
    "prepaid": _("reserved term"),
    "exit_fee": _("early termination"),
    "transfer": _("transfer"),
    "payout": _("payout"),
    "loss": _("loss"),
}
_DOING: dict[str, str | Promise] = {
    "requested": _("Waiting for the host to accept the order"),
    "provisioning": _("The host is preparing your instance"),
    "starting": _("Starting"),
    "restarting": _("Restarting"),
    "copying": _("Being copied"),
    "stopping": _("Stopping"),
    "releasing": _("Deleting everything from the host"),
}
_QUOTE_LABELS: dict[str, str | Promise] = {
    "Data disk": _("Data disk"),
    "System disk": _("System disk"),
    "Data disk above the free quota": _("Data disk above the free allowance"),
    "Early end of the reserved term": _("Early termination"),
}
_QUOTE_UNITS: dict[str, Callable[[int], str]] = {
    "GPU-hour": lambda count: ngettext("GPU-hour", "GPU-hours", count),
    "GB-day": lambda count: ngettext("GB-day", "GB-days", count),
}
_BASE_IMAGE = "Debian with SSH, JupyterLab and TensorBoard"
_MOVING = frozenset(
    {
        "requested",
        "provisioning",
        "starting",
        "restarting",
        "copying",
        "stopping",
        "releasing",
        "creating",
        "restoring",
        "deleting",
    }
)


@register.filter
def image_description(description: str) -> str:
    """Return the description of an image: of the one that Berth brings, in the reader's language."""
    return str(_("Debian with SSH, JupyterLab and TensorBoard")) if description == _BASE_IMAGE else description


@register.filter
def gpu_name(slug: str) -> str:
    return by_slug(slug).name


@register.filter
def host_state_label(state: str) -> str | Promise:
    return HostState(state).label


@register.filter
def gib(mib: int) -> str:
    """Format mebibytes as a number of GB without needless places."""
    return f"{mib / _MIB_PER_GIB:.1f}".removesuffix(".0")


@register.filter
def as_id(key: UUID, prefix: str) -> str:
    return public_id(prefix, key)


@register.filter
def get(mapping: Mapping[object, object], key: object) -> object:
    return mapping.get(key, key)


@register.filter
def as_json(value: object) -> str:
    return to_json(value).decode()


@register.filter
def times(value: float, factor: int) -> int:
    """Multiply, fractions included: 2.8 hours are 10,080 seconds."""
    return int(value * int(factor)) if isinstance(value, float) else int(value) * int(factor)


@register.filter
def kind_label(kind: str) -> str | Promise:
    """Return the kind of a ledger entry in a renter's or a host owner's words."""
    return _KINDS.get(kind, kind)


@register.filter
def mode_label(mode: str) -> str | Promise:
    """Return the name of a billing mode for the middle of a sentence."""
    return MODE_LABELS.get(mode, mode)


@register.filter
def state_color(state: str) -> str:
    return _COLORS.get(state, "secondary")


@register.filter
def state_label(state: str) -> str | Promise:
    """Describe a transitional state of an instance."""
    return _DOING.get(state, state)


@register.filter
def quote_item(text: str) -> str | Promise:
    """Translate an item of a quote's line; GPU names are the same in all languages."""
    return _QUOTE_LABELS.get(text, text)


@register.filter
def quote_unit(unit: str, quantity: str) -> str:
    """Translate the unit of a quote's line, in the number that `quantity` asks for."""
    translated = _QUOTE_UNITS.get(unit)
    return unit if translated is None else translated(1 if quantity == "1" else 2)


@register.filter
def term_label(term: str) -> str | Promise:
    """Return the length of a reserved term in words."""
    return LENGTH_LABELS.get(term, term)


@register.filter
def is_moving(state: str) -> bool:
    """Return whether the platform leaves this state by itself."""
    return state in _MOVING


@register.filter
def length_of_time(seconds: float) -> str:
    """Format a duration by its two largest units: "2 d 4 h", "3 h 12 min", "12 min 5 s"."""
    total = int(timedelta(seconds=float(seconds)).total_seconds())
    days, hours = divmod(total // 3600, 24)
    minutes, rest = total // 60 % 60, total % 60
    parts = [
        (days, ngettext("%(count)d d", "%(count)d d", days)),
        (hours, ngettext("%(count)d h", "%(count)d h", hours)),
        (minutes, ngettext("%(count)d min", "%(count)d min", minutes)),
        (rest, ngettext("%(count)d s", "%(count)d s", rest)),
    ]
    first = next((place for place, (count, _) in enumerate(parts) if count), len(parts) - 1)
    return " ".join(text % {"count": count} for count, text in parts[first : first + 2] if count or first == len(parts) - 1)


@register.filter
def moment(at: datetime | None, style: str = "full") -> SafeString | str:
    """Format a time in UTC, which a script of the page rewrites to the reader's time zone.

    Styles: full, date, short, stamp, clock, ago.
    """
    if at is None:
        return "–"
    utc = localtime(at)
    text = utc.strftime("%Y-%m-%d %H:%M UTC")
    return format_html('<time datetime="{}" data-time="{}">{}</time>', utc.strftime("%Y-%m-%dT%H:%M:%SZ"), style, text)


@register.filter
def last_day(until: datetime | None) -> str:
    """Return the last whole day before a moment in UTC, as a date field needs it."""
    return "" if until is None else f"{until.astimezone(UTC) - timedelta(microseconds=1):%Y-%m-%d}"


@register.filter
def isoformat(at: datetime) -> str:
    return localtime(at).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@register.simple_tag(takes_context=True)
def optional(context: Context, *names: str) -> str:
    """Declare the names that a template may be rendered without: they are None then.

    Every other name has to be defined: the tests refuse what Django would leave out (`tests/strict_templates.py`).
    """
    for name in names:
        if name not in context:
            context[name] = None
    return ""


@register.simple_tag
def icon(name: str, css: str = "") -> SafeString:
    """Render a symbol of static/img/icons.svg; hidden from screen readers, as text accompanies it."""
    sheet = static("img/icons.svg")
    return format_html('<svg class="icon {}" aria-hidden="true"><use href="{}#{}"></use></svg>', css, sheet, name)


@register.filter
def styled(field: BoundField) -> SafeString:
    """Render a field with the UI kit's classes, linked to its help and errors for screen readers."""
    widget = field.field.widget
    css = "form-select" if isinstance(widget, Select) else "form-control"
    if isinstance(widget, (CheckboxInput, CheckboxSelectMultiple, RadioSelect)):
        css = "form-check-input"
    if field.errors:
        css += " is-invalid"
    described = " ".join(f"{field.auto_id}_{part}" for part in ("help", "errors") if _has(field, part))
    attrs: dict[str, str | bool] = {"class": f"{css} {widget.attrs.get('class', '')}".strip()}
    if described:
        attrs["aria-describedby"] = described
    return field.as_widget(attrs=attrs)


def _has(field: BoundField, part: str) -> bool:
    return bool(field.help_text if part == "help" else field.errors)


@register.filter
def is_check(field: BoundField) -> bool:
    return isinstance(field.field.widget, CheckboxInput)

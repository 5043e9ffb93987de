"""Forms of the notification channels' pages, and texts of their values."""

from typing import Any, Final

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.constants import CHANNEL_KINDS, CHANNEL_TEST, MAX_CHANNEL_SECRET_CHARS, MAX_WEBHOOK_URL_CHARS
from accounts.models import NotificationChannel
from accounts.notification_channels.formats.parts import Credentials
from accounts.notification_channels.services import OPTIONAL_FIELDS, SERVICES
from accounts.web.webhooks.forms import KIND_LABELS as WEBHOOK_KIND_LABELS
from common.errors import DomainError
from common.http.fields import NameField

Words = str | Promise
_Service = NotificationChannel.Service

KIND_LABELS: Final[dict[str, Words]] = {
    **{kind: words for kind, words in WEBHOOK_KIND_LABELS.items() if kind in CHANNEL_KINDS},
    "billing.balance_low": _("Your balance is low"),
    "billing.out_of_funds": _("Instances were stopped: out of funds"),
    "billing.budget": _("A budget reached a threshold"),
    "billing.auto_top_up_failed": _("An auto top-up failed"),
    "waitlist.ended": _("GPUs are available, or a waitlist entry ended"),
    CHANNEL_TEST: _("Test notification"),
}
# What each service is asked for, and where its user finds it.
_WHERE: Final[dict[str, Words]] = {
    _Service.SLACK: _(
        "In Slack, open Tools → Apps → Incoming Webhooks (or your app's Incoming Webhooks page), choose a channel and copy"
        " the webhook URL."
    ),
    _Service.DISCORD: _("In Discord, open Channel settings → Integrations → Webhooks, create a webhook and copy its URL."),
    _Service.TELEGRAM: _(
        "Create a bot with @BotFather and copy its token. Add the bot to your chat, send a message there, then find the chat"
        " ID at https://api.telegram.org/bot<token>/getUpdates."
    ),
    _Service.FEISHU: _(
        "In the group, open Settings → Bots → Add bot → Custom bot and copy the webhook URL. If signature verification is"
        " on, copy the secret too. If you set keywords, add “Berth”."
    ),
    _Service.DINGTALK: _(
        "In the group, open Settings → Bots → Add robot → Custom and copy the webhook URL. With the security setting"
        " “Additional signature”, copy the secret too; with “Custom keywords”, add “Berth”."
    ),
    _Service.WECOM: _("In the group, open Settings → Group bots → Add and copy the webhook URL."),
    _Service.JSON: _(
        "Berth sends a POST request with JSON to a public https address of yours. With a secret, requests are signed like"
        " webhooks (Standard Webhooks)."
    ),
}
_LABELS: Final = {
    "url": _("Webhook URL"),
    "token": _("Bot token"),
    "chat_id": _("Chat ID"),
    "secret": _("Signing secret"),
}
_OPTIONAL: Final = _("Optional.")
_KEPT: Final = _("Leave blank to keep the current one.")
_EXAMPLES: Final[dict[tuple[str, str], str]] = {
    (_Service.SLACK, "url"): "https://hooks.slack.com/services/…",
    (_Service.DISCORD, "url"): "https://discord.com/api/webhooks/…",
    (_Service.TELEGRAM, "token"): "123456789:AAE…",
    (_Service.TELEGRAM, "chat_id"): "-1001234567890",
    (_Service.FEISHU, "url"): "https://open.feishu.cn/open-apis/bot/v2/hook/…",
    (_Service.DINGTALK, "url"): "https://oapi.dingtalk.com/robot/send?access_token=…",
    (_Service.DINGTALK, "secret"): "SEC…",
    (_Service.WECOM, "url"): "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=…",
    (_Service.JSON, "url"): "https://example.com/berth",
}


def where_to_find(service: str) -> Words:
    return _WHERE[service]


class ChannelForm(forms.Form):
    """Name, kinds, and only those credentials that the service needs; `kept` when there are some already."""

    name = NameField(label=_("Name"), max_length=80)
    kinds = forms.MultipleChoiceField(
        label=_("Notifications"),
        choices=[(kind, KIND_LABELS.get(kind, kind)) for kind in CHANNEL_KINDS],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=_("Leave blank to receive all notifications, including future ones."),
    )

    def __init__(self, *args: Any, service: str, kept: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        self.service = service
        for name in SERVICES[service].fields:
            self.fields[name] = forms.CharField(
                label=_LABELS[name],
                max_length=MAX_WEBHOOK_URL_CHARS if name == "url" else MAX_CHANNEL_SECRET_CHARS,
                required=not kept and name not in OPTIONAL_FIELDS,
                widget=_input(service, name),
                help_text=_KEPT if kept else _OPTIONAL if name in OPTIONAL_FIELDS else "",
            )

    @property
    def secret_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in SERVICES[self.service].fields]

    @property
    def wanted(self) -> dict[str, Any]:
        """Return the values as the use cases take them."""
        credentials = {name: self.cleaned_data[name].strip() for name in SERVICES[self.service].fields}
        return {
            "name": self.cleaned_data["name"],
            "kinds": self.cleaned_data["kinds"],
            "credentials": Credentials(**credentials),
        }

    def refuse(self, error: DomainError) -> DomainError | None:
        """Show an error at the fields that it names; return it if it names none of them."""
        named = [fault for fault in error.errors if fault.field in self.fields]
        for fault in named:
            self.add_error(fault.field, fault.detail)
        return None if named else error


def _input(service: str, name: str) -> forms.Widget:
    attrs = {"spellcheck": "false", "autocomplete": "off", "placeholder": _EXAMPLES.get((service, name), "")}
    if name in ("token", "secret"):
        return forms.PasswordInput(attrs={**attrs, "autocomplete": "new-password"})
    return forms.TextInput(attrs=attrs)

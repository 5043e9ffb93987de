"""Addresses, tokens and secrets of channels: checked, encrypted at rest, and removed from whatever is stored or shown."""

import json
from typing import Final
from urllib.parse import unquote, urlsplit

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.constants import MAX_CHANNEL_SECRET_CHARS, MAX_WEBHOOK_URL_CHARS
from accounts.models import NotificationChannel
from accounts.notification_channels.formats.parts import Credentials, WrongCredential
from accounts.notification_channels.services import OPTIONAL_FIELDS, SERVICES
from common.encryption import CannotDecrypt, decrypt, encrypt
from common.errors import FieldError, InvalidInput, wrong_field
from common.http.outbound import OutboundFault, parse_target, resolve

_SHOWN: Final = 4
_SHORTEST_PART: Final = 6
# What is wrong with a field, by the code of its format. The value itself is never repeated.
_WRONG: Final[dict[str, str | Promise]] = {
    "slack_url": _("Enter the webhook URL, such as https://hooks.slack.com/services/T000/B000/XXXX."),
    "discord_url": _("Enter the webhook URL, such as https://discord.com/api/webhooks/1234/XXXX."),
    "telegram_token": _("Enter the bot token from BotFather, such as 123456789:AAE…"),
    "telegram_chat": _("Enter the chat ID, such as -1001234567890, or the name of a public channel, such as @mychannel."),
    "feishu_url": _("Enter the webhook URL, such as https://open.feishu.cn/open-apis/bot/v2/hook/XXXX."),
    "dingtalk_url": _("Enter the webhook URL, such as https://oapi.dingtalk.com/robot/send?access_token=XXXX."),
    "dingtalk_secret": _("Enter the signing secret, which starts with SEC."),
    "wecom_url": _("Enter the webhook URL, such as https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=XXXX."),
    "json_url": _("Enter a URL, such as https://example.com/berth"),
    "secret": _("Enter the signing secret: letters, digits and symbols, without spaces."),
}


def check_credentials(*, service: str, credentials: Credentials) -> Credentials:
    """Return the credentials of this service, in one form.

    Raises:
        InvalidInput: a field is missing, is none of this service's, or is wrong; the errors name the fields.
    """
    form = SERVICES[service]
    errors = [
        FieldError(name, "required", "This service needs it.")
        for name in form.fields
        if name not in OPTIONAL_FIELDS and name not in credentials.values()
    ]
    errors += [
        FieldError(name, "unknown", "This service has none.") for name in credentials.values() if name not in form.fields
    ]
    errors += [
        FieldError(name, "too_long", "This is too long.")
        for name, value in credentials.values().items()
        if len(value) > (MAX_WEBHOOK_URL_CHARS if name == "url" else MAX_CHANNEL_SECRET_CHARS)
    ]
    if errors:
        raise InvalidInput("; ".join(f"{error.field}: {error.detail}" for error in errors), errors=errors)
    try:
        found = form.check(credentials)
    except WrongCredential as wrong:
        raise wrong_field(wrong.name, str(_WRONG[wrong.code])) from None
    if service == NotificationChannel.Service.JSON:
        _check_address(found.url)
    return found


def _check_address(url: str) -> None:
    """Refuse an address that the market must not contact; sending checks it again."""
    try:
        resolve(parse_target(url))
    except OutboundFault as fault:
        raise wrong_field("url", fault.detail) from None


def seal(credentials: Credentials) -> str:
    return encrypt(json.dumps(credentials.values()))


def unseal(channel: NotificationChannel) -> Credentials:
    """Return a channel's credentials.

    Raises:
        CannotDecrypt: they were encrypted under another key.
    """
    try:
        return Credentials(**json.loads(decrypt(channel.sealed)))
    except (TypeError, ValueError) as error:
        raise CannotDecrypt("The decrypted value holds no credentials.") from error


def hint_of(credentials: Credentials) -> str:
    """Return the last characters of the value that identifies the channel, never of a signing secret."""
    shown = credentials.chat_id or credentials.url
    return shown[-_SHOWN:] if len(shown) > 2 * _SHOWN else ""


def without_secrets(text: str, credentials: Credentials) -> str:
    """Return a service's answer without anything that it may have repeated of the credentials."""
    parts = {*credentials.values().values(), *credentials.token.split(":")}
    if credentials.url:
        address = urlsplit(credentials.url)
        parts |= {address.path, address.query, *address.path.split("/"), *address.query.replace("=", "&").split("&")}
    parts |= {unquote(part) for part in parts}
    for part in sorted((part for part in parts if len(part) >= _SHORTEST_PART), key=len, reverse=True):
        text = text.replace(part, "…")
    return text

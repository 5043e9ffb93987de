"""The services that a channel can belong to, each with its format."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from accounts.models import NotificationChannel
from accounts.notification_channels.formats import dingtalk, discord, feishu, json_post, slack, telegram, wecom
from accounts.notification_channels.formats.parts import Answer, ChannelRequest, Credentials, Notification, Verdict


class BuildRequest(Protocol):
    def __call__(self, note: Notification, credentials: Credentials, *, at: datetime) -> ChannelRequest: ...


@dataclass(frozen=True)
class ServiceFormat:
    """What a service needs to know (`fields`), the request that it wants, and what its answers mean."""

    fields: tuple[str, ...]
    check: Callable[[Credentials], Credentials]
    request: BuildRequest
    verdict: Callable[[Answer], Verdict]


_Service = NotificationChannel.Service
SERVICES: Final[Mapping[str, ServiceFormat]] = {
    _Service.SLACK: ServiceFormat(slack.FIELDS, slack.check, slack.request, slack.verdict),
    _Service.DISCORD: ServiceFormat(discord.FIELDS, discord.check, discord.request, discord.verdict),
    _Service.TELEGRAM: ServiceFormat(telegram.FIELDS, telegram.check, telegram.request, telegram.verdict),
    _Service.FEISHU: ServiceFormat(feishu.FIELDS, feishu.check, feishu.request, feishu.verdict),
    _Service.DINGTALK: ServiceFormat(dingtalk.FIELDS, dingtalk.check, dingtalk.request, dingtalk.verdict),
    _Service.WECOM: ServiceFormat(wecom.FIELDS, wecom.check, wecom.request, wecom.verdict),
    _Service.JSON: ServiceFormat(json_post.FIELDS, json_post.check, json_post.request, json_post.verdict),
}
OPTIONAL_FIELDS: Final = frozenset({"secret"})

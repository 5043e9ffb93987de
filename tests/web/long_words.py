"""The longest names, words and ids that the market takes, each one word without a place to break it."""

from collections.abc import Mapping
from typing import Any, Final

from allauth.account.models import EmailAddress
from django.db.models import Model

from accounts.models import (
    ApiToken,
    Membership,
    NotificationChannel,
    NotificationDelivery,
    SshKey,
    Team,
    User,
    Webhook,
    WebhookDelivery,
)
from billing.models import BillingAddress, Budget, Order, Payment, Payout, PayoutAccount
from common.messages.host_text import mark_host_text
from instances.models import FaultReport, Instance, InstanceEvent, LogRead, Watch
from marketplace.models import Gpu, Host, HostEvent, Incident, Maintenance, Offer, SavedSearch, SelfTest
from storage.models import Connection, DataSet, Image, Operation, Registry, SharedImage, Snapshot, Sync, SyncSchedule, Volume

_NAME: Final = "W"
_LINK: Final = "w"
_WORDS: Final[Mapping[type[Model], Mapping[str, int]]] = {
    ApiToken: {"name": 80},
    BillingAddress: {"name": 120, "address": 500, "tax_id": 40},
    Budget: {"name": 120},
    Connection: {"name": 60, "region": 60, "bucket": 63, "prefix": 300, "key_id": 200},
    DataSet: {"slug": 40, "title": 120, "description": 2000, "licence": 120},
    FaultReport: {"detail": 300},
    Gpu: {"name": 120, "detail": 300},
    Host: {"name": 80, "region": 40, "hostname": 255, "kernel": 120, "cpu_model": 120, "driver": 40, "runtime_version": 40},
    HostEvent: {"detail": 300},
    Image: {"slug": 60, "title": 120, "description": 300, "named_as": 300, "failure": 300},
    Incident: {"subject": 120, "detail": 2000},
    Instance: {"name": 80, "progress": 300, "failure_detail": 300, "setback_detail": 300},
    InstanceEvent: {"detail": 300},
    LogRead: {"failure": 300},
    Maintenance: {"detail": 300},
    NotificationChannel: {"name": 80},
    NotificationDelivery: {"answer": 300},
    Offer: {"host_name": 80, "region": 40, "cpu_model": 120, "driver": 40},
    Operation: {"detail": 300},
    Order: {"title": 200},
    Payment: {"failure": 200},
    Payout: {"reference": 100, "failure": 200},
    PayoutAccount: {"holder": 120, "iban": 34, "bank": 80},
    Registry: {"host": 200, "username": 200},
    SavedSearch: {"name": 80},
    SharedImage: {"slug": 60, "title": 120, "description": 1000},
    Snapshot: {"name": 80, "source_name": 80, "failure_detail": 300},
    SshKey: {"name": 80},
    Sync: {"subject_name": 80, "path": 500, "folder": 500, "connection_name": 60, "failure_detail": 300},
    SyncSchedule: {"subject_name": 80, "path": 500, "folder": 500},
    Team: {"name": 80},
    User: {"display_name": 80},
    Volume: {"name": 40, "failure_detail": 300},
    Watch: {"name": 80},
    Webhook: {"description": 120},
    WebhookDelivery: {"answer": 300},
}
_LOWER: Final = ("slug", "bucket", "host", "hostname")
_SAID: Final = ("failure_detail", "progress", "setback_detail")
_SAID_BY: Final = (Gpu, Image, InstanceEvent, LogRead, Operation)  # a host, in each text of theirs that is no name


def long_word(size: int, number: int = 0, *, letter: str = _NAME) -> str:
    """One word of that many letters, told apart by its end."""
    end = str(number)
    return letter * (size - len(end)) + end


def long_email(number: int) -> str:
    """254 characters, in which the signs between the words are the only places to break it."""
    domain = ".".join(_LINK * size for size in (63, 63, 60))
    return f"{long_word(64, number, letter=_LINK)}@{domain}w"


def lengthen() -> None:
    """Give everything that there is a name, a word and a path of the greatest length."""
    for model, words in _WORDS.items():
        for number, key in enumerate(model._default_manager.order_by("pk").values_list("pk", flat=True)):
            model._default_manager.filter(pk=key).update(
                **{name: _of(model, name, size, number) for name, size in words.items()}
            )
    emails = {*User.objects.values_list("email", flat=True), *Membership.objects.values_list("email", flat=True)}
    for number, email in enumerate(sorted(emails)):
        for model in (User, EmailAddress, Membership):
            model._default_manager.filter(email=email).update(email=long_email(number))
    Host.objects.update(warnings=[mark_host_text(long_word(260))] * 2)
    Webhook.objects.update(url=f"https://9.9.9.9/{long_word(480)}")
    for test in SelfTest.objects.all():
        checks = [{**check, "actual": long_word(300), "required": mark_host_text(long_word(260))} for check in test.checks]
        SelfTest.objects.filter(pk=test.pk).update(checks=checks)


def _of(model: type[Model], name: str, size: int, number: int) -> Any:
    if model is Volume and name == "name":
        return long_word(size, number, letter=_LINK)
    if name in _SAID or (model in _SAID_BY and name in ("detail", "failure")):
        return mark_host_text(long_word(260, number))
    return long_word(size, number, letter=_LINK if name in _LOWER else _NAME)

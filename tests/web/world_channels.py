"""Pictures of notification channels: the list, adding one, one that works, and one that was turned off."""

from datetime import timedelta

from accounts.models import NotificationChannel, NotificationDelivery, User, WebhookEvent
from accounts.notification_channels.formats.parts import Credentials
from accounts.notification_channels.settings import add_channel, send_test
from common import clock
from common.ids import public_id
from tests.web.world import World


def channel_pages(world: World) -> dict[str, tuple[str, str]]:
    """Name → (who, path)."""
    alice = User.objects.get(email="alice@example.com")
    slack = add_channel(
        user=alice,
        service="slack",
        name="Vision lab, #gpu-alerts",
        credentials=Credentials(url="https://hooks.slack.com/services/T00000000/B00000000/0123456789abcdef"),
        kinds=["instance.failed", "alert.raised", "billing.balance_low"],
    )
    gone = add_channel(
        user=alice, service="wecom", name="值班群", credentials=Credentials(url="0123456789abcdef-0123456789abcdef")
    )
    a_log(alice, slack)
    send_test(user=alice, channel_id=slack.pk)
    NotificationChannel.objects.filter(pk=gone.pk).update(
        stopped_for="channel_gone", paused_at=clock.now(), failing_since=clock.now() - timedelta(minutes=2)
    )
    return {
        "channels": ("alice", "/settings/notifications"),
        "channels-empty": ("hana", "/settings/notifications"),
        "channel": ("alice", f"/settings/notifications/{public_id('chan', slack.pk)}"),
        "channel-off": ("alice", f"/settings/notifications/{public_id('chan', gone.pk)}"),
        **{f"channel-add-{name}": ("alice", f"/settings/notifications/add/{name}") for name in ("telegram", "dingtalk")},
    }


def a_log(alice: User, channel: NotificationChannel) -> None:
    """One taken, one on its way to a second attempt, one that the service could not read."""
    now = clock.now()
    one = {"at": f"{now:%Y-%m-%dT%H:%M:%SZ}", "ms": 84}
    for kind, fields in (
        (
            "instance.failed",
            {"delivered_at": now, "status": 200, "answer": "ok", "tries": [{**one, "status": 200, "fault": ""}]},
        ),
        ("alert.raised", {"fault": "timeout", "tries": [{**one, "status": None, "fault": "timeout"}]}),
        ("billing.balance_low", {"gave_up_at": now, "status": 400, "fault": "rejected", "answer": "invalid_payload"}),
    ):
        event = WebhookEvent.objects.create(user=alice, kind=kind, payload={"name": "train-llama"})
        due = now + timedelta(minutes=5) if kind == "alert.raised" else None
        NotificationDelivery.objects.create(channel=channel, event=event, attempts=1, due_at=due, **fields)

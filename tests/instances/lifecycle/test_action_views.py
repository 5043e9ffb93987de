"""The dialogs that change an instance, of pages that are late."""

from django.test import Client

from accounts.models import User
from common.ids import public_id
from instances.release.services import release_instance
from tests.instances.fake_host import FakeHost, order_running

HTMX = {"HX-Request": "true"}


def test_a_size_that_is_no_longer_to_be_had_is_refused_in_words_that_stay(client: Client, rin: User, host: FakeHost) -> None:
    client.force_login(rin)
    instance = order_running(rin, host)
    resize = f"/instances/{public_id('inst', instance.pk)}/resize"
    form = client.get(resize, headers=HTMX).content.decode()
    assert "This is the current size." in form, "priced from the beginning: nothing loads itself over what is said later"
    assert 'hx-trigger="load' not in form
    release_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    wish = {"data_disk_gb": instance.data_disk_gb + 1}
    for reply in (client.post(resize, wish, headers=HTMX), client.get(resize, {"price": 1, **wish}, headers=HTMX)):
        text = reply.content.decode()
        assert "This isn&#x27;t possible in the instance&#x27;s current state." in text
        assert "max_daily" not in text, "no price for what cannot be had"

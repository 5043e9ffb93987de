"""Secrets are erased once nothing can use them; names and plain settings stay with the order."""

from datetime import timedelta

import pytest

from accounts.models import User
from common import clock
from instances.errors import SecretsErased
from instances.launch.retention import erase_unused_secrets
from instances.launch.settings import validate
from instances.launch.store import launch_resource, settings_of
from instances.models import Instance, Launch
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from marketplace.models import Host
from tests.instances.fake_host import FakeHost


def test_secrets_are_erased_when_nothing_uses_them(rin: User, host: FakeHost) -> None:
    Host.objects.update(launch_settings=True)
    settings = validate({"secrets": {"TOKEN": "s3cret"}, "env": {"A": "1"}})
    unused, used = (create_quote(renter=rin, offer_id=host.offer.pk, image="berth-base", launch=settings) for _ in range(2))
    rent_instance(renter=rin, quote_id=used.pk)
    assert erase_unused_secrets(now=clock.now()) == 0
    later = clock.now() + timedelta(hours=2)
    assert erase_unused_secrets(now=later) == 1
    assert settings_of(Launch.objects.get(quotes=used)) == settings
    left = Launch.objects.get(quotes=unused)
    assert launch_resource(left) == settings.public_resource()
    with pytest.raises(SecretsErased):
        settings_of(left)
    Instance.objects.update(state="gone", released_at=later)
    assert erase_unused_secrets(now=later) == 1
    assert erase_unused_secrets(now=later) == 0

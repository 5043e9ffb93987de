"""The two admin panels, reached by hand: what no form of theirs would send."""

import pytest
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.sites import AdminSite
from django.test import Client
from django.urls import reverse

from accounts.models import User
from accounts.web.admin_sites import host_panel, staff_panel

NO_ROWS = ("x", "-1", "9" * 40, "1e1000000000", "\u0661", "' OR 1=1--", "inst_" + "z" * 26, "")


@pytest.fixture
def owner(client: Client, stella: User) -> Client:
    User.objects.filter(pk=stella.pk).update(is_host_owner=True)
    client.force_login(stella)
    return client


@pytest.mark.parametrize("panel", [staff_panel, host_panel], ids=lambda panel: panel.name)
def test_rows_that_are_none_are_refused_in_every_list(owner: Client, panel: AdminSite) -> None:
    tried = 0
    for model, admin in panel._registry.items():
        address = reverse(f"{panel.name}:{model._meta.app_label}_{model._meta.model_name}_changelist")
        actions = admin.get_actions(owner.get(address).wsgi_request)
        for action, row in ((action, row) for action in [*actions, "nothing"] for row in NO_ROWS):
            form = {"action": action, ACTION_CHECKBOX_NAME: row, "index": "0"}
            assert owner.post(address, form).status_code < 500, (address, form)
            tried += 1
    assert tried > 50

"""URLs of the API of Vast below /api/v0, and of what its clients ask for below /api/v1.

Clients write some addresses with a slash at the end and some without; a redirect would lose their bodies.
"""

from collections.abc import Callable
from typing import Any

from django.urls import URLPattern, re_path

from vast.web import (
    account_api,
    copies_api,
    instances_api,
    machines_api,
    orders_api,
    search_api,
    templates_api,
    unsupported_api,
    volumes_api,
)

_NUMBER = r"(?P<number>[0-9]{1,15})"


def _at(route: str, view: Callable[..., Any], name: str) -> URLPattern:
    return re_path(rf"^{route}/?$", view, {}, f"vast_{name}")


v0_urlpatterns = [
    _at("gpu_names/unique", search_api.GpuNamesView.as_view(), "gpu_names"),
    _at("bundles", search_api.BundlesView.as_view(), "bundles"),
    _at("search/asks", search_api.AsksSearchView.as_view(), "search"),
    _at("asks/bulk", orders_api.AsksView.as_view(), "asks"),
    _at(f"asks/{_NUMBER}", orders_api.AskView.as_view(), "ask"),
    _at("launch_instance", orders_api.LaunchView.as_view(), "launch"),
    _at("instances", instances_api.InstancesView.as_view(), "instances"),
    _at("instances/filters", instances_api.InstanceFiltersView.as_view(), "filters"),
    _at(f"instances/{_NUMBER}", instances_api.InstanceView.as_view(), "instance"),
    _at(f"instances/reboot/{_NUMBER}", instances_api.RebootView.as_view(), "reboot"),
    _at(f"instances/recycle/{_NUMBER}", instances_api.RecycleView.as_view(), "recycle"),
    _at(f"instances/update_template/{_NUMBER}", instances_api.UpdateView.as_view(), "update"),
    _at(f"instances/bid_price/{_NUMBER}", instances_api.BidView.as_view(), "bid"),
    _at(f"instances/request_logs/{_NUMBER}", instances_api.LogsView.as_view(), "logs"),
    _at(r"logs/(?P<signed>[\w:-]{20,2000})", instances_api.LogView.as_view(), "log"),
    _at(f"instances/command/{_NUMBER}", instances_api.CommandView.as_view(), "command"),
    _at(r"results/(?P<signed>[\w:-]{20,2000})", instances_api.ResultView.as_view(), "result"),
    _at(f"instances/{_NUMBER}/ssh", account_api.InstanceKeysView.as_view(), "instance_keys"),
    _at(rf"instances/{_NUMBER}/ssh/(?P<key>[^/]{{1,200}})", account_api.InstanceKeyView.as_view(), "instance_key"),
    _at("users/current", account_api.UserView.as_view(), "user"),
    _at("users/me/invoices", account_api.InvoicesView.as_view(), "invoices"),
    _at("charges", account_api.ChargesView.as_view(), "charges"),
    _at("ssh", account_api.KeysView.as_view(), "keys"),
    _at(f"ssh/{_NUMBER}", account_api.KeyView.as_view(), "key"),
    _at("secrets", account_api.VariablesView.as_view(), "variables"),
    _at("template", templates_api.TemplatesView.as_view(), "templates"),
    _at("volumes/search", volumes_api.VolumePlacesView.as_view(), "volume_places"),
    _at("volumes/copy", copies_api.VolumeCloneView.as_view(), "volume_clone"),
    _at("commands/copy_direct", copies_api.CopyView.as_view(), "copy"),
    _at("commands/rsync", copies_api.CopyView.as_view(), "rsync"),
    _at("commands/rclone", copies_api.CloudCopyView.as_view(), "cloud_copy"),
    _at("users/cloud_integrations", copies_api.ConnectionsView.as_view(), "connections"),
    _at("volumes", volumes_api.VolumesView.as_view(), "volumes"),
    _at("machines", machines_api.MachinesView.as_view(), "machines"),
    _at("machines/create_asks", machines_api.ListView.as_view(), "list"),
    _at(f"machines/{_NUMBER}", machines_api.MachineView.as_view(), "machine"),
    _at(f"machines/{_NUMBER}/asks", machines_api.UnlistView.as_view(), "unlist"),
    _at(f"machines/{_NUMBER}/minbid", machines_api.MinimumView.as_view(), "minimum"),
    re_path(r"^(?P<rest>.*)$", unsupported_api.UnsupportedView.as_view(), {}, "vast_unsupported"),
]
# With the slash, which no address of ours there has.
v1_urlpatterns = [
    re_path(r"^instances/$", instances_api.InstancePageView.as_view(), {}, "vast_instance_page"),
    re_path(r"^invoices/$", account_api.InvoicePageView.as_view(), {}, "vast_invoice_page"),
    re_path(r"^template/$", templates_api.TemplateView.as_view(), {}, "vast_template"),
]

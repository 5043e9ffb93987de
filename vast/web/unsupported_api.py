"""Everything that Vast has and this market has not: an error that names the verb or page to use instead."""

import re
from typing import Final

from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from vast.errors import NotSupported
from vast.web.base import VastView

_MAINTENANCE: Final = (
    "Announce it on the host's page, with `berth host maintenance`, or with POST /api/v1/hosts/ID/maintenance; GET lists it."
)
_PRICES: Final = "Prices never rise while an instance runs."
_VOLUMES: Final = "Volumes are on one host, and follow an instance when it moves: `berth volume`."
_SERVERLESS: Final = "There are no serverless endpoints here. Rent with a template: `berth rent --template NAME`."
_DEFAULT_JOB: Final = "Hosts run no jobs of their own while idle. Spot rents fill free GPUs: `vastai set min-bid`."
# What a path below the version begins with, as an expression, and what Berth has instead.
INSTEAD: Final = (
    (
        "instances/prepay/",
        "Reserve a term instead: POST /api/v1/quotes with this instance, then POST /api/v1/instances/ID/convert.",
    ),
    ("instances/take_snapshot/", "Use `berth save-image`: it stores the image in the market's registry."),
    ("instances/(pending-price-increases|accept-price-increase|reject-price-increase)", _PRICES),
    ("instances/balance/", "What is held and was charged: `berth cost`, or the tab Billing of the instance."),
    ("contracts/fetch", "Use `vastai show instances`, or `berth ls`."),
    ("auth/apikeys", "Use `berth token`, or Settings → API tokens."),
    ("commands/reset_apikey", "Delete the token and issue another one: `berth token`, or Settings → API tokens."),
    ("audit_logs", "Use GET /api/v1/account-events, or Settings → Account log."),
    ("commands/schedule_job", "Schedule copies with object storage in the console, or with POST /api/v1/sync-schedules."),
    ("commands/transfer_credit", "Money moves between a member and a team: `berth team transfer`."),
    ("instance_backups", "Nothing is backed up unasked. Use `vastai copy C.ID:/data s3.NAME:/folder`."),
    ("volumes/unlist", "A host that is listed takes volumes: `vastai unlist machine ID` ends both."),
    ("network_(volumes|disk)", _VOLUMES),
    ("(endptjobs|workergroups|autojobs|deployments?)(/|$)", _SERVERLESS),
    ("clusters?(/|$)", "There are no clusters here. Rent several GPUs of one host: `berth rent --gpus 8`."),
    ("overlay", "There are no shared networks here. Open a port: `berth port-forward`."),
    ("subaccounts", "Use teams: `berth team`."),
    ("team", "Use `berth team`: members share money and budgets."),
    ("tfa", "Set the second factor in the console, under Settings → Security."),
    ("users/me/machine-earnings", "Use `berth host earnings`, or GET /api/v1/hosts/earnings."),
    ("users/me/ipaddrs", "Logins and their addresses are in the console, under Settings → Security."),
    ("users", "Accounts are made and changed in the console, under Settings."),
    ("invoices", "Use `vastai show invoices`, or `berth wallet --entries`."),
    ("machines/(maintenances|[0-9]+/(dnotify|cancel_maint))", _MAINTENANCE),
    ("machines/([0-9]+/defjob|create_bids)", _DEFAULT_JOB),
    ("machines/defrag_offers", "Nothing has to be joined: each offer is any number of a host's free GPUs."),
    ("machines/[0-9]+/cleanup", "Nothing has to be cleaned: the agent deletes what ended instances leave behind."),
    ("machines/[0-9]+/force_delete", "Stop renting it out: `berth host unlist`."),
    ("machines/[0-9]+/reports", "What counts against a host: GET /api/v1/hosts/ID/reliability."),
    ("benchmarks", "Figures of GPU models: GET /api/v1/gpu-models."),
    ("metrics", "Prices and free GPUs of each model: `berth search`, or GET /api/v1/gpu-models."),
)


class UnsupportedView(VastView):
    """Answer 501 to whatever is not supported."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        rest = str(kwargs.get("rest", ""))
        found = (words for start, words in INSTEAD if re.match(start, rest))
        instead = next(found, "See docs/vast.md for what it supports.")
        raise NotSupported(f"This market doesn't support {request.method} /{rest[:80]} of Vast's API. {instead}")

"""Everything that Vast has and this market has not: an error that names the verb to use instead."""

from typing import Final

from rest_framework.permissions import AllowAny
from rest_framework.request import Request

from vast.errors import NotSpoken
from vast.web.base import VastView

# The beginning of a path below the version, and what Berth has instead.
INSTEAD: Final = (
    (
        "instances/prepay/",
        "Reserve a term instead: POST /api/v1/quotes with this instance, then /api/v1/instances/ID/convert.",
    ),
    ("instances/take_snapshot/", "Use `berth save-image`: it stores the image in the market's registry."),
    ("instances/price_increase", "Prices never rise while an instance runs."),
    ("commands/reset_apikey", "Delete the token and issue another one: `berth token`, or Settings → API tokens."),
    ("commands/schedule_job", "Schedule copies with object storage in the console, or with POST /api/v1/sync-schedules."),
    ("instance_backups", "Nothing is backed up unasked. Use `vastai copy C.ID:/data s3.NAME:/folder`."),
    ("volumes/unlist", "A host that is listed takes volumes: `vastai unlist machine ID` ends both."),
    ("network_volumes/", "Volumes are on one host, and follow an instance when it moves."),
    ("network_disk", "Volumes are on one host, and follow an instance when it moves."),
    ("endptjobs/", "There are no serverless endpoints here."),
    ("workergroups/", "There are no serverless endpoints here."),
    ("autojobs/", "There are no serverless endpoints here."),
    ("cluster", "There are no clusters here."),
    ("overlay", "There are no shared networks here."),
    ("subaccounts", "Use teams: `berth team`."),
    ("team", "Use `berth team`: members share money and budgets."),
    ("tfa", "Set the second factor in the console, under Settings."),
    ("users", "Accounts are made and changed in the console, under Settings."),
    ("benchmarks", "Figures of GPU models: GET /api/v1/gpu-models."),
    ("metrics", "Usage of an instance: GET /api/v1/instances/ID/metrics."),
)


class UnspokenView(VastView):
    """Answer 501 to whatever is not spoken."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        rest = str(kwargs.get("rest", ""))
        instead = next((words for start, words in INSTEAD if rest.startswith(start)), "See docs/vast.md for what it speaks.")
        raise NotSpoken(f"This market doesn't speak {request.method} /{rest[:80]}. {instead}")

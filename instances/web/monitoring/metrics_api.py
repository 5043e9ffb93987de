"""API of usage over time."""

from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import INSTANCE_SCOPES
from accounts.web.permissions import current_user
from common import clock
from common.errors import wrong_field
from common.http.resource_schemas import schema_of
from common.http.views import validated
from common.resources import resource
from instances.constants import METRICS_MINUTES_MAX, METRICS_POINTS_MAX
from instances.core.selectors import instance_of
from instances.monitoring.usage_selectors import Sample, latest_sample, metrics_of, nice_step, source_for
from instances.web.responses import instance_id_of

_LATEST_FOR = timedelta(minutes=2)


class MetricsIn(serializers.Serializer[Any]):
    """How far to look back, and the distance of the points."""

    minutes = serializers.IntegerField(
        min_value=1, max_value=METRICS_MINUTES_MAX, default=60, help_text="How far to look back"
    )
    step = serializers.IntegerField(
        min_value=1,
        max_value=604_800,
        required=False,
        help_text="Seconds between two points; default: at least 20, for about 240 points. 1 is available for two hours",
    )


@resource
class MetricsPoint:
    """Mean usage over one step; `_max` is its highest reading."""

    at: datetime
    cpu_pct: Annotated[float, "Percent of one core"]
    ram_mb: float
    disk_mb: int
    rx_bytes: Annotated[int | None, "null at a step of one second, where it isn't measured"]
    tx_bytes: int | None
    gpu_util_pct: Annotated[float, "Mean of the instance's GPUs"]
    vram_used_mb: Annotated[float, "Sum of the instance's GPUs"]
    gpu_util_max_pct: float
    power_w: Annotated[float, "Sum of the instance's GPUs"]
    temperature_c: Annotated[float, "Of the hottest GPU"]
    ram_max_mb: float
    vram_max_mb: float


@resource
class GpuNow:
    """State of one GPU at the last report."""

    uuid: str
    util_pct: int
    vram_used_mb: int
    temperature_c: int
    power_w: int


@resource
class MetricsOut:
    """Usage over time, oldest first.

    Steps without a report are omitted.
    """

    step: Annotated[int, "Seconds"]
    made_of: Annotated[str, "Resolution of the source data: second, sample, minute, hour, day"]
    points: list[MetricsPoint]
    gpus: Annotated[list[GpuNow], "Empty when the last report is older than two minutes"]


class MetricsView(APIView):
    """Return usage over time: GPU, its memory, power and temperature, CPU, memory, disk, network."""

    scopes: ClassVar = INSTANCE_SCOPES

    @extend_schema(operation_id="instances_metrics", parameters=[MetricsIn], responses=schema_of(MetricsOut))
    def get(self, request: Request, instance_id: str) -> Response:
        wanted, now = validated(MetricsIn, request.query_params), clock.now()
        length = timedelta(minutes=wanted["minutes"])
        step = wanted.get("step") or nice_step(length)
        if length.total_seconds() / step > METRICS_POINTS_MAX:
            raise wrong_field("step", f"At most {METRICS_POINTS_MAX} points: take a larger step or fewer minutes.")
        instance = instance_of(current_user(request), instance_id_of(instance_id))
        source = source_for(since=now - length, until=now, step_s=step)
        samples = metrics_of(instance, since=now - length, until=now, step_s=step)
        return Response(metrics_resource(samples, step, source.name, latest_sample(instance)))


def metrics_resource(samples: list[Sample], step: int, source: str, latest: Any) -> MetricsOut:
    fresh = latest is not None and clock.now() - latest.at < _LATEST_FOR
    gpus = [_gpu(*row) for row in latest.gpus] if fresh else []
    return MetricsOut(step=step, made_of=source, points=[MetricsPoint(**vars(sample)) for sample in samples], gpus=gpus)


def _gpu(uuid: str, util_pct: int, vram_used_mb: int, temperature_c: int, power_w: int) -> GpuNow:
    return GpuNow(uuid=uuid, util_pct=util_pct, vram_used_mb=vram_used_mb, temperature_c=temperature_c, power_w=power_w)

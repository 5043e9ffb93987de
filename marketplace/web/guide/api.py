"""Public API of the GPU catalogue and of the advisor."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from common.errors import NotFound
from common.http.resource_schemas import schema_of
from common.http.views import PublicView, validated
from marketplace.advisor.recommend import advise
from marketplace.advisor.workload import Family, Precision, Task, Workload
from marketplace.search.gpu_ranking import model_on_market, ranked
from marketplace.web.advisor.serializers import AdviceOut, advice_resource
from marketplace.web.guide import serializers


class GpuModelsView(PublicView):
    """List every GPU model in the catalog, with sources and current prices."""

    @extend_schema(
        operation_id="gpu_models_list", parameters=[serializers.ModelQuery], responses=schema_of(serializers.ModelList)
    )
    def get(self, request: Request) -> Response:
        query = validated(serializers.ModelQuery, request.query_params)
        return Response(serializers.models_resource(ranked(query["sort"])))


class GpuModelView(PublicView):
    """Return one GPU model."""

    @extend_schema(operation_id="gpu_models_retrieve", responses=schema_of(serializers.Model))
    def get(self, request: Request, gpu_slug: str) -> Response:
        found = model_on_market(gpu_slug)
        if found is None:
            raise NotFound("This GPU model doesn't exist.")
        return Response(serializers.model_resource(found))


class AdviceView(PublicView):
    """Recommend GPUs, host and offers for a workload, with the reason for each step.

    Changes nothing.
    """

    @extend_schema(operation_id="advice_create", request=serializers.WorkIn, responses={200: schema_of(AdviceOut)})
    def post(self, request: Request) -> Response:
        return Response(advice_resource(advise(work_from(validated(serializers.WorkIn, request.data)))))


def work_from(data: dict[str, Any]) -> Workload:
    named = {"task": Task, "family": Family, "precision": Precision}
    fields: dict[str, Any] = {name: named[name](value) if name in named else value for name, value in data.items()}
    return Workload(**fields)

"""API of reports that an instance does not work."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.permissions import asker
from common.http.views import checked
from instances.enforcement.fault_reports import report_fault
from instances.web import schemas
from instances.web.responses import instance_id_of, reply_with_instance, shown


class FaultReportIn(serializers.Serializer):  # type: ignore[type-arg]  # not generic at run time
    """What does not work, in your own words."""

    detail = serializers.CharField(max_length=300, help_text="Staff read it, and the host's owner in the events.")


class FaultReportView(APIView):
    """Report that an instance does not work although its host says that it runs.

    It is stopped and costs nothing from now on; the market's staff decide about a refund.
    """

    scopes: ClassVar = {"POST": "instances:write"}

    @extend_schema(operation_id="instances_report_fault", request=FaultReportIn, responses={202: schemas.InstanceOut})
    def post(self, request: Request, instance_id: str) -> Response:
        said, renter, row_id = checked(FaultReportIn, request.data), asker(request), instance_id_of(instance_id)
        return reply_with_instance(
            request, lambda: (202, shown(report_fault(renter=renter, instance_id=row_id, detail=said["detail"])))
        )

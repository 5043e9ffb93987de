"""API of the evidence for bills: signed usage records with their key, seals, and spending."""

from typing import ClassVar

from django.conf import settings
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.permissions import current_user
from billing.ledger.seals import latest_seals
from billing.ledger.signing import key_id, public_key
from billing.ledger.usage_records import usage_records
from billing.statements.spending_report import spending_report
from billing.web.ledger.seal_serializers import RecordsIn, RecordsOut, SealOut, SpendIn, SpendOut
from common import clock
from common.http.views import validated

_SEALS = 100


class UsageRecordsApi(APIView):
    """List your charges and earnings as signed usage records.

    The other side of each charge gets the same record.
    """

    scopes: ClassVar = {"GET": "billing:read"}

    @extend_schema(operation_id="usage_records", parameters=[RecordsIn], responses=RecordsOut)
    def get(self, request: Request) -> Response:
        query = validated(RecordsIn, request.query_params)
        found = usage_records(owner_id=current_user(request).pk, **query | {"limit": query["limit"] + 1})
        page = found[: query["limit"]]
        following = page[-1].record["usage"] if len(found) > len(page) else None
        return Response(RecordsOut({"key_id": key_id(), "records": page, "next": following}).data)


class SealsApi(APIView):
    """List the latest seals of the ledger, newest first.

    With a stored head, you can check later whether anything before it has changed.
    """

    scopes: ClassVar = {"GET": "billing:read"}

    @extend_schema(operation_id="seals", responses=SealOut(many=True))
    def get(self, request: Request) -> Response:
        return Response(SealOut(latest_seals(_SEALS), many=True).data)


class SpendApi(APIView):
    """Return your spending by day, mode or source, net of refunds."""

    scopes: ClassVar = {"GET": "billing:read"}

    @extend_schema(operation_id="wallet_spend", parameters=[SpendIn], responses=SpendOut)
    def get(self, request: Request) -> Response:
        query = validated(SpendIn, request.query_params)
        return Response(SpendOut(spending_report(current_user(request).pk, now=clock.now(), **query)).data)


@require_safe
def ledger_key(request: HttpRequest) -> JsonResponse:
    """Return the public key that usage records are signed with, and those before it."""
    body = {"algorithm": "Ed25519", "key_id": key_id(), "public_key": public_key(), "former": settings.LEDGER_FORMER_KEYS}
    return JsonResponse(body, headers={"Cache-Control": "public, max-age=3600"})

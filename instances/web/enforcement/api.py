"""API of budgets over instances, members and teams, and of reports of faults."""

from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from billing.budgets.selectors import BudgetView, budget_of, budget_views, budgets_of
from billing.budgets.services import change_budget, remove_budget
from billing.web.budgets.serializers import PERIODS, SCOPES
from common import clock
from common.http.fields import AmountText
from common.http.resource_schemas import schema_of
from common.http.views import Money, validated
from common.ids import parse_public_id, public_id
from common.money import parse_money
from instances.enforcement.budgets import set_budget
from instances.enforcement.fault_reports import report_fault
from instances.web.resources import InstanceOut
from instances.web.responses import idempotent_instance_response, instance_id_of, instance_response

PREFIXES = {"instance": "inst", "member": "user", "team": "team"}


class BudgetIn(serializers.Serializer[Any]):
    """A budget to create."""

    scope = serializers.ChoiceField(choices=SCOPES)
    subject = serializers.CharField(
        max_length=60, required=False, default="", help_text="inst_…, user_… or team_…; empty: yourself"
    )
    period = serializers.ChoiceField(choices=PERIODS, default="month", help_text="A calendar month (UTC), or in total")
    limit = AmountText(help_text="A decimal string such as 100.00")
    hard = serializers.BooleanField(
        default=False, help_text="true: hard limit, stops the instances it covers; false: alerts only"
    )


class BudgetChange(serializers.Serializer[Any]):
    """Changes of a budget."""

    limit = AmountText(required=False)
    hard = serializers.BooleanField(required=False)


class BudgetOut(serializers.Serializer[Any]):
    """A budget with its current spending."""

    id = serializers.SerializerMethodField()
    scope = serializers.CharField(source="budget.scope", read_only=True)
    subject = serializers.SerializerMethodField()
    name = serializers.CharField(source="budget.name", read_only=True)
    period = serializers.CharField(source="budget.period", read_only=True)
    limit = Money("budget.limit_micros")
    hard = serializers.BooleanField(source="budget.hard", read_only=True)
    spent = Money("use.spent_micros", help_text="Charged usage, and usage not charged yet")
    set_aside = Money("use.held_micros", help_text="On hold for hours in progress; covers usage not charged yet")
    percent = serializers.IntegerField(read_only=True)
    created_at = serializers.DateTimeField(source="budget.created_at", read_only=True)

    def get_id(self, view: BudgetView) -> str:
        return public_id("budg", view.budget.pk)

    def get_subject(self, view: BudgetView) -> str:
        return public_id(PREFIXES[view.budget.scope], view.budget.subject_id)


class BudgetsApi(ListAPIView[Any]):
    """List your budgets."""

    scopes: ClassVar = {"GET": "billing:read", "POST": "billing:write"}
    serializer_class = BudgetOut
    ordering = ("-created_at", "-id")

    def get_queryset(self) -> Any:
        return budgets_of(owner_id=current_user(self.request).pk)

    @extend_schema(operation_id="budgets", responses=BudgetOut(many=True))
    def get(self, request: Request) -> Response:
        page = self.paginate_queryset(self.get_queryset()) or []
        return self.get_paginated_response(BudgetOut(budget_views(page, now=clock.now()), many=True).data)

    @extend_schema(operation_id="budgets_create", request=BudgetIn, responses={201: BudgetOut})
    def post(self, request: Request) -> Response:
        data = validated(BudgetIn, request.data)
        subject, limit = _subject(data["scope"], data.pop("subject")), parse_money(data.pop("limit"))

        def work() -> tuple[int, Any]:
            return 201, _row(set_budget(owner=current_user(request), subject_id=subject, limit_micros=limit, **data))

        return idempotent_response(request, work)


class BudgetApi(APIView):
    """Return one of your budgets."""

    scopes: ClassVar = {"GET": "billing:read", "PATCH": "billing:write", "DELETE": "billing:write"}

    @extend_schema(operation_id="budgets_retrieve", responses=BudgetOut)
    def get(self, request: Request, budget_id: str) -> Response:
        return Response(_row(budget_of(owner_id=current_user(request).pk, budget_id=parse_public_id("budg", budget_id))))

    @extend_schema(operation_id="budgets_change", request=BudgetChange, responses=BudgetOut)
    def patch(self, request: Request, budget_id: str) -> Response:
        data, key = validated(BudgetChange, request.data), parse_public_id("budg", budget_id)
        if "limit" in data:
            data["limit_micros"] = parse_money(data.pop("limit"))
        return Response(_row(change_budget(owner_id=current_user(request).pk, budget_id=key, **data)))

    @extend_schema(operation_id="budgets_delete", responses={204: None})
    def delete(self, request: Request, budget_id: str) -> Response:
        """Delete a budget."""
        remove_budget(owner_id=current_user(request).pk, budget_id=parse_public_id("budg", budget_id))
        return Response(status=204)


def _row(budget: Any) -> dict[str, Any]:
    return dict(BudgetOut(budget_views([budget], now=clock.now())[0]).data)


def _subject(scope: str, text: str) -> UUID | None:
    """Parse the subject, which may be empty for the user; an instance or a team has to be named."""
    return None if not text and scope == "member" else parse_public_id(PREFIXES[scope], text)


class FaultReportIn(serializers.Serializer):  # type: ignore[type-arg]  # not generic at run time
    """A description of the problem."""

    detail = serializers.CharField(max_length=300, help_text="Visible to Berth staff, and to the host owner in the events.")


class FaultReportView(APIView):
    """Report that an instance does not work although its host reports it as running.

    It is stopped, its GPU use is no longer charged, and Berth staff decide about a refund.
    """

    scopes: ClassVar = {"POST": "instances:write"}

    @extend_schema(operation_id="instances_report_fault", request=FaultReportIn, responses={202: schema_of(InstanceOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        data, renter, row_id = validated(FaultReportIn, request.data), current_user(request), instance_id_of(instance_id)
        return idempotent_instance_response(
            request, lambda: (202, instance_response(report_fault(renter=renter, instance_id=row_id, detail=data["detail"])))
        )

"""Staff panel of launch templates: the review of versions for the public list."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from accounts.models import User
from accounts.web.admin_sites import ReadOnlyAdmin, staff_panel
from workloads.models import LaunchTemplate, TemplateVersion
from workloads.states import Review
from workloads.templates.moderation import approve_version, reject_version
from workloads.templates.readme import readme_html


@admin.register(LaunchTemplate, site=staff_panel)
class LaunchTemplateAdmin(ReadOnlyAdmin):
    list_display = ("title", "owner", "category", "visibility", "use_count", "updated_at")
    list_filter = ("visibility", "category")
    search_fields = ("id", "slug", "title", "owner__email")
    list_select_related = ("owner",)
    exclude = ("share_token",)


@admin.register(TemplateVersion, site=staff_panel)
class TemplateVersionAdmin(ReadOnlyAdmin):
    """Versions; saving one as approved or rejected is the review."""

    list_display = ("template", "number", "content_hash", "review", "created_at")
    list_filter = ("review",)
    list_select_related = ("template",)
    fields = ("template", "number", "content_hash", "image", "content", "readme", "review", "review_reason", "reviewed_by")

    @admin.display(description="README")
    def readme(self, row: TemplateVersion) -> SafeString:
        return readme_html(row.content["readme"])

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return True

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("template", "number", "content_hash", "image", "content", "readme", "reviewed_by")

    def get_queryset(self, request: HttpRequest) -> QuerySet[TemplateVersion]:
        found: QuerySet[TemplateVersion] = super().get_queryset(request)
        return found.select_related("template", "image")

    def save_model(self, request: HttpRequest, obj: TemplateVersion, form: Any, change: bool) -> None:
        """Approve or reject through the service; another word changes nothing."""
        assert isinstance(request.user, User)
        if obj.review == Review.APPROVED:
            approve_version(staff=request.user, version_id=obj.pk)
        elif obj.review == Review.REJECTED:
            reject_version(staff=request.user, version_id=obj.pk, reason=obj.review_reason)

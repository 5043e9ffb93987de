"""Review of public templates by staff, version by version."""

from uuid import UUID

from django.utils.translation import gettext as _

from accounts.event_log.services import record_event
from accounts.models import User
from common import clock
from common.db.transactions import use_case
from common.errors import NotFound, wrong_field
from workloads.models import LaunchTemplate, TemplateVersion
from workloads.states import Review


def approve_version(*, staff: User, version_id: UUID) -> TemplateVersion:
    """Let everyone see this version; a newer one that was approved before stays what they see."""
    with use_case():
        version, template = _locked(version_id)
        _reviewed(version, staff, Review.APPROVED, "")
        present = template.published
        if present is None or present.number < version.number:
            template.published = version
            template.save(update_fields=["published"])
        record_event(user_id=template.owner_id, kind="template.approved", subject=f"{template.title} {version.short_hash}")
    return version


def reject_version(*, staff: User, version_id: UUID, reason: str) -> TemplateVersion:
    """Refuse this version; if everyone saw it, they see the newest one that is still approved, or none."""
    if not reason.strip():
        raise wrong_field("review_reason", _("Say why, so that the owner can change it."))
    with use_case():
        version, template = _locked(version_id)
        _reviewed(version, staff, Review.REJECTED, reason.strip()[:300])
        if template.published_id == version.pk:
            approved = TemplateVersion.objects.filter(template=template, review=Review.APPROVED)
            template.published = approved.order_by("-number").first()
            template.save(update_fields=["published"])
        record_event(user_id=template.owner_id, kind="template.rejected", subject=f"{template.title} {version.short_hash}")
    return version


def _locked(version_id: UUID) -> tuple[TemplateVersion, LaunchTemplate]:
    """Return the version and its template, of which the template is locked first, as its owner's changes lock it."""
    found = TemplateVersion.objects.filter(pk=version_id).first()
    if found is None:
        raise NotFound("There is no such version.")
    template = LaunchTemplate.objects.select_for_update(no_key=True, of=("self",)).get(pk=found.template_id)
    return TemplateVersion.objects.get(pk=version_id), template


def _reviewed(version: TemplateVersion, staff: User, review: Review, reason: str) -> None:
    version.review, version.review_reason, version.reviewed_by, version.reviewed_at = review, reason, staff, clock.now()
    version.save(update_fields=["review", "review_reason", "reviewed_by", "reviewed_at"])

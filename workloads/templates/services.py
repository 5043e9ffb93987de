"""Writes of launch templates by their owners: made, described, given new versions, shown to others, deleted."""

import re
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from accounts.event_log.services import record_event
from accounts.models import User
from accounts.selectors import team_of
from common import clock
from common.db.transactions import use_case
from common.errors import NotFound, wrong_field
from common.printable import check_printable, is_printable, normalize_text
from storage.images.selectors import find_image
from workloads.constants import SLUG_PATTERN, TEMPLATES_AT_MOST, VERSIONS_AT_MOST
from workloads.errors import TemplateImageNotShared, TemplateIsPublic, TemplateNameTaken, TooManyTemplates
from workloads.models import LaunchTemplate, TemplateVersion
from workloads.states import Category, Review, Visibility
from workloads.templates.content import hash_of, read_content
from workloads.templates.selectors import own_template, own_templates

if TYPE_CHECKING:
    from storage.models import Image

ICONS: Final = ("🧰", "🔥", "🧠", "🤖", "🎨", "📊", "🧪", "🗄️", "🚀", "🎬", "🎙️", "🔬", "🧮", "🐍", "📦", "🌐")
_TOKEN_BYTES: Final = 24
_TITLE_CHARS: Final = 120
_DESCRIPTION_CHARS: Final = 300


def create_template(
    *,
    owner: User,
    title: str,
    content: Mapping[str, Any],
    slug: str = "",
    icon: str = "",
    description: str = "",
    category: str = Category.OTHER,
) -> LaunchTemplate:
    """Create a private template with its first version.

    Raises InvalidInput, TemplateNameTaken or TooManyTemplates.
    """
    described = _described({"title": title, "icon": icon, "description": description, "category": category})
    stored, image = read_content(owner, content)
    with use_case():
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # so that two requests can't pass the limit
        if own_templates(owner).count() >= TEMPLATES_AT_MOST:
            raise TooManyTemplates(f"An account has at most {TEMPLATES_AT_MOST} templates; delete some first.")
        try:
            with transaction.atomic():
                template = LaunchTemplate.objects.create(owner=owner, slug=_slug(slug or title), **described)
        except IntegrityError as error:
            raise TemplateNameTaken(f"You have a template named {slug or slugify(title)} already.") from error
        add_version(template, stored, image)
        record_event(user_id=owner.pk, kind="template.created", subject=template.title)
    return template


def update_template(*, owner: User, template_id: UUID, **changes: Any) -> LaunchTemplate:
    """Change title, icon, description or category.

    Staff has approved those of a public template, so it must be made private first, and is reviewed again afterwards.
    Raises InvalidInput or TemplateIsPublic.
    """
    described = _described(changes)
    with use_case():
        template = _locked(owner, template_id)
        if all(getattr(template, name) == value for name, value in described.items()):
            return template
        if template.visibility == Visibility.PUBLIC:
            raise TemplateIsPublic("Make it private first. It is reviewed again when you make it public.")
        _withdraw_approval(template)
        for name, value in described.items():
            setattr(template, name, value)
        template.updated_at = clock.now()
        template.save(update_fields=[*described, "published", "updated_at"])
    return template


def create_version(*, owner: User, template_id: UUID, content: Mapping[str, Any]) -> TemplateVersion:
    """Add a version; the same content again returns the version that has it.

    Of a public template it is submitted for review, and others see the approved one until it is approved, too.
    """
    stored, image = read_content(owner, content)
    with use_case():
        template = _locked(owner, template_id)
        if template.visibility == Visibility.PUBLIC:
            _check_image_shared(image)
        if template.versions.count() >= VERSIONS_AT_MOST:
            raise TooManyTemplates(f"A template has at most {VERSIONS_AT_MOST} versions.")
        version = add_version(template, stored, image)
        record_event(user_id=owner.pk, kind="template.version", subject=f"{template.title} {version.short_hash}")
    return version


def set_visibility(*, owner: User, template_id: UUID, visibility: str, team_id: UUID | None = None) -> LaunchTemplate:
    """Show a template to nobody else, to a team or to everyone; the public list shows it once staff has approved it."""
    if visibility not in Visibility.values:
        raise wrong_field("visibility", _("Choose private, team or public."))
    if (visibility == Visibility.TEAM) != (team_id is not None):
        raise wrong_field("team", _("Name a team, and only for the visibility team."))
    team = team_of(owner, team_id) if team_id is not None else None
    with use_case():
        template = _locked(owner, template_id)
        newest = template.newest
        assert newest is not None
        if visibility != Visibility.PRIVATE:
            _check_image_shared(find_image(newest.content["image"], owner))
        if visibility == Visibility.PUBLIC:
            _submit(newest)
        template.visibility, template.team, template.updated_at = visibility, team, clock.now()
        template.save(update_fields=["visibility", "team", "updated_at"])
        record_event(user_id=owner.pk, kind="template.visibility", subject=f"{template.title}: {visibility}")
    return template


def set_share_link(*, owner: User, template_id: UUID, on: bool) -> LaunchTemplate:
    """Make a link with which everyone who has it sees the template, or withdraw it; a new one is another link."""
    with use_case():
        template = _locked(owner, template_id)
        assert template.newest is not None
        if on:
            _check_image_shared(find_image(template.newest.content["image"], owner))
        template.share_token = secrets.token_urlsafe(_TOKEN_BYTES) if on else ""
        template.save(update_fields=["share_token"])
        record_event(user_id=owner.pk, kind="template.link", subject=template.title)
    return template


def delete_template(*, owner: User, template_id: UUID) -> LaunchTemplate:
    """Delete a template; instances that were rented with it keep what was agreed."""
    with use_case():
        template = _locked(owner, template_id)
        template.deleted_at, template.share_token = clock.now(), ""
        template.save(update_fields=["deleted_at", "share_token"])
        TemplateVersion.objects.filter(template=template, review=Review.SUBMITTED).update(review=Review.NONE)
        record_event(user_id=owner.pk, kind="template.deleted", subject=template.title)
    return template


def add_version(template: LaunchTemplate, content: dict[str, Any], image: "Image") -> TemplateVersion:
    """Add or find the version with this content and make it the newest; call it inside a transaction."""
    last = template.versions.order_by("-number").first()
    version, _made = TemplateVersion.objects.get_or_create(
        template=template,
        content_hash=hash_of(content),
        defaults={"content": content, "image": image, "number": last.number + 1 if last else 1},
    )
    if template.visibility == Visibility.PUBLIC and not template.is_official:
        _submit(version)
    template.newest, template.updated_at = version, clock.now()
    template.save(update_fields=["newest", "updated_at"])
    return version


def _withdraw_approval(template: LaunchTemplate) -> None:
    template.published = None
    TemplateVersion.objects.filter(template=template, review=Review.APPROVED).update(review=Review.NONE)


def _submit(version: TemplateVersion) -> None:
    if version.review in (Review.NONE, Review.REJECTED):
        version.review, version.review_reason, version.reviewed_at = Review.SUBMITTED, "", None
        version.save(update_fields=["review", "review_reason", "reviewed_at"])


def _locked(owner: User, template_id: UUID) -> LaunchTemplate:
    own_template(owner, template_id)
    found = LaunchTemplate.objects.select_for_update(no_key=True, of=("self",)).filter(
        pk=template_id, owner=owner, deleted_at__isnull=True
    )
    template = found.select_related("newest").first()
    if template is None:
        raise NotFound("There is no such template.")
    return template


def _check_image_shared(image: "Image") -> None:
    """Raise TemplateImageNotShared for an image that only its owner can run."""
    if not image.official and (image.shared is None or image.shared.withdrawn_at is not None):
        raise TemplateImageNotShared("Share the image first, or use an official or community image.")


def _slug(text: str) -> str:
    slug = slugify(text)[:60].strip("-_").replace("_", "-")
    if not re.fullmatch(SLUG_PATTERN, slug):
        raise wrong_field("slug", _("Use lowercase letters, digits and hyphens."))
    return slug


def _described(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given ones of title, icon, description and category, or raise InvalidInput."""
    found = {name: normalize_text(value) for name, value in values.items() if isinstance(value, str)}
    for name, most in (("title", _TITLE_CHARS), ("description", _DESCRIPTION_CHARS)):
        text = found.get(name, "")
        check_printable(name, text)
        if len(text) > most:
            raise wrong_field(name, _("Use at most %(most)s characters.") % {"most": most})
    if "title" in found and not found["title"].strip():
        raise wrong_field("title", _("Enter a title."))
    if found.get("category") and found["category"] not in Category.values:
        raise wrong_field("category", _("Choose one of: %(options)s.") % {"options": ", ".join(Category.values)})
    if found.get("icon") and found["icon"] not in ICONS:
        raise wrong_field("icon", _("Choose one of: %(options)s.") % {"options": " ".join(ICONS)})
    return {name: text for name, text in found.items() if is_printable(text)}

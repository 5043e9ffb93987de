"""Reads of launch templates: who sees which template, in which version."""

from hmac import compare_digest
from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet

from accounts.models import User
from accounts.selectors import teams_of
from common.errors import NotFound
from common.ids import parse_public_id, public_id
from workloads.models import LaunchTemplate, TemplateVersion
from workloads.states import Review, Visibility

PREFIX: Final = "tmpl"
SHARE_MARK: Final = "share_"
_PRESENT: Final = Q(deleted_at__isnull=True)
_OFFICIAL: Final = Q(owner__isnull=True)
_PUBLIC: Final = Q(visibility=Visibility.PUBLIC, published__isnull=False)


def templates_in(user: User | None, source: str = "") -> QuerySet[LaunchTemplate]:
    """Return the templates that the user may see, or of them the `official`, `own`, `team` or `public` ones."""
    kinds = {"official": _OFFICIAL, "public": _PUBLIC & ~_OFFICIAL, "own": Q(pk=None), "team": Q(pk=None)}
    if user is not None:
        kinds["own"] = Q(owner=user)
        kinds["team"] = Q(visibility=Visibility.TEAM, team__in=teams_of(user).values("pk"))
    wanted = kinds.get(source)
    if wanted is None:
        wanted = kinds["official"] | kinds["public"] | kinds["own"] | kinds["team"]
    found = LaunchTemplate.objects.filter(_PRESENT & Q(newest__isnull=False) & wanted)
    return found.select_related("newest__image", "published__image", "owner", "team")


def own_templates(owner: User) -> QuerySet[LaunchTemplate]:
    return templates_in(owner, "own").order_by("-updated_at", "-pk")


def own_template(owner: User, template_id: UUID) -> LaunchTemplate:
    """Return a template of this owner; raise NotFound for any other, existing or not."""
    return _one(own_templates(owner).filter(pk=template_id))


def find_template(user: User | None, text: str) -> LaunchTemplate:
    """Return the template with this public id, share link or slug that the user may see, or raise NotFound.

    A slug is that of one of their own templates, else of an official one; other people's have ids only.
    """
    if text.startswith(SHARE_MARK):
        return shared_template(text.removeprefix(SHARE_MARK))
    seen = templates_in(user)
    if text.startswith(f"{PREFIX}_"):
        return _one(seen.filter(pk=parse_public_id(PREFIX, text)))
    own = seen.filter(slug=text, owner=user).first() if user is not None else None
    return own or _one(seen.filter(_OFFICIAL, slug=text))


def shared_template(token: str) -> LaunchTemplate:
    """Return the template with this share link, whoever asks; raise NotFound for a link that was withdrawn."""
    found = templates_by_link(token).first()
    if found is None or not compare_digest(found.share_token.encode(), token.encode()):
        raise NotFound("There is no such template.")
    return found


def templates_by_link(token: str) -> QuerySet[LaunchTemplate]:
    found = LaunchTemplate.objects.filter(_PRESENT, share_token=token).exclude(share_token="")
    return found.select_related("newest__image", "published__image", "owner", "team")


def sees_all_versions(user: User | None, template: LaunchTemplate) -> bool:
    """Return whether the user sees every version: the owner, and the team of a team's template."""
    if user is None or template.is_official:
        return template.is_official
    if template.owner_id == user.pk:
        return True
    return (
        template.visibility == Visibility.TEAM
        and template.team_id is not None
        and teams_of(user).filter(pk=template.team_id).exists()
    )


def versions_seen(user: User | None, template: LaunchTemplate) -> QuerySet[TemplateVersion]:
    """Return the versions that the user may see, newest first: all, or those that staff has approved."""
    found = TemplateVersion.objects.filter(template=template).select_related("image").order_by("-number")
    return found if sees_all_versions(user, template) else found.filter(review=Review.APPROVED)


def version_of(user: User | None, template: LaunchTemplate, version: str = "", *, by_link: bool = False) -> TemplateVersion:
    """Return the version with this beginning of its hash, or the present one; raise NotFound for one not to be seen.

    Whoever has a share link sees the newest version, since the owner gave it to them.
    """
    if version:
        versions = versions_seen(user, template).filter(content_hash__startswith=version.lower())
        found = versions.first() if version.isalnum() else None
    elif sees_all_versions(user, template) or by_link:
        found = template.newest
    else:
        found = template.published
    if found is None:
        raise NotFound("There is no such template, or no such version of it.")
    return found


def listed_version(user: User | None, template: LaunchTemplate) -> TemplateVersion:
    """Return `version_of` for a row of `templates_in`, without a query: a team's template is there for its team alone."""
    own = user is not None and template.owner_id == user.pk
    whole = own or template.is_official or template.visibility == Visibility.TEAM
    found = template.newest if whole else template.published
    assert found is not None
    return found


def find_version(user: User | None, text: str) -> tuple[LaunchTemplate, TemplateVersion]:
    """Return what `text` names: an id, a slug or a share link, each alone or with `@version`; or raise NotFound."""
    name, _at, version = text.partition("@")
    template = find_template(user, name)
    return template, version_of(user, template, version, by_link=name.startswith(SHARE_MARK))


def versions_in_review() -> QuerySet[TemplateVersion]:
    return TemplateVersion.objects.filter(review=Review.SUBMITTED).select_related("template__owner", "image")


def template_key(template: LaunchTemplate) -> str:
    return public_id(PREFIX, template.pk)


def _one(templates: QuerySet[LaunchTemplate]) -> LaunchTemplate:
    template = templates.first()
    if template is None:
        raise NotFound("There is no such template.")
    return template

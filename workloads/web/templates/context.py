"""Template contexts of the gallery and of a template's page."""

import shlex
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from django.core.paginator import Paginator

from accounts.models import User
from accounts.selectors import teams_of
from common.ids import public_id
from marketplace.web.search.rows import OfferRow, offer_rows, rent_query
from storage.images.selectors import usable_images
from workloads.models import LaunchTemplate, TemplateVersion
from workloads.states import Category
from workloads.templates.gallery import search_templates
from workloads.templates.market import Suiting, cheapest_offers, offers_for
from workloads.templates.readme import readme_html
from workloads.templates.selectors import (
    find_version,
    listed_version,
    sees_all_versions,
    template_key,
    versions_seen,
)
from workloads.web.templates.forms import VisibilityForm

_CARDS: Final = 24
_OFFERS: Final = 8
_VERSIONS: Final = 20


@dataclass(frozen=True)
class TemplateCard:
    """A template in the gallery, with the cheapest verified offer that it can be rented on."""

    template: LaunchTemplate
    version: TemplateVersion
    suiting: Suiting

    @property
    def key(self) -> str:
        return template_key(self.template)

    @property
    def offer(self) -> OfferRow | None:
        return _offer_of(self.suiting)

    @property
    def rent_query(self) -> str:
        return _rent_query(self.key, self.suiting)


def gallery_context(user: User | None, *, words: str, category: str, source: str, page: str | None) -> dict[str, Any]:
    chosen = category if category in Category.values else ""
    rows = Paginator(search_templates(user, words=words, category=chosen, source=source), _CARDS).get_page(page)
    seen = [(row, listed_version(user, row)) for row in rows.object_list]
    suiting = cheapest_offers(seen, user)
    return {
        "page": rows,
        "cards": [TemplateCard(*row, each) for row, each in zip(seen, suiting, strict=True)],
        "words": words,
        "category": chosen,
        "source": source,
        "categories": Category.choices,
    }


def template_context(user: User | None, named: str) -> dict[str, Any]:
    """Return the context of a template's page; `named` is its id or share link, with or without `@version`."""
    template, version = find_version(user, named)
    name, _at, wanted = named.partition("@")
    content = version.content
    [suiting] = cheapest_offers([(template, version)], user)
    page, runs = offers_for(suiting.query, _OFFERS), suiting.has_image and not suiting.changed
    own = user is not None and template.owner_id == user.pk
    launch = content["launch"]
    return {
        "template": template,
        "version": version,
        "content": content,
        "inputs": [{**row, "label": template.localized(row["label"])} for row in content["inputs"]],
        "key": template_key(template),
        "named": named,
        "own": own,
        "readme": readme_html(template.localized(content["readme"])),
        "launch_line": shlex.join([*launch["entrypoint"], *launch["command"], *launch["args"]]),
        "versions": versions_seen(user, template)[:_VERSIONS],
        "reviews_shown": own and sees_all_versions(user, template),
        "offer": _offer_of(suiting),
        "rows": offer_rows(page.offers, suiting.query) if runs else [],
        "total": page.total if runs else 0,
        "runs": runs,
        "changed": suiting.changed,
        "rent_query": _rent_query(f"{name}@{version.short_hash}" if wanted else name, suiting),
        "visibility_form": _visibility_form(user, template) if own and user is not None else None,
    }


def _offer_of(suiting: Suiting) -> OfferRow | None:
    return None if suiting.offer is None else OfferRow(suiting.offer, suiting.query)


def _rent_query(named: str, suiting: Suiting) -> str:
    """Return the query of the order page with the template; `named` is how it is asked for."""
    return f"{urlencode({'template': named})}&{rent_query(suiting.query)}"


def _visibility_form(user: User, template: LaunchTemplate) -> VisibilityForm:
    teams = [(public_id("team", team.pk), team.name) for team in teams_of(user)]
    team = public_id("team", template.team_id) if template.team_id else ""
    return VisibilityForm(teams=teams, initial={"visibility": template.visibility, "team": team})


def image_choices(user: User) -> list[tuple[str, str]]:
    return [(image.slug, image.full_title) for image in usable_images(user).order_by("-official", "slug")[:200]]

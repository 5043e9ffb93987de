"""Public data sets: snapshots that staff publish for every instance on their host to read."""

import re
from uuid import UUID

from django.db import IntegrityError
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.selectors import acts_as_staff
from common import clock
from common.db.transactions import use_case
from common.errors import Forbidden, wrong_field
from storage.constants import NAME_PATTERN
from storage.models import DataSet
from storage.volumes.selectors import data_set_named, snapshot_of
from storage.volumes.snapshots import locked_ready


def publish_snapshot(
    *, staff: User, snapshot_id: UUID, slug: str, title: str, description: str = "", licence: str = ""
) -> DataSet:
    """Publish one of the staff member's own snapshots for everyone to read.

    Its owner goes on paying for it. Raises Forbidden, NotFound, InvalidInput or SnapshotNotReady.
    """
    snapshot_of(staff.pk, snapshot_id)
    if not acts_as_staff(staff):
        raise Forbidden("Only the market's staff publish data sets.")
    if not re.fullmatch(NAME_PATTERN, slug):
        raise wrong_field("slug", _("Use up to 40 lowercase letters, digits and hyphens. It is mounted at /pub/<slug>."))
    with use_case():
        snapshot = locked_ready(staff, snapshot_id)
        if DataSet.objects.filter(slug=slug).exists():
            raise wrong_field("slug", _("A dataset with this name already exists."))
        try:
            return DataSet.objects.create(
                slug=slug,
                title=title,
                description=description,
                licence=licence,
                snapshot=snapshot,
                published_by=staff,
                published_at=clock.now(),
            )
        except IntegrityError as error:
            raise wrong_field("snapshot", _("This snapshot is already published.")) from error


def withdraw_data_set(*, staff: User, slug: str) -> None:
    """Withdraw a data set, so that no further instance can mount it; those that have it keep it.

    Raises Forbidden or NotFound.
    """
    found = data_set_named(slug)
    if not acts_as_staff(staff):
        raise Forbidden("Only the market's staff withdraw data sets.")
    with use_case():
        DataSet.objects.filter(pk=found.pk).update(active=False)

"""Number of free GPUs of an offer: counted by SQL under the offer's row lock."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from common.db.prepared import Prepared, run
from marketplace.constants import ENGINE_SLOW_AFTER_S, SYSTEM_DISK_GB
from marketplace.models import Offer
from marketplace.states import HostState, Verification

# Columns that an offer copies from its host, and those that are computed from host and GPUs.
_COPIED = (
    *("region", "runtime", "simulated", "reliability_ppm", "listed_until", "cpu_model", "driver", "cuda"),
    *("nvlink", "disk_kind", "disk_read_mbps", "disk_write_mbps", "net_up_mbps", "net_down_mbps"),
    *("disk_measured_at", "disk_samples", "net_measured_at", "net_samples"),
)
_COUNTED = (
    *("draining", "host_name", "host_state", "verified", "disk_free_gb", "system_disk_gb", "pcie_gen", "pcie_width"),
    *("gpu_total", "gpu_free", "gpu_spot"),
)
_COMPARED = (*_COPIED, *_COUNTED)


def _listed(alias: str) -> str:
    return ", ".join(f"{alias}.{column}" for column in _COMPARED)


_MEANING: dict[str, Any] = {
    "open": HostState.ONLINE.value,
    "verified": Verification.VERIFIED.value,
    "slow": ENGINE_SLOW_AFTER_S,
    "system": SYSTEM_DISK_GB,
}
# The one definition of the denormalised columns of an offer. What is open for rent is counted as it is: free, or
# leased to spot rents. Then orders that wait for GPUs are subtracted, first from what is free, in the order in which
# they came, each that can be served from the rest. For an order that needs more than there is, nothing is kept back.
_OFFERS = f"""
    SELECT o.id AS offer_id, {", ".join(f"h.{column}" for column in _COPIED)},
           (h.draining OR h.awaits_test) AS draining,
           h.name AS host_name, h.state AS host_state, h.verification = %(verified)s AS verified,
           greatest(0, h.disk_free_gb - root.gb) / 10 * 10 AS disk_free_gb, root.gb AS system_disk_gb,
           gpus.pcie_gen, gpus.pcie_width, gpus.total AS gpu_total,
           greatest(0, gpus.free - line.claimed) AS gpu_free,
           greatest(0, gpus.free + gpus.spot - line.claimed) - greatest(0, gpus.free - line.claimed) AS gpu_spot
      FROM marketplace_offer o
      JOIN marketplace_host h ON h.id = o.host_id
     CROSS JOIN LATERAL (SELECT CASE WHEN h.root_limit = 'disk' THEN %(system)s ELSE 0 END AS gb) root
     CROSS JOIN LATERAL (
           SELECT coalesce(min(g.pcie_gen), 0) AS pcie_gen, coalesce(min(g.pcie_width), 0) AS pcie_width,
                  count(*) AS total,
                  count(*) FILTER (WHERE g.healthy AND NOT g.quarantined AND open.now AND l.id IS NULL) AS free,
                  count(*) FILTER (WHERE g.healthy AND NOT g.quarantined AND open.now AND l.spot) AS spot
             FROM (SELECT o.listed AND NOT (h.draining OR h.awaits_epoch OR h.awaits_test) AND h.state = %(open)s
                          AND h.engine_age_s < %(slow)s
                          AND cardinality(h.leftovers_of) = 0 AS now) open
             JOIN marketplace_gpu g ON g.offer_id = o.id AND g.present
             LEFT JOIN marketplace_lease l ON l.gpu_id = g.id AND l.released_at IS NULL
     ) gpus
     CROSS JOIN LATERAL (
           SELECT CASE WHEN EXISTS (SELECT FROM marketplace_claim c WHERE c.offer_id = o.id) THEN (
               WITH RECURSIVE walk (place, claimed) AS (
                   SELECT 0::bigint, 0::bigint
                   UNION ALL
                   SELECT walk.place + 1,
                          walk.claimed + CASE WHEN walk.claimed + c.gpu_count <= gpus.free + gpus.spot
                                              THEN c.gpu_count ELSE 0 END
                     FROM walk JOIN (
                          SELECT gpu_count, row_number() OVER (ORDER BY made_at, holder) AS place
                            FROM marketplace_claim WHERE offer_id = o.id) c ON c.place = walk.place + 1)
               SELECT max(walk.claimed) FROM walk) ELSE 0 END AS claimed
     ) line
"""  # noqa: S608  (put together from constants of this module)
_DIFFERS = f"({_listed('o')}) IS DISTINCT FROM ({_listed('t')})"
_REFRESH = f"""
    UPDATE marketplace_offer o
       SET {", ".join(f"{column} = t.{column}" for column in _COMPARED)}
      FROM ({_OFFERS} WHERE o.id = ANY(%(ids)s::uuid[])) t
     WHERE o.id = t.offer_id AND o.id = ANY(%(ids)s::uuid[]) AND {_DIFFERS}
"""  # noqa: S608  (put together from constants of this module)
_COMPARE = f"""
    SELECT o.id, {", ".join(f"o.{column}, t.{column}" for column in _COMPARED)}
      FROM marketplace_offer o JOIN ({_OFFERS}) t ON t.offer_id = o.id
     WHERE {_DIFFERS}
     ORDER BY o.id
"""  # noqa: S608  (put together from constants of this module)


_OFFER = Prepared(lambda pk: Offer.objects.select_for_update(of=("self",), no_key=True).filter(pk=pk).order_by(), pk=UUID)


@dataclass(frozen=True)
class Difference:
    """Column of an offer that differs from the facts."""

    offer_id: UUID
    column: str
    shown: object
    truth: object


def lock_offers(offer_ids: Sequence[UUID]) -> list[Offer]:
    """Lock these offers and return them as they are after the wait."""
    if len(offer_ids) == 1:
        return _OFFER.all(pk=offer_ids[0])
    rows = Offer.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=offer_ids)
    return list(rows.order_by("pk"))


def refresh_offers(*, offer_ids: Sequence[UUID], locked: bool = False) -> None:
    """Count free GPUs again; call it after every change of a lease, GPU or host, in the same transaction.

    The lock must be taken by an earlier statement than the count: under READ COMMITTED, an UPDATE that had to
    wait for the row would go on with the subquery's old snapshot and lose the change it waited for. With the lock
    first, the last to count has seen the committed changes of all others and its own.
    """
    if not offer_ids:
        return
    with transaction.atomic(savepoint=False):
        if not locked:
            lock_offers(offer_ids)
        with connection.cursor() as cursor:
            run(cursor, _REFRESH, {**_MEANING, "ids": list(offer_ids)})


def refresh_offers_of_host(*, host_id: UUID) -> None:
    refresh_offers(offer_ids=list(Offer.objects.filter(host_id=host_id).values_list("pk", flat=True)))


def compare_offers() -> list[Difference]:
    """Return the differences of all offers to the facts, in one statement and so as of one moment."""
    with connection.cursor() as cursor:
        cursor.execute(_COMPARE, _MEANING)
        rows = cursor.fetchall()
    found = []
    for offer_id, *values in rows:
        pairs = zip(_COMPARED, values[::2], values[1::2], strict=True)
        found += [Difference(offer_id, column, shown, truth) for column, shown, truth in pairs if shown != truth]
    return found

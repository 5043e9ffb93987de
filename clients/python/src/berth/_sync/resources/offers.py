# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `offers`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Pager, Resource


class Offers(Resource):
    def list(
        self,
        *,
        billing_mode: str | UnsetType = UNSET,
        data_disk_gb: int | UnsetType = UNSET,
        gpu_count: int | UnsetType = UNSET,
        image: str | UnsetType = UNSET,
        limit: int | UnsetType = UNSET,
        mountable_volume: str | UnsetType = UNSET,
        q: str | UnsetType = UNSET,
        sort: str | UnsetType = UNSET,
        term: str | UnsetType = UNSET,
        filters: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> Pager[models.OfferPage, models.PlacedOffer]:
        """List offers that can be rented now.

        Args:
            billing_mode: Billing mode used for prices
            data_disk_gb: Size of the data disk; the host must have space for it, and every price includes it, in GB
            gpu_count: Number of GPUs together; total prices are for all of them
            image: Image, by slug or ID; hosts that can't run it are excluded
            limit: Offers per page
            mountable_volume: vol_…: only offers in its region; `volume` of each says whether it is on this host or is
                migrated first
            q: A search line such as `gpu=rtx-3090 count>=2 region in [cn-north,eu-west] price<1.5`; GET /search-terms
            sort: Sort order of the offers; prefix "-" for descending
            term: Term of reserved prices
        """
        return self._pages(
            Call(
                "GET",
                "/api/v1/offers",
                models.OfferPage,
                query={
                    **(filters or {}),
                    "billing_mode": billing_mode,
                    "data_disk_gb": data_disk_gb,
                    "gpu_count": gpu_count,
                    "image": image,
                    "limit": limit,
                    "mountable_volume": mountable_volume,
                    "q": q,
                    "sort": sort,
                    "term": term,
                },
                timeout=timeout,
            ),
            models.PlacedOffer,
        )

    def get(
        self,
        offer_id: str,
        *,
        billing_mode: str | UnsetType = UNSET,
        data_disk_gb: int | UnsetType = UNSET,
        gpu_count: int | UnsetType = UNSET,
        term: str | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.Offer:
        """Return one offer, open or not, with the requested prices.

        Args:
            billing_mode: Billing mode used for prices
            data_disk_gb: Size of the data disk; the host must have space for it, and every price includes it, in GB
            gpu_count: Number of GPUs together; total prices are for all of them
            term: Term of reserved prices
        """
        return self._send(
            Call(
                "GET",
                f"/api/v1/offers/{self._part(offer_id)}",
                models.Offer,
                query={"billing_mode": billing_mode, "data_disk_gb": data_disk_gb, "gpu_count": gpu_count, "term": term},
                timeout=timeout,
            )
        )

    def prices(self, offer_id: str, *, days: int | UnsetType = UNSET, timeout: float | None = None) -> models.HistoryOut:
        """Return the price history of an offer, by day and by change.

        Args:
            days: Number of days, including today
        """
        return self._send(
            Call(
                "GET",
                f"/api/v1/offers/{self._part(offer_id)}/prices",
                models.HistoryOut,
                query={"days": days},
                timeout=timeout,
            )
        )

    def spot_prices(
        self, offer_id: str, *, days: int | UnsetType = UNSET, timeout: float | None = None
    ) -> models.SpotHistoryOut:
        """Return the current and past spot prices of an offer.

        Args:
            days: Number of days, including today
        """
        return self._send(
            Call(
                "GET",
                f"/api/v1/offers/{self._part(offer_id)}/spot-prices",
                models.SpotHistoryOut,
                query={"days": days},
                timeout=timeout,
            )
        )

    def compare(
        self,
        *,
        ids: Sequence[str],
        billing_mode: str | UnsetType = UNSET,
        data_disk_gb: int | UnsetType = UNSET,
        gpu_count: int | UnsetType = UNSET,
        term: str | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.OfferList:
        """Return up to four offers with comparable prices; one that no longer exists is left out.

        Args:
            ids: Offer IDs, separated by commas
            billing_mode: Billing mode used for prices
            data_disk_gb: Size of the data disk; the host must have space for it, and every price includes it, in GB
            gpu_count: Number of GPUs together; total prices are for all of them
            term: Term of reserved prices
        """
        return self._send(
            Call(
                "GET",
                "/api/v1/offers/compare",
                models.OfferList,
                query={
                    "ids": ids,
                    "billing_mode": billing_mode,
                    "data_disk_gb": data_disk_gb,
                    "gpu_count": gpu_count,
                    "term": term,
                },
                timeout=timeout,
            )
        )

    def facets(
        self,
        *,
        billing_mode: str | UnsetType = UNSET,
        cursor: str | UnsetType = UNSET,
        data_disk_gb: int | UnsetType = UNSET,
        gpu_count: int | UnsetType = UNSET,
        image: str | UnsetType = UNSET,
        limit: int | UnsetType = UNSET,
        mountable_volume: str | UnsetType = UNSET,
        q: str | UnsetType = UNSET,
        sort: str | UnsetType = UNSET,
        term: str | UnsetType = UNSET,
        filters: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> models.Facets:
        """Return how many offers each choice of a filter would match, and how many each condition excludes.

        Args:
            billing_mode: Billing mode used for prices
            cursor: Taken from `next` or `previous`
            data_disk_gb: Size of the data disk; the host must have space for it, and every price includes it, in GB
            gpu_count: Number of GPUs together; total prices are for all of them
            image: Image, by slug or ID; hosts that can't run it are excluded
            limit: Offers per page
            mountable_volume: vol_…: only offers in its region; `volume` of each says whether it is on this host or is
                migrated first
            q: A search line such as `gpu=rtx-3090 count>=2 region in [cn-north,eu-west] price<1.5`; GET /search-terms
            sort: Sort order of the offers; prefix "-" for descending
            term: Term of reserved prices
        """
        return self._send(
            Call(
                "GET",
                "/api/v1/offers/facets",
                models.Facets,
                query={
                    **(filters or {}),
                    "billing_mode": billing_mode,
                    "cursor": cursor,
                    "data_disk_gb": data_disk_gb,
                    "gpu_count": gpu_count,
                    "image": image,
                    "limit": limit,
                    "mountable_volume": mountable_volume,
                    "q": q,
                    "sort": sort,
                    "term": term,
                },
                timeout=timeout,
            )
        )

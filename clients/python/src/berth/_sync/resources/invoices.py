# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `invoices`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Pager, Resource


class Invoices(Resource):
    def list(
        self, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> Pager[models.PaginatedInvoiceSummaryList, models.InvoiceSummary]:
        """List your invoices and credit notes, newest first.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call("GET", "/api/v1/invoices", models.PaginatedInvoiceSummaryList, query={"limit": limit}, timeout=timeout),
            models.InvoiceSummary,
        )

    def get(self, invoice_id: str, *, timeout: float | None = None) -> models.InvoiceOut:
        """Return one of your invoices with its lines."""
        return self._send(Call("GET", f"/api/v1/invoices/{self._part(invoice_id)}", models.InvoiceOut, timeout=timeout))

    def pdf(self, invoice_id: str, *, language: str | UnsetType = UNSET, timeout: float | None = None) -> bytes:
        """Return one of your invoices as a PDF document."""
        return self._send(
            Call(
                "GET", f"/api/v1/invoices/{self._part(invoice_id)}.pdf", bytes, query={"language": language}, timeout=timeout
            )
        )

"""Log of orders: each decision that costs or may cost money, recorded once, whoever takes it."""

from uuid import UUID

from billing.models import Order
from common import clock
from common.db.prepared import insert


def record_order(
    *,
    owner_id: UUID,
    kind: str,
    key: str,
    source_kind: str,
    source_id: UUID,
    title: str,
    billing_mode: str = "",
    amount_micros: int = 0,
    rate_micros_per_hour: int | None = None,
) -> None:
    """Record one order inside the caller's transaction; repeating the same key changes nothing.

    `amount_micros` is what was paid at once (negative: given back); the cost of use is on the statement.
    """
    order = Order(
        owner_id=owner_id,
        kind=Order.Kind(kind),
        key=key,
        source_kind=source_kind,
        source_id=source_id,
        title=title[:200],
        billing_mode=billing_mode,
        amount_micros=amount_micros,
        rate_micros_per_hour=rate_micros_per_hour,
        created_at=clock.now(),
    )
    insert(order, unless_known=True)

"""Order every GPU of one offer, do the same in plain SQL, and print the median milliseconds."""

import json
import os
import statistics
import sys
import time
import uuid
from typing import Any

import django
import psycopg2

django.setup()

from accounts.models import User  # noqa: E402  (Django must be set up first)
from common.ids import parse_public_id  # noqa: E402
from instances.orders.quotes import create_quote  # noqa: E402
from instances.orders.rent import rent_instance  # noqa: E402

_BARE_TABLES = """
CREATE TEMP TABLE bare_wallet (id int PRIMARY KEY, balance bigint, held bigint);
CREATE TEMP TABLE bare_gpu (id int PRIMARY KEY, offer int);
CREATE TEMP TABLE bare_offer (id int PRIMARY KEY, free int);
CREATE TEMP TABLE bare_lease (id serial PRIMARY KEY, gpu int, holder uuid, released_at timestamptz);
CREATE UNIQUE INDEX ON bare_lease (gpu) WHERE released_at IS NULL;
CREATE TEMP TABLE bare_hold (id serial PRIMARY KEY, wallet int, amount bigint);
CREATE TEMP TABLE bare_instance (id uuid PRIMARY KEY, offer int, state text);
INSERT INTO bare_wallet VALUES (1, 1000000000000, 0);
INSERT INTO bare_offer VALUES (1, %(count)s);
INSERT INTO bare_gpu SELECT number, 1 FROM generate_series(1, %(count)s) AS number;
"""
_BARE_GPU = """
SELECT id FROM bare_gpu
WHERE offer = 1 AND NOT EXISTS (SELECT FROM bare_lease WHERE gpu = bare_gpu.id AND released_at IS NULL)
ORDER BY id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
"""


def time_rents(offer: str, count: int) -> list[float]:
    """Return the milliseconds of each order; the quotes are made before."""
    renter = User.objects.get(email="alice@example.com")
    offer_id = parse_public_id("offr", offer)
    quotes = [create_quote(renter=renter, offer_id=offer_id, image="berth-base") for _ in range(count)]
    times = []
    for quote in quotes:
        began = time.perf_counter()
        rent_instance(renter=renter, quote_id=quote.pk, ssh_key_ids=[])
        times.append((time.perf_counter() - began) * 1_000)
    return times


def time_bare_rents(count: int) -> list[float]:
    """Return the milliseconds of each order in plain SQL.

    An order locks and charges the wallet, chooses and leases a GPU, counts the offer, and writes hold and instance.
    """
    connection = psycopg2.connect(os.environ["DATABASE_URL"])
    with connection, connection.cursor() as cursor:
        cursor.execute(_BARE_TABLES, {"count": count})
    times = []
    for _ in range(count):
        began = time.perf_counter()
        with connection, connection.cursor() as cursor:
            _rent_in_sql(cursor)
        times.append((time.perf_counter() - began) * 1_000)
    connection.close()
    return times


def _rent_in_sql(cursor: Any) -> None:
    holder = str(uuid.uuid4())
    cursor.execute("SELECT balance, held FROM bare_wallet WHERE id = 1 FOR NO KEY UPDATE")
    cursor.execute("UPDATE bare_wallet SET held = held + 1 WHERE id = 1")
    cursor.execute("INSERT INTO bare_hold (wallet, amount) VALUES (1, 1)")
    cursor.execute("SELECT free FROM bare_offer WHERE id = 1 FOR NO KEY UPDATE")
    cursor.execute(_BARE_GPU)
    (gpu,) = cursor.fetchone()
    cursor.execute("INSERT INTO bare_lease (gpu, holder) VALUES (%s, %s)", (gpu, holder))
    cursor.execute("UPDATE bare_offer SET free = free - 1 WHERE id = 1")
    cursor.execute("INSERT INTO bare_instance VALUES (%s, 1, 'requested')", (holder,))


if __name__ == "__main__":
    bare, ours = time_bare_rents(int(sys.argv[2])), time_rents(sys.argv[1], int(sys.argv[2]))
    print(json.dumps({"ms": statistics.median(ours), "bare_ms": statistics.median(bare)}))

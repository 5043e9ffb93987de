"""perf"""
import time, pytest
from datetime import timedelta
from django.db import connection
from tests.billing.money import *
from billing.services.settle import settle_meters, extend_holds
from billing.services.wallets import open_wallet
from billing.services.meters import prove_meters
from billing.selectors import ledger_findings, wallet_of
from common.database import use_case
N=20_000
@pytest.mark.django_db(transaction=True)
def test_perf():
    open_wallet(owner_id=None, kind="platform"); open_wallet(owner_id=None, kind="funding")
    execute("INSERT INTO accounts_user (id,email,password,display_name,is_host_owner,is_staff,is_active,date_joined,is_superuser) SELECT gen_random_uuid(), 'u'||n||'@e.com','','',false,false,true,now(),false FROM generate_series(1,11000) n")
    execute("INSERT INTO billing_wallet (id,owner_id,kind,balance_micros,held_micros,created_at) SELECT gen_random_uuid(), id, CASE WHEN row_number() over () <= 10000 THEN 'renter' ELSE 'host' END, 0,0,now() FROM accounts_user")
    execute("INSERT INTO billing_meter (id,payer_id,payee_id,source_kind,source_id,label,rate_micros_per_hour,fee_bps,opened_at,proven_until,funded_until,settled_until) SELECT gen_random_uuid(), r.id, h.id, 'instance', gen_random_uuid(), 'x', 3060000, 1000, %s,%s,%s,%s FROM generate_series(0,%s) n JOIN (SELECT id, row_number() over () -1 AS k FROM billing_wallet WHERE kind='renter') r ON r.k = n %% 10000 JOIN (SELECT id, row_number() over () -1 AS k FROM billing_wallet WHERE kind='host') h ON h.k = n %% 1000", START, START+timedelta(minutes=61), START+timedelta(hours=2), START, N-1)
    execute("INSERT INTO billing_hold (id,wallet_id,source_kind,source_id,amount_micros,created_at) SELECT gen_random_uuid(), payer_id, source_kind, source_id, 2*3060000, now() FROM billing_meter")
    execute("UPDATE billing_wallet w SET held_micros = 10*2*3060000, balance_micros=1000::bigint*3060000 WHERE kind='renter'")
    execute("ANALYZE")
    now = START+timedelta(minutes=61)
    from billing.services import ledger, settle as st
    ids=[r[0] for r in __import__('billing.selectors').selectors._rows("SELECT id FROM billing_meter LIMIT 5000")]
    with use_case():
      with connection.cursor() as c:
        c.execute("EXPLAIN (ANALYZE, COSTS ON, TIMING ON) "+ledger._POST_USAGE, {"meters": ids, "until": now, "at": now})
        print("\n".join(r[0][:190] for r in c.fetchall()))
        t=time.perf_counter(); c.execute("SET CONSTRAINTS ALL IMMEDIATE"); print("deferred", time.perf_counter()-t)

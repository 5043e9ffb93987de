"""tmp"""
import time, random
from django.db import connection
from accounts.models import User
from marketplace.selectors import *
from tests.marketplace.shapes import enrolled
def test_bm(hana: User):
    h=enrolled(hana,1)
    with connection.cursor() as c:
        c.execute("""INSERT INTO marketplace_host SELECT (jsonb_populate_record(h, jsonb_build_object('id',gen_random_uuid()))).* FROM marketplace_host h, generate_series(1,100000)""")
        c.execute("""INSERT INTO marketplace_offer (id,host_id,gpu_model,region,runtime,simulated,listed,version,price_micros,gpu_total,gpu_free,vram_mb,cpu_millis_per_gpu,ram_mb_per_gpu,created_at)
          SELECT gen_random_uuid(), id, 'm'||(random()*20)::int, 'r'||(random()*8)::int,'docker',false,true,1,(random()*4e6)::int,8,CASE WHEN random()<.4 THEN (random()*8)::int ELSE 0 END,24576,1000,1000,now() FROM marketplace_host""")
        c.execute("ANALYZE marketplace_offer; ANALYZE marketplace_host")
    ts=[]
    for i in range(100):
        f=OfferFilter(gpu_model=random.sample(['m%d'%k for k in range(20)],random.choice([0,1,2])),region=random.sample(['r%d'%k for k in range(8)],random.choice([0,1])),gpu_count=random.choice([1,2,4]),price_max=random.choice([None,2000000]))
        t=time.perf_counter(); offer_page(f); ts.append(time.perf_counter()-t)
    ts.sort(); print("page p50 %.2f p99 %.2f ms"%(ts[50]*1e3,ts[98]*1e3))
    t=time.perf_counter(); facets(OfferFilter()); print("facets %.1f ms"%((time.perf_counter()-t)*1e3))
    with connection.cursor() as c:
        from django.test.utils import CaptureQueriesContext
        with CaptureQueriesContext(connection) as q: offer_page(OfferFilter(region=['r1'],gpu_count=2))
        c.execute("EXPLAIN ANALYZE "+q[0]['sql']); print("\n".join(r[0] for r in c.fetchall()))
    from marketplace.services.availability import compare_offers, refresh_offers
    t=time.perf_counter(); d=compare_offers(); print("sweep %.2f s %d"%(time.perf_counter()-t,len(d)))
    t=time.perf_counter(); refresh_offers(offer_ids=[d[0].offer_id]); print("refresh %.2f ms"%((time.perf_counter()-t)*1e3))

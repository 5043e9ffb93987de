"""A market of any size, the same at every run, written by PostgreSQL; and the floor's indexes."""

from typing import Any, Final

# 20 models on each host. 40 % of the offers are live, that is, have free GPUs.
_MODELS: Final = (
    *("rtx-4090", "rtx-3090", "rtx-5090", "a100", "h100-sxm", "h100-pcie", "h200", "b200", "l4", "l40s", "t4", "a10", "a30"),
    *("v100", "rtx-2080-ti", "rtx-3060", "rtx-a4000", "rtx-a5000", "rtx-a6000", "a40"),
)
_REGIONS: Final = ("cn-north", "cn-east", "cn-south", "eu-west", "eu-north", "us-east", "us-west", "ap-south")
LIVE_SHARE: Final = 0.4
PER_HOST: Final = len(_MODELS)

HOSTS: Final = """
INSERT INTO marketplace_host (
    id, owner_id, name, region, state, generation, verification, draining, simulated, runtime, runtime_version, address,
    hostname, kernel, cpu_model, cpu_cores, ram_mb, disk_total_gb, disk_free_gb, disk_kind, disk_samples, net_samples,
    nvlink, driver, cuda, images, warnings, port_first, port_last, agent_version, agent_keys, engine_age_s,
    enrolled_at, last_seen_at
)
SELECT gen_random_uuid(), (SELECT id FROM accounts_user WHERE email = 'hana@example.com'), 'bench-' || n, 'eu-west',
       'online', 0, 'unverified', false, false, 'docker', '', '', '', '', '', 64, 262144, 4000, 2000, 'nvme', 0, 0, false,
       '', '', '{}', '[]', 1, 9, '', 0, 0, now(), now()
  FROM generate_series(1, %(hosts)s) AS n
"""
OFFERS: Final = f"""
INSERT INTO marketplace_offer (
    id, host_id, gpu_model, region, runtime, simulated, host_name, host_state, draining, verified, reliability_ppm,
    listed_until, cpu_model, driver, cuda, nvlink, pcie_gen, pcie_width, disk_kind, disk_free_gb, disk_read_mbps,
    disk_write_mbps, disk_samples, net_up_mbps, net_down_mbps, net_samples, listed, version, price_micros,
    reserved_discounts, tiers, spot_floor_micros, disk_micros_gb_day, hold_bps, gpu_total, gpu_free, gpu_spot, vram_mb,
    cpu_millis_per_gpu, ram_mb_per_gpu, created_at, changed_xid
)
SELECT gen_random_uuid(), h.id, m.slug, r.name, 'docker', false, h.name, 'online', false, random() < 0.4,
       CASE WHEN random() < 0.9 THEN 900000 + (random() * 100000)::int END,
       CASE WHEN random() < 0.3 THEN now() + random() * interval '400 days' END,
       'EPYC ' || (random() * 5)::int, '550.' || (random() * 50)::int,
       ('{{11.8,12.0,12.1,12.2,12.4,12.6,12.8}}'::text[])[1 + (random() * 6)::int], random() < 0.2, 4, 16,
       ('{{nvme,ssd,hdd}}'::text[])[1 + (random() * 2)::int], (random() * 400)::int * 10,
       CASE WHEN random() < 0.8 THEN (100 + random() * 6900)::int END, (100 + random() * 4900)::int, 3,
       (50 + random() * 9950)::int, (50 + random() * 9950)::int, 5, true, 1,
       (100000 + random() * 4900000)::int / 1000 * 1000,
       CASE WHEN random() < 0.7 THEN '{{"day": 200, "month": 2000, "year": 4000}}' ELSE '{{}}' END::jsonb, '[[720, 1500]]',
       CASE WHEN random() < 0.5 THEN (50000 + random() * 500000)::int END, 3000, 5000, g.total,
       CASE WHEN random() < {LIVE_SHARE} THEN 1 + (random() * (g.total - 1))::int ELSE 0 END, 0, m.vram_gb * 1024,
       (2 + random() * 14)::int * 1000, (8 + random() * 120)::int * 1024, now() - random() * interval '300 days', 0
  FROM (SELECT id, name FROM marketplace_host WHERE name LIKE 'bench-%%' ORDER BY name) AS h
 CROSS JOIN (SELECT slug, (8 + 8 * (ordinality %% 5))::int AS vram_gb
               FROM unnest(%(models)s::text[]) WITH ORDINALITY AS each (slug, ordinality)) AS m
 CROSS JOIN LATERAL (SELECT (ARRAY[1, 2, 4, 8])[1 + (random() * 3 + 0 * m.vram_gb)::int] AS total, h.id AS o) AS g
 CROSS JOIN LATERAL (SELECT (%(regions)s::text[])[1 + (random() * 7 + 0 * m.vram_gb)::int] AS name, h.id AS o) AS r
"""  # noqa: S608 (a constant of this module)
# Indexes for the floor's two-step search: the filtered columns in three partial indexes.
FLOOR_INDEXES: Final = tuple(
    f"CREATE INDEX floor_by_{first or 'price'} ON marketplace_offer ({first and first + ', '}price_micros, id)"
    " INCLUDE (region, gpu_model, gpu_free, vram_mb, verified, disk_kind, reliability_ppm, disk_read_mbps, net_down_mbps,"
    " cpu_millis_per_gpu, ram_mb_per_gpu, cuda) WHERE gpu_free > 0"
    for first in ("", "gpu_model", "region")
)


def seed_statements(offers: int) -> list[tuple[str, dict[str, Any]]]:
    """Return the statements, to be executed in this order on one connection."""
    arguments: dict[str, Any] = {"hosts": max(1, offers // PER_HOST), "models": list(_MODELS), "regions": list(_REGIONS)}
    return [("SELECT setseed(0.42)", {}), (HOSTS, arguments), (OFFERS, arguments), ("ANALYZE marketplace_offer", {})]


def models() -> tuple[str, ...]:
    return _MODELS


def regions() -> tuple[str, ...]:
    return _REGIONS

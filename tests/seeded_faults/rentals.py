"""Faults in leases, orders, life cycles, launch settings, templates, and whose things they are."""

from typing import Final

from tests.seeded_faults.fault import Fault

_LEASE: Final = ("tests/marketplace/leasing/test_lease.py",)
_STORE: Final = ("tests/instances/launch/test_store.py", "tests/instances/launch/test_retention.py")
_TEMPLATES: Final = ("tests/workloads/templates/test_template_api.py",)

FAULTS: Final = (
    Fault(
        name="leases: a released lease is released again",
        path="marketplace/leasing/lease.py",
        old="live = Lease.objects.filter(holder=holder, released_at__isnull=True)",
        new="live = Lease.objects.filter(holder=holder)",
        tests=_LEASE,
    ),
    Fault(
        name="leases: a GPU is counted as free while it is leased",
        path="marketplace/leasing/lease.py",
        old="        refresh_offers(offer_ids=[offer.pk], locked=True)\n    return leased_gpus(offer, gpus)",
        new="    return leased_gpus(offer, gpus)",
        tests=_LEASE,
    ),
    Fault(
        name="leases: a changed price is not noticed",
        path="marketplace/leasing/lease.py",
        old="if expected is not None and offer.version != expected:",
        new="if expected is not None and offer.version < expected:",
        tests=("tests/marketplace/leasing/test_lease.py::test_fault_005_a_changed_price_is_refused",),
    ),
    Fault(
        name="leases: CPU and memory are leased twice",
        path="marketplace/leasing/lease.py",
        old="    if not _share(offer).times(count).fits_beside(Share(cpu_millis, ram_mb), whole):\n",
        new="    if not _share(offer).times(count).fits_beside(Share(0, 0), whole):\n",
        tests=(*_LEASE, "tests/marketplace/hosts/test_facts.py"),
    ),
    Fault(
        name="orders: a quote is ordered twice",
        path="instances/orders/quote_claims.py",
        old="AND used_at IS NULL AND expires_at > %(now)s",
        new="AND expires_at > %(now)s",
        tests=("tests/instances/orders/test_rent.py",),
    ),
    Fault(
        name="orders: more is charged than the order allows",
        path="instances/orders/quote_claims.py",
        old="max(quote.due_now_micros, quote.projected_micros) > most:",
        new="min(quote.due_now_micros, quote.projected_micros) > most:",
        tests=("tests/instances/orders/test_order_match.py",),
    ),
    Fault(
        name="life cycle: a state is written over a newer one",
        path="common/transitions.py",
        old='"state": origin, "generation": row.generation}',
        new='"state": origin}',
        tests=("tests/common/test_transitions.py",),
    ),
    Fault(
        name="life cycle: an unlawful transition is made",
        path="common/transitions.py",
        old="    machine.check(origin, target)\n",
        new="",
        tests=("tests/common/test_transitions.py",),
    ),
    Fault(
        name="life cycle: a report of an older generation counts",
        path="instances/host_reports/reconcile.py",
        old="    if row.generation < instance.run_generation:\n        return None\n",
        new="",
        tests=("tests/instances/host_reports/test_reconcile.py::test_fault_018_an_old_report_never_moves_an_instance_back",),
    ),
    Fault(
        name="life cycle: a stop is proven by a container that ends",
        path="instances/host_reports/reconcile.py",
        old='case Desired.STOPPED, InstanceState.STOPPING, "stopped":',
        new='case Desired.STOPPED, InstanceState.STOPPING, "stopped" | "stopping":',
        tests=("tests/instances/host_reports/test_reconcile.py",),
    ),
    Fault(
        name="ownership: another's instance",
        path="instances/core/selectors.py",
        old="instance = _INSTANCE.first(pk=instance_id, renter_id=renter.pk)",
        new="instance = Instance.objects.filter(pk=instance_id).first()",
        tests=("tests/instances/test_api.py::test_fault_099_someone_elses_instance_does_not_exist",),
    ),
    Fault(
        name="ownership: another's volume",
        path="storage/volumes/selectors.py",
        old="return Volume.objects.filter(owner_id=owner_id).exclude(",
        new="return Volume.objects.exclude(",
        tests=("tests/instances/volumes/test_volume_views.py::test_a_walk_through_the_pages",),
    ),
    Fault(
        name="ownership: another's invoice",
        path="billing/invoices/selectors.py",
        old="found = invoices_of(owner_id=owner_id).filter(pk=invoice_id).first()",
        new="found = Invoice.objects.filter(pk=invoice_id).first()",
        tests=("tests/billing/invoices/test_invoices_api.py",),
    ),
    Fault(
        name="ownership: another's token",
        path="accounts/selectors.py",
        old="token = tokens_of(user).filter(pk=token_id).first()",
        new="token = ApiToken.objects.filter(pk=token_id, revoked_at=None).first()",
        tests=("tests/accounts/tokens/test_tokens.py",),
    ),
    Fault(
        name="launch settings: secrets are stored in the clear",
        path="instances/launch/store.py",
        old="sealed = encrypt(json.dumps(dict(settings.secrets))).encode() if settings.secrets else",
        new="sealed = json.dumps(dict(settings.secrets)).encode() if settings.secrets else",
        tests=_STORE,
    ),
    Fault(
        name="launch settings: the values of secrets are shown",
        path="instances/launch/store.py",
        old='"secrets": launch.secret_names}',
        new='"secrets": [f"{name}={value}" for name, value in secrets_of(launch).items()]}',
        tests=_STORE,
    ),
    Fault(
        name="launch settings: the API shows the values of secrets",
        path="instances/web/launch/serializers.py",
        old="        secrets=launch.secret_names,\n",
        new="        secrets=list(__import__('instances').launch.store.secrets_of(launch).values()),\n",
        tests=("tests/instances/launch/test_launch_api.py",),
    ),
    Fault(
        name="launch settings: secrets in use are erased",
        path="instances/launch/retention.py",
        old='~Q(sealed_secrets=b""), ~Exists(used), created_at__lt',
        new='~Q(sealed_secrets=b""), created_at__lt',
        tests=_STORE,
    ),
    Fault(
        name="templates: a version is public without review",
        path="workloads/templates/selectors.py",
        old="return found if sees_all_versions(user, template) else found.filter(review=Review.APPROVED)",
        new="return found",
        tests=_TEMPLATES,
    ),
    Fault(
        name="templates: a rejected version stays public",
        path="workloads/templates/moderation.py",
        old="        if template.published_id == version.pk:\n",
        new="        if template.published_id is None:\n",
        tests=_TEMPLATES,
    ),
    Fault(
        name="templates: an older version that is approved later replaces a newer one",
        path="workloads/templates/moderation.py",
        old="if present is None or present.number < version.number:",
        new="if present is None or present.number != version.number:",
        tests=_TEMPLATES,
    ),
    Fault(
        name="templates: a withdrawn share link still opens",
        path="workloads/templates/selectors.py",
        old='found = LaunchTemplate.objects.filter(_PRESENT, share_token=token).exclude(share_token="")',
        new="found = LaunchTemplate.objects.filter(share_token=token)",
        tests=_TEMPLATES,
    ),
)

"""How often each template was rented; counted by a sweep."""

from common.db.transactions import use_case
from instances.core.template_selectors import count_template_uses
from workloads.models import LaunchTemplate, TemplateVersion


def record_template_uses() -> int:
    """Write the counts and return how many of them have changed."""
    uses = count_template_uses()
    totals: dict[object, int] = {}
    for key, template_id in TemplateVersion.objects.filter(pk__in=uses).values_list("pk", "template_id"):
        totals[template_id] = totals.get(template_id, 0) + uses[key]
    with use_case():
        rows = [row for row in LaunchTemplate.objects.order_by("pk") if row.use_count != totals.get(row.pk, 0)]
        for row in rows:
            row.use_count = totals.get(row.pk, 0)
        LaunchTemplate.objects.bulk_update(rows, ["use_count"], batch_size=500)
    return len(rows)

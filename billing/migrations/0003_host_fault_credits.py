"""What a run that the host's fault ended had cost may be given back: a kind of posting with a period, and its wall."""

import billing.models
import django.contrib.postgres.constraints
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('billing', '0002_ledger_walls'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='posting',
            name='usage_has_its_period',
        ),
        migrations.AlterField(
            model_name='entry',
            name='kind',
            field=models.CharField(choices=[('charge', 'charge'), ('host_share', "host's share"), ('platform_fee', 'platform fee'), ('credit', 'credit'), ('refund', 'given back'), ('funding', 'funding')], max_length=12),
        ),
        migrations.AlterField(
            model_name='posting',
            name='kind',
            field=models.CharField(choices=[('usage', 'usage'), ('grant', 'credit granted'), ('credit', 'given back')], max_length=10),
        ),
        migrations.AddConstraint(
            model_name='posting',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'grant'), ('meter__isnull', True)), models.Q(('kind', 'usage'), ('meter__isnull', False), ('period_from__lt', models.F('period_to')), ('rate_micros_per_hour__isnull', False)), models.Q(('kind', 'credit'), ('meter__isnull', True), ('period_from__lt', models.F('period_to')), ('rate_micros_per_hour__isnull', False)), _connector='OR'), name='usage_has_its_period'),
        ),
        migrations.AddConstraint(
            model_name='posting',
            constraint=django.contrib.postgres.constraints.ExclusionConstraint(condition=models.Q(('kind', 'credit')), expressions=[('source_kind', '='), ('source_id', '='), (billing.models.TsTzRange('period_from', 'period_to'), '&&')], name='no_second_given_back_twice'),
        ),
    ]

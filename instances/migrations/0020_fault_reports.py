"""What renters say of instances that their hosts report as running."""

import common.clock
import common.ids
import common.printable
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('instances', '0019_leases_end_by_proof'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='FaultReport',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('run_generation', models.PositiveIntegerField(verbose_name='generation of the run')),
                ('detail', common.printable.PrintableField(max_length=300, verbose_name='detail')),
                ('began_at', models.DateTimeField(verbose_name='run since')),
                ('opened_at', models.DateTimeField(default=common.clock.now, verbose_name='opened at')),
                ('verdict', models.CharField(choices=[('open', 'open'), ('upheld', 'upheld'), ('rejected', 'rejected')], default='open', max_length=8, verbose_name='verdict')),
                ('closed_at', models.DateTimeField(blank=True, null=True, verbose_name='closed at')),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='decided by')),
                ('instance', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='fault_reports', to='instances.instance', verbose_name='instance')),
            ],
            options={
                'verbose_name': 'report of a fault',
                'verbose_name_plural': 'reports of faults',
                'ordering': ('-opened_at',),
                'constraints': [common.printable.Printable(column='detail', name='fault_report_is_printable'), models.UniqueConstraint(condition=models.Q(('verdict', 'open')), fields=('instance',), name='one_open_report_of_instance'), models.CheckConstraint(condition=models.Q(models.Q(('closed_at__isnull', True), ('verdict', 'open')), models.Q(models.Q(('verdict', 'open'), _negated=True), ('closed_at__isnull', False)), _connector='OR'), name='fault_report_closed_when_decided')],
            },
        ),
    ]

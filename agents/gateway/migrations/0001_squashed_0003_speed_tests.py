"""Agents' identities, their former boots, what was refused."""

import common.clock
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('marketplace', '0001_squashed_0005_fewer_indexes'),
    ]

    operations = [
        migrations.CreateModel(
            name='AgentIdentity',
            fields=[
                ('host', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='marketplace.host')),
                ('public_key', models.CharField(max_length=64)),
                ('boot_id', models.CharField(blank=True, max_length=40)),
                ('last_sequence', models.BigIntegerField(default=0)),
                ('facts_known', models.BooleanField(default=False, help_text="This boot has sent the host's facts.")),
                ('join_hash', models.CharField(blank=True, help_text='SHA-256 of the join token that made this host.', max_length=64)),
                ('speed_sequence', models.BigIntegerField(default=0)),
                ('speed_count', models.PositiveIntegerField(default=0, help_text='Speed tests since `speed_since`.')),
                ('speed_since', models.DateTimeField(default=common.clock.now)),
                ('enrolled_at', models.DateTimeField(default=common.clock.now)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'verbose_name_plural': 'agent identities',
                'constraints': [models.CheckConstraint(condition=models.Q(('public_key__regex', '^[0-9a-f]{64}$')), name='agent_key_is_ed25519')],
            },
        ),
        migrations.CreateModel(
            name='RefusedMessage',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('claimed_host', models.CharField(max_length=80)),
                ('reason', models.CharField(max_length=40)),
                ('detail', models.CharField(blank=True, max_length=300)),
                ('remote_address', models.CharField(blank=True, max_length=64)),
                ('at', models.DateTimeField(default=common.clock.now)),
            ],
            options={
                'ordering': ('-id',),
                'indexes': [models.Index(fields=['remote_address', 'at'], name='refused_by_address')],
            },
        ),
        migrations.CreateModel(
            name='SupersededBoot',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('boot_id', models.CharField(max_length=40)),
                ('last_sequence', models.BigIntegerField()),
                ('superseded_at', models.DateTimeField()),
                ('identity', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='superseded_boots', to='agent_gateway.agentidentity')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('identity', 'boot_id'), name='one_row_per_boot')],
            },
        ),
    ]

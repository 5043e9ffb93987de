"""Users, tokens, teams, remembered replies, webhooks."""

import common.clock
import common.ids
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='Team',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('created_at', models.DateTimeField(default=common.clock.now)),
            ],
            options={
                'ordering': ('name', 'id'),
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('email', models.EmailField(max_length=254, unique=True, verbose_name='e-mail address')),
                ('display_name', models.CharField(blank=True, max_length=80, verbose_name='name')),
                ('is_host_owner', models.BooleanField(default=False, verbose_name='host owner')),
                ('is_staff', models.BooleanField(default=False, verbose_name='staff')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('language', models.CharField(default='en', help_text='Of the last page that they read: mail is written in it.', max_length=10, verbose_name='language')),
                ('date_joined', models.DateTimeField(default=common.clock.now, verbose_name='joined')),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('email'), name='one_user_per_email')],
            },
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80)),
                ('prefix', models.CharField(max_length=16, unique=True)),
                ('secret_hash', models.CharField(max_length=64)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), size=None)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('last_used_at', models.DateTimeField(blank=True, null=True)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'constraints': [models.CheckConstraint(condition=models.Q(('secret_hash__regex', '^[0-9a-f]{64}$')), name='token_hash_is_sha256'), models.CheckConstraint(condition=models.Q(('scopes__len__gt', 0)), name='token_has_scopes')],
            },
        ),
        migrations.CreateModel(
            name='RememberedReply',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('key', models.CharField(max_length=200)),
                ('request_hash', models.CharField(max_length=64)),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('body', models.TextField(blank=True, default='', help_text='JSON as text, not jsonb: a repeated reply is the same to the byte.')),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'key'), name='one_reply_per_key')],
            },
        ),
        migrations.CreateModel(
            name='SshKey',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80)),
                ('kind', models.CharField(max_length=40)),
                ('public_key', models.TextField()),
                ('fingerprint', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='ssh_keys', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'constraints': [models.UniqueConstraint(fields=('user', 'fingerprint'), name='one_ssh_key_per_user')],
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('email', models.EmailField(max_length=254, verbose_name='e-mail address')),
                ('role', models.CharField(choices=[('owner', 'owner'), ('member', 'member')], default='member', max_length=6, verbose_name='role')),
                ('invite_hash', models.CharField(blank=True, help_text="SHA-256 of the invitation's secret.", max_length=64)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('joined_at', models.DateTimeField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='accounts.team')),
            ],
            options={
                'ordering': ('created_at', 'id'),
                'constraints': [models.UniqueConstraint(condition=models.Q(('user__isnull', False)), fields=('team', 'user'), name='one_membership_per_user'), models.UniqueConstraint(models.F('team'), django.db.models.functions.text.Lower('email'), name='one_membership_per_email'), models.CheckConstraint(condition=models.Q(models.Q(('joined_at__isnull', True), ('user__isnull', True)), models.Q(('joined_at__isnull', False), ('user__isnull', False)), _connector='OR'), name='member_has_joined')],
            },
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('url', models.CharField(max_length=500, verbose_name='address')),
                ('description', models.CharField(blank=True, max_length=120, verbose_name='description')),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), blank=True, default=list, help_text='Empty: every kind.', size=None)),
                ('sealed_secret', models.TextField()),
                ('sealed_former', models.TextField(blank=True, default='')),
                ('former_until', models.DateTimeField(blank=True, null=True)),
                ('paused_at', models.DateTimeField(blank=True, null=True)),
                ('failing_since', models.DateTimeField(blank=True, help_text='Of the first attempt that failed since one succeeded.', null=True)),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(condition=models.Q(('paused_at__isnull', True)), fields=['user'], name='webhook_live')],
            },
        ),
        migrations.CreateModel(
            name='WebhookEvent',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=40)),
                ('payload', models.JSONField()),
                ('at', models.DateTimeField(default=common.clock.now)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('-at', '-id'),
                'indexes': [models.Index(fields=['at'], name='webhook_event_age')],
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.UUIDField(default=common.ids.new_uuid, editable=False, primary_key=True, serialize=False)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('due_at', models.DateTimeField(blank=True, default=common.clock.now, null=True)),
                ('first_due_at', models.DateTimeField(default=common.clock.now, help_text='Tried for a limited time from here.')),
                ('delivered_at', models.DateTimeField(blank=True, null=True)),
                ('gave_up_at', models.DateTimeField(blank=True, null=True)),
                ('status', models.PositiveIntegerField(blank=True, help_text='HTTP status of the last answer.', null=True)),
                ('fault', models.CharField(blank=True, help_text='Why the last attempt failed: a code.', max_length=40)),
                ('answer', models.CharField(blank=True, help_text='How the last answer began.', max_length=300)),
                ('tries', models.JSONField(blank=True, default=list, help_text='[{at, status, fault, ms}, …]')),
                ('created_at', models.DateTimeField(default=common.clock.now)),
                ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='accounts.webhook')),
                ('event', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='accounts.webhookevent')),
            ],
            options={
                'ordering': ('-created_at', '-id'),
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='delivery_due'), models.Index(fields=['webhook', '-created_at', '-id'], name='delivery_of_webhook')],
                'constraints': [models.UniqueConstraint(fields=('webhook', 'event'), name='one_delivery_per_webhook'), models.CheckConstraint(condition=models.Q(models.Q(('delivered_at__isnull', True), ('due_at__isnull', False), ('gave_up_at__isnull', True)), models.Q(('delivered_at__isnull', False), ('due_at__isnull', True), ('gave_up_at__isnull', True)), models.Q(('delivered_at__isnull', True), ('due_at__isnull', True), ('gave_up_at__isnull', False)), _connector='OR'), name='delivery_waits_or_ended')],
            },
        ),
    ]

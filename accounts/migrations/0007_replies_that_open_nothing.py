"""Remembered replies hold no address that opens an instance: the same request may come again by a token that may do less."""

from django.db import migrations

CLOSE = r"""
UPDATE accounts_rememberedreply
SET body = regexp_replace(body, '"(jupyter_url|tensorboard_url)": ?"[^"]*"', '"\1":null', 'g')
WHERE body LIKE '%"jupyter_url"%'
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0006_account_security")]

    operations = [migrations.RunSQL(CLOSE, migrations.RunSQL.noop)]

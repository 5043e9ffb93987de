from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "UPDATE accounts_rememberedreply SET body = 'null'::jsonb WHERE body IS NULL", migrations.RunSQL.noop
        ),
        migrations.AlterField(
            model_name="rememberedreply",
            name="body",
            field=models.TextField(
                blank=True, default="", help_text="JSON as text, not jsonb: a repeated reply is the same to the byte."
            ),
        ),
    ]

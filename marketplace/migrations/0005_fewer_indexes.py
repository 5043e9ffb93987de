"""Offers have three indexes fewer: every rent and release wrote them, and no search asks the table by model."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0004_spot_market'),
    ]

    operations = [
        migrations.AlterField(
            model_name='offer',
            name='gpu_model',
            field=models.SlugField(db_index=False, max_length=60, verbose_name='GPU model'),
        ),
        migrations.AlterField(
            model_name='offer',
            name='host',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='offers', to='marketplace.host'),
        ),
    ]

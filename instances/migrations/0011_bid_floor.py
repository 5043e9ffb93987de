"""A bid that holds GPUs keeps the floor at which it got them; those that hold some now, the present one."""

from django.db import migrations, models

_FILL = """
UPDATE instances_spotbid bid SET floor_micros = offer.spot_floor_micros
  FROM marketplace_offer offer WHERE offer.id = bid.offer_id AND bid.state IN ('holding', 'notice')
"""


class Migration(migrations.Migration):
    dependencies = [("instances", "0001_squashed_0010_archive")]

    operations = [
        migrations.AddField(
            model_name="spotbid",
            name="floor_micros",
            field=models.BigIntegerField(
                blank=True,
                help_text="The offer's floor when its GPUs were granted: a floor raised later is not for it.",
                null=True,
            ),
        ),
        migrations.RunSQL(_FILL, migrations.RunSQL.noop),
    ]

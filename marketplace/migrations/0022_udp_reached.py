from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('marketplace', '0021_udp_ports'),
    ]

    operations = [
        migrations.AddField(
            model_name='host',
            name='udp_reached',
            field=models.BooleanField(help_text='By the last self-test that tried; empty: none has.', null=True, verbose_name='UDP reachable from outside'),
        ),
    ]

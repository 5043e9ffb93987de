"""The official image: sshd, JupyterLab and TensorBoard on Debian, built by images/base/Dockerfile."""

from django.db import migrations


def add_official_image(apps, schema_editor):
    apps.get_model("storage", "Image").objects.get_or_create(
        slug="berth-base",
        defaults={
            "title": "Berth base",
            "description": "Debian with SSH, JupyterLab and TensorBoard",
            "reference": "berth/base:1",
            "has_jupyter": True,
            "has_tensorboard": True,
        },
    )


class Migration(migrations.Migration):

    dependencies = [("storage", "0001_initial")]

    # Instances may refer to the row by then, so going back leaves it where it is.
    operations = [migrations.RunPython(add_official_image, migrations.RunPython.noop)]

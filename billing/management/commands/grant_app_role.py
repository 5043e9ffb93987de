"""`manage.py grant_app_role` creates the market's database role with its rights, after each `migrate`."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from common.db.roles import RoleRefused, grant_role
from common.unfinished_restore import TOLD, restore_is_unfinished


class Command(BaseCommand):
    help = (
        "Make the database role that APP_DATABASE_URL names, where there is none, and give it the rights that the market "
        "needs. Run as the owner of the tables (DATABASE_URL), after each migration."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.APP_DATABASE_URL:
            raise CommandError("Set APP_DATABASE_URL to the address that the market itself connects with.")
        if restore_is_unfinished():  # without its rights the market cannot work on a partly restored database
            raise CommandError(TOLD)
        try:
            role = grant_role(settings.APP_DATABASE_URL)
        except RoleRefused as error:
            raise CommandError(str(error)) from error
        if options["verbosity"]:
            self.stdout.write(f"The market works as {role}.")

"""`market_reader`: reads the market for a web process, which starts it."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from marketplace.search.index.refresh_process import serve
from marketplace.search.selectors import read_news


class Command(BaseCommand):
    help = "Reads the market for a web process, which starts this and ends it. Not for people."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("link", type=int, help="the descriptor of the line to the web process")

    def handle(self, *args: object, **options: Any) -> None:
        serve(options["link"], read_news)

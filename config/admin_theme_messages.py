"""Texts of the admin theme, which ships no Chinese; listing them here puts them into our catalogue."""

from typing import Final

from django.utils.translation import gettext_noop as _

ADMIN_THEME_TEXTS: Final = (
    _("Add row"),
    _("All applications"),
    _("Apply Filters"),
    _("Choose file to upload"),
    _("Click to cancel"),
    _("Click to download"),
    _("Date from"),
    _("Date to"),
    _("Expand row"),
    _("Go back"),
    _("Loading more results..."),
    _("More actions"),
    _("No recent searches"),
    _("No results found"),
    _("No results matching your query"),
    _("Not enough data."),
    _("Recent searches"),
    _("Reset filters"),
    _("Return to site"),
    _("Run"),
    _("Search apps and models..."),
    _("Select action"),
    _("Select action to run"),
    _("Select all rows"),
    _("Select record"),
    _("Select value"),
    _("This item will be deleted."),
    _("This page yielded into no results. Create a new item or reset your filters."),
    _("Toggle password visibility"),
    _("Type to search"),
    _("You have been successfully logged out from the administration"),
)

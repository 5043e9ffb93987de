"""Credit by staff in the admin panel."""

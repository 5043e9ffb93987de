"""Teams and invitations."""

"""The account: user, keys, variables, statement."""

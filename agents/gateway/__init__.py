"""Control-plane side of the agents: enrolment, signed sync and an audit of refused messages."""

"""Where agents meet the control plane: enrolment, signed sync, audit."""

"""The code that an authenticator app shows (RFC 6238: SHA-1, six digits, steps of 30 s)."""

import time

from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value

STEP_S = 30


def current_code(secret: str, ahead: int = 0) -> str:
    """Of the present step (one that ends before the code arrives is within the tolerance), or of one so many steps later."""
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // STEP_S + ahead)))

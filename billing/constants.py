"""Limits and periods of billing, with their units."""

from datetime import timedelta

HOLD_HOURS = 1
"""Hours of use that are held at the rent and at each renewal of the hold."""

PLATFORM_FEE_BPS = 1000
"""The platform's fee on each charge, in hundredths of a percent."""

PROOF_BRIDGE = timedelta(seconds=120)
"""Two proofs at most this far apart prove the time between them; a longer gap is never charged."""

HOLD_RENEWAL_LEAD = timedelta(seconds=60)
"""A hold is renewed this long before it is used up."""

FUNDED_AT_MOST = timedelta(days=36_500)
"""Longest time that a hold is computed to last when the rate is zero or close to it."""

SETTLE_BATCH = 50_000
"""Meter-hours charged in one transaction. It keeps their payers locked, so it must stay short."""

SETTLE_LANES = 2
"""Batches charged in parallel, each on a connection of its own: PostgreSQL does the work, and each keeps one of its
cores busy."""

SETTLE_LEAST = 2_500
"""Fewest meter-hours that justify a batch of their own."""

RENEW_BATCH = 5_000
"""Wallets whose holds are renewed in one transaction."""

CLOCK_TOLERANCE = timedelta(seconds=5)
"""Tolerance of the auditor's clock: a period that ends later than this after it counts as charged in advance."""

INSTANCE_SOURCE = "instance"
GRANT_SOURCE = "grant"

GRANT_ALONE_MICROS = 1_000_000_000
"""Sum that one member of staff may grant within `GRANT_ALONE_WITHIN`; larger grants wait for a second person. The
database has the same limit for a single grant (a constraint), so changing it needs a migration."""

GRANT_ALONE_WITHIN = timedelta(hours=24)
COUPON_SOURCE = "coupon"
PAYMENT_SOURCE = "payment"
WATCH_SOURCE = "watch"
"""Wait-list entry: its money is held for an order and never metered."""

CREDITED_SPAN = timedelta(hours=1)
"""Time at the end of a run that is credited when the host's fault ends it; all of a shorter run."""

CREDITED_PER_DAY = timedelta(hours=2)
"""Most time of an instance that is credited in any 24 hours, however often its host fails and in whatever mode; a
trigger enforces it too."""

CPU = "cpu"
"""The mode without GPUs, in place of a billing mode; it does not count for the steps of a tiered rent."""

DISK_SOURCE = "disk"
"""The paid part of an instance's data disk, by the instance's id."""

HOLD_SOURCE = "hold"
"""GPUs that a stopped instance keeps for a fee, by the instance's id."""

RETENTION_SOURCE = "retention"
"""The data of a stopped instance, kept for a fee after its free time, by the instance's id."""

TERM_SOURCE = "term"
"""A reserved term, by the term's id: prepaid money enters and leaves escrow under this name."""

SETTLEMENT_SOURCE = "settlement"
"""A batch of usage, by an id of its own; its usage rows name the sources."""

HOUR_US = 3_600_000_000
"""Microseconds per hour."""

STEPS_AT_MOST = 32
"""A meter whose rate has changed this often continues as another one, so that arrays of prices stay short."""

COUPON_TRIES = 10
"""Wrong codes that one account may try in an hour."""

COUPON_TRIES_OF_NETWORK = 40
"""Wrong codes that all accounts of one network may try in an hour."""

COUPON_TRIES_WINDOW_S = 3_600

COUPON_GUESSABLE_CHARS = 12
"""A typed code that is shorter than this can be guessed, and the panel says so. A generated one has twelve
characters."""

DEPOSIT_SOURCE = "deposit"
"""Deposit for a term without prepayment, held until it ends, by the term's id; nothing is metered against it."""

DEPOSIT_HOURS = 72
"""Deposit of a term paid by the hour, in hours of its discounted rate."""

EARLY_END_BPS = 500
"""Surcharge on a term that ends early, on its use at the price without discount; in hundredths of a percent."""

PAYOUT_SOURCE = "payout"

DEBT_SOURCE = "debt"
"""A repayment, by the id of the debtor's debt wallet."""

FROZEN_SOURCE = "frozen"
"""Money in a wallet that somebody owes to the market, by the wallet's id; held until the debt is repaid."""

PAYOUT_ACCOUNT_WAIT = timedelta(days=3)
"""Waiting time before the first payout to a new account: its owner is told by mail and can object."""

PAYOUT_HOLDING = timedelta(days=7)
"""Time after their booking at which a host's earnings can be paid out."""

PAYOUT_RESERVE_BPS = 1_000
PAYOUT_RESERVE_SPAN = timedelta(days=30)
"""Share of the earnings of this span that is kept as a reserve against disputes and refunds; in hundredths of a
percent."""

PAYOUT_EVERY = timedelta(days=7)
"""Shortest time between two automatic payouts."""

PAYOUT_TRY_AGAIN = timedelta(days=1)
"""Shortest time from a failed automatic payout to the next."""

PAYOUT_LEAST_MICROS = 1_000_000
"""Smallest payout, also on request."""

PAYOUT_RETRY_AFTER = timedelta(minutes=10)
"""Time after which an unanswered transfer is asked about again; longer than any call to Stripe lasts."""

PAYOUT_BATCH = 200
"""Payouts that one pass of a sweep handles."""

TOP_UP_SOURCE = "topup"
REFUND_SOURCE = "refund"
DISPUTE_SOURCE = "dispute"
"""Card money: the source of a posting is the payment, the refund or the dispute."""

AUTO_TOP_UP_EVERY = timedelta(hours=1)
"""Shortest time between two automatic charges of a saved card."""

UNANSWERED_RETRIED = timedelta(hours=20)
"""An unanswered call is repeated for this long, since Stripe remembers a key for a day; later its lists are
searched."""

CHECKOUT_LASTS = timedelta(hours=24)
CHECKOUTS_AT_MOST = 20
"""Open payment pages that one renter may have."""

RENTER_REFUND_WITHIN = timedelta(days=14)
"""Time after a payment in which its renter may refund the unspent part to the card without asking anybody."""

EVENTS_LOOKED_BACK = timedelta(days=30)
"""Stripe lists its events for this long; the first reconciliation begins there."""

RECONCILED_AGAIN = timedelta(hours=2)
"""Each reconciliation begins this long before the end of the last successful one: rows may appear late in Stripe's
lists."""

INVOICE_AFTER = timedelta(hours=3)
"""Time after the end of a month at which it is invoiced: by then no transaction that posted in it is still open."""

INVOICE_MONTHS_BACK = 3
"""Months that are searched for what an outage of the sweep has left out."""

INVOICE_BATCH = 500
"""Renters that one pass of the sweep invoices for each month; the next pass continues from there."""

LOW_RUNWAY_HOURS = 24
"""A wallet whose money lasts for less than this at the present rate is running low."""

LOW_LEFT_HOURS = 25
"""A wallet is in good standing again from here on; the margin keeps the state from changing back and forth."""

LOW_TOLD_EVERY = timedelta(hours=24)
"""Shortest time between two mails about running low."""

STANDING_DRIFT = timedelta(minutes=5)
"""A date that moves by less than this is not written again: use moves it by seconds all the time."""

RELEASE_TOLD_DAYS = (7, 3, 1)
"""Days before the deletion of a stopped instance's data on which its renter is mailed."""

NOTICE_BATCH = 500
"""Mails that one pass of the sweep queues."""

BUDGET_MARKS = (50, 80, 100)
"""Percentages of a budget at which its people are notified, once each."""

BUDGETS_AT_MOST = 100
"""Budgets that one person may set."""

TRANSFER_SOURCE = "transfer"
"""Transfer between members of a team: the source of the posting is the transfer."""

VOLUME_SOURCE = "volume"
"""A volume, by its id."""

SNAPSHOT_SOURCE = "snapshot"
"""Space that a snapshot takes on its host, by the snapshot's id."""

DAILY = timedelta(hours=24)
"""Shortest time between two daily runs. Beat asks every ten minutes, whenever it was started; what is due then
runs."""

AUDIT_WITHIN = timedelta(minutes=50)
"""Time limit of all checks of the nightly audit together; its task has an hour."""

# Prefixes of the public ids of charged sources, by kind. A kind that is missing here is its own prefix.
SOURCE_PREFIXES = {
    INSTANCE_SOURCE: "inst",
    DISK_SOURCE: "inst",
    HOLD_SOURCE: "inst",
    RETENTION_SOURCE: "inst",
    VOLUME_SOURCE: "vol",
    SNAPSHOT_SOURCE: "snap",
    TERM_SOURCE: "term",
    PAYMENT_SOURCE: "topup",
    COUPON_SOURCE: "cpn",
}

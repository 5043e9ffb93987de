"""Limits and periods of billing, with their units."""

from datetime import timedelta

HOLD_HOURS = 1
"""Hours of use that are held at rent and at each renewal of the hold."""

PLATFORM_FEE_BPS = 1000
"""The platform's part of each charge, in hundredths of a percent."""

PROOF_BRIDGE = timedelta(seconds=120)
"""Two proofs at most this far apart prove the time between them; a longer gap is never charged."""

HOLD_RENEWAL_LEAD = timedelta(seconds=60)
"""A hold is renewed this long before it is used up."""

FUNDED_AT_MOST = timedelta(days=36_500)
"""How far ahead a hold is reckoned to last when the rate is zero or next to nothing."""

SETTLE_BATCH = 50_000
"""Meter-hours charged in one transaction: it has their payers in hand, so it must stay short."""

SETTLE_LANES = 2
"""Batches charged at once, each on a connection of its own: PostgreSQL does the work, and each keeps a core of it busy."""

SETTLE_LEAST = 2_500
"""Meter-hours that are worth a batch of their own."""

RENEW_BATCH = 5_000
"""Wallets whose holds are renewed in one transaction."""

CLOCK_TOLERANCE = timedelta(seconds=5)
"""A period may end this much after the auditor's clock before it counts as charged in advance."""

INSTANCE_SOURCE = "instance"
GRANT_SOURCE = "grant"

GRANT_ALONE_MICROS = 1_000_000_000
"""One person of the staff may grant so much within `GRANT_ALONE_WITHIN`; what is above waits for a second one. The database
has the same figure for a single grant (a constraint): a change of it is a migration."""

GRANT_ALONE_WITHIN = timedelta(hours=24)
COUPON_SOURCE = "coupon"
PAYMENT_SOURCE = "payment"
WATCH_SOURCE = "watch"
"""A place in the wait list: its money waits for an order and is never metered."""

CREDITED_SPAN = timedelta(hours=1)
"""When the host's fault ends a run, this much of its end is given back: the whole run where it was shorter."""

CREDITED_PER_DAY = timedelta(hours=2)
"""No more of an instance's time is given back in any 24 hours, however often its host fails and whatever it is billed as; a
trigger says the same."""

CPU = "cpu"
"""The mode of use without GPUs, in the place of a billing mode: it counts for no step of a tiered rent."""

DISK_SOURCE = "disk"
"""The paid part of an instance's data disk, by the instance's id."""

HOLD_SOURCE = "hold"
"""GPUs that a stopped instance keeps for a fee, by the instance's id."""

RETENTION_SOURCE = "retention"
"""The data of a stopped instance, kept for a fee after its free time, by the instance's id."""

TERM_SOURCE = "term"
"""A reserved term, by the term's id: what is prepaid goes into escrow and comes out of it under this name."""

SETTLEMENT_SOURCE = "settlement"
"""A batch of usage, by an id of its own: whose use it was is in its usage rows."""

HOUR_US = 3_600_000_000
"""Microseconds."""

STEPS_AT_MOST = 32
"""A meter whose rate has moved so often goes on as another one: arrays of prices stay short."""

COUPON_TRIES = 10
"""Codes that one account may try in an hour without a right one."""

COUPON_TRIES_OF_NETWORK = 40
"""The same for all accounts at one address."""

COUPON_TRIES_WINDOW_S = 3_600

COUPON_GUESSABLE_CHARS = 12
"""A code that staff type and that is shorter than this is no secret: the panel says so. One that is made has twelve."""

DEPOSIT_SOURCE = "deposit"
"""What is held for a term without prepayment until it ends, by the term's id; nothing is metered against it."""

DEPOSIT_HOURS = 72
"""Of the term's discounted rate: the deposit of a term that is paid by the hour."""

EARLY_END_BPS = 500
"""What a term that ends early costs beyond its use at the price without the discount; hundredths of a percent."""

PAYOUT_SOURCE = "payout"

DEBT_SOURCE = "debt"
"""A repayment, by the id of the debtor's wallet of debt."""

FROZEN_SOURCE = "frozen"
"""Money in a wallet that somebody owes to the market, by the id of the wallet: held until that is repaid."""

PAYOUT_ACCOUNT_WAIT = timedelta(days=3)
"""No payout goes to a new account before: its owner, who is told by mail, has that long to object."""

PAYOUT_HOLDING = timedelta(days=7)
"""A host's earnings can be paid out this long after they were booked."""

PAYOUT_RESERVE_BPS = 1_000
PAYOUT_RESERVE_SPAN = timedelta(days=30)
"""This part of what was earned in this span stays, against disputes and refunds; hundredths of a percent."""

PAYOUT_EVERY = timedelta(days=7)
"""An automatic payout follows the last one no sooner."""

PAYOUT_TRY_AGAIN = timedelta(days=1)
"""After one that failed the next one is opened by itself no sooner."""

PAYOUT_LEAST_MICROS = 1_000_000
"""No payout is smaller, on request either."""

PAYOUT_RETRY_AFTER = timedelta(minutes=10)
"""A transfer without an answer is asked about again; longer than any call to Stripe lasts."""

PAYOUT_BATCH = 200
"""Payouts that one pass of a sweep takes on."""

TOP_UP_SOURCE = "topup"
REFUND_SOURCE = "refund"
DISPUTE_SOURCE = "dispute"
"""Money over a card: the source of a posting is the payment, the refund or the dispute."""

AUTO_TOP_UP_EVERY = timedelta(hours=1)
"""A saved card is charged at most once in this time, whatever the wallet does."""

UNANSWERED_RETRIED = timedelta(hours=20)
"""Stripe knows a key for a day: so long a call that got no answer is repeated; later its lists are asked."""

CHECKOUT_LASTS = timedelta(hours=24)
CHECKOUTS_AT_MOST = 20
"""Open pages of payment that one renter may have."""

RENTER_REFUND_WITHIN = timedelta(days=14)
"""So long after a payment its renter may send what is unspent of it back to the card without asking anybody."""

EVENTS_LOOKED_BACK = timedelta(days=30)
"""Stripe lists its events for so long; the first reconciliation begins there."""

RECONCILED_AGAIN = timedelta(hours=2)
"""Each reconciliation begins this much before the end of the last good one: rows may appear late in Stripe's lists."""

INVOICE_AFTER = timedelta(hours=3)
"""A month is invoiced so long after its end: by then no transaction that posted in it is still under way."""

INVOICE_MONTHS_BACK = 3
"""So many months are looked through for what an outage of the sweep has left out."""

INVOICE_BATCH = 500
"""Renters that one pass of the sweep invoices for each month; the next pass goes on from there."""

LOW_RUNWAY_HOURS = 24
"""A wallet that lasts for less, at the present rate, is running low."""

LOW_LEFT_HOURS = 25
"""It is in good standing again from here on: by a margin, so that the state does not change with every breath."""

LOW_TOLD_EVERY = timedelta(hours=24)
"""A mail about running low follows the last one no sooner."""

STANDING_DRIFT = timedelta(minutes=5)
"""A date that moves by less is not written anew: what burns moves it by seconds."""

RELEASE_TOLD_DAYS = (7, 3, 1)
"""So many days before a stopped instance's data is released its renter is written to."""

NOTICE_BATCH = 500
"""Mails that one pass of the sweep puts into the outbox."""

BUDGET_MARKS = (50, 80, 100)
"""Percent of a budget at which its people are told, once each."""

BUDGETS_AT_MOST = 100
"""Budgets that one person may set."""

TRANSFER_SOURCE = "transfer"
"""Money between members of a team: the source of the posting is the transfer."""

VOLUME_SOURCE = "volume"
"""A volume, by its id."""

SNAPSHOT_SOURCE = "snapshot"
"""What a snapshot takes on its host, by its id."""

DAILY = timedelta(hours=24)
"""Between two of what is done daily. Beat asks every ten minutes, whenever it was started: what is due then is done."""

AUDIT_WITHIN = timedelta(minutes=50)
"""How long the nightly audit's checks may take together; its task has an hour."""

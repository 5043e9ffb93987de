"""A small Stripe over real HTTP for what localstripe lacks: Checkout, disputes, lists by time, lost replies, old keys.

It is strict where Stripe is: unknown parameters, a key used again with another body, a refund of more than was paid.
Tests turn its other side by methods: a renter pays, a bank disputes, a refund fails.
"""

import json
import time
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import RLock, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from stripe import WebhookSignature

from billing.stripe.currencies import scale_of

Json = dict[str, Any]

_PAYMENT = {"amount", "currency", "customer", "payment_method", "allowed_payment_method_types", "metadata", "confirm"}
ALLOWED = {
    "customers": {"email", "metadata"},
    "checkout/sessions": {
        "mode", "customer", "client_reference_id", "line_items", "metadata", "payment_intent_data", "adaptive_pricing",
        "success_url", "cancel_url", "currency", "allowed_payment_method_types",
    },
    "payment_intents": _PAYMENT | {"off_session"},
    "refunds": {"payment_intent", "amount", "metadata"},
}  # fmt: skip
CARD = {"brand": "visa", "last4": "4242"}


class Failure(Exception):
    """What Stripe answers with an error."""

    def __init__(self, status: int, kind: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"type": kind, "message": message, **more}}


def wrong(message: str, **more: Any) -> Failure:
    return Failure(400, "invalid_request_error", message, **more)


def missing(name: str) -> Failure:
    return Failure(404, "invalid_request_error", f"No such object: '{name}'", code="resource_missing")


def unflatten(pairs: list[tuple[str, str]]) -> Json:
    """`a[b][0]=x` as Stripe reads it; what is numbered stays a mapping."""
    tree: Json = {}
    for name, value in pairs:
        head, *rest = name.replace("]", "").split("[")
        place = tree
        for part, following in zip([head, *rest][:-1], rest, strict=True):
            place = place.setdefault(part, {})
            head = following
        place[head if rest else name] = value
    return tree


@dataclass
class StandIn:
    """Its objects by kind and id, newest last. `created` of what comes next is `now()`, which a test may set back."""

    objects: dict[str, dict[str, Json]] = field(default_factory=lambda: defaultdict(dict))
    events: list[Json] = field(default_factory=list)
    answered: dict[str, tuple[str, Json]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    lost_replies: int = 0
    is_down: bool = False
    card_answers: str = "ok"
    fingerprint: str = ""
    """Of the next card that pays."""
    set_back_s: int = 0
    count: int = 0
    settles_in: tuple[str, str] | None = None
    lock: RLock = field(default_factory=RLock)

    # -- the renter's and the bank's side

    def pay(self, session_id: str, *, save: bool = False) -> Json:
        """The renter pays on the page of Checkout."""
        with self.lock:
            session = self.get("checkout/sessions", session_id)
            if session["status"] != "open":
                raise AssertionError("this page is not open any more")
            intent = self._intent(session["_amount"], session["_currency"], session["_intent_metadata"], session["customer"])
            intent["setup_future_usage"] = session["_keeps"] or ("off_session" if save else None)
            intent["payment_method"] = self._card(session["customer"])
            self._settle(intent)
            session |= {"status": "complete", "payment_status": "paid", "payment_intent": intent["id"]}
            self._tell("checkout.session.completed", session)
            return intent

    def refuse(self, session_id: str) -> Json:
        """The renter tries a card that is declined; the page stays open."""
        with self.lock:
            session = self.get("checkout/sessions", session_id)
            intent = self._intent(session["_amount"], session["_currency"], session["_intent_metadata"], session["customer"])
            intent["last_payment_error"] = {"message": "Your card was declined.", "code": "card_declined"}
            session["payment_intent"] = intent["id"]
            self._tell("payment_intent.payment_failed", intent)
            return intent

    def expire(self, session_id: str) -> None:
        with self.lock:
            session = self.get("checkout/sessions", session_id)
            session["status"] = "expired"
            self._tell("checkout.session.expired", session)

    def save_card(self, session_id: str) -> Json:
        with self.lock:
            session = self.get("checkout/sessions", session_id)
            card = self._card(session["customer"])
            setup = self._add("setup_intents", "seti", status="succeeded", payment_method=card)
            session |= {"status": "complete", "setup_intent": setup["id"]}
            self._tell("checkout.session.completed", session)
            return self.get("payment_methods", card)

    def dispute(self, intent_id: str, amount: int | None = None, status: str = "needs_response") -> Json:
        with self.lock:
            intent = self.get("payment_intents", intent_id)
            charge = self.get("charges", intent["latest_charge"])
            charge["disputed"] = True
            made = self._add(
                "disputes", "du", amount=amount or charge["amount"], currency=charge["currency"], status=status,
                reason="fraudulent", payment_intent=intent_id, charge=charge["id"], metadata={},
            )  # fmt: skip
            if not status.startswith("warning_"):
                self._move_money("adjustment", -made["amount"], made)
            self._tell("charge.dispute.created", made)
            return made

    def close_dispute(self, dispute_id: str, status: str) -> None:
        with self.lock:
            made = self.get("disputes", dispute_id)
            made["status"] = status
            if status == "won":
                self._move_money("adjustment", made["amount"], made)
            self._tell("charge.dispute.closed", made)

    def refund_by_hand(self, intent_id: str, amount: int) -> Json:
        """Someone refunds at Stripe's own site."""
        with self.lock:
            return self._refund({"payment_intent": intent_id, "amount": str(amount), "metadata": {}})

    def fail_refund(self, refund_id: str) -> None:
        with self.lock:
            made = self.get("refunds", refund_id)
            made["status"] = "failed"
            charge = self.get("charges", made["charge"])
            charge["amount_refunded"] -= made["amount"]
            self._move_money("refund_failure", made["amount"], made)
            self._tell("refund.failed", made)

    def set_refund(self, refund_id: str, status: str) -> None:
        with self.lock:
            made = self.get("refunds", refund_id)
            made["status"] = status
            self._tell("refund.updated", made)

    def balance(self) -> int:
        """All money that came, less what went."""
        with self.lock:
            return sum(line["amount"] for line in self.objects["balance_transactions"].values())

    def message(self, event: Json, secret: str, signed_at: int | None = None) -> tuple[bytes, str]:
        """The body and signature of one delivery."""
        body = json.dumps(event)
        return body.encode(), WebhookSignature.generate_signature_header(body, secret, signed_at)

    # -- the API's side

    def answer(self, method: str, path: str, values: Json, key: str) -> Json:
        if self.is_down:
            raise Failure(503, "api_error", "down for a while")
        with self.lock:
            self.requests.append(f"{method} {path}")
            if method == "GET":
                return self._read(path, values)
            if key not in self.answered:
                reply = self._write(path, values)
                if not key:
                    return reply
                self.answered[key] = (json.dumps([path, values]), json.loads(json.dumps(reply)))
            if self.answered[key][0] != json.dumps([path, values]):
                raise Failure(400, "idempotency_error", "Keys for idempotent requests can only be used with the same body")
            return self.answered[key][1]

    def get(self, kind: str, name: str) -> Json:
        found = self.objects[kind].get(name)
        if found is None:
            raise missing(name)
        return found

    def now(self) -> int:
        return int(time.time()) - self.set_back_s

    def _write(self, path: str, values: Json) -> Json:
        unknown = set(values) - ALLOWED.get(path, set(values))
        if unknown:
            raise wrong(f"Received unknown parameters: {', '.join(sorted(unknown))}", code="parameter_unknown")
        match path.split("/"):
            case ["customers"]:
                return self._add("customers", "cus", **values)
            case ["checkout", "sessions"]:
                return _shown(self._checkout(values))
            case ["payment_intents"]:
                return self._charge(values)
            case ["payment_intents", name, "cancel"]:
                intent = self.get("payment_intents", name)
                intent["status"] = "canceled"
                self._tell("payment_intent.canceled", intent)
                return intent
            case ["refunds"]:
                return self._refund(values)
            case ["payment_methods", name, "detach"]:
                self.get("payment_methods", name)["customer"] = None
                return self.get("payment_methods", name)
            case _:
                raise missing(path)

    def delete_customer(self, name: str) -> None:
        """Someone deletes a customer, with the cards, at Stripe's own site."""
        with self.lock:
            del self.objects["customers"][name]

    def _known_customer(self, values: Json) -> None:
        if values["customer"] not in self.objects["customers"]:
            raise Failure(
                400, "invalid_request_error", f"No such customer: '{values['customer']}'", code="resource_missing",
                param="customer",
            )  # fmt: skip

    def _checkout(self, values: Json) -> Json:
        self._known_customer(values)
        line = values.get("line_items", {}).get("0", {}).get("price_data", {})
        more = values.get("payment_intent_data", {})
        session = self._add(
            "checkout/sessions", "cs", mode=values["mode"], status="open", payment_status="unpaid", payment_intent=None,
            setup_intent=None, customer=values["customer"], metadata=values["metadata"], success_url=values["success_url"],
            _amount=int(line.get("unit_amount", 0)), _currency=line.get("currency"),
            _intent_metadata=more.get("metadata", {}), _keeps=more.get("setup_future_usage"),
        )  # fmt: skip
        session["url"] = f"https://checkout.example/{session['id']}"
        return session

    def _charge(self, values: Json) -> Json:
        self._known_customer(values)
        intent = self._intent(int(values["amount"]), values["currency"], values.get("metadata", {}), values["customer"])
        intent["payment_method"] = self.get("payment_methods", values["payment_method"])["id"]
        if self.card_answers == "ok":
            return self._settle(intent)
        code = self.card_answers
        intent["last_payment_error"] = {"message": "Your card was declined.", "code": code}
        self._tell("payment_intent.payment_failed", intent)
        if code == "requires_action":
            intent |= {"status": "requires_action", "last_payment_error": None}
            return intent
        raise Failure(402, "card_error", "Your card was declined.", code=code, payment_intent=intent)

    def _refund(self, values: Json) -> Json:
        intent = self.get("payment_intents", values["payment_intent"])
        charge, amount = self.get("charges", intent["latest_charge"]), int(values["amount"])
        if charge["amount_refunded"] + amount > charge["amount"]:
            raise wrong("Refund amount is greater than unrefunded amount on charge", code="charge_already_refunded")
        charge["amount_refunded"] += amount
        made = self._add(
            "refunds", "re", amount=amount, currency=charge["currency"], status="succeeded", payment_intent=intent["id"],
            charge=charge["id"], metadata=values.get("metadata", {}),
        )  # fmt: skip
        self._move_money("refund", -amount, made)
        self._tell("charge.refunded", charge)
        self._tell("refund.created", made)
        return made

    def _read(self, path: str, values: Json) -> Json:
        *kind, name = path.split("/")
        if kind and name in self.objects["/".join(kind)]:
            return self._expanded(self.get("/".join(kind), name), values.get("expand", {}).values())
        if kind and kind != ["checkout"]:
            raise missing(name)
        rows = self.events if path == "events" else list(self.objects[path].values())
        return self._page(path, rows[::-1], values)

    def _page(self, path: str, rows: list[Json], values: Json) -> Json:
        begin, after = int(values.get("created", {}).get("gte", 0)), values.get("starting_after")
        for name in ("payment_intent", "source"):
            if name in values:
                rows = [row for row in rows if row[name] == values[name]]
        rows = [row for row in rows if row["created"] >= begin]
        if after:
            rows = rows[next(place for place, row in enumerate(rows) if row["id"] == after) + 1 :]
        limit = int(values.get("limit", 10))
        shown = [_shown(row) for row in rows[:limit]]
        if "data.source" in values.get("expand", {}).values():
            shown = [row | {"source": self._anything(row["source"])} for row in shown]
        return {"object": "list", "url": f"/v1/{path}", "has_more": len(rows) > limit, "data": shown}

    def _anything(self, name: str) -> Any:
        """An object by its id alone; of another's only the id."""
        kinds = {"charges": "charge", "refunds": "refund", "disputes": "dispute"}
        for kind, called in kinds.items():
            if name in self.objects[kind]:
                return _shown(self.objects[kind][name]) | {"object": called}
        return name

    def _expanded(self, found: Json, names: Any) -> Json:
        shown = _shown(found)
        for name in names:
            head, _, rest = name.partition(".")
            kind = {"latest_charge": "charges", "payment_method": "payment_methods", "setup_intent": "setup_intents"}[head]
            if shown.get(head):
                shown[head] = self._expanded(self.get(kind, shown[head]), [rest] if rest else [])
        return shown

    def _intent(self, amount: int, currency: str, metadata: Json, customer: str) -> Json:
        return self._add(
            "payment_intents", "pi", amount=amount, amount_received=0, currency=currency, metadata=metadata,
            customer=customer, status="requires_payment_method", latest_charge=None, payment_method=None,
            setup_future_usage=None, last_payment_error=None,
        )  # fmt: skip

    def _settle(self, intent: Json) -> Json:
        charge = self._add(
            "charges", "ch", amount=intent["amount"], currency=intent["currency"], payment_intent=intent["id"],
            amount_refunded=0, disputed=False,
        )  # fmt: skip
        intent |= {"status": "succeeded", "amount_received": intent["amount"], "latest_charge": charge["id"]}
        self._move_money("charge", charge["amount"], charge)
        self._tell("payment_intent.succeeded", intent)
        return intent

    def _card(self, customer: str) -> str:
        card = {**CARD, "fingerprint": self.fingerprint or None}
        return str(self._add("payment_methods", "pm", type="card", card=card, customer=customer)["id"])

    def _move_money(self, kind: str, amount: int, source: Json) -> None:
        """Settled in the currency of the account's bank, at Stripe's rate between the two, in the units of each."""
        currency, rate = self.settles_in or (source["currency"], None)
        if rate is not None:
            units = Decimal(amount) / scale_of(source["currency"]).per_unit * Decimal(rate)
            amount = int((units * scale_of(currency).per_unit).to_integral_value())
        self._add(
            "balance_transactions", "txn", type=kind, amount=amount, currency=currency, source=source["id"],
            exchange_rate=None if rate is None else float(rate),
        )  # fmt: skip

    def _tell(self, kind: str, about: Json) -> None:
        self.count += 1
        event = {"id": f"evt_{self.count:06d}", "object": "event", "type": kind, "created": self.now()}
        self.events.append({**event, "data": {"object": json.loads(json.dumps(_shown(about)))}})

    def _add(self, kind: str, prefix: str, **values: Any) -> Json:
        self.count += 1
        made = {"id": f"{prefix}_{self.count:06d}", "object": _object_name(kind), "created": self.now(), **values}
        self.objects[kind][made["id"]] = made
        return made


def _object_name(kind: str) -> str:
    return {"checkout/sessions": "checkout.session"}.get(kind, kind.removesuffix("s"))


def _shown(found: Json) -> Json:
    return {name: value for name, value in found.items() if not name.startswith("_")}


class _Handler(BaseHTTPRequestHandler):
    """One request; the reply leaves in one piece, or not at all when replies are being lost."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    stand_in: StandIn

    def do_GET(self) -> None:
        self._answer("GET", unflatten(parse_qsl(urlsplit(self.path).query)))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self._answer("POST", unflatten(parse_qsl(body)))

    def _answer(self, method: str, values: Json) -> None:
        if not self.headers.get("Authorization", "").startswith("Bearer sk_"):
            return self._send(401, {"error": {"type": "invalid_request_error", "message": "No key"}})
        try:
            path = urlsplit(self.path).path.removeprefix("/v1/")
            status, reply = 200, self.stand_in.answer(method, path, values, self.headers.get("Idempotency-Key", ""))
        except Failure as failure:
            status, reply = failure.status, failure.body
        if method == "POST" and self.stand_in.lost_replies > 0:
            self.stand_in.lost_replies -= 1
            self.close_connection = True
            return None
        return self._send(status, reply)

    def _send(self, status: int, reply: Json) -> None:
        body = json.dumps(reply).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.wfile.write(head.encode() + body)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the test says what happened."""


def serve(stand_in: StandIn) -> tuple[ThreadingHTTPServer, str]:
    """On loopback, in a thread of its own; the caller shuts it down."""
    handler = type("Handler", (_Handler,), {"stand_in": stand_in})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}"

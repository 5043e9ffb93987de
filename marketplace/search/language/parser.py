"""Parser and writer of search lines.

An example is `gpu=rtx-3090 count>=2 region in [cn-north,eu-west] price<1.5`.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final, NoReturn

from django.utils.translation import gettext as _

from marketplace.errors import SearchSyntaxError
from marketplace.search.language import field_names
from marketplace.search.language.fields import TERMS, Condition, Kind, OfferQuery, Op, Term
from marketplace.search.language.lexer import Scanner, Text, quoted
from marketplace.search.language.options import (
    CONDITIONS_MAX,
    COUNT_SIGNS,
    OPTIONS,
    ParsedSearch,
    condition,
    count_option,
    stated_options,
    to_query,
)
from marketplace.search.language.values import UNITS, BadValue, read_value, several_models, write_value

LINE_MAX: Final = 500
# Other names of the same options, so that a line may use those of the API.
_SYNONYMS: Final = {option.parameter: name for name, option in OPTIONS.items()}
_NAMES: Final = (*TERMS, *(name for name in OPTIONS if name not in TERMS))
_FLAGS: Final = frozenset(name for name, term in TERMS.items() if term.kind is Kind.FLAG)
_LISTS: Final = (Op.IN, Op.NOT_IN)


def parse_line(text: str) -> OfferQuery:
    """Return the search in `text`; callers that know the image set `image_needs`.

    Raises:
        SearchSyntaxError: the line cannot be parsed.
    """
    return to_query(find_in_line(text))


def find_in_line(text: str) -> ParsedSearch:
    """Return conditions and stated options of a line, before defaults are filled in."""
    if len(text) > LINE_MAX:
        hint = _("A search can have at most %(most)s characters.") % {"most": LINE_MAX}
        raise SearchSyntaxError(_("The search is too long."), position=LINE_MAX, hint=hint)
    return _Reader(text).read()


def write_line(query: OfferQuery) -> str:
    """Return the line that `parse_line` reads as `query`, without page and image needs."""
    stated = stated_options(query)
    sort = stated.pop("sort", None)
    parts = [f"{name}={_written(value)}" for name, value in stated.items()]
    parts += [write_condition(one) for one in query.conditions]
    return " ".join([*parts, f"sort={sort}"] if sort else parts)


def write_condition(one: Condition) -> str:
    """Return one part of a line, such as `region in [cn-north,eu-west]` or `not simulated`."""
    if one.term in _FLAGS and one.op is Op.EQ:
        return one.term if one.value else f"not {one.term}"
    if isinstance(one.value, tuple):
        return f"{one.term} {one.op} [{','.join(_written(value) for value in one.value)}]"
    return f"{one.term}{one.op}{_written(one.value)}"


def _written(value: Any) -> str:
    return quoted(write_value(value))


class _Reader:
    """Reader of the parts of one line, in order."""

    def __init__(self, text: str) -> None:
        self.scan = Scanner(text)
        self.found = ParsedSearch()
        self.parts = 0

    def read(self) -> ParsedSearch:
        self.scan.skip(",")
        while not self.scan.ended:
            self._part()
            self.scan.skip(",")
        return self.found

    def _part(self) -> None:
        word = self.scan.text(_("a field, such as gpu or price"))
        lower = word.text.lower()
        if lower == "and" and not word.quoted and self.parts:
            return
        self.parts += 1
        if self.parts > CONDITIONS_MAX:
            hint = _("A search can have at most %(most)s conditions.") % {"most": CONDITIONS_MAX}
            _refuse(_("There are too many conditions."), word, hint)
        if lower == "or" and not word.quoted:
            hint = _("To match one of several, use a list: gpu in [a, b].")
            _refuse(_("“or” isn't supported: all conditions must match."), word, hint)
        if lower == "not" and not word.quoted:
            self._negated(word)
        elif (sign := self.scan.sign()) is not None:
            self._compared(word, *sign)
        else:
            self._alone(word, negated=False)

    def _negated(self, word: Text) -> None:
        self.scan.skip()
        inner = self.scan.text(_("a flag, such as simulated"))
        if self.scan.sign() is not None:
            hint = _("Use the opposite operator instead: != or notin.")
            _refuse(_("“not” can only be used before a flag or a model."), word, hint)
        self._alone(inner, negated=True)

    def _alone(self, word: Text, *, negated: bool) -> None:
        """Read a flag, or an unambiguous name of a GPU, series or architecture."""
        name = word.text.lower()
        if name in _FLAGS and not word.quoted:
            self.found.conditions.append(condition(name, Op.EQ, [not negated]))
            return
        if name in _NAMES:
            self.scan.skip()
            signs = _signs_of(name)
            missing = Text("", self.scan.position)
            _refuse(
                _("%(name)s needs an operator and a value.") % {"name": name}, missing, _signs_hint(signs), choices=signs
            )
        term, value = _guessed(word)
        self.found.conditions.append(condition(term, Op.NE if negated else Op.EQ, [value]))

    def _compared(self, word: Text, op: Op, place: int) -> None:
        name = word.text.lower()
        name = name if name in _NAMES else _SYNONYMS.get(name, name)
        if name not in _NAMES or word.quoted:
            detail = _("Unknown field: %(text)s.") % {"text": field_names.quoted_input(word.text)}
            _refuse(detail, word, field_names.did_you_mean(name, _NAMES), choices=_NAMES)
        if op.value not in _signs_of(name):
            signs = _signs_of(name)
            detail = _("%(name)s can't be compared with %(sign)s.") % {"name": name, "sign": op}
            _refuse(detail, Text(op, place), _signs_hint(signs), choices=signs)
        self.scan.skip()
        if name in OPTIONS and (name != "count" or op in COUNT_SIGNS):
            self._option(word, name, op)
        elif op in _LISTS:
            self._condition(TERMS[name], op, self.scan.list())
        else:
            self._condition(TERMS[name], op, [self._value(name)])

    def _option(self, word: Text, name: str, op: Op) -> None:
        option = OPTIONS[name]
        text = self._value(name)
        value = _valued(text, lambda given: count_option(op, given) if name == "count" else option.read(given))
        if self.found.options.setdefault(option.field, value) != value:
            _refuse(_("%(name)s is set twice, with different values.") % {"name": name}, word, _("Remove one of them."))

    def _value(self, name: str) -> Text:
        """Read one value, with its unit even after a space: `24 GB`."""
        if self.scan.line[self.scan.position : self.scan.position + 1] in ("[", "("):
            hint = _("Use %(name)s in [a, b].") % {"name": name}
            _refuse(_("Expected a single value here, not a list."), Text("", self.scan.position), hint)
        value = self.scan.text(_("a value of %(name)s") % {"name": name})
        unit = self._unit(UNITS.get(name, ())) if not value.quoted and value.text[-1].isdigit() else ""
        return Text(f"{value.text} {unit}", value.position) if unit else value

    def _unit(self, units: Collection[str]) -> str:
        """Return the next word if it is a unit, and not the term of another part as in `count=2 gpu=t4`."""
        start = self.scan.position
        self.scan.skip()
        unit = self.scan.peek_word()
        if unit.lower() in units:
            self.scan.position += len(unit)
            if self.scan.sign() is None:
                return unit
        self.scan.position = start
        return ""

    def _condition(self, term: Term, op: Op, texts: Iterable[Text]) -> None:
        values = [_valued(text, lambda given: read_value(term, given)) for text in texts]
        self.found.conditions.append(condition(term.name, op, values))


def _valued(text: Text, read: Callable[[str], Any]) -> Any:
    try:
        return read(text.text)
    except BadValue as wrong:
        _refuse(wrong.detail, text, wrong.hint, choices=wrong.choices)


def _guessed(word: Text) -> tuple[str, str]:
    """Return the (term, value) that a bare word means."""
    for term, choices in (("series", field_names.series()), ("architecture", field_names.architectures())):
        if (choice := field_names.choice_like(word.text, choices)) is not None:
            return term, choice
    guesses = field_names.guess_gpus(word.text)
    if len(guesses) == 1:
        return "gpu", guesses[0]
    if guesses:
        fault = several_models(word.text, guesses)
        _refuse(fault.detail, word, fault.hint, choices=guesses)
    return _unknown(word)


def _unknown(word: Text) -> NoReturn:
    close = field_names.nearest(word.text, (*_NAMES, *field_names.slugs()))
    hint = _("Did you mean %(choice)s?") % {"choice": close} if close else _("Enter a field, an operator and a value.")
    detail = _("%(text)s isn't a known field, GPU, series or architecture.") % {"text": field_names.quoted_input(word.text)}
    _refuse(detail, word, hint, choices=_NAMES)


def _signs_hint(signs: Sequence[str]) -> str:
    return _("Operators: %(signs)s.") % {"signs": ", ".join(signs)}


def _signs_of(name: str) -> list[str]:
    """Return the operators that a name takes, in their usual order."""
    term: Term | None = TERMS.get(name)
    ops = term.ops if term else {Op.EQ}
    return [op.value for op in Op if op in ops]


def _refuse(detail: str, at: Text, hint: str, *, choices: Sequence[str] = ()) -> NoReturn:
    raise SearchSyntaxError(detail, position=at.position, hint=hint, choices=choices)

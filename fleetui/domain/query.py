"""The filter language of the fleet: words and comparisons, all of which must hold.

`stage=warmup gpu~4090 rate<min log>5m !label~test word`: a bare word is looked for in the row's
visible texts; `!` turns a term round; quotes keep blanks. A comparison with a figure that is not
known is false; `field=?` finds just those rows.
"""

import difflib
import re
from collections.abc import Callable

import msgspec

from fleetui.domain.reading import FleetRow

Value = str | float | None


class QueryError(ValueError):
    """The text is not a filter; the message says what is wrong and what would do."""


class Term(msgspec.Struct, frozen=True):
    """One condition. A bare word has the field `""` and the operator `~`."""

    field: str
    operator: str
    value: str
    number: float | None = None
    negated: bool = False


class Query(msgspec.Struct, frozen=True):
    """A parsed filter; an empty one lets every row pass."""

    terms: tuple[Term, ...] = ()

    def matches(self, row: FleetRow, now: float) -> bool:
        """Tell whether every term holds for the row at the fleet's time `now`."""
        return all(_holds(term, row, now) != term.negated for term in self.terms)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _age(at: float | None, now: float) -> float | None:
    return None if at is None else max(now - at, 0.0)


def _percent(value: float | None) -> float | None:
    return None if value is None else value * 100.0


FIELDS: dict[str, Callable[[FleetRow, float], Value]] = {
    "id": lambda row, _: str(row.instance_id),
    "label": lambda row, _: row.label,
    "machine": lambda row, _: _text(row.machine_id),
    "gpu": lambda row, _: row.gpu,
    "gpus": lambda row, _: row.num_gpus,
    "geo": lambda row, _: row.geolocation,
    "status": lambda row, _: row.api_status,
    "stage": lambda row, _: row.stage.value,
    "in": lambda row, now: _age(row.stage_since, now),
    "attempt": lambda row, _: float(row.attempt),
    "progress": lambda row, _: _percent(row.progress_fraction),
    "eta": lambda row, _: row.eta_seconds,
    "rate": lambda row, _: row.proofs_per_hour,
    "min": lambda row, _: row.min_rate,
    "cost": lambda row, _: row.cost_per_hour,
    "proof": lambda row, _: row.cost_per_proof,
    "util": lambda row, _: row.gpu_util,
    "temp": lambda row, _: row.gpu_temp,
    "log": lambda row, now: _age(row.newest_byte_at, now),
    "ssh": lambda row, _: row.ssh.value,
    "finding": lambda row, _: row.finding_category or "none",
    "severity": lambda row, _: row.finding_severity.value if row.finding_severity else "none",
    "acting": lambda row, _: row.acting,
}
"""Field name to its value: a text, a number (seconds, dollars, percent), or `None`: unknown."""

TEXT_FIELDS = frozenset(
    {
        "id", "label", "machine", "gpu", "geo", "status", "stage", "ssh", "finding", "severity",
        "acting",
    }
)  # fmt: skip
_WORD = re.compile(r'!?(?:[^\s"]|"[^"]*"?)+')
_COMPARISON = re.compile(r"([A-Za-z_$/%]+)\s*(!=|!~|<=|>=|=|~|<|>)(.*)", re.DOTALL)
_NUMBER = re.compile(r"\$?(-?\d+(?:\.\d+)?)(ms|s|m|h|d|%)?", re.IGNORECASE)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "%": 1.0}
_ALIASES = {
    "$/h": "cost",
    "$/proof": "proof",
    "proofs/h": "rate",
    "gpu%": "util",
    "age": "log",
    "temperature": "temp",
}
_ORDERED = frozenset({"<", "<=", ">", ">="})


def parse_query(text: str) -> Query:
    """Parse a filter.

    Raises:
        QueryError: a field does not exist, or its value cannot be compared that way.
    """
    return Query(tuple(_term(word) for word in _WORD.findall(text) if word != "!"))


def valid_words(text: str) -> str:
    """Return a filter without those of its words that are wrong."""
    return " ".join(word for word in _WORD.findall(text) if _is_valid(word))


def _is_valid(word: str) -> bool:
    try:
        parse_query(word)
    except QueryError:
        return False
    return True


def _term(word: str) -> Term:
    negated = word.startswith("!")
    body = word[1:] if negated else word
    if body.startswith('"'):
        return Term("", "~", body.replace('"', "").casefold(), negated=negated)
    match = _COMPARISON.fullmatch(body)
    if match is None:
        return Term("", "~", body.replace('"', "").casefold(), negated=negated)
    name, operator, value = match[1].casefold(), match[2], match[3].strip().replace('"', "")
    name = _ALIASES.get(name, name)
    if name not in FIELDS:
        close = difflib.get_close_matches(name, FIELDS, n=1)
        hint = f"did you mean {close[0]}?" if close else "fields: " + " ".join(FIELDS)
        raise QueryError(f"there is no field {name!r}; {hint}")
    if operator.startswith("!"):
        negated, operator = not negated, operator[1:]
    if not value:
        raise QueryError(f"{name}{operator} needs a value")
    value = value.casefold()
    if name not in TEXT_FIELDS:
        value = _ALIASES.get(value, value)
    return Term(name, operator, value, _number(name, operator, value), negated)


def _number(name: str, operator: str, value: str) -> float | None:
    if name in TEXT_FIELDS:
        if operator in _ORDERED:
            raise QueryError(f"{name} is a text: use {name}= or {name}~")
        return None
    if value == "?" or (value in FIELDS and value not in TEXT_FIELDS):
        return None
    match = _NUMBER.fullmatch(value)
    if match is None:
        raise QueryError(f"{name} is a number: {value!r} is not (5, 0.4, 5m, 2h, min are)")
    return float(match[1]) * _UNITS[(match[2] or "s").casefold()]


def _holds(term: Term, row: FleetRow, now: float) -> bool:
    if not term.field:
        return term.value in _haystack(row)
    found = FIELDS[term.field](row, now)
    if term.value == "?":
        return found is None
    if found is None:
        return False
    if isinstance(found, str):
        text = found.casefold()
        return term.value in text if term.operator == "~" else term.value == text
    wanted: Value = term.number
    if wanted is None:
        wanted = FIELDS[term.value](row, now)
    if wanted is None or isinstance(wanted, str):
        return False
    return _compare(float(found), term.operator, wanted)


def _compare(left: float, operator: str, right: float) -> bool:
    match operator:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case "~":
            return abs(left - right) <= 0.1 * max(abs(left), abs(right))
        case _:
            return left == right


def _haystack(row: FleetRow) -> str:
    parts = (
        str(row.instance_id),
        row.label,
        row.gpu,
        row.stage.value,
        row.geolocation,
        row.finding_category,
        row.finding_summary,
        row.acting,
    )
    return "\n".join(part for part in parts if part).casefold()

"""The `[[rule]]` tables of a profile."""

import re
from typing import Any

from fleetui.domain.stage import Stage
from fleetui.profiles.model import STREAM_KINDS, ProfileError, Rule
from fleetui.profiles.patterns import check_untrusted, compile_pattern

_KEYS = {"id", "kinds", "any", "pattern", "category", "unless", "stage", "signal", "fails"}

_SEARCHABLE = re.compile(r'[^=:{}\[\]()|#"<>]{2}')
"""What raw bytes can be searched for: two characters that no program cuts with colours."""


def read_rules(data: dict[str, Any], name: str, text: str, *, user: bool) -> tuple[Rule, ...]:
    """Read the rules of one parsed file; `name` and `text` are for the errors.

    Raises:
        ProfileError: a rule cannot be used; names the file, the line and the rule.
    """
    lines = _rule_lines(text)
    rules: dict[str, Rule] = {}
    tables = data.get("rule", [])
    if not isinstance(tables, list):
        message = f"{name}: rules are written as [[rule]] tables"
        raise ProfileError(message)
    for number, table in enumerate(tables):
        line = lines[number] if number < len(lines) else 1
        label = table.get("id", f"number {number + 1}") if isinstance(table, dict) else number + 1
        try:
            rule = _rule(table, user=user)
            if rule.id in rules:
                raise ValueError("the id is used twice")  # noqa: TRY301 - one place words errors
        except ValueError as error:
            message = f"{name}:{line}: rule {label}: {error}"
            raise ProfileError(message) from error
        rules[rule.id] = rule
    return tuple(rules.values())


def _rule_lines(text: str) -> list[int]:
    return [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.replace(" ", "").startswith("[[rule]]")
    ]


def _rule(table: dict[str, Any], *, user: bool) -> Rule:
    unknown = sorted(set(table) - _KEYS)
    if unknown:
        message = f"no such key: {unknown[0]}"
        raise ValueError(message)
    for key in ("id", "pattern", "category", "signal", "stage"):
        if key in table and (not isinstance(table[key], str) or not table[key]):
            message = f"{key} must be a text"
            raise ValueError(message)
    if "id" not in table:
        raise ValueError("it has no id")
    if not isinstance(table.get("fails", False), bool):
        raise ValueError("fails must be true or false")  # noqa: TRY004 - all errors here are values
    kinds = _texts(table, "kinds")
    wrong = sorted(set(kinds) - STREAM_KINDS - {"*"})
    if not kinds or wrong:
        message = f"kinds must name some of {', '.join(sorted(STREAM_KINDS))} or *, not {wrong}"
        raise ValueError(message)
    literals = _texts(table, "any")
    if not literals:
        raise ValueError("any must name at least one literal; without one the rule would be slow")
    short = [word for word in literals if not _SEARCHABLE.search(word.strip())]
    if short:
        message = f"the literal {short[0]!r} is too short to search for"
        raise ValueError(message)
    pattern = table.get("pattern")
    compiled = None if pattern is None else compile_pattern(pattern)
    if pattern is not None and user:
        check_untrusted(pattern)
    stage = table.get("stage")
    if stage is not None and stage not in set(Stage):
        message = f"no such stage: {stage!r}"
        raise ValueError(message)
    return Rule(
        id=table["id"],
        kinds=frozenset(kinds),
        any=literals,
        pattern=compiled,
        category=table.get("category"),
        unless=_texts(table, "unless"),
        stage=None if stage is None else Stage(stage),
        signal=table.get("signal"),
        fails=table.get("fails", False),
        user=user,
    )


def _texts(table: dict[str, Any], key: str) -> tuple[str, ...]:
    words = table.get(key, [])
    if not isinstance(words, list) or any(not isinstance(word, str) or not word for word in words):
        message = f"{key} must be a list of texts"
        raise ValueError(message)
    return tuple(words)

"""The `[[rule]]` tables of a profile."""

import re
from typing import Any

from fleetui.domain.stage import Stage
from fleetui.profiles.model import STREAM_KINDS, ProfileError, Rule
from fleetui.profiles.patterns import DEAR, compile_pattern
from fleetui.profiles.tokens import SELECTIVE, raw_tokens
from fleetui.profiles.toml_lines import TomlLines
from fleetui.profiles.words import CATEGORIES, SIGNALS

_BREAKS = re.compile(r"[\n\r\0]")
_KEYS = {"id", "kinds", "any", "pattern", "category", "unless", "stage", "signal", "fails"}


def read_rules(data: dict[str, Any], name: str, text: str, *, user: bool) -> tuple[Rule, ...]:
    """Read the rules of one parsed file; `name` and `text` are for the errors.

    Raises:
        ProfileError: a rule cannot be used; names the file, the line and the rule.
    """
    lines = TomlLines(text).tables("rule")
    rules: dict[str, Rule] = {}
    tables = data.get("rule", [])
    if not isinstance(tables, list):
        message = f"{name}:{lines[0]}: rules are written as [[rule]] tables"
        raise ProfileError(message)
    for number, table in enumerate(tables):
        line = lines[min(number, len(lines) - 1)]
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


def slow_rules(rules: tuple[Rule, ...], name: str, text: str) -> tuple[str, ...]:
    """Say which of the rules of one file are slow, by file, line and rule, and why."""
    lines = TomlLines(text).tables("rule")
    return tuple(
        f"{name}:{lines[min(number, len(lines) - 1)]}: rule {rule.id}: slow: {cost}"
        for number, rule in enumerate(rules)
        if (cost := _cost(rule)) is not None
    )


def _cost(rule: Rule) -> str | None:
    if rule.pattern is not None and rule.pattern.cost > DEAR:
        return "its pattern is large: one long line may take hundreds of milliseconds"
    if not rule.any:
        return "without literals in any, every line of its kinds is decoded and searched"
    for literal in rule.any:
        tokens = raw_tokens(literal)
        if not tokens:
            return f"for the literal {literal!r} every line of its kinds is decoded and searched"
        if min(map(len, tokens)) < SELECTIVE:
            return f"the literal {literal!r} is short: many lines hold it"
    return None


def _rule(table: object, *, user: bool) -> Rule:
    if not isinstance(table, dict):
        raise ValueError("a rule is written as a [[rule]] table")  # noqa: TRY004 - as below
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
    pattern = table.get("pattern")
    if not literals and pattern is None:
        raise ValueError("it needs literals in any, or a pattern")
    compiled = None if pattern is None else compile_pattern(pattern)
    stage = table.get("stage")
    if stage is not None and stage not in set(Stage):
        message = f"no such stage: {stage!r}"
        raise ValueError(message)
    for key, known in (("category", CATEGORIES), ("signal", SIGNALS)):
        if key in table and table[key] not in known:
            message = f"no such {key}: {table[key]!r}"
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
    unseen = next((word for word in words if _BREAKS.search(word)), None)
    if unseen is not None:
        message = f"{key}: {unseen!r} is in no line"
        raise ValueError(message)
    return tuple(words)

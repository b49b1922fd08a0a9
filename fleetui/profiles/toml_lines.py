"""On which line of a TOML file a thing stands, for errors about what its parser accepted."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NAME = r"""[\w-]+|"[^"\n]*"|'[^'\n]*'"""
_HEADER = re.compile(rf"\[(?P<many>\[)?\s*(?P<name>{_NAME})")
_KEY = re.compile(rf"(?P<name>{_NAME})\s*[.=]")
_TOKEN = re.compile(
    r"""
    "{3} (?: \\. | [^\\] )*? "{3}
    | '{3} .*? '{3}
    | " (?: \\. | [^"\\\n] )* "
    | ' [^'\n]* '
    | [#] [^\n]*
    | [][{}\n]
    """,
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class _Statement:
    """A header or a pair, from `line` on; comments are left out of `text`.

    `table` is the table that it stands in, `number` counts the tables of that name from 0.
    """

    line: int
    name: str
    is_header: bool
    table: str
    number: int
    text: str


class TomlLines:
    """The lines of one file that is sound TOML."""

    def __init__(self, text: str) -> None:
        self._statements = list(_statements(text))

    def tables(self, name: str) -> list[int]:
        """Return the lines of the headers of a table, or of the pair that holds it whole."""
        lines = [
            statement.line
            for statement in self._statements
            if statement.name == name and (statement.is_header or not statement.table)
        ]
        return lines or [1]

    def line_of(self, word: str, table: str = "", number: int = 0) -> int:
        """Return the line of a key, else that of a value with the word; else where to begin.

        With a table only what stands in the one of that number counts; without, of the keys only
        those outside of tables.
        """
        inside = [one for one in self._statements if _is_in(one, table, number)]
        for statement in inside:
            if statement.name == word:
                return statement.line
        for statement in inside if table else self._statements:
            place = statement.text.find(word)
            if place >= 0:
                return statement.line + statement.text.count("\n", 0, place)
        headers = self.tables(table)
        return headers[min(number, len(headers) - 1)]


def _is_in(statement: _Statement, table: str, number: int) -> bool:
    if not table:
        return statement.is_header or not statement.table
    return not statement.is_header and (statement.table, statement.number) == (table, number)


def _statements(text: str) -> Iterator[_Statement]:
    table, number = "", 0
    seen: dict[str, int] = {}
    for line, part in _parts(text):
        header = _HEADER.match(part)
        match = header or _KEY.match(part)
        if match is None:
            continue
        name = match["name"].strip("\"'")
        if header is not None:
            number = seen.get(name, 0)
            seen[name] = number + 1
            table = name
        yield _Statement(line, name, header is not None, table, number, part)


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Cut a file where a line ends outside of strings and brackets."""
    line = begin_line = 1
    depth, held, done = 0, "", 0
    for token in _TOKEN.finditer(text + "\n"):
        word = token.group()
        held += text[done : token.start()]
        done = token.end()
        if word == "\n" and depth <= 0:
            yield begin_line + _blank_lines(held), held.strip()
            line += 1
            held, begin_line, depth = "", line, 0
            continue
        line += word.count("\n")
        depth += (word in "[{") - (word in "]}")
        held += "" if word.startswith("#") else word


def _blank_lines(part: str) -> int:
    return part.count("\n", 0, len(part) - len(part.lstrip()))

"""Words to fields: parameters, substitutions, splitting and file names."""

import functools
import re
from typing import TYPE_CHECKING

from fleetui.simulator.hosts.shell.arithmetic import evaluate
from fleetui.simulator.hosts.shell.patterns import (
    is_pattern,
    pattern_text,
    strip_prefix,
    strip_suffix,
)
from fleetui.simulator.hosts.shell.syntax import (
    Arithmetic,
    Literal,
    Parameter,
    Part,
    Substitution,
    Word,
)

if TYPE_CHECKING:
    from fleetui.simulator.hosts.shell.interpreter import Shell


class BadExpansionError(Exception):
    """A word cannot be expanded (`${name:?text}`)."""


# A piece is (text, quoted, splittable); None ends a field ("$@").
_Piece = tuple[str, bool, bool] | None


class Expander:
    """Expands words with one shell's variables. `substituted` is the last substitution's status."""

    def __init__(self, shell: "Shell") -> None:
        self._shell = shell
        self.substituted = 0

    async def fields(self, words: tuple[Word, ...]) -> list[str]:
        """Expand words as arguments: split and matched against file names."""
        found: list[str] = []
        for word in words:
            if len(word) == 1 and (whole := self._whole(word[0])) is not None:
                found.append(whole)
                continue
            pieces = await self._pieces(self._tilde(word))
            for field in self._split(pieces):
                found.extend(self._names(field))
        return found

    async def single(self, word: Word) -> str:
        """Expand a word to exactly one text: no splitting, no file names."""
        if not word:
            return ""
        if len(word) == 1 and (whole := self._whole(word[0], joined=True)) is not None:
            return whole
        pieces = await self._pieces(self._tilde(word), joined=True)
        return "".join(" " if piece is None else piece[0] for piece in pieces)

    def _whole(self, part: Part, *, joined: bool = False) -> str | None:
        """Return what the commonest words stand for at once: plain text, `"$name"`."""
        if isinstance(part, Literal):
            return part.text if part.quoted or _is_plain(part.text) else None
        if isinstance(part, Parameter) and not part.op and (part.quoted or joined):
            return self._shell.variables.get(part.name)
        return None

    async def pattern(self, word: Word) -> str:
        """Expand a word to a pattern; quoted characters stand for themselves."""
        pieces = await self._pieces(word, joined=True)
        return pattern_text([(" ", True) if piece is None else piece[:2] for piece in pieces])

    @staticmethod
    def _tilde(word: Word) -> Word:
        first = word[0] if word else None
        if not isinstance(first, Literal) or first.quoted or first.text[:2] not in {"~", "~/"}:
            return word
        rest = Literal(first.text[1:], quoted=False)
        return (Literal("/root", quoted=True), rest, *word[1:])

    # ------------------------------------------------------------------ pieces

    async def _pieces(self, word: Word, *, joined: bool = False) -> list[_Piece]:
        pieces: list[_Piece] = []
        for part in word:
            if isinstance(part, Literal):
                pieces.append((part.text, part.quoted, False))
            elif isinstance(part, Parameter):
                await self._parameter(part, pieces, joined=joined)
            elif isinstance(part, Substitution):
                text = await self._shell.substitute(part.body)
                pieces.append((text, part.quoted, not part.quoted))
            else:
                pieces.append((await self._arithmetic(part), part.quoted, not part.quoted))
        return pieces

    async def _arithmetic(self, part: Arithmetic) -> str:
        return str(evaluate(await self.single(part.word), self._shell.variables))

    def value(self, name: str) -> str | None:
        """Return a parameter's value; None when it is not set."""
        shell = self._shell
        if (known := shell.variables.get(name)) is not None:
            return known
        if name.isdigit():
            index = int(name)
            if index == 0:
                return shell.name
            return shell.positional[index - 1] if index <= len(shell.positional) else None
        if name == "?":
            return str(shell.status)
        if name == "#":
            return str(len(shell.positional))
        if name == "$":
            return str(shell.pid)
        if name == "!":
            return shell.last_background
        return "".join(sorted(shell.options)) if name == "-" else None

    async def _parameter(self, part: Parameter, pieces: list[_Piece], *, joined: bool) -> None:
        if part.name in {"@", "*"}:
            await self._positional(part, pieces, joined=joined)
            return
        value = self.value(part.name)
        op = part.op
        if op:
            if op == "length":
                value = str(len(value or ""))
            elif op[-1] in "-=+?":
                missing = value is None or (op[0] == ":" and value == "")
                if missing != (op[-1] == "+"):
                    await self._default(part, pieces, joined=joined)
                    return
                if op[-1] == "+":
                    value = ""
            elif value:
                value = self._stripped(value, op, await self.pattern(part.word or ()))
        elif value is None and "u" in self._shell.options:
            raise BadExpansionError(f"{part.name}: parameter not set")
        pieces.append((value or "", part.quoted, not part.quoted))

    @staticmethod
    def _stripped(value: str, op: str, pattern: str) -> str:
        strip = strip_suffix if op[0] == "%" else strip_prefix
        return strip(value, pattern, longest=len(op) == 2)

    async def _default(self, part: Parameter, pieces: list[_Piece], *, joined: bool) -> None:
        word: tuple[Part, ...] = part.word or ()
        kind = part.op[-1]
        if kind == "?":
            raise BadExpansionError(
                f"{part.name}: {await self.single(word) or 'parameter not set'}"
            )
        if kind == "=":
            value = await self.single(word)
            self._shell.variables[part.name] = value
            pieces.append((value, part.quoted, not part.quoted))
            return
        # Unquoted text of a default is split, as the value would have been.
        for piece in await self._pieces(word, joined=joined):
            if piece is None:
                pieces.append(None)
            else:
                quoted = piece[1] or part.quoted
                pieces.append((piece[0], quoted, not quoted))

    async def _positional(self, part: Parameter, pieces: list[_Piece], *, joined: bool) -> None:
        values = self._shell.positional
        if part.op == "length":
            pieces.append((str(len(values)), part.quoted, False))
            return
        if part.op and part.op[-1] in "-+" and bool(values) == (part.op[-1] == "+"):
            await self._default(part, pieces, joined=joined)
            return
        if part.op:
            values = values if part.op[-1] != "+" else []
        if (part.quoted or joined) and part.name == "*":
            separator = self._shell.variables.get("IFS", " \t\n")[:1]
            pieces.append((separator.join(values), part.quoted, not part.quoted))
            return
        for index, value in enumerate(values):
            if index:
                pieces.append(None)
            pieces.append((value, part.quoted, not part.quoted))
        if not values and part.quoted:
            pieces.append(("", True, True))  # marks an empty "$@": no field by itself

    # ------------------------------------------------------------------ fields

    def _split(self, pieces: list[_Piece]) -> list[list[tuple[str, bool]]]:
        ifs = self._shell.variables.get("IFS", " \t\n")
        fields: list[list[tuple[str, bool]]] = []
        current: list[tuple[str, bool]] | None = None
        for piece in pieces:
            if piece is None:
                fields.append(current or [])
                current = None
                continue
            text, quoted, splittable = piece
            if quoted and splittable:
                continue
            if not splittable or not ifs:
                if text or quoted:
                    current = [*(current or []), (text, quoted)]
                continue
            if text.isalnum():
                current = [*(current or []), (text, False)]
                continue
            for run, hard in _runs(text, ifs):
                if run:
                    current = [*(current or []), (run, False)]
                elif hard or current is not None:
                    # A separator that is no blank ends a field even when there is none.
                    fields.append(current or [])
                    current = None
        if current is not None:
            fields.append(current)
        return fields

    def _names(self, field: list[tuple[str, bool]]) -> list[str]:
        text = field[0][0] if len(field) == 1 else "".join(piece for piece, _ in field)
        if "f" in self._shell.options or not any(char in text for char in "*?["):
            return [text]
        if all(quoted for _, quoted in field):
            return [text]
        pattern = pattern_text(field)
        if not is_pattern(pattern):
            return [text]
        return self._shell.machine.files.glob(pattern, self._shell.cwd) or [text]


@functools.lru_cache(maxsize=4096)
def _is_plain(text: str) -> bool:
    return not is_pattern(text) and "\\" not in text and text[:1] != "~"


def _runs(text: str, ifs: str) -> list[tuple[str, bool]]:
    """Cut text at separators: (run, False), or ("", whether it is more than blanks)."""
    return [(match[1] or "", match[2] is not None) for match in _splitter(ifs).finditer(text)]


@functools.lru_cache(maxsize=64)
def _splitter(ifs: str) -> re.Pattern[str]:
    every = re.escape(ifs)
    blank = "".join(char for char in ifs if char in " \t\n")
    hard = "".join(char for char in ifs if char not in " \t\n")
    blanks = f"[{re.escape(blank)}]" if blank else "(?!)"
    hards = f"[{re.escape(hard)}]" if hard else "(?!)"
    return re.compile(f"([^{every}]+)|{blanks}*({hards}){blanks}*|{blanks}+")

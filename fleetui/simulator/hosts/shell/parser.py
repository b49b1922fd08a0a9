"""Text to syntax tree: the grammar of POSIX sh that operators' scripts use."""

import re

from fleetui.simulator.hosts.shell.syntax import (
    EMPTY,
    AndOr,
    Arithmetic,
    Case,
    For,
    Function,
    Group,
    If,
    Literal,
    Loop,
    Node,
    Parameter,
    Part,
    Pipeline,
    Redirection,
    Sequence,
    Simple,
    Substitution,
    Word,
)

_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|[0-9]|[@*#?$!-]")
_BRACED = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|[0-9]+|[@*#?$!-]")
_LENGTH = re.compile(r"#([A-Za-z_][A-Za-z_0-9]*|[0-9]+|[@*#?$!-])\}")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)=")
_REDIRECTION = re.compile(r"([0-9]?)(<<-|<<|>>|<&|>&|<>|>\||<|>)")
_RESERVED = frozenset(
    {"if", "then", "else", "elif", "fi", "while", "until", "do", "done", "for", "case", "esac"}
    | {"{", "}", "!", "in"}
)
_META = " \t\n;&|<>()"
_PLAIN = re.compile(r"[^ \t\n;&|<>()'\"\\$`]+")
_PLAIN_QUOTED = re.compile(r'[^"\\$`]+')


class ShellSyntaxError(Exception):
    """The text is not a shell program (dash: `Syntax error: ...`)."""


def parse(text: str) -> Node:
    """Parse a whole program.

    Raises:
        ShellSyntaxError: the text is not one.
    """
    parser = _Parser(text)
    node = parser.sequence(frozenset())
    if parser.at < len(text):
        raise ShellSyntaxError(f'"{text[parser.at]}" unexpected')
    return node


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._documents: list[tuple[str, bool, bool, list[Redirection], int]] = []

    # ------------------------------------------------------------------ characters

    def _blanks(self) -> None:
        text, end = self.text, len(self.text)
        while self.at < end:
            char = text[self.at]
            if char in " \t":
                self.at += 1
            elif char == "\\" and text.startswith("\\\n", self.at):
                self.at += 2
            elif char == "#":
                line_end = text.find("\n", self.at)
                self.at = end if line_end < 0 else line_end
            else:
                return

    def _newlines(self) -> None:
        self._blanks()
        while self.text.startswith("\n", self.at):
            self._newline()
            self._blanks()

    def _newline(self) -> None:
        self.at += 1
        for delimiter, quoted, strip, where, index in self._documents:
            lines = []
            while self.at < len(self.text):
                line_end = self.text.find("\n", self.at)
                line_end = len(self.text) if line_end < 0 else line_end
                line = self.text[self.at : line_end]
                self.at = min(line_end + 1, len(self.text))
                if strip:
                    line = line.lstrip("\t")
                if line == delimiter:
                    break
                lines.append(line + "\n")
            body = "".join(lines)
            word: Word = (Literal(body, quoted=True),)
            if not quoted:
                inner = _Parser(body)
                word = tuple(inner.quoted_parts(None))
            where[index] = Redirection(where[index].fd, "<<", word)
        self._documents.clear()

    def _reserved(self) -> str:
        """Return the reserved word that starts here, not consumed."""
        self._blanks()
        match = _PLAIN.match(self.text, self.at)
        if match is None or match[0] not in _RESERVED:
            return ""
        after = self.text[match.end() : match.end() + 1]
        return match[0] if not after or after in _META else ""

    def _expect(self, word: str) -> None:
        self._newlines()
        if self._reserved() != word:
            raise ShellSyntaxError(f'expecting "{word}"')
        self.at += len(word)

    # ------------------------------------------------------------------ lists

    def sequence(self, ends: frozenset[str]) -> Node:
        """Parse commands until one of the reserved words or a closing parenthesis."""
        items: list[tuple[Node, bool]] = []
        while True:
            self._newlines()
            if self.at >= len(self.text) or self.text[self.at] == ")":
                break
            if self.text.startswith(";;", self.at) or self._reserved() in ends:
                break
            node = self._and_or()
            self._blanks()
            background = False
            if self.text.startswith("&", self.at):
                background = True
                self.at += 1
            elif self.text.startswith(";", self.at) and not self.text.startswith(";;", self.at):
                self.at += 1
            elif self.at < len(self.text) and self.text[self.at] not in "\n);":
                raise ShellSyntaxError(f'"{self.text[self.at]}" unexpected')
            items.append((node, background))
        if len(items) == 1 and not items[0][1]:
            return items[0][0]
        return Sequence(tuple(items)) if items else EMPTY

    def _body(self, *ends: str) -> Node:
        node = self.sequence(frozenset(ends))
        if node is EMPTY:
            raise ShellSyntaxError(f'"{self._reserved() or "end of file"}" unexpected')
        return node

    def _and_or(self) -> Node:
        first = self._pipeline()
        rest: list[tuple[str, Node]] = []
        while True:
            self._blanks()
            op = self.text[self.at : self.at + 2]
            if op not in {"&&", "||"}:
                return AndOr(first, tuple(rest)) if rest else first
            self.at += 2
            self._newlines()
            rest.append((op, self._pipeline()))

    def _pipeline(self) -> Node:
        negated = False
        while self._reserved() == "!":
            self.at += 1
            negated = not negated
        commands = [self._command()]
        while True:
            self._blanks()
            if not self.text.startswith("|", self.at) or self.text.startswith("||", self.at):
                break
            self.at += 1
            self._newlines()
            commands.append(self._command())
        if len(commands) == 1 and not negated:
            return commands[0]
        return Pipeline(tuple(commands), negated)

    # ------------------------------------------------------------------ commands

    def _command(self) -> Node:
        reserved = self._reserved()
        if self.text.startswith("(", self.at):
            self.at += 1
            body = self.sequence(frozenset())
            self._close()
            return Group(body, subshell=True, redirections=self._redirections())
        compound = {
            "if": self._if,
            "while": self._loop,
            "until": self._loop,
            "for": self._for,
            "case": self._case,
            "{": self._brace,
        }.get(reserved)
        if compound is not None:
            node = compound()
            redirections = self._redirections()
            return Group(node, subshell=False, redirections=redirections) if redirections else node
        if reserved:
            raise ShellSyntaxError(f'"{reserved}" unexpected')
        return self._simple()

    def _close(self) -> None:
        self._newlines()
        if not self.text.startswith(")", self.at):
            raise ShellSyntaxError('expecting ")"')
        self.at += 1

    def _brace(self) -> Node:
        self.at += 1
        body = self._body("}")
        self._expect("}")
        return Group(body, subshell=False, redirections=[])

    def _if(self) -> Node:
        branches = []
        otherwise: Node | None = None
        self.at += 2
        while True:
            condition = self._body("then")
            self._expect("then")
            branches.append((condition, self._body("elif", "else", "fi")))
            word = self._reserved()
            if word != "elif":
                break
            self.at += 4
        if self._reserved() == "else":
            self.at += 4
            otherwise = self._body("fi")
        self._expect("fi")
        return If(tuple(branches), otherwise)

    def _loop(self) -> Node:
        word = self._reserved()
        self.at += 5
        condition = self._body("do")
        return Loop(condition, self._do(), word == "until")

    def _do(self) -> Node:
        self._expect("do")
        body = self._body("done")
        self._expect("done")
        return body

    def _for(self) -> Node:
        self.at += 3
        self._blanks()
        match = _NAME.match(self.text, self.at)
        if match is None:
            raise ShellSyntaxError("Bad for loop variable")
        self.at = match.end()
        self._newlines()
        words: list[Word] | None = None
        if self._reserved() == "in":
            self.at += 2
            words = []
            self._blanks()
            while self.at < len(self.text) and self.text[self.at] not in _META:
                words.append(self._word())
                self._blanks()
        self._blanks()
        if self.text.startswith(";", self.at):
            self.at += 1
        return For(match[0], None if words is None else tuple(words), self._do())

    def _case(self) -> Node:
        self.at += 4
        self._blanks()
        word = self._word()
        self._expect("in")
        arms = []
        while True:
            self._newlines()
            if self._reserved() == "esac":
                break
            if self.text.startswith("(", self.at):
                self.at += 1
                self._blanks()
            patterns = [self._word()]
            self._blanks()
            while self.text.startswith("|", self.at):
                self.at += 1
                self._blanks()
                patterns.append(self._word())
                self._blanks()
            self._close()
            body = self.sequence(frozenset({"esac"}))
            arms.append((tuple(patterns), body))
            self._newlines()
            if self.text.startswith(";;", self.at):
                self.at += 2
            elif self._reserved() != "esac":
                raise ShellSyntaxError('expecting ";;"')
        self._expect("esac")
        return Case(word, tuple(arms))

    def _redirections(self) -> list[Redirection]:
        found: list[Redirection] = []
        while True:
            self._blanks()
            if not self._redirection(found):
                return found

    def _redirection(self, found: list[Redirection]) -> bool:
        match = _REDIRECTION.match(self.text, self.at)
        if match is None:
            return False
        op = match[2]
        self.at = match.end()
        self._blanks()
        fd = int(match[1]) if match[1] else (0 if op.startswith("<") else 1)
        start = self.at
        target = self._word()
        if op.startswith("<<"):
            raw = self.text[start : self.at]
            delimiter = re.sub(r"['\"\\]", "", raw)
            self._documents.append((delimiter, raw != delimiter, op == "<<-", found, len(found)))
            op = "<<"
        found.append(Redirection(fd, ">" if op == ">|" else op, target))
        return True

    def _simple(self) -> Node:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirections: list[Redirection] = []
        while True:
            self._blanks()
            if self._redirection(redirections):
                continue
            if self.at >= len(self.text) or self.text[self.at] in _META:
                break
            match = None if words else _ASSIGNMENT.match(self.text, self.at)
            if match is not None:
                self.at = match.end()
                assignments.append((match[1], self._word(empty=True)))
                continue
            if len(words) == 0 and (name := self._function_name()):
                self._newlines()
                return Function(name, self._command())
            words.append(self._word())
        if not (assignments or words or redirections):
            char = self.text[self.at : self.at + 1] or "end of file"
            raise ShellSyntaxError(f'"{char}" unexpected')
        # The list itself: a here-document is filled in at the next line end.
        return Simple(tuple(assignments), tuple(words), redirections)

    def _function_name(self) -> str:
        match = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)[ \t]*\([ \t]*\)").match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[1]

    # ------------------------------------------------------------------ words

    def _word(self, *, empty: bool = False) -> Word:
        parts: list[Part] = []
        text, end = self.text, len(self.text)
        start = self.at
        while self.at < end and text[self.at] not in _META:
            self._piece(parts)
        if self.at == start and not empty:
            char = text[self.at : self.at + 1] or "end of file"
            raise ShellSyntaxError(f'"{char}" unexpected')
        return tuple(parts)

    def _piece(self, parts: list[Part]) -> None:
        text = self.text
        char = text[self.at]
        if char == "'":
            close = text.find("'", self.at + 1)
            if close < 0:
                raise ShellSyntaxError("Unterminated quoted string")
            parts.append(Literal(text[self.at + 1 : close], quoted=True))
            self.at = close + 1
        elif char == '"':
            self.at += 1
            parts.extend(self.quoted_parts('"') or [Literal("", quoted=True)])
            self.at += 1
        elif char == "\\":
            if not text.startswith("\\\n", self.at):
                parts.append(Literal(text[self.at + 1 : self.at + 2] or "\\", quoted=True))
            self.at += 2
        elif char in "$`":
            self._dollar(parts, quoted=False)
        else:
            match = _PLAIN.match(text, self.at)
            taken = char if match is None else match[0]
            parts.append(Literal(taken, quoted=False))
            self.at += len(taken)

    def quoted_parts(self, end: str | None) -> list[Part]:
        """Parse what stands in double quotes up to `end` (None: the whole text)."""
        parts: list[Part] = []
        text = self.text
        while True:
            if self.at >= len(text):
                if end is None:
                    return parts
                raise ShellSyntaxError("Unterminated quoted string")
            char = text[self.at]
            if char == end:
                return parts
            if char == "\\":
                following = text[self.at + 1 : self.at + 2]
                if following == "\n":
                    pass
                elif following and following in '$`"\\' and not (end is None and following == '"'):
                    parts.append(Literal(following, quoted=True))
                else:
                    parts.append(Literal("\\" + following, quoted=True))
                self.at += 2
            elif char in "$`":
                self._dollar(parts, quoted=True)
            else:
                match = _PLAIN_QUOTED.match(text, self.at)
                taken = char if match is None else match[0]
                parts.append(Literal(taken, quoted=True))
                self.at += len(taken)

    def _dollar(self, parts: list[Part], *, quoted: bool) -> None:
        text = self.text
        if text[self.at] == "`":
            close = self.at + 1
            while text[close : close + 1] not in {"`", ""}:
                close += 2 if text[close] == "\\" else 1
            inner = re.sub(r"\\([`$\\])", r"\1", text[self.at + 1 : close])
            self.at = close + 1
            parts.append(Substitution(parse(inner), quoted))
            return
        if text.startswith("$((", self.at) and self._arithmetic(parts, quoted=quoted):
            return
        if text.startswith("$(", self.at):
            self.at += 2
            body = self.sequence(frozenset())
            self._close()
            parts.append(Substitution(body, quoted))
            return
        if text.startswith("${", self.at):
            self._braced(parts, quoted=quoted)
            return
        match = _PARAMETER.match(text, self.at + 1)
        if match is None:
            parts.append(Literal("$", quoted))
            self.at += 1
            return
        self.at = match.end()
        parts.append(Parameter(match[0], "", None, quoted))

    def _arithmetic(self, parts: list[Part], *, quoted: bool) -> bool:
        depth, close = 0, self.at + 3
        while close < len(self.text):
            char = self.text[close]
            if char == "(":
                depth += 1
            elif char == ")":
                if depth == 0:
                    break
                depth -= 1
            close += 1
        if not self.text.startswith("))", close):
            return False
        inner = _Parser(self.text[self.at + 3 : close])
        parts.append(Arithmetic(tuple(inner.quoted_parts(None)), quoted))
        self.at = close + 2
        return True

    def _braced(self, parts: list[Part], *, quoted: bool) -> None:
        text = self.text
        self.at += 2
        length = _LENGTH.match(text, self.at)
        if length is not None:
            self.at = length.end()
            parts.append(Parameter(length[1], "length", None, quoted))
            return
        match = _BRACED.match(text, self.at)
        if match is None:
            raise ShellSyntaxError("Bad substitution")
        self.at = match.end()
        op = re.compile(r":[-=?+]|%%|##|[-=?+%#]|").match(text, self.at)
        operator = op[0] if op else ""
        self.at += len(operator)
        word: list[Part] = []
        pattern = operator[:1] in {"%", "#"}
        while True:
            if self.at >= len(text):
                raise ShellSyntaxError("Missing '}'")
            char = text[self.at]
            if char == "}":
                break
            if not operator:
                raise ShellSyntaxError("Bad substitution")
            if quoted and not pattern:
                self._piece_in_quotes(word)
            elif char in _META:
                word.append(Literal(char, quoted=False))
                self.at += 1
            elif (
                plain := re.compile(r"[^ \t\n;&|<>()'\"\\$`}]+").match(text, self.at)
            ) is not None:
                word.append(Literal(plain[0], quoted=False))
                self.at = plain.end()
            else:
                self._piece(word)
        self.at += 1
        parts.append(Parameter(match[0], operator, tuple(word) if operator else None, quoted))

    def _piece_in_quotes(self, word: list[Part]) -> None:
        text = self.text
        char = text[self.at]
        if char == '"':
            self.at += 1
            word.extend(self.quoted_parts('"'))
            self.at += 1
        elif char == "\\":
            following = text[self.at + 1 : self.at + 2]
            kept = following if following and following in '$`"\\}' else "\\" + following
            word.append(Literal(kept, quoted=True))
            self.at += 2
        elif char in "$`":
            self._dollar(word, quoted=True)
        else:
            word.append(Literal(char, quoted=True))
            self.at += 1

"""`$((...))`: integer expressions with C's operators."""

import operator
import re
from collections.abc import Callable, MutableMapping

_TOKEN = re.compile(
    r"\s*(0[xX][0-9a-fA-F]+|\d+|[A-Za-z_]\w*"
    r"|<<=|>>=|&&|\|\||<=|>=|==|!=|<<|>>|[-+*/%&|^]=|[-+*/%<>!~&|^?:=()])"
)
_RANKS = {
    op: rank
    for rank, ops in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %")
    )
    for op in ops.split()
}


class BadArithmeticError(Exception):
    """The expression cannot be computed."""


def evaluate(text: str, variables: MutableMapping[str, str]) -> int:
    """Compute an expression; names are looked up in `variables` and may be assigned.

    Raises:
        BadArithmeticError: bad expression or division by zero.
    """
    tokens: list[str] = []
    at = 0
    text = text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise BadArithmeticError(f'arithmetic expression: expecting primary: "{text}"')
        tokens.append(match[1])
        at = match.end()
    if not tokens:
        return 0
    machine = _Evaluator(tokens, variables, text)
    value = machine.assignment()
    if machine.at < len(tokens):
        raise BadArithmeticError(f'arithmetic expression: expecting EOF: "{text}"')
    return _wrap(value)


def _wrap(value: int) -> int:
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def _number(text: str) -> int:
    try:
        if re.fullmatch(r"[-+]?0\d+", text):
            return int(text, 8)
        return int(text, 0) if text else 0
    except ValueError:
        raise BadArithmeticError(f"Illegal number: {text}") from None


class _Evaluator:
    def __init__(self, tokens: list[str], variables: MutableMapping[str, str], text: str) -> None:
        self.tokens = tokens
        self.variables = variables
        self.text = text
        self.at = 0

    def _peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def assignment(self) -> int:
        name = self._peek()
        follows = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else ""
        if (
            name.isidentifier()
            and follows.endswith("=")
            and follows not in {"==", "!=", "<=", ">="}
        ):
            self.at += 2
            value = self.assignment()
            if follows != "=":
                value = _apply(follows[:-1], _number(self.variables.get(name, "")), value)
            self.variables[name] = str(value)
            return value
        return self._conditional()

    def _conditional(self) -> int:
        value = self._binary(0)
        if self._peek() != "?":
            return value
        self.at += 1
        first = self.assignment()
        if self._peek() != ":":
            raise BadArithmeticError(f'arithmetic expression: expecting ":": "{self.text}"')
        self.at += 1
        second = self._conditional()
        return first if value else second

    def _binary(self, lowest: int) -> int:
        value = self._unary()
        while (rank := _RANKS.get(op := self._peek(), -1)) >= lowest:
            self.at += 1
            value = _apply(op, value, self._binary(rank + 1))
        return value

    def _unary(self) -> int:
        word = self._peek()
        self.at += 1
        if word in _SIGNS:
            return _SIGNS[word](self._unary())
        if word == "(":
            value = self.assignment()
            if self._peek() != ")":
                raise BadArithmeticError(f'arithmetic expression: expecting ")": "{self.text}"')
            self.at += 1
            return value
        if word[:1].isdigit():
            return _number(word)
        if word.isidentifier():
            return _number(self.variables.get(word, "").strip())
        raise BadArithmeticError(f'arithmetic expression: expecting primary: "{self.text}"')


def _apply(op: str, left: int, right: int) -> int:
    if op in {"/", "%"}:
        if right == 0:
            raise BadArithmeticError("division by zero")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return _wrap(quotient if op == "/" else left - quotient * right)
    return _wrap(_OPERATIONS[op](left, right))


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<<": lambda left, right: left << (right & 63),
    ">>": lambda left, right: left >> (right & 63),
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&&": lambda left, right: int(bool(left) and bool(right)),
    "||": lambda left, right: int(bool(left) or bool(right)),
}
_SIGNS: dict[str, Callable[[int], int]] = {
    "-": operator.neg,
    "+": operator.pos,
    "!": lambda value: int(not value),
    "~": operator.invert,
}

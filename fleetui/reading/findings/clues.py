"""The evidence on one instance, indexed once, and the making of findings from it."""

import re
from collections.abc import Iterable, Sequence

from fleetui.domain.finding import Evidence, Finding, Severity
from fleetui.domain.stream import Fact
from fleetui.domain.text import SafeText, sanitise
from fleetui.reading.case import Case, StreamTail
from fleetui.reading.findings.matching import facts_of
from fleetui.reading.findings.signature import signature
from fleetui.reading.findings.vocabulary import CATEGORIES, HEALED_BY_PROOFS

DAEMON = "cuzk-daemon"
EVIDENCE_LIMIT = 8
_QUOTE_LIMIT = 150
_LINE_HEAD = re.compile(
    r"""^(?:
        \[?\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|[+-]\d{4})?\]?\s*
      | \d\d/\d\d\ [\d:]{8}\s*
      | \[\s*\d+\.\d+\]\s*
      | \[\w{3}\ \w{3}\ +\d+\ [\d:]{8}\ \d{4}\]\s*
      | (?:TRACE|DEBUG|INFO|WARN|ERROR)\s+
    )+""",
    re.VERBOSE,
)


class Clues:
    """A case with its facts by rule and by category.

    A rule's category is the part of its id before the first dot (faults.toml) or the category
    that the fact carries itself (rules of a user's profile).
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self._by_rule: dict[str, list[Fact]] = {}
        self._by_category: dict[str, list[Fact]] = {}
        for fact in (*case.facts, *_from_probe(case)):
            self._by_rule.setdefault(fact.rule, []).append(fact)
            category = category_of(fact)
            if category is not None:
                self._by_category.setdefault(category, []).append(fact)

    @property
    def categories(self) -> Iterable[str]:
        """The categories that some matched line names."""
        return self._by_category.keys()

    def facts(self, category: str) -> list[Fact]:
        """Return the facts whose line alone would name `category`, in the order read."""
        return self._by_category.get(category, [])

    def rule(self, *names: str) -> list[Fact]:
        """Return the facts of these rules, in the order read within each rule."""
        return [fact for name in names for fact in self._by_rule.get(name, ())]

    def last(self, *names: str) -> Fact | None:
        """Return the latest fact of these rules."""
        found = self.rule(*names)
        return max(found, key=_moment) if found else None

    def count(self, category: str) -> int:
        """Return how many lines named `category`, thinned ones included."""
        facts = self.facts(category)
        # One line may obey several rules, so the rules' counts must not be added up.
        seen = len({(fact.source, fact.generation, fact.line) for fact in facts})
        return max([seen, *(self.case.counts.get(fact.rule, 0) for fact in facts)])

    def followed(self, fact: Fact, *names: str) -> Fact | None:
        """Return the first fact of these rules that certainly came after `fact`."""
        later = [other for other in self.rule(*names) if is_after(other, fact)]
        return min(later, key=_moment) if later else None

    def served_after(self, fact: Fact) -> Fact | None:
        """Return the `ready` line of a daemon that was started after `fact` and kept its port."""
        started = [one for one in self.rule("mark.daemon_starting") if is_after(one, fact)]
        if not started:
            return None
        ready = self.followed(max(started, key=_moment), "mark.daemon_ready")
        if ready is None or self.followed(ready, "daemon_port_in_use.text") is not None:
            return None
        return ready

    def severity_after_recovery(self, category: str, facts: Sequence[Fact]) -> Severity | None:
        """Return the lowered severity when good proofs came after the last of `facts`.

        `None` leaves the vocabulary's severity.
        """
        if category not in HEALED_BY_PROOFS or not facts:
            return None
        last = max(facts, key=_moment)
        if self.followed(last, "mark.proof_passed", "mark.throughput", "mark.curio_proved") is None:
            return None
        return max(
            CATEGORIES[category].severity, Severity.WARNING, key=lambda severity: severity.rank
        )

    def tail(self, *kinds: str) -> StreamTail | None:
        """Return the last line of the stream of these kinds that grew latest."""
        tails = [tail for tail in self.case.tails if tail.kind in kinds and tail.last_text]
        return max(tails, key=lambda tail: (tail.grown_at or 0.0, tail.source)) if tails else None

    def process(self, *words: str) -> bool | None:
        """Tell whether a process with one of these words runs; `None` when not probed."""
        if self.case.probe is None or self.case.probe.processes is None:
            return None
        return any(word in process.args for process in self.case.probe.processes for word in words)


def _from_probe(case: Case) -> tuple[Fact, ...]:
    """Return what the kernel's ring buffer and the tools' complaints name."""
    probe = case.probe
    if probe is None:
        return ()
    facts: tuple[Fact, ...] = ()
    if probe.kernel_lines and not any(fact.kind == "dmesg" for fact in case.facts):
        facts = facts_of("dmesg", "kernel", probe.kernel_lines)
    complaint = probe.errors.get("nvidia-smi")
    if complaint is not None:
        facts += facts_of("nvidia_smi", "probe:nvidia-smi", (complaint,))
    return facts


def category_of(fact: Fact) -> str | None:
    """Return the category that a fact's line alone would name."""
    head = fact.rule.split(".", 1)[0]
    if head in CATEGORIES:
        return head
    return fact.category if fact.category in CATEGORIES else None


def is_after(later: Fact, earlier: Fact) -> bool:
    """Whether `later` certainly came after `earlier`: by place in one file, else by time."""
    if later.source == earlier.source:
        return (later.generation, later.offset, later.line) > (
            earlier.generation,
            earlier.offset,
            earlier.line,
        )
    return later.at is not None and earlier.at is not None and later.at > earlier.at


def _moment(fact: Fact) -> tuple[float, int, int]:
    return (fact.at or 0.0, fact.generation, fact.line)


def proof_of(fact: Fact) -> Evidence:
    """Turn a matched line into evidence."""
    return Evidence(
        source=fact.source,
        text=fact.text,
        line=fact.line,
        generation=fact.generation,
        offset=fact.offset,
        at=fact.at,
    )


def tail_proof(tail: StreamTail) -> Evidence:
    """Turn the last line of a stream into evidence."""
    return Evidence(
        source=tail.source,
        text=tail.last_text,
        line=tail.last_line,
        generation=tail.generation,
        offset=tail.last_offset,
        at=tail.grown_at,
    )


def remark(source: str, text: str, at: float | None = None) -> Evidence:
    """Make evidence of something that is not a log line, such as a probe's value."""
    return Evidence(source=source, text=sanitise(text, 500), at=at)


def quote(text: str) -> str:
    """Return the telling part of a line: no time stamp, no level, not too long."""
    body = _LINE_HEAD.sub("", text).strip() or text.strip()
    return body if len(body) <= _QUOTE_LIMIT else body[: _QUOTE_LIMIT - 1] + "…"


def make(
    category: str,
    *,
    summary: str | None = None,
    advice: str | None = None,
    severity: Severity | None = None,
    confidence: float = 0.9,
    facts: Sequence[Fact] = (),
    evidence: Sequence[Evidence] = (),
    count: int | None = None,
    action: str | None = None,
    over: bool = False,
) -> Finding:
    """Make a finding of `category`; what is not given comes from the vocabulary.

    `facts` come first as evidence: their first few and the last. Without a summary the
    vocabulary's sentence and the first fact's line are put together. What is `over` needs no
    action.
    """
    word = CATEGORIES[category]
    proofs = distinct((*(proof_of(fact) for fact in first_and_last(facts)), *evidence))
    if summary is None:
        shown = f": {quote(proofs[0].text)}" if proofs else "."
        summary = word.summary + shown
    times = [fact.at for fact in facts if fact.at is not None]
    return Finding(
        category=category,
        severity=severity or word.severity,
        confidence=confidence,
        summary=sanitise(summary, 600),
        advice=sanitise(advice or word.advice, 600),
        evidence=proofs[:EVIDENCE_LIMIT],
        first_seen=min(times, default=None),
        last_seen=max(times, default=None),
        count=max(count if count is not None else len(facts), 1),
        signature=signature(category, proofs[0].text if proofs else SafeText()),
        action=action or (None if over else word.action),
        over=over,
    )


def distinct(proofs: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """Return the evidence in its order, each line of a file once."""
    unique: dict[tuple[str, int | None, int | str], Evidence] = {}
    for one in proofs:
        place = one.text if one.line is None else one.line
        unique.setdefault((one.source, one.generation, place), one)
    return tuple(unique.values())


def first_and_last(facts: Sequence[Fact], limit: int = 4) -> list[Fact]:
    """Return the first facts and the very last one, without two of the same line."""
    unique: list[Fact] = []
    seen: set[tuple[str, int, int]] = set()
    for fact in facts:
        key = (fact.source, fact.generation, fact.line)
        if key not in seen:
            seen.add(key)
            unique.append(fact)
    return unique if len(unique) <= limit else [*unique[: limit - 1], unique[-1]]

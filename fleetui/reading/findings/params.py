"""Parameters, proof input and disk: what has to be there before a proof."""

import re
from collections.abc import Iterator

from fleetui.domain.finding import Finding, Severity
from fleetui.domain.stream import Fact
from fleetui.reading.findings.clues import Clues, is_after, make, proof_of, quote, remark

_EMPTY_DIGEST = "786a02f742015903c6c6fd852552d272"
_LOCAL = re.compile(r"127\.0\.0\.1|localhost|port (?:1235|98\d\d)\b")
_HTTP = re.compile(r"returned error: (\d{3})")
_CURL = {
    "5": "the proxy's name does not resolve",
    "6": "its name does not resolve",
    "7": "the server refuses the connection",
    "18": "the transfer was cut",
    "22": "the server answers with an error",
    "28": "it timed out",
    "35": "TLS failed",
    "56": "the connection was cut",
}
_WHOLE_INPUT_BYTES = 40_000_000
_STALLED_SECONDS = 3
_CUT_CODES = frozenset({"1", "2"})
"""aria2's codes for a connection that ended or timed out."""
_FLOWED = re.compile(r"#\w+ [1-9][\d.]*[KMG]iB/")
_MOMENTS = (".zero", ".trickle")
"""Rules for one second of a download."""
_LAST_LINES = 8
_LEAST_DISK_KIB = 256 * 1024


def look(clues: Clues) -> Iterator[Finding]:
    """Find what is missing, wrong or unreachable."""
    yield from _checksums(clues)
    yield from _gateway(clues)
    yield from _stall(clues)
    yield from _incomplete(clues)
    yield from _input(clues)
    yield from _corrupt(clues)
    yield from _disk(clues)


def _checked_ok(clues: Clues, fact: Fact) -> bool:
    """Whether the file of `fact` was found good afterwards."""
    path = fact.fields.get("path")
    return any(
        is_after(good, fact) and (path is None or good.fields.get("path") == path)
        for good in clues.rule("mark.any_file_ok")
    )


def _checksums(clues: Clues) -> Iterator[Finding]:
    facts = [
        fact for fact in clues.facts("params_checksum_mismatch") if not _checked_ok(clues, fact)
    ]
    if not facts:
        return
    digests: dict[str, set[str]] = {}
    for fact in facts:
        if "got" in fact.fields:
            digests.setdefault(fact.fields["got"], set()).add(fact.fields.get("path", ""))
    repeated = max(digests.values(), key=len, default=set())
    if _EMPTY_DIGEST in digests or len(repeated) > 1:
        kind = "empty" if _EMPTY_DIGEST in digests else "the same wrong body"
        yield make(
            "params_gateway_error",
            facts=facts,
            confidence=0.9,
            summary=f"The parameter source delivers no parameters: {max(len(repeated), 1)} "
            f"file(s) came as {kind}",
        )
        return
    final = [fact for fact in facts if not fact.rule.endswith(".warn")]
    refetched = not final and clues.followed(facts[-1], "mark.params_refetch") is not None
    files = {fact.fields["path"] for fact in facts if "path" in fact.fields}
    name = next(iter(sorted(files)), "").rsplit("/", 1)[-1]
    yield make(
        "params_checksum_mismatch",
        facts=[*(fact for fact in facts if fact.rule.endswith(".warn")), *final],
        count=max(len(files), 1),
        confidence=0.4 if refetched else 0.9 if final else 0.7,
        severity=Severity.INFO if refetched else None,
        summary=f"A parameter file has the wrong checksum{': ' + name if name else ''}"
        + (f" and {len(files) - 1} more" if len(files) > 1 else "")
        + (" (one warning on a file that is being resumed is normal)" if refetched else ""),
    )


def _gateway(clues: Clues) -> Iterator[Finding]:
    facts = list(clues.facts("params_gateway_error"))
    if clues.rule("mark.c1_missing"):
        sources = {fact.source for fact in clues.rule("mark.c1_missing")}
        facts = [
            fact
            for fact in facts
            if not (fact.rule.endswith((".curl", ".wget")) and fact.source in sources)
        ]
    facts = [
        fact
        for fact in facts
        if not _LOCAL.search(fact.text)
        and not _before_the_fetch(clues, fact)
        and not _flowed_and_stopped(clues, fact)
    ]
    if clues.facts("params_checksum_mismatch"):
        facts = [fact for fact in facts if not fact.rule.endswith(".given_up")]
    open_ones = [fact for fact in facts if not _settled(clues, fact)]
    if open_ones:
        yield make(
            "params_gateway_error",
            facts=open_ones,
            count=clues.count("params_gateway_error"),
            confidence=0.85,
        )
    elif facts:
        yield make(
            "params_gateway_error",
            facts=facts,
            severity=Severity.INFO,
            confidence=0.5,
            summary=f"The parameter source failed {len(facts)} time(s), but a retry worked: "
            f"{quote(facts[0].text)}",
        )


def _before_the_fetch(clues: Clues, fact: Fact) -> bool:
    """Whether another program than the fetcher failed: the entrypoint registers before it."""
    if not fact.rule.endswith((".curl", ".wget")):
        return False
    return clues.followed(fact, "mark.registered", "mark.fetch_argument") is not None


def _flowed_and_stopped(clues: Clues, fact: Fact) -> bool:
    """Whether a source that had delivered was cut off and stands still now, which is a stall."""
    if fact.fields.get("code") not in _CUT_CODES:
        return False
    after = [zero for zero in clues.rule("params_fetch_stall.zero") if is_after(zero, fact)]
    flowed = [zero for zero in after if _FLOWED.search(zero.text)]
    return len(flowed) >= _STALLED_SECONDS and _is_near_the_end(clues, flowed[-1])


def _flows_since(clues: Clues, fact: Fact) -> bool:
    """Whether bytes of a file come in again by the last word of the downloader."""
    last = clues.last("setup.aria_progress")
    return (
        last is not None
        and is_after(last, fact)
        and _FLOWED.search(last.text) is not None
        and last.fields.get("speed", "0B") != "0B"
        and _is_near_the_end(clues, last)
    )


def _settled(clues: Clues, fact: Fact) -> bool:
    """Whether parameters were found good after this trouble with fetching them.

    A downloader that complains and then has the file has tried once more by itself.
    """
    good = ["mark.params_file_ok", "mark.c1_loaded"]
    if fact.rule.endswith((".aria", ".exit")):
        good.append("mark.download_complete")
        if _flows_since(clues, fact):
            return True
    return clues.followed(fact, *good) is not None


def _stall(clues: Clues) -> Iterator[Finding]:
    facts = [
        fact
        for fact in clues.facts("params_fetch_stall")
        if not _settled(clues, fact) and clues.followed(fact, "mark.any_file_ok") is None
    ]
    zeros = [fact for fact in facts if fact.rule.endswith(_MOMENTS)]
    others = [fact for fact in facts if not fact.rule.endswith(_MOMENTS)]
    # Every download has such seconds; it stands still when they are its last ones.
    few = clues.case.live and len(zeros) < _STALLED_SECONDS
    if few or not (zeros and _is_near_the_end(clues, zeros[-1])):
        zeros = []
    locks = [fact for fact in others if fact.rule.endswith(".lock")]
    if not zeros and not others:
        return
    summary = None
    if locks and len(locks) == len(others) and not zeros:
        summary = "The parameter fetch waits for another fetcher's lock"
    elif zeros:
        summary = f"The parameter download stands still: {quote(zeros[-1].text)}"
    yield make(
        "params_fetch_stall",
        facts=[*others, *zeros],
        count=clues.count("params_fetch_stall"),
        confidence=0.8,
        summary=summary,
        advice="Only one fetcher may run: end the other one, remove its lock file, and run the "
        "fetch again."
        if locks and not zeros
        else None,
    )


def _is_near_the_end(clues: Clues, fact: Fact) -> bool:
    tails = [tail for tail in clues.case.tails if tail.source == fact.source]
    return all(tail.last_line - fact.line <= _LAST_LINES for tail in tails)


def _incomplete(clues: Clues) -> Iterator[Finding]:
    said = clues.facts("params_incomplete")
    complete = clues.last("mark.params_complete")
    present = clues.rule("mark.params_file_ok")
    listed = clues.case.probe.files if clues.case.probe is not None else None
    on_disk = any(state.path.endswith(".params") and state.size > 1 << 30 for state in listed or ())
    if complete is None or present or on_disk or clues.rule("mark.params_trusted"):
        return
    if not _saw_begin(clues, complete):
        return
    bare = next(
        (
            fact
            for fact in clues.rule("mark.fetch_argument")
            if (fact.fields.get("argument") or fact.fields.get("size") or "x").isdecimal()
        ),
        None,
    )
    small = clues.rule("mark.any_file_ok")
    missing = clues.facts("srs_missing")
    why = " because its argument has no unit" if bare is not None else ""
    yield make(
        "params_incomplete",
        facts=[complete],
        evidence=[
            *(proof_of(fact) for fact in (bare, *missing[:1], *small[-1:]) if fact is not None),
            *(proof_of(fact) for fact in said[:2]),
        ],
        confidence=0.9 if missing or bare is not None else 0.8,
        summary=f"The parameter fetch says it is complete, but no .params file was fetched{why}; "
        f"{len(small)} small file(s) were",
    )


def _saw_begin(clues: Clues, complete: Fact) -> bool:
    """Whether the fetch was read from its begin: first seen in its middle it proves nothing."""
    begun = clues.rule("mark.fetch_argument", "setup.label")
    if any(fact.source == complete.source and is_after(complete, fact) for fact in begun):
        return True
    return not any(tail.source == complete.source and tail.read_from for tail in clues.case.tails)


def _input(clues: Clues) -> Iterator[Finding]:
    facts = [fact for fact in clues.facts("input_download_failed") if not _LOCAL.search(fact.text)]
    if clues.rule("mark.c1_missing"):
        sources = {fact.source for fact in clues.rule("mark.c1_missing")}
        facts += [
            fact
            for fact in clues.facts("params_gateway_error")
            if fact.rule.endswith((".curl", ".wget")) and fact.source in sources
        ]
    if not facts:
        return
    last = facts[-1]
    healed = clues.followed(last, "mark.c1_loaded") is not None
    wanted = clues.last("mark.c1_wanted")
    code = last.fields.get("code", "")
    http = _HTTP.search(last.text)
    why = f"HTTP {http[1]}" if http is not None else _CURL.get(code, quote(last.text))
    if code and http is None:
        why += f" (curl {code})"
    url = wanted.fields.get("url", "") if wanted is not None else ""
    text = f"The proof input could not be fetched: {why}{' from ' + url if url else ''}"
    yield make(
        "input_download_failed",
        facts=facts[-1:] if len(facts) == 1 else [facts[-1], facts[0]],
        evidence=[proof_of(wanted)] if wanted is not None else [],
        count=len(facts),
        severity=Severity.INFO if healed else None,
        confidence=0.5 if healed else 0.95,
        summary=f"{text}, but a later try worked" if healed else text,
    )


def _corrupt(clues: Clues) -> Iterator[Finding]:
    facts = clues.facts("input_corrupt")
    if not facts:
        return
    evidence = []
    size = ""
    probe = clues.case.probe
    for state in (probe.files if probe is not None else None) or ():
        if state.path.endswith("c1.json") and state.size < _WHOLE_INPUT_BYTES:
            size = f"; c1.json has only {state.size} bytes of about 51 MB"
            evidence.append(remark("probe:files", f"{state.path} {state.size} bytes"))
    yield make(
        "input_corrupt",
        facts=facts,
        evidence=evidence,
        count=clues.count("input_corrupt"),
        summary=f"The proof input cannot be read: {quote(facts[0].text)}{size}",
    )


def _disk(clues: Clues) -> Iterator[Finding]:
    probe = clues.case.probe
    if probe is None or probe.disk_available_kib is None:
        return
    if probe.disk_available_kib < _LEAST_DISK_KIB:
        free = probe.disk_available_kib / 1024
        yield make(
            "disk_full",
            evidence=[remark("probe:df", f"{free:.0f} MiB available", probe.at)],
            confidence=0.8,
            summary=f"The disk is full: {free:.0f} MiB left",
        )

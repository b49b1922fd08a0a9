"""A console on a fleet whose every outside text is hostile; run inside a terminal."""

import asyncio
import os
import time

import msgspec

from fleetui.console.terminal import prepare_terminal
from fleetui.domain.intent import Event
from fleetui.domain.text import sanitise
from memory_store import MemoryStore
from sample_fleet import build

HOSTILE = (
    "\x1b]0;owned\x07", "\x1b]52;c;b3duZWQ=\x07", "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[H", "\x1b[?1049l", "\x9b31m\x9d0;x\x9c", "\x1bPq#0\x1b\\", "\x1b_Gx\x1b\\",
    "\u202egnp.exe\u2066", "[@click=app.quit]boo[/]", "[/]", "[bold red]x", "a\x00b\x08c\x7f",
    "\r\n\x0b\x0c", "\u200b\ufeff\ue000", "e\u0301\u0301\u0301" * 20, "漢字" * 30, "x" * 9000,
    "\udc80lone",
)  # fmt: skip
RAW_LINES = (
    *(text.encode("utf-8", "surrogatepass") for text in HOSTILE),
    b"\xff\xfe\x80invalid", b"\x1b[31mERROR\x1b[0m \x1b]52;c;aGk=\x07 failed", b"\x1b[",
    b'{"msg":"\\u001b]52;c;aGk=\\u0007","level":"\\u001b[2J"}', b"A" * 1_000_000,
    b"\x90\x98\x9e\x9f", b"\x1b#8", b"\x05\x0e\x0f",
)  # fmt: skip


def hostile_store(hosts: int = 30) -> MemoryStore:
    """Return a fleet in which the doors did their work, and some texts came past them."""
    store = build(hosts)
    now = time.time()
    for place, instance_id in enumerate(sorted(store.rows)):
        text = HOSTILE[place % len(HOSTILE)]
        row = store.rows[instance_id][1]
        safe = sanitise(text)
        store.put(
            msgspec.structs.replace(
                row, label=safe, gpu=safe, geolocation=safe, progress_text=safe, api_status=safe,
                finding_summary=safe, finding_category=text if row.finding_category else None,
            )
        )  # fmt: skip
        store.instances[instance_id] = msgspec.structs.replace(
            store.instances[instance_id], label=safe, status_msg=safe
        )
        reading = store.readings_by_id[instance_id]
        findings = tuple(
            msgspec.structs.replace(
                item, summary=safe, advice=safe, category=text, signature=text,
                evidence=tuple(msgspec.structs.replace(e, source=text, text=safe)
                               for e in item.evidence),
            )
            for item in reading.findings
        )  # fmt: skip
        store.readings_by_id[instance_id] = msgspec.structs.replace(reading, findings=findings)
        # A file's name is the host's as well.
        for line in RAW_LINES:
            store.write(instance_id, f"/tmp/{text[:40]}.log", line + b"\n", at=now, kind="daemon")
        store.event_list.append(Event(at=now, kind=text[:20], text=safe, instance_id=instance_id))
    return store


async def main() -> None:
    from fleetui.console.app import FleetApp  # noqa: PLC0415 - after the terminal is prepared
    from fleetui.domain.clock import SystemClock  # noqa: PLC0415 - the same

    app = FleetApp(
        hostile_store(), clock=SystemClock(), actor=HOSTILE[0] + "ana", account=HOSTILE[1] + "x"
    )
    await app.run_async()


if __name__ == "__main__":
    prepare_terminal(os.environ)
    asyncio.run(main())

"""Verbs about machines, offers and money."""

from typing import Annotated, Literal

from cyclopts import Parameter

from fleetui import config, verbs
from fleetui.cli.options import ApiUrl, AsJson, StateDir, app

MOST_DAYS = 3650


@app.command
def offers(
    query: Annotated[
        str | None,
        Parameter(
            help="In the official client's query language, e.g. 'gpu_name=RTX_4090 dph<0.6'."
        ),
    ] = None,
    *,
    sort: Annotated[
        Literal["proof", "price", "rate", "download"],
        Parameter(help="Expected $/proof, $/h, expected proofs/h, or time of the download."),
    ] = "proof",
    show_all: Annotated[
        bool, Parameter(name="--all", negative="", help="Also those of blacklisted machines.")
    ] = False,
    no_default: Annotated[
        bool,
        Parameter(negative="", help="Without verified=true external=false rentable=true."),
    ] = False,
    limit: Annotated[int, Parameter(help="How many at most.")] = 100,
    template: Annotated[str | None, Parameter(help="Whose disk the prices shall include.")] = None,
    state_dir: StateDir = None,
    api_url: ApiUrl = None,
    as_json: AsJson = False,
) -> int:
    """Search the market and rank the offers by what a proof is expected to cost."""
    from fleetui import offer_verbs

    work = offer_verbs.print_offers(
        config.load({"state_dir": state_dir, "api_url": api_url}),
        query,
        order=sort,
        defaults=not no_default,
        blacklisted=show_all,
        limit=max(limit, 0),
        template=template,
        as_json=as_json,
    )
    return verbs.run(work)


@app.command
def deploy(
    offer: Annotated[tuple[int, ...], Parameter(help="Ids of the offers.")],
    *,
    template: Annotated[
        str | None, Parameter(help="Template of the settings; not needed where there is one.")
    ] = None,
    reason: Annotated[str, Parameter(help="Why, for the audit.")] = "asked for on a command line",
    dry_run: Annotated[
        bool, Parameter(negative="", help="Only print the exact requests, secrets masked.")
    ] = False,
    yes: Annotated[bool, Parameter(negative="", help="Do not ask.")] = False,
    wait: Annotated[float, Parameter(help="Seconds to wait until they run.")] = 1900.0,
    state_dir: StateDir = None,
    api_url: ApiUrl = None,
    as_json: AsJson = False,
) -> int:
    """Rent offers; exit status 0 when all run, 1 when not."""
    from fleetui import offer_verbs

    work = offer_verbs.deploy_offers(
        config.load({"state_dir": state_dir, "api_url": api_url}),
        offer,
        template=template,
        reason=reason,
        dry_run=dry_run,
        ask_first=not yes,
        wait=wait,
        as_json=as_json,
    )
    return verbs.run(work)


@app.command
def money(
    *,
    state_dir: StateDir = None,
    days: Annotated[int, Parameter(help="How many days (UTC), the present one included.")] = 30,
    csv: Annotated[
        Literal["instances", "days", "stages"] | None,
        Parameter(help="Print this table as CSV instead."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Print what the fleet burns, what it cost by stage, day and instance, and per proof."""
    from fleetui.money_verbs import print_money

    if not 1 <= days <= MOST_DAYS:
        verbs.refuse(f"--days must lie between 1 and {MOST_DAYS}")
    settings = config.load({"state_dir": state_dir})
    return verbs.run(print_money(settings, days, table=csv, as_json=as_json))


@app.command
def hosts(
    *words: Annotated[str, Parameter(help="Machine id, GPU, place, finding; all must occur.")],
    state_dir: StateDir = None,
    sort: Annotated[
        Literal["machine", "rate", "running", "price", "proof", "download", "findings", "seen"],
        Parameter(help="What comes first."),
    ] = "proof",
    as_json: AsJson = False,
) -> int:
    """Print what is remembered of the machines that were rented; status 1 when none fits."""
    from fleetui.money_verbs import print_hosts

    settings = config.load({"state_dir": state_dir})
    return verbs.run(print_hosts(settings, words, sort, as_json=as_json))

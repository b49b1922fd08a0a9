"""Offers of the market, by what a proof is expected to cost; rented from here."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence

from textual.app import ComposeResult
from textual.events import Key
from textual.widgets import Input

from fleetui.console.inspection import Line
from fleetui.console.modals.menu import Choice, Menu
from fleetui.console.modals.typed_dialog import Answer, TypedDialog
from fleetui.console.offer_lines import doubt_lines, heading, offer_line
from fleetui.console.screens.lists import ListScreen
from fleetui.console.widgets.line_bar import LineBar
from fleetui.console.widgets.lines_view import LinesView
from fleetui.console.widgets.prompt import PromptLine
from fleetui.domain.expected_cost import History, Order, RankedOffer, in_order
from fleetui.domain.intent import Verb
from fleetui.domain.market import Found, Market, MarketError
from fleetui.domain.offer_query import DEFAULT_QUERY, OfferQueryError, parse_offer_query
from fleetui.domain.rental import RentalPlan, Template
from fleetui.domain.text import sanitise
from fleetui.reports import deploy
from fleetui.reports.figures import number

ORDER_WORDS = {
    Order.PROOF: "what a proof is expected to cost",
    Order.PRICE: "price an hour",
    Order.RATE: "expected proofs an hour",
    Order.DOWNLOAD: "time of the download",
}
STORE_SECONDS = 5.0
MOST_IN_DIALOG = 4
DISK_GB = 250.0
"""The disk that prices include where no template says another."""


class OffersScreen(ListScreen):
    """The market, searched when this opens and on `r`; `n` rents the marked or selected offers."""

    scopes = ("offers",)

    def __init__(self) -> None:
        super().__init__()
        self._query = DEFAULT_QUERY
        self._ranked: list[RankedOffer] = []
        self._doubts: tuple[str, ...] = ()
        self._state = "searching…"
        self._order = Order.PROOF
        self._blacklisted = False
        self._template = ""
        self._marked: set[int] = set()
        self._place = 0
        self._head = 0

    def compose(self) -> ComposeResult:
        """Lay out the bars, the lines and the query."""
        yield LineBar(id="header")
        yield LinesView(id="lines")
        yield PromptLine(
            placeholder=DEFAULT_QUERY, hints=(("enter", "search"), ("escape", "leave")), id="query"
        )
        yield LineBar(id="footer")

    def on_mount(self) -> None:
        """Search at once."""
        super().on_mount()
        self.call_after_refresh(self.look_again)

    @property
    def _market(self) -> Market | None:
        return self.console_app.market

    @property
    def _rented_by(self) -> tuple[str, Template] | None:
        """The template that rents, whose disk the prices include."""
        templates = self._market.templates if self._market is not None else {}
        if not templates:
            return None
        name = self._template if self._template in templates else min(templates)
        return name, templates[name]

    def look_again(self) -> None:
        """Search anew."""
        market = self._market
        if market is None:
            self._state = "this console has no market to search"
            self._draw()
            return
        try:
            parsed = parse_offer_query(self._query)
        except OfferQueryError as error:
            self._state = f"the query: {error}"
            self._draw()
            return
        self._doubts = parsed.doubts
        self._state = "searching…"
        self._draw()
        self.console_app.work(self._search(market, parsed.conditions), "search offers", "offers")

    async def _search(self, market: Market, conditions: Mapping[str, object]) -> None:
        try:
            by = self._rented_by
            found = await market.search(conditions, DISK_GB if by is None else by[1].disk_gb)
            async with asyncio.timeout(STORE_SECONDS):
                history = History(await self.console_app.store.machine_records())
        except MarketError as error:
            self._state = str(error)
        except Exception as error:  # noqa: BLE001 - whatever the store's trouble is, it is said
            self._state = f"our own history cannot be read: {error}"
        else:
            self._ranked = [history.rank(offer) for offer in found.offers]
            gone = self._marked - {offer.offer_id for offer in found.offers}
            self._marked -= gone
            self._state = _search_words(found, len(gone))
        if self.is_laid_out:
            self._draw()

    @property
    def _shown(self) -> list[RankedOffer]:
        ranked = in_order(self._ranked, self._order)
        return [item for item in ranked if self._blacklisted or item.blacklist is None]

    def _draw(self) -> None:
        shown = self._shown
        view = self.query_one(LinesView)
        hidden = len(self._ranked) - len(shown)
        more = f", {hidden} of blacklisted machines hidden" if hidden else ""
        marks = f", {len(self._marked)} marked" if self._marked else ""
        lines: list[Line] = [
            [
                ("offers", "title bold"),
                (f"   {len(shown)} by {ORDER_WORDS[self._order]}{more}{marks}", "dim"),
            ],
            [(self._query, "key")],
            *_template_lines(self._rented_by),
            *doubt_lines(self._doubts),
        ]
        if self._state:
            lines.append([(self._state, "warn")])
        lines.append([(heading(view.inner_width), "title")])
        self._head = len(lines)
        lines += [offer_line(item, view.inner_width, self._marked) for item in shown]
        self._place = min(self._place, max(len(shown) - 1, 0))
        self.put(lines)
        view.set_cursor(self._head + self._place if shown else None)

    def on_lines_view_step(self, event: LinesView.Step) -> None:
        """Move among the offers."""
        self._place = min(max(self._place + event.step, 0), max(len(self._shown) - 1, 0))
        self._draw()

    def action_mark(self) -> None:
        """Mark or unmark the offer, and go down."""
        shown = self._shown
        if shown:
            self._marked ^= {shown[self._place].offer.offer_id}
            self._place = min(self._place + 1, len(shown) - 1)
            self._draw()

    def action_blacklisted(self) -> None:
        """Show or hide offers of blacklisted machines."""
        self._blacklisted = not self._blacklisted
        self._draw()

    def action_sort_menu(self) -> None:
        """Choose what comes first."""
        choices = [Choice(order.value, words) for order, words in ORDER_WORDS.items()]
        menu = Menu("sort offers by", choices, self.console_app.glyphs, current=self._order.value)
        self.app.push_screen(menu, self._sort_by)

    def _sort_by(self, name: str | None) -> None:
        if name is not None:
            self._order = Order(name)
            self._place = 0
            self._draw()

    def action_query(self) -> None:
        """Type another query."""
        line = self.query_one(PromptLine)
        line.value = self._query
        line.open()
        self.draw_bars()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search with what was typed."""
        event.stop()
        self._query = event.value.strip() or DEFAULT_QUERY
        self._close_query()
        self._ranked, self._place = [], 0
        self.look_again()

    def on_key(self, event: Key) -> None:
        """Escape leaves the query as it was."""
        if event.key == "escape" and self.query_one(PromptLine).is_open:
            event.stop()
            event.prevent_default()
            self._close_query()

    def _close_query(self) -> None:
        self.query_one(PromptLine).close(self.query_one(LinesView))
        self.draw_bars()

    def action_hosts(self) -> None:
        """Go to the machines."""
        from fleetui.console.screens.hosts import HostsScreen  # noqa: PLC0415 - the two know each other

        self.app.switch_screen(HostsScreen())

    def action_rent(self) -> None:
        """Rent the marked offers, else the selected one, by one of the owner's templates."""
        app, market = self.console_app, self._market
        if not app.role.covers(Verb.DEPLOY.needs):
            why = "read-only" if app.read_only else f"role {app.role}"
            app.say(f"{why}: nothing is rented from here")
            return
        chosen = self._chosen()
        if market is None or not chosen:
            return
        names = sorted(market.templates)
        by = self._rented_by
        if by is None:
            app.say("no template says what to rent: see [deploy.templates] in the configuration")
        elif len(names) == 1:
            self._ask(market, chosen, by[0])
        else:
            choices = [
                Choice(name, name, f"{template.disk_gb:.0f} GB, {template.image}")
                for name, template in sorted(market.templates.items())
            ]

            def taken(name: str | None) -> None:
                if name is not None:
                    self._rent_by(market, chosen, name)

            menu = Menu("rent by which template", choices, app.glyphs, current=by[0])
            self.app.push_screen(menu, taken)

    def _chosen(self) -> list[RankedOffer]:
        """Return the marked offers, else the selected one; a mark never stands for another row."""
        shown, app = self._shown, self.console_app
        if not self._marked:
            if not shown:
                app.say("there is no offer to rent")
            return shown[self._place : self._place + 1]
        chosen = [item for item in shown if item.offer.offer_id in self._marked]
        hidden = len(self._marked) - len(chosen)
        if hidden:
            app.say(
                f"{hidden} of the marked offers are not shown (blacklisted, or another search):"
                " show or unmark them; nothing was done",
                severity="error",
            )
            return []
        return chosen

    def _rent_by(self, market: Market, chosen: Sequence[RankedOffer], name: str) -> None:
        by = self._rented_by
        if by is not None and by[1].disk_gb == market.templates[name].disk_gb:
            self._template = name
            self._draw()
            self._ask(market, chosen, name)
            return
        self._template = name
        self.look_again()
        self.console_app.say(f"searched again with the disk of {name}: look, then rent")

    def _ask(self, market: Market, chosen: Sequence[RankedOffer], name: str) -> None:
        app, template = self.console_app, market.templates[name]
        intent_ids = {item.offer.offer_id: uuid.uuid4().hex for item in chosen}
        ranked = {item.offer.offer_id: item for item in chosen}
        plans = deploy.plan(
            list(ranked),
            ranked,
            intent_ids,
            lambda price, intent_id: market.body(template, price, intent_id),
        )
        if refused := [plan for plan in plans if plan.refusal]:
            app.say(f"offer {refused[0].offer_id}: {refused[0].refusal}", severity="error")
            return
        dialog = TypedDialog(
            app.glyphs,
            title="Rent?" if len(plans) == 1 else f"Rent {len(plans)} machines?",
            word="Rent",
            target=_target_words(plans),
            account=str(app.account),
            loss=_price_words(plans, name),
            command=deploy.requests_text(plans),
            wanted=deploy.word_to_type(plans),
            wants=_wants(plans),
            wrong="their number" if len(plans) > 1 else "how its id ends",
        )

        def answered(answer: Answer) -> None:
            if answer == "confirmed":
                work = self._write(chosen, intent_ids, name, template)
                app.work(work, "ask to rent", "rent")
            else:
                app.say("deploy cancelled: nothing was done")

        self.app.push_screen(dialog, answered)

    async def _write(
        self,
        chosen: Sequence[RankedOffer],
        intent_ids: dict[int, str],
        name: str,
        template: Template,
    ) -> None:
        app = self.console_app
        try:
            async with asyncio.timeout(STORE_SECONDS):
                asked = await deploy.ask(
                    app.store,
                    chosen,
                    intent_ids,
                    (name, template),
                    clock=app.state.clock,
                    actor=str(app.actor),
                    role=app.role,
                    reason="asked for in the console",
                )
        except Exception as error:  # noqa: BLE001 - whatever it was, the operator must learn of it
            app.say(f"not all was asked for: {error}", severity="error")
            return
        app.acts.watch(asked)
        self._marked.clear()
        self._draw()
        app.say(f"deploy of {len(asked)}: asked the collector; 6 tells how it ends")


def _search_words(found: Found, unmarked: int) -> str:
    """Say what a search lacks."""
    said = []
    if found.cut:
        said.append("the market gives no more at once: there may be dearer ones, narrow the query")
    if found.unreadable:
        said.append(f"{found.unreadable} offers cannot be read")
    if unmarked:
        said.append(f"{unmarked} marked are not among these any more")
    return "; ".join(said)


def _template_lines(by: tuple[str, Template] | None) -> list[Line]:
    if by is None:
        return [[(f"no template; prices include {DISK_GB:.0f} GB of disk", "dim")]]
    return [[(f"prices include the {by[1].disk_gb:.0f} GB of the template {by[0]}", "dim")]]


def _target_words(plans: Sequence[RentalPlan]) -> str:
    named = [f"{plan.offer_id} ({plan.gpu})" for plan in plans[:MOST_IN_DIALOG]]
    more = len(plans) - len(named)
    return ", ".join(named) + (f" and {more} more, all below" if more else "")


def _price_words(plans: Sequence[RentalPlan], name: str) -> str:
    total = number(sum(plan.price or 0.0 for plan in plans), 3)
    known = [p.expected_dollars_per_proof for p in plans if p.expected_dollars_per_proof]
    proof = "a proof: not known"
    if known:
        proof = f"${number(min(known), 5)} to ${number(max(known), 5)} a proof"
    return sanitise(f"costs ${total} an hour; {proof}; by the template {name}")


def _wants(plans: Sequence[RentalPlan]) -> str:
    word = deploy.word_to_type(plans)
    return (
        f"the number of machines ({word})"
        if len(plans) > 1
        else f"the last {len(word)} digits of the offer"
    )

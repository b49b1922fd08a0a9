"""Every action of the console as data: bindings, footer, help and documentation come from here."""

import msgspec


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One thing the operator can do.

    `keys` are textual's key names, the first one is shown. `name` is the method `action_NAME`
    of the scope's screen (or the app). `footer` is its short word there (empty: not shown),
    `rank` orders the footer. A `dangerous` action is not bound at all when read-only.
    `word` is its command on the command line, by default the id's last part; `argument` names
    what may follow it (see `console.commands`). `command_only`: it needs no key.
    """

    id: str
    keys: tuple[str, ...]
    name: str
    title: str
    scope: str
    footer: str = ""
    rank: int = 50
    dangerous: bool = False
    word: str = ""
    argument: str = ""
    with_argument: str = ""
    """The method that takes the argument."""
    command_only: bool = False

    @property
    def command(self) -> str:
        """Its word on the command line."""
        return self.word or self.id.partition(".")[2].replace("_", "-")


KEY_WORDS = {
    "question_mark": "?",
    "slash": "/",
    "comma": ",",
    "full_stop": ".",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "shift+left": "shift+←",
    "shift+right": "shift+→",
    "escape": "esc",
    "colon": ":",
    "ampersand": "&",
    "at": "@",
    "backslash": "\\",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "apostrophe": "'",
    "ctrl+p": "^p",
    "ctrl+s": "^s",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "ctrl+d": "^d",
    "ctrl+u": "^u",
    "ctrl+c": "^c",
    "ctrl+l": "^l",
    "ctrl+q": "^q",
    "shift+tab": "shift+tab",
}
_ASCII_WORDS = {"↓": "down", "↑": "up", "←": "left", "→": "right"}

SCOPES = {
    "app": "Everywhere",
    "fleet": "Fleet table",
    "log": "Log",
    "logs": "Logs screen",
    "lists": "Failures, activity, details",
}

ACTIONS: tuple[Action, ...] = (
    Action(id="app.help", keys=("question_mark", "f1"), name="help", title="show these keys",
           scope="app", footer="help", rank=90),
    Action(id="app.fleet", keys=("1",), name="show_fleet", title="the fleet", scope="app"),
    Action(id="app.pulse", keys=("2",), name="show_pulse",
           title="charts of proofs and cost per hour", scope="app", footer="pulse", rank=70),
    Action(id="app.logs", keys=("3",), name="show_logs",
           title="logs: of the selected instance, or of the marked ones by time", scope="app"),
    Action(id="app.failures", keys=("4",), name="show_failures",
           title="failures, grouped by their signature", scope="app", footer="failures", rank=60),
    Action(id="app.activity", keys=("6",), name="show_activity",
           title="activity: intents, audit, events", scope="app"),
    Action(id="app.command", keys=("colon", "ctrl+p"), name="command",
           title="command line: any action by its word, completed with tab", scope="app",
           footer="command", rank=85),
    Action(id="app.undo", keys=("u",), name="undo", title="take back a pending destroy",
           scope="app"),
    Action(id="app.theme", keys=("T",), name="theme_menu", title="choose the colours",
           scope="app", argument="theme", with_argument="choose_theme"),
    Action(id="app.utc", keys=("U",), name="utc", title="times local or UTC", scope="app"),
    Action(id="app.freeze", keys=("p",), name="freeze",
           title="freeze the screen, on and off; the collector goes on", scope="app"),
    Action(id="app.refresh", keys=("r",), name="refresh", title="read the store now",
           scope="app"),
    Action(id="app.save", keys=("ctrl+s", "f8"), name="save",
           title="save what is shown to a file and say where", scope="app"),
    Action(id="app.mouse", keys=("f2",), name="mouse",
           title="the mouse for the console, or for the terminal to select with", scope="app"),
    Action(id="app.redraw", keys=("ctrl+l",), name="redraw", title="draw the screen anew",
           scope="app"),
    Action(id="app.quit", keys=("q", "ctrl+q"), name="leave",
           title="back one level; at the top, quit", scope="app", footer="quit", rank=95),
    Action(id="app.no_act", keys=("ctrl+c",), name="no_act",
           title="never acts: only says how to quit", scope="app"),
    Action(id="fleet.down", keys=("j", "down"), name="cursor(1)", title="next row", scope="fleet"),
    Action(id="fleet.up", keys=("k", "up"), name="cursor(-1)", title="previous row",
           scope="fleet"),
    Action(id="fleet.top", keys=("g", "home"), name="cursor_top", title="first row",
           scope="fleet"),
    Action(id="fleet.bottom", keys=("G", "end"), name="cursor_bottom", title="last row",
           scope="fleet"),
    Action(id="fleet.page_down", keys=("pagedown", "ctrl+d"), name="cursor_page(1)",
           title="a page down", scope="fleet"),
    Action(id="fleet.page_up", keys=("pageup", "ctrl+u"), name="cursor_page(-1)",
           title="a page up", scope="fleet"),
    Action(id="fleet.open", keys=("enter",), name="open", title="details of the instance",
           scope="fleet", footer="details", rank=10),
    Action(id="fleet.filter", keys=("slash",), name="filter",
           title="filter: words, stage=warmup gpu~4090 rate<min age>5m !label~test",
           scope="fleet", footer="filter", rank=30, argument="filter",
           with_argument="show_only"),
    Action(id="fleet.go", keys=(), name="go('')", title="go to an instance by id or label",
           scope="fleet", argument="instance", with_argument="go", command_only=True),
    Action(id="fleet.failures_only", keys=("z",), name="failures_only",
           title="only rows with trouble, on and off", scope="fleet", footer="trouble only",
           rank=35),
    Action(id="fleet.mark", keys=("space",), name="mark", title="mark or unmark, and go down",
           scope="fleet", footer="mark", rank=45),
    Action(id="fleet.range", keys=("v",), name="mark_range",
           title="mark from the last mark to here", scope="fleet"),
    Action(id="fleet.mark_all", keys=("A",), name="mark_all",
           title="mark all that the filter shows", scope="fleet"),
    Action(id="fleet.invert_marks", keys=("M",), name="invert_marks",
           title="turn the marks round", scope="fleet"),
    Action(id="fleet.clear_marks", keys=("backslash",), name="clear_marks",
           title="clear all marks", scope="fleet"),
    Action(id="fleet.sort_menu", keys=("o",), name="sort_menu",
           title="sort by a column, chosen by its letter", scope="fleet", word="sort",
           argument="column", with_argument="sort_by"),
    Action(id="fleet.group", keys=("b",), name="group_menu",
           title="group by stage, GPU, machine, region or finding", scope="fleet",
           argument="group", with_argument="group_by"),
    Action(id="fleet.columns", keys=("O",), name="columns",
           title="choose the columns and their order", scope="fleet"),
    Action(id="fleet.wide", keys=("w",), name="wide",
           title="whole columns, scrolled sideways, on and off", scope="fleet"),
    Action(id="fleet.left", keys=("left",), name="sideways(-1)",
           title="wide: a column to the left", scope="fleet"),
    Action(id="fleet.right", keys=("right",), name="sideways(1)",
           title="wide: a column to the right", scope="fleet"),
    Action(id="fleet.follow", keys=("F",), name="follow",
           title="keep the selected row in sight wherever the order takes it", scope="fleet"),
    Action(id="fleet.sort_right", keys=("full_stop",), name="sort(1)",
           title="sort by the next column", scope="fleet", footer="sort", rank=58),
    Action(id="fleet.sort_left", keys=("comma",), name="sort(-1)",
           title="sort by the column before", scope="fleet"),
    Action(id="fleet.invert", keys=("I",), name="invert", title="turn the order round",
           scope="fleet"),
    Action(id="fleet.inspector", keys=("i",), name="toggle_inspector",
           title="details pane on and off", scope="fleet"),
    Action(id="fleet.log", keys=("l",), name="toggle_log", title="log pane on and off",
           scope="fleet", footer="log", rank=20),
    Action(id="fleet.log_full", keys=("L",), name="log_full",
           title="log on the whole screen", scope="fleet"),
    Action(id="fleet.pane", keys=("tab",), name="next_pane", title="into the log or details pane",
           scope="fleet"),
    Action(id="fleet.back", keys=("escape",), name="back",
           title="close the log, then clear the filter, then the marks", scope="fleet"),
    Action(id="fleet.shell", keys=("s",), name="shell",
           title="SSH shell on the instance, its bound host key checked", scope="fleet",
           footer="shell", rank=40),
    Action(id="fleet.copy", keys=("c",), name="copy", title="copy the instance's id",
           scope="fleet"),
    Action(id="fleet.copy_ssh", keys=("C",), name="copy_ssh",
           title="copy its ssh command, host key check included", scope="fleet"),
    Action(id="fleet.restart", keys=("R",), name="act('restart_daemon')",
           title="restart the proving daemon (of all marked instances, when some are)…",
           scope="fleet", footer="restart", rank=50,
           dangerous=True),
    Action(id="fleet.destroy", keys=("D", "f9"), name="act('destroy')",
           title="destroy it… (type the last 4 digits of its id, or the number of marks)",
           scope="fleet", footer="destroy", rank=55, dangerous=True),
    Action(id="fleet.accept_key", keys=("K",), name="accept_key",
           title="accept the changed host key… (type the last 4 digits of its id)", scope="fleet",
           dangerous=True),
    Action(id="fleet.acts", keys=("X",), name="acts",
           title="more that can be done to the instance or the marked ones…", scope="fleet",
           dangerous=True),
    *(
        Action(id=f"fleet.{verb}", keys=(), name=f"act('{verb}')", title=title, scope="fleet",
               dangerous=True, command_only=True)
        for verb, title in (
            ("stop", "stop the instance: its disk stays and costs…"),
            ("start", "start a stopped instance…"),
            ("reboot", "reboot the container…"),
            ("recycle", "make the container anew, losing its data…"),
        )
    ),
    Action(id="log.down", keys=("j", "down"), name="line(1)", title="a line down", scope="log"),
    Action(id="log.up", keys=("k", "up"), name="line(-1)", title="a line up", scope="log"),
    Action(id="log.page_down", keys=("pagedown", "ctrl+d", "space"), name="page(1)",
           title="a page down", scope="log"),
    Action(id="log.page_up", keys=("pageup", "ctrl+u"), name="page(-1)", title="a page up",
           scope="log"),
    Action(id="log.top", keys=("g", "home"), name="top", title="the oldest stored line",
           scope="log"),
    Action(id="log.bottom", keys=("G", "end"), name="bottom",
           title="the newest line, and follow", scope="log"),
    Action(id="log.follow", keys=("F",), name="follow", title="follow new lines, on and off",
           scope="log", footer="follow", rank=20),
    Action(id="log.left", keys=("left",), name="shift(-8)", title="scroll left", scope="log"),
    Action(id="log.right", keys=("right",), name="shift(8)", title="scroll right", scope="log"),
    Action(id="log.half_left", keys=("shift+left",), name="shift_half(-1)",
           title="half a screen left", scope="log"),
    Action(id="log.half_right", keys=("shift+right",), name="shift_half(1)",
           title="half a screen right", scope="log"),
    Action(id="log.next_stream", keys=("tab",), name="stream(1)", title="next log file",
           scope="log", footer="next file", rank=15),
    Action(id="log.previous_stream", keys=("shift+tab",), name="stream(-1)",
           title="previous log file", scope="log"),
    Action(id="log.search", keys=("slash",), name="search",
           title="search: words or an expression, through all that is stored", scope="log",
           footer="search", rank=30, argument="text", with_argument="look_for"),
    Action(id="log.next", keys=("n",), name="next_match(1)", title="next match", scope="log"),
    Action(id="log.previous", keys=("N",), name="next_match(-1)", title="previous match",
           scope="log"),
    Action(id="log.matches_only", keys=("x",), name="matches_only",
           title="only the matches, or all lines round them", scope="log"),
    Action(id="log.filter", keys=("ampersand",), name="filter",
           title="show only the lines with a text", scope="log", word="only",
           argument="text", with_argument="show_only"),
    Action(id="log.next_error", keys=("e",), name="error(1)", title="next error", scope="log",
           footer="error", rank=25),
    Action(id="log.previous_error", keys=("E",), name="error(-1)", title="previous error",
           scope="log"),
    Action(id="log.next_warning", keys=("W",), name="warning(1)", title="next warning",
           scope="log"),
    Action(id="log.time", keys=("at",), name="time_prompt", title="go to a time", scope="log",
           argument="time", with_argument="to_time"),
    Action(id="log.next_minute", keys=("right_curly_bracket",), name="minute(1)",
           title="next minute", scope="log"),
    Action(id="log.previous_minute", keys=("left_curly_bracket",), name="minute(-1)",
           title="previous minute", scope="log"),
    Action(id="log.previous_life", keys=("P",), name="previous_life",
           title="the end of the file's previous life: the run that crashed", scope="log"),
    Action(id="log.wrap", keys=("w",), name="wrap", title="wrap long lines, on and off",
           scope="log", footer="wrap", rank=45),
    Action(id="log.gutter", keys=("t",), name="gutter", title="times: off, short, full",
           scope="log", footer="times", rank=46, word="times"),
    Action(id="log.tags", keys=("b",), name="tags",
           title="names of merged files: off, short, full", scope="log"),
    Action(id="log.raw", keys=("J",), name="raw",
           title="lines as they are, or JSON and fields made readable", scope="log"),
    Action(id="log.bookmark", keys=("m",), name="bookmark", title="drop a mark on the line",
           scope="log", word="bookmark"),
    Action(id="log.next_bookmark", keys=("apostrophe",), name="next_bookmark",
           title="go to the next mark", scope="log"),
    Action(id="log.copy", keys=("c",), name="copy",
           title="copy the marked line, else the last one", scope="log", word="copy-line"),
    Action(id="log.copy_screen", keys=("C",), name="copy_screen",
           title="copy the visible lines", scope="log"),
    Action(id="log.full", keys=("f",), name="full", title="log on the whole screen, on and off",
           scope="log", footer="full", rank=35),
    Action(id="log.close", keys=("l", "escape"), name="close", title="back to the table",
           scope="log", footer="close", rank=40),
    Action(id="logs.one", keys=("i",), name="mode('one')", title="one file of one instance",
           scope="logs", word="one"),
    Action(id="logs.merged", keys=("M",), name="mode('merged')",
           title="all files of the instance, or of the marked ones, by time", scope="logs",
           word="merged", footer="merge", rank=47),
    Action(id="logs.errors", keys=("A",), name="mode('errors')",
           title="the error lines of the whole fleet", scope="logs", word="errors",
           footer="fleet's errors", rank=48),
    Action(id="logs.next_instance", keys=("right_square_bracket",), name="next_instance(1)",
           title="the log of the next instance", scope="logs"),
    Action(id="logs.previous_instance", keys=("left_square_bracket",), name="next_instance(-1)",
           title="the log of the instance before", scope="logs"),
    Action(id="lists.down", keys=("j", "down"), name="scroll(1)", title="down", scope="lists"),
    Action(id="lists.up", keys=("k", "up"), name="scroll(-1)", title="up", scope="lists"),
    Action(id="lists.page_down", keys=("pagedown", "ctrl+d"), name="scroll_page(1)",
           title="a page down", scope="lists"),
    Action(id="lists.page_up", keys=("pageup", "ctrl+u"), name="scroll_page(-1)",
           title="a page up", scope="lists"),
    Action(id="lists.top", keys=("g", "home"), name="scroll_top", title="to the top",
           scope="lists"),
    Action(id="lists.bottom", keys=("G", "end"), name="scroll_bottom", title="to the end",
           scope="lists"),
    Action(id="lists.open", keys=("enter",), name="choose",
           title="show the chosen group's instances in the fleet", scope="lists"),
    Action(id="lists.back", keys=("escape", "z"), name="leave", title="back", scope="lists"),
)  # fmt: skip


def key_word(key: str, *, ascii_only: bool = False) -> str:
    """Return a key as it is printed."""
    word = KEY_WORDS.get(key, key.upper() if key.startswith("f") and key[1:].isdigit() else key)
    if ascii_only:
        for sign, name in _ASCII_WORDS.items():
            word = word.replace(sign, name)
    return word


def keymap_markdown() -> str:
    """Return the keymap as Markdown tables, for the README."""
    lines: list[str] = []
    for scope, title in SCOPES.items():
        lines += [f"**{title}**", "", "| key | what it does | id |", "|---|---|---|"]
        for action in (action for action in ACTIONS if action.scope == scope and action.keys):
            keys = " ".join(f"`{key_word(key)}`" for key in action.keys)
            mark = " ⚠" if action.dangerous else ""
            lines.append(f"| {keys}{mark} | {action.title} | `{action.id}` |")
        lines.append("")
    return "\n".join(lines)

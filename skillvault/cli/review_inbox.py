"""The terminal screens of `review`: one proposal a screen, with a key for each decision.

Each key does the same as a command; `Curator` carries out the decision.
"""

import os
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import click
import msgspec
from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from skillvault.api import Vault, question
from skillvault.cli.why import due_lines, notes_of, rule_lines
from skillvault.learning.lint import lint_lines
from skillvault.model.errors import SkillvaultError, UsageError
from skillvault.model.records import Correction, Fact, Skill
from skillvault.model.text.hidden_characters import escape_hidden
from skillvault.model.text.text import pluralize
from skillvault.review.curate import parse_edited
from skillvault.review.proposal import WaitingSkill, proposal
from skillvault.vault.files import layout

# The keys of each screen: the key, its name in the line of keys, and a sentence for `?`.
_COMMON_KEYS = (
    ("l", "later", "leave it for another time"),
    ("?", "help", "show these keys"),
    ("q", "quit", "end the review; what you decided is committed already"),
)
_SKILL_KEYS = (
    ("a", "approve", "serve it from now on; an edit is committed with it"),
    ("r", "reject", "say why; it is not proposed again"),
    ("e", "edit", "open it in your editor"),
    ("o", "open", "show all of it, and the outcomes behind it"),
    *_COMMON_KEYS,
)
_SKILLS_KEYS = (
    ("space", "select", "select it; a and r then decide about all selected ones"),
    ("/", "filter", "show only those with certain words"),
    ("*", "approve all like this", "approve those of the same source without findings"),
)
_FACT_KEYS = (
    ("k", "keep", "keep it for another period"),
    ("e", "reword it", "type the fact as it should be, and keep that"),
    ("r", "retire", "say why; it goes with its older versions"),
    *_COMMON_KEYS,
)
_RULE_KEYS = (
    ("a", "approve", "every agent gets the rule from now on"),
    ("r", "reject", "say why; it is not proposed again"),
    ("e", "reword it", "type the rule as it should be, and approve that"),
    *_COMMON_KEYS,
)
KEYS, MANY_KEYS, FACT_KEYS, RULE_KEYS = (
    "   ".join(f"{key} {name}" for key, name, _ in keys)
    for keys in (_SKILL_KEYS, _SKILLS_KEYS, _FACT_KEYS, _RULE_KEYS)
)
# The key that keeps a rule or a fact, its noun, and what happens to one that is refused.
_ITEM_WORDS = {Correction: ("a", "rule", "rejected"), Fact: ("k", "fact", "retired")}
_KEY_LINES = (Text(KEYS, style="bold"), Text(MANY_KEYS, style="bold"))
_LEAVE = ("q", "\x03", "\x04", "")  # keys
_LINES = 24  # the most lines of a text on a screen
_NAMES = 10  # the most names that a question lists
_NO_BASIS = "rests on no outcome"


def review_all(vault: Vault, now: datetime | None = None) -> None:
    """Show the proposals until the person has decided about all of them, or leaves."""
    # No markup, because a text that somebody else wrote could contain a link.
    ReviewSession(vault, Console(highlight=False, markup=False, emoji=False), now).run()


class ReviewSession:
    """A review of all proposals in a terminal.

    `texts` has the edited files of skills without a decision, by skill.
    """

    def __init__(self, vault: Vault, console: Console, now: datetime | None = None) -> None:
        self._vault = vault
        self._console = console
        self._now = now
        self._decided = 0
        self._names: list[str] = []
        self._decided_names: set[str] = set()
        self._position = 0
        self._selected: list[str] = []
        self._texts: dict[str, str] = {}
        self._note = ""

    def run(self) -> None:
        """Show the rules, then the due facts, then the proposals."""
        self._vault.shelf.ready()
        memory = self._vault.memory
        try:
            if self._review_each(memory.waiting()) and self._review_each(memory.due(self._now)):
                self._review_skills()
        finally:
            self._write_texts()
        count = len(self._waiting()) + len(memory.waiting()) + len(memory.due(self._now))
        self._console.print(f"{self._decided} decided, {count} wait")

    def _review_each(self, items: Sequence[Correction | Fact]) -> bool:
        """Show rules or facts until each is decided or left; return False if the user leaves."""
        position = 0
        while position < len(items):
            item = items[position]
            self._show(item_screen(item, position + 1, len(items)))
            key = _read_key()
            if key in _LEAVE:
                return False
            if key == "?":
                self._show_keys(_FACT_KEYS if isinstance(item, Fact) else _RULE_KEYS)
                continue
            is_decided = self._try(self._decide_item, key, item)
            self._decided += is_decided
            position += is_decided or key == "l"
        return True

    def _decide_item(self, key: str, item: Correction | Fact) -> bool:
        """Do what a key means on the screen of a rule or fact; return True if that decides."""
        memory, (keep_key, noun, verb) = self._vault.memory, _ITEM_WORDS[type(item)]
        is_fact = isinstance(item, Fact)
        keep: Callable[..., Any] = memory.keep if is_fact else memory.approve
        refuse: Callable[..., Any] = memory.retire if is_fact else memory.reject
        if key == keep_key:
            keep(item.id, now=self._now)
        elif key == "e":
            text = self._ask(f"the {noun}:")
            return bool(text and keep(item.id, text, now=self._now).done)
        elif key == "r":
            reason = self._ask(f"why is it {verb}?")
            return bool(reason and refuse(item.id, reason, now=self._now).done)
        elif key != "l":
            self._note = _explain_key(key)
        return key == keep_key

    def _review_skills(self) -> None:
        actions: dict[str, Callable[[str], None]] = {
            "a": self._approve,
            "r": self._reject,
            "e": self._edit,
            "o": self._open,
            "l": lambda _: self._show_next(),
            " ": self._select,
            "/": lambda _: self._filter(),
            "*": self._approve_alike,
            "?": lambda _: self._show_keys((*_SKILL_KEYS, *_SKILLS_KEYS)),
        }
        self._names = list(self._waiting())
        while self._position < len(self._names):
            name = self._names[self._position]
            proposals = question(self._vault).snapshot.skills.proposed.get_many(self._selected)
            self._selected = [name for name in self._selected if name in proposals]
            try:
                skill = self._find(name)
            except UsageError as error:
                self._note = str(error)
                self._decided_names.add(name)
                self._show_next()
                continue
            page = screen(skill, self._position + 1, len(self._names), self._selected)
            findings = self._vault.curate.lint(name)
            lines = [] if findings is None else lint_lines(findings)[:1]
            self._show(Group(page, *map(Text, lines), *_KEY_LINES))
            key = _read_key()
            if key in _LEAVE:
                break
            if action := actions.get(key):
                self._try(action, name)
            else:
                self._note = _explain_key(key)

    def _waiting(self) -> dict[str, Skill]:
        return dict(sorted(question(self._vault).snapshot.skills.proposed.items()))

    def _find(self, name: str) -> WaitingSkill:
        """Return a waiting skill with the person's edits; UsageError if it is gone."""
        run = question(self._vault)
        skill = run.snapshot.skills.proposed.get_many([name]).get(name)
        if skill is None:
            raise UsageError(f"{name}: no longer waits; it was decided elsewhere")
        if name in self._texts:
            skill = parse_edited(name, self._texts[name].encode())
        return proposal(run, name, skill)

    def _show(self, content: RenderableType) -> None:
        """Show a screen, with a note about the last key below it."""
        self._console.clear()
        self._console.print(content)
        if self._note:
            self._console.print(Text(escape_hidden(self._note), style="red"))
        self._note = ""

    def _show_keys(self, keys: Sequence[tuple[str, str, str]]) -> None:
        """Show a sentence about each key until a key is pressed."""
        lines = [Text(f"{key:5}  {name}: {sentence}") for key, name, sentence in keys]
        self._show(Group(*lines, Text("any key goes back", style="bold")))
        _read_key()

    def _try(self, act: Callable[..., Any], *arguments: Any) -> bool:
        """Carry out an action; an error becomes the note of the next screen."""
        try:
            return bool(act(*arguments))
        except (SkillvaultError, click.ClickException) as error:
            self._note = str(error)
            return False

    def _ask(self, text: str, empty: str = "goes back") -> str:
        """Return the line that a person types, or "" after Ctrl-C."""
        try:
            return self._console.input(f"{text} (Enter alone {empty}) ").strip()
        except KeyboardInterrupt:
            return ""

    def _confirm(self, text: str) -> bool:
        self._console.print(f"{text} (y approves, any other key goes back)")
        return _read_key() == "y"

    # ── keys ─────────────────────────────────────────────────────────────────────────

    def _show_next(self) -> None:
        """Go to the next skill without a decision."""
        self._position += 1
        while self._names[self._position : self._position + 1] and (
            self._names[self._position] in self._decided_names
        ):
            self._position += 1

    def _settle(self, names: Sequence[str]) -> None:
        """Count a decision about these skills, and go to the next one."""
        self._decided += len(names)
        self._decided_names.update(names)
        self._selected = [name for name in self._selected if name not in names]
        for name in names:
            self._texts.pop(name, None)
        if self._names[self._position] in self._decided_names:
            self._show_next()

    def _approve(self, name: str) -> None:
        names = self._selected or [name]
        if len(names) == 1 or self._confirm(f"approve {len(names)} skills?"):
            self._vault.curate.approve(*names, texts=self._texts)
            self._settle(names)

    def _reject(self, name: str) -> None:
        names = self._selected or [name]
        subject = "is it" if len(names) == 1 else f"are these {len(names)} skills"
        if reason := self._ask(f"why {subject} rejected?"):
            self._vault.curate.reject(*names, reason=reason)
            self._settle(names)

    def _approve_alike(self, name: str) -> None:
        """Approve the proposals of the same source in which the lint finds at most links."""
        clean, flagged = self._vault.curate.select_alike(name)
        flaws = f"; in {pluralize(len(flagged), 'other')} it finds something" if flagged else ""
        if not clean:
            self._note = f"the lint finds something in all {len(flagged)} from the same source"
            return
        more = f" and {len(clean) - _NAMES} more" if len(clean) > _NAMES else ""
        self._console.print(Text(escape_hidden(f"{', '.join(clean[:_NAMES])}{more}")))
        text = f"the lint finds no risk in {pluralize(len(clean), 'skill')} from the same source"
        if self._confirm(f"{text}{flaws}. Approve {len(clean)}?"):
            # While the question stood, somebody may have changed or decided some of them.
            still_clean, _ = self._vault.curate.select_alike(name)
            names = [name for name in clean if name in still_clean]
            self._vault.curate.approve(*names, texts=self._texts)
            self._settle(names)

    def _select(self, name: str) -> None:
        """Select a skill and go to the next one, or remove it from the selection."""
        if name in self._selected:
            self._selected.remove(name)
            return
        self._selected.append(name)
        if self._position + 1 < len(self._names):
            self._show_next()

    def _filter(self) -> None:
        """Show only the skills that contain all of these words; all skills without a word."""
        words = self._ask("show only skills with these words:", "shows all").casefold().split()
        proposals = self._waiting()
        texts = {
            name: f"{name} {skill.domain} {skill.description} {skill.body}".casefold()
            for name, skill in proposals.items()
        }
        names = [name for name, text in texts.items() if all(word in text for word in words)]
        if names:
            self._names, self._position = names, 0
        else:
            self._note = f"no waiting skill has: {' '.join(words)}"

    def _open(self, name: str) -> None:
        skill = self._find(name)
        with self._console.pager():
            self._console.print(Markdown(escape_hidden(skill.body), hyperlinks=False))
            self._console.print(basis_table(_escape(skill)))

    def _edit(self, name: str) -> None:
        """Let the person edit a skill; the text is committed with the approval."""
        path = self._vault.root / layout.skill_path(name, "proposed")
        if not path.is_file():
            raise UsageError(f"{path}: is gone; restore it with git, or commit that")
        old_text = self._texts.get(name) or path.read_text(encoding="utf-8")
        text = click.edit(old_text, extension=".md")
        if text is None:
            self._note = "nothing was changed"
            return
        parse_edited(name, text.encode())
        self._texts[name] = text
        self._note = "edited; a commits the edit and approves"

    def _write_texts(self) -> None:
        """Write the edits of undecided skills to their files, so that none is lost."""
        for name, text in self._texts.items():
            path = self._vault.root / layout.skill_path(name, "proposed")
            path.parent.mkdir(parents=True, exist_ok=True)  # decided about elsewhere meanwhile
            path.write_text(text, encoding="utf-8")
            self._console.print(f"{name}: your edit is in {path}; commit it, and it counts")


def _explain_key(key: str) -> str:
    return f"{key!r} does nothing here" if key.isprintable() else "this key does nothing here"


def item_screen(item: Correction | Fact, position: int, count: int) -> RenderableType:
    """Lay out a stated rule or a fact that is due on one screen."""
    if isinstance(item, Fact):
        title, lines, keys = "", due_lines(item), FACT_KEYS
    else:
        title, lines, keys = f"  rule, {item.scope}", rule_lines(item), RULE_KEYS
    head = (f"{position} of {count}  ", "dim"), (escape_hidden(item.id), "bold")
    body = [Text(escape_hidden(line)) for line in lines]
    return Group(Text.assemble(*head, escape_hidden(title)), *body, Text(keys, style="bold"))


def screen(
    skill: WaitingSkill, position: int, count: int, selected: Sequence[str] = ()
) -> RenderableType:
    """Lay out a proposal on one screen; its text cannot control the terminal."""
    mark = "  selected" if skill.name in selected else ""
    skill = _escape(skill)
    head = Text.assemble(
        (f"{position} of {count}  ", "dim"), (skill.name, "bold"), f"  {skill.kind}, ",
        skill.domain or "every domain", (mark, "bold"),
    )  # fmt: skip
    lines = skill.body.split("\n")
    body = "\n".join(lines[:_LINES])
    tail = Text(f"… {len(lines) - _LINES} more lines (o opens all)" if len(lines) > _LINES else "")
    parts: list[RenderableType] = [head, Panel(Text(body)), tail]
    if skill.diff:
        parts.append(Syntax("\n".join(skill.diff[:_LINES]), "diff", word_wrap=True))
    basis = f"rests on {skill.basis.sentence} (o lists them)" if skill.basis.rows else _NO_BASIS
    parts += [Text(line) for line in (basis, *notes_of(skill))]
    if selected:
        parts.append(Text(f"{pluralize(len(selected), 'skill')} selected: a and r decide these"))
    return Group(*(part for part in parts if not isinstance(part, Text) or part.plain))


def basis_table(skill: WaitingSkill) -> Table:
    """Return the outcomes behind a proposal as a table."""
    title = f"rests on {skill.basis.sentence}" if skill.basis.rows else _NO_BASIS
    table = Table(title=title, title_justify="left", expand=False)
    for name in ("outcome", "ended", "session", "occasion", "decision"):
        table.add_column(name, overflow="fold")
    for row in skill.basis.rows:
        session = row.session or "-"
        table.add_row(row.outcome, row.status, session, str(row.episode), row.decision)
    return table


def _escape(skill: WaitingSkill) -> WaitingSkill:
    return msgspec.convert(_escape_value(msgspec.to_builtins(skill)), WaitingSkill)


def _escape_value(value: Any) -> Any:
    if isinstance(value, str):
        return escape_hidden(value)
    if isinstance(value, dict):
        return {key: _escape_value(member) for key, member in value.items()}
    return [_escape_value(member) for member in value] if isinstance(value, list | tuple) else value


@contextmanager
def _raw_terminal() -> Iterator[int]:
    terminal = sys.stdin.fileno()
    settings = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    try:
        yield terminal
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, settings)


def _read_key() -> str:
    with _raw_terminal() as terminal:
        key = os.read(terminal, 1)
        # An arrow key or a letter with an accent is several bytes and one key.
        while key[:1] >= b"\x80" or key[:1] == b"\x1b":
            if not select.select([terminal], [], [], 0.01)[0]:
                break
            key += os.read(terminal, 1)
        return key.decode(errors="replace").lower()

"""The terminal screens of `review`: one proposal a screen, decided by a key.

Each key does the same as a command; `Curator` carries out the decision.
"""

import os
import shlex
import subprocess
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import msgspec
from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from skillvault.api import Vault, proposals
from skillvault.cli.why import due_lines, notes_of, rule_lines
from skillvault.model.errors import SkillvaultError
from skillvault.model.records import Correction, Fact
from skillvault.model.text.hidden_characters import escape_hidden
from skillvault.review.review import WaitingSkill

KEYS = "a approve   r reject   e edit   l later   o open   q quit"
FACT_KEYS = "k keep   e word it anew   r retire   l later   q quit"
RULE_KEYS = "a approve   r reject   e word it anew   l later   q quit"
_LEAVE = ("q", "\x03", "\x04", "")  # keys
_ROWS = 8  # the latest outcomes that a screen shows
_LINES = 24  # the most lines of a text on a screen


def review_all(vault: Vault, now: datetime | None = None) -> None:
    """Show each proposal until the person has decided about all, or leaves."""
    # No markup, because a text that somebody else wrote could contain a link.
    ReviewSession(vault, Console(highlight=False, markup=False, emoji=False), now).run()


class ReviewSession:
    """One review of all proposals in a terminal."""

    def __init__(self, vault: Vault, console: Console, now: datetime | None = None) -> None:
        self._vault = vault
        self._console = console
        self._now = now
        self._decided = 0

    def run(self) -> None:
        """Show the rules, the due facts and the proposals, one after the other."""
        goes_on = self._review_rules() and self._review_facts()
        waiting = proposals(self._vault) if goes_on else []
        position = 0
        while position < len(waiting):
            skill = waiting[position]
            self._console.clear()
            self._console.print(screen(skill, position + 1, len(waiting)))
            key = _read_key()
            if key in _LEAVE:
                break
            if key == "l":
                position += 1
            elif self._act(key, skill):
                self._decided += 1
                position += 1
            elif key == "e":
                waiting = proposals(self._vault)
        memory = self._vault.memory
        count = len(proposals(self._vault)) + len(memory.waiting()) + len(memory.due(self._now))
        self._console.print(f"{self._decided} decided, {count} wait")

    def _review_rules(self) -> bool:
        """Show the rules that the user stated; return False if they leave."""
        rules = self._vault.memory.waiting()
        for position, rule in enumerate(rules, 1):
            self._console.clear()
            self._console.print(rule_screen(rule, position, len(rules)))
            key = _read_key()
            if key in _LEAVE:
                return False
            if key == "a":
                self._vault.memory.approve(rule.id)
            elif key == "e" and (text := self._console.input("the rule: ").strip()):
                self._vault.memory.approve(rule.id, text)
            elif key == "r" and (reason := self._console.input("why is it rejected? ").strip()):
                self._vault.memory.reject(rule.id, reason)
            else:
                continue
            self._decided += 1
        return True

    def _review_facts(self) -> bool:
        """Show the facts that are due; return False if they leave."""
        facts, memory = self._vault.memory.due(self._now), self._vault.memory
        for position, fact in enumerate(facts, 1):
            self._console.clear()
            self._console.print(fact_screen(fact, position, len(facts)))
            key = _read_key()
            if key in _LEAVE:
                return False
            if key == "k":
                memory.keep(fact.id, now=self._now)
            elif key == "e" and (text := self._console.input("the fact: ").strip()):
                memory.keep(fact.id, text, now=self._now)
            elif key == "r" and (reason := self._console.input("why is it retired? ").strip()):
                memory.retire(fact.id, reason, now=self._now)
            else:
                continue
            self._decided += 1
        return True

    def _act(self, key: str, skill: WaitingSkill) -> bool:
        """Carry out a key; return True if the key decided about the proposal."""
        try:
            if key == "a":
                self._vault.curate.approve(skill.name)
                return True
            if key == "r":
                reason = self._console.input("why is it rejected? ").strip()
                if reason:
                    self._vault.curate.reject(skill.name, reason)
                return bool(reason)
        except SkillvaultError as error:
            self._console.print(Text(escape_hidden(str(error)), style="red"))
            _read_key()
        if key == "o":
            with self._console.pager():
                self._console.print(Markdown(escape_hidden(skill.body), hyperlinks=False))
        if key == "e":
            editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
            subprocess.run([*editor, str(self._vault.root / skill.path)], check=False)
            self._console.print("commit what you changed, and it counts (any key goes on)")
            _read_key()
        return False


def rule_screen(rule: Correction, position: int, count: int) -> RenderableType:
    """Lay out a stated rule on one screen."""
    head = Text.assemble((f"{position} of {count}  ", "dim"), (escape_hidden(rule.id), "bold"))
    lines = [Text(escape_hidden(line)) for line in rule_lines(rule)]
    return Group(head, *lines, Text(RULE_KEYS, style="bold"))


def fact_screen(fact: Fact, position: int, count: int) -> RenderableType:
    """Lay out a fact that is due on one screen."""
    head = Text.assemble((f"{position} of {count}  ", "dim"), (escape_hidden(fact.id), "bold"))
    lines = [Text(escape_hidden(line)) for line in due_lines(fact)]
    return Group(head, *lines, Text(FACT_KEYS, style="bold"))


def screen(skill: WaitingSkill, position: int, count: int) -> RenderableType:
    """Lay out a proposal on one screen; its text cannot steer the terminal."""
    skill = msgspec.convert(_escape_value(msgspec.to_builtins(skill)), WaitingSkill)
    head = Text.assemble(
        (f"{position} of {count}  ", "dim"), (skill.name, "bold"), f"  {skill.kind}, ",
        skill.domain or "every domain",
    )  # fmt: skip
    lines = skill.body.split("\n")
    body = "\n".join(lines[:_LINES])
    tail = Text(f"… {len(lines) - _LINES} more lines (o opens all)" if len(lines) > _LINES else "")
    parts: list[RenderableType] = [head, Panel(Text(body)), tail]
    if skill.diff:
        parts.append(Syntax("\n".join(skill.diff[:_LINES]), "diff", word_wrap=True))
    parts.append(basis_table(skill))
    parts += [Text(line) for line in notes_of(skill)]
    parts.append(Text(KEYS, style="bold"))
    return Group(*(part for part in parts if not isinstance(part, Text) or part.plain))


def basis_table(skill: WaitingSkill) -> Table:
    """Return the outcomes behind a proposal as a table."""
    title = f"rests on {skill.basis.sentence}" if skill.basis.rows else "rests on no outcome"
    table = Table(title=title, title_justify="left", expand=False)
    for name in ("outcome", "ended", "session", "episode", "decision"):
        table.add_column(name, overflow="fold")
    for row in skill.basis.rows[-_ROWS:]:
        session = row.session or "-"
        table.add_row(row.outcome, row.status, session, str(row.episode), row.decision)
    return table


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
        return os.read(terminal, 1).decode(errors="replace").lower()

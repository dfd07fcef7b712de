"""Carry out the decisions that a person makes on a served page and confirms in the terminal.

A decision has a digest of the shown text and commit, so that a stale page changes nothing.
"""

import queue
import secrets
import threading
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from skillvault.api import Vault, undo
from skillvault.inspect.page import Page, SkillPage, Waiting
from skillvault.model.errors import UsageError
from skillvault.model.records import Skill
from skillvault.review.proposal import TextPair

IDLE = 30 * 60  # seconds without a decision after which the page takes none


class DecisionForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision from the page. `text` is the reason or the new text.

    `reword` approves a rule in other words, `edit` changes a skill, `undo` takes a commit as
    `name`.
    """

    act: Literal["approve", "reword", "reject", "edit", "undo"]
    name: str
    digest: str
    text: str = ""


class Confirmation:
    """A decision that a person must confirm in the terminal, where `lines` are shown."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._answered = threading.Event()
        self._is_confirmed = False

    def give_answer(self, *, is_confirmed: bool) -> None:
        """Set the answer. Another thread waits for it."""
        self._is_confirmed = is_confirmed
        self._answered.set()

    def wait(self) -> bool:
        """Wait for the answer. Return False if there is none in time."""
        return self._answered.wait(IDLE) and self._is_confirmed


class WriteSession:
    """The decisions of the one browser that got the token. `clock` returns seconds."""

    def __init__(
        self, vault: Vault, make_page: Callable[[], Page], clock: Callable[[], float]
    ) -> None:
        self.token = secrets.token_urlsafe(32)
        self.cookie = secrets.token_urlsafe(32)
        self.confirmations: queue.SimpleQueue[Confirmation] = queue.SimpleQueue()
        self._vault = vault
        self._make_page = make_page
        self._clock = clock
        self._used_at = clock()
        self._lock = threading.Lock()

    def open_session(self, token: str) -> str:
        """Return a session cookie for the token, which is valid only once."""
        with self._lock:
            is_valid = bool(self.token) and secrets.compare_digest(
                token.encode(), self.token.encode()
            )
            if not is_valid or self._is_over():
                raise UsageError("this address was used or is too old; start the report again")
            self.token = ""
            return self.cookie

    def has_session(self, cookie: str) -> bool:
        """Return True for the cookie of a session that is not idle for too long."""
        return secrets.compare_digest(cookie.encode(), self.cookie.encode()) and not self._is_over()

    def _is_over(self) -> bool:
        return self._clock() - self._used_at > IDLE

    def decide(self, body: bytes) -> str:
        """Carry out a decision that the terminal confirms, and describe it.

        Raises UsageError for an invalid form, and for a decision that is stale or not confirmed.
        """
        try:
            decision = msgspec.json.decode(body, type=DecisionForm)
        except msgspec.MsgspecError as error:
            raise UsageError(f"the form is no decision: {error}") from None
        with self._lock:  # one decision at a time
            self._used_at = self._clock()
            page = self._make_page()
            lines, carry_out = self._prepare(page, decision)
            confirmation = Confirmation([f"{decision.act} {decision.name}", *lines])
            self.confirmations.put(confirmation)
            if not confirmation.wait():
                raise UsageError("nobody confirmed it in the terminal; nothing changed")
            with self._vault.store.require_tip(page.head):
                carry_out()
            self._used_at = self._clock()
        return f"{decision.act}: {decision.name}"

    def _prepare(
        self, page: Page, decision: DecisionForm
    ) -> tuple[Sequence[str], Callable[[], object]]:
        """Return the lines for the terminal, and the function that carries out a decision.

        Raises UsageError if the page has changed, or if the text is missing or invalid.
        """
        vault, act, name, text = self._vault, decision.act, decision.name, decision.text
        lines = [change.what for change in page.week.changes if name in change.commits]
        if act == "undo" and lines and decision.digest == undo_digest(page, name):
            undo(vault, name, text, dry=True)  # refuses what cannot be undone
            return [*lines, text], partial(undo, vault, name, text)
        for skill in page.skills:
            if (
                act == "edit"
                and name == skill.name
                and decision.digest == skill_digest(page, skill)
            ):
                edited = replace(skill.skill, name=name, body=text)
                return self._edited_lines(skill, edited), partial(vault.curate.put, edited)
        for item in page.waiting:
            if name == item.name and decision.digest == waiting_digest(page, item):
                return self._prepare_waiting(item, decision)
        raise UsageError("the page is stale; load it again, nothing changed")

    def _edited_lines(self, skill: SkillPage, edited: Skill) -> Sequence[str]:
        """Return the diff of an edited skill, as it would be committed.

        Raises UsageError for a text that no skill can have, or that changes nothing.
        """
        results = self._vault.curate.put(edited, dry=True).done
        new_texts = [rewrite.body for result in results for rewrite in result.change.rewrites]
        if not any(new_texts):
            raise UsageError("change the text in the field, and do not empty it; nothing changed")
        return TextPair(skill.path, skill.path, skill.skill.body.strip(), new_texts[0]).diff

    def _prepare_waiting(
        self, item: Waiting, decision: DecisionForm
    ) -> tuple[Sequence[str], Callable[[], object]]:
        """Prepare a decision about a rule or a skill that waits; see `_prepare`."""
        lines, text = [item.text, *item.diff], decision.text
        memory, curate = self._vault.memory, self._vault.curate
        if decision.act == "approve":
            approve = memory.approve if item.kind == "rule" else curate.approve
            return lines, partial(approve, item.name)
        if decision.act == "reject" and text.strip() not in ("", item.text):
            reject = memory.reject if item.kind == "rule" else curate.reject
            return [*lines, text], partial(reject, item.name, reason=text)
        if decision.act == "reword" and item.kind == "rule" and text.strip():
            return [*lines, text], partial(memory.approve, item.name, text)
        hint = "why it is rejected" if decision.act == "reject" else "the other words of a rule"
        raise UsageError(f"write into the field {hint}; nothing changed")


def waiting_digest(page: Page, item: Waiting) -> str:
    """Return the digest of a waiting rule or skill as the page shows it."""
    return _digest(page.head or "", item.kind, item.name, item.text, *item.diff)


def skill_digest(page: Page, skill: SkillPage) -> str:
    """Return the digest of a skill's text as the page shows it."""
    return _digest(page.head or "", "skill", skill.name, skill.skill.body)


def undo_digest(page: Page, commit: str) -> str:
    """Return the digest of a commit that the page shows."""
    return _digest(page.head or "", "commit", commit)


def _digest(*texts: str) -> str:
    return sha256(msgspec.json.encode(texts)).hexdigest()

"""Take the decisions that a person makes on a served page, each confirmed in the terminal.

A decision carries the digest of the shown text and commit, so that a stale page changes nothing.
"""

import queue
import secrets
import threading
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Literal

import msgspec
from msgspec import Struct

from skillvault.api import Vault, undo
from skillvault.inspect.page import Page, Waiting
from skillvault.model.errors import UsageError

IDLE = 30 * 60  # seconds without a decision after which the page takes none


class DecisionForm(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A decision: `text` is the reason, or the new text; `name` is a commit for `undo`."""

    act: Literal["approve", "reject", "edit", "undo"]
    name: str
    digest: str
    text: str = ""


class Confirmation:
    """The lines that the terminal shows of a decision, and the answer of the person there."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._answered = threading.Event()
        self._is_confirmed = False

    def give_answer(self, *, is_confirmed: bool) -> None:
        """Give the answer; the decision goes on."""
        self._is_confirmed = is_confirmed
        self._answered.set()

    def wait(self) -> bool:
        """Return the answer; False if there is none in time."""
        return self._answered.wait(IDLE) and self._is_confirmed


class WriteSession:
    """The decisions of one browser, which got the token; `clock` returns seconds."""

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
        """Return the cookie for the token, which counts only once."""
        with self._lock:
            is_right = bool(self.token) and secrets.compare_digest(
                token.encode(), self.token.encode()
            )
            if not is_right or self._is_over():
                raise UsageError("this address was used or is too old; start the report again")
            self.token = ""
            return self.cookie

    def has_session(self, cookie: str) -> bool:
        """Return True for the cookie of a session that is not idle for too long."""
        return secrets.compare_digest(cookie.encode(), self.cookie.encode()) and not self._is_over()

    def _is_over(self) -> bool:
        return self._clock() - self._used_at > IDLE

    def decide(self, body: bytes) -> str:
        """Carry out a decision that the terminal confirms, and return what was done.

        UsageError for a form that is no decision, a stale one, or one that nobody confirms.
        """
        try:
            decision = msgspec.json.decode(body, type=DecisionForm)
        except msgspec.MsgspecError as error:
            raise UsageError(f"the form is no decision: {error}") from None
        with self._lock:  # one decision at a time
            self._used_at = self._clock()
            page = self._make_page()
            lines = self._shown_lines(page, decision)
            confirmation = Confirmation([f"{decision.act} {decision.name}", *lines])
            self.confirmations.put(confirmation)
            if not confirmation.wait():
                raise UsageError("nobody confirmed it in the terminal; nothing changed")
            with self._vault.store.require_tip(page.head):
                self._carry_out(page, decision)
            self._used_at = self._clock()
        return f"{decision.act}: {decision.name}"

    def _shown_lines(self, page: Page, decision: DecisionForm) -> Sequence[str]:
        """Return the lines that the page showed, and the text that the person wrote.

        UsageError if the page shows others by now, or if the text is missing.
        """
        items = [item for item in page.waiting if item.name == decision.name]
        if decision.act == "undo":
            changes = [c for c in page.week.changes if decision.name in c.commits]
            lines, digest = [change.what for change in changes], undo_digest(page, decision.name)
        else:
            lines = [items[0].text, *items[0].diff] if items else []
            digest = waiting_digest(page, items[0]) if items else ""
        if not lines or not secrets.compare_digest(digest.encode(), decision.digest.encode()):
            raise UsageError("the page is stale; load it again, nothing changed")
        if decision.act == "reject" and decision.text.strip() in ("", items[0].text):
            raise UsageError("write into the field why it is rejected; nothing changed")
        if decision.act == "edit" and (items[0].kind != "rule" or not decision.text.strip()):
            raise UsageError(f"{decision.name}: edit its file in proposed/ and commit it")
        return lines if decision.act == "approve" else [*lines, decision.text]

    def _carry_out(self, page: Page, decision: DecisionForm) -> None:
        vault, name, text = self._vault, decision.name, decision.text
        if decision.act == "undo":
            undo(vault, name, text)
            return
        kind = next(item.kind for item in page.waiting if item.name == name)
        if decision.act == "edit":
            vault.memory.approve(name, text)
        elif decision.act == "approve":
            vault.memory.approve(name) if kind == "rule" else vault.curate.approve(name)
        elif kind == "rule":
            vault.memory.reject(name, text)
        else:
            vault.curate.reject(name, reason=text)


def waiting_digest(page: Page, item: Waiting) -> str:
    """Return the digest of what a page shows of something that waits."""
    return _digest(page.head or "", item.kind, item.name, item.text, *item.diff)


def undo_digest(page: Page, commit: str) -> str:
    """Return the digest of a commit that a page shows."""
    return _digest(page.head or "", "commit", commit)


def _digest(*texts: str) -> str:
    return sha256(msgspec.json.encode(texts)).hexdigest()

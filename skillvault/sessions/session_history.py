"""Rebuild a session from the notes of hooks: its prompts, and the texts that its agent has read."""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from skillvault.clients import notes as journal
from skillvault.exchange.transcripts import subjects

if TYPE_CHECKING:
    from skillvault.learning.recommend.recommend import Selection, ServedSkill

_DIGEST_DIGITS = 8  # digits of the digest of a line


class SessionPrompt(Struct):
    """A prompt of a session, with the notes that belong to it.

    `later_ids` are the ids of prompts that only continued the task. `message` is the id of the
    message in the transcript, or "". `unknown_version` is a sentence about unknown lines in it.
    """

    note: journal.PromptNote
    calls: list[journal.CallNote]
    last_words: str = ""
    said_at: datetime | None = None
    next_words: str | None = None
    next_attended: bool | None = None
    digest: str = ""
    later_ids: list[str] = []
    message: str = ""
    unknown_version: str | None = None

    def has_id(self, prompt: str | None) -> bool:
        """Return True for the id of the prompt, or of a prompt that continued its task."""
        return prompt == self.note.id or prompt in self.later_ids

    def has_continuation(self, text: str) -> bool:
        """Return True if the next prompt only continues the task."""
        is_interrupted = bool(self.calls) and self.said_at is None
        return subjects.continues_task(text, self.note.text, is_interrupted=is_interrupted)

    def add_call(self, call: journal.CallNote) -> None:
        """Add a call, unless two hooks noted the same call."""
        if not call.id or all(note.id != call.id for note in self.calls):
            self.calls.append(call)


class KnownTexts(Struct):
    """The texts and facts that an agent has read since its session began or was compacted."""

    skills: dict[str, journal.ShownSkill] = {}
    facts: set[str] = set()
    rules: set[str] = set()
    briefed_rules: set[str] | None = None

    @property
    def has_any(self) -> bool:
        """True if the agent has read a learned text, which comes with an instruction."""
        return bool(self.skills or self.facts or self.rules)

    def add(self, note: journal.PromptNote) -> None:
        """Add the skills and facts that came with a prompt."""
        self.facts.update(note.facts)
        self.rules.update(note.rules)
        for skill in note.shown:
            known_skill = self.skills.get(skill.name)
            is_same = known_skill is not None and skill.blob in ("", known_skill.blob)
            lines = known_skill.lines if known_skill and is_same else frozenset[str]()
            blob = known_skill.blob if known_skill and is_same else skill.blob
            self.skills[skill.name] = journal.ShownSkill(skill.name, blob, lines | skill.lines)

    def without_repeats(self, selection: "Selection") -> "Selection":
        """Return a selection without known facts, and with only the names of known skills."""
        skills = tuple(map(self._without_read_lines, selection.recommended))
        new_facts = (f for f in selection.facts if f"{f.id} {f.blob}" not in self.facts)
        return replace(selection, recommended=skills, facts=tuple(new_facts))

    def _without_read_lines(self, skill: "ServedSkill") -> "ServedSkill":
        """Return a skill with only the lines of its text that the agent has not read."""
        known_skill = self.skills.get(skill.name)
        if known_skill is None or not known_skill.blob or known_skill.blob != skill.blob:
            return skill
        lines = [line for line in _lines_of(skill) if _line_digest(line) not in known_skill.lines]
        if not lines:
            return replace(skill, how="named", body="", description="")
        return replace(skill, how="part", body="\n".join(lines))


class SessionHistory(Struct):
    """The prompts of a session in order, and the texts that its agent has read so far.

    `read_skills` is None if no note says how the session began.
    """

    prompts: list[SessionPrompt] = []
    read_skills: list[str] | None = None
    known_texts: KnownTexts = field(default_factory=KnownTexts)

    def begin(self, note: journal.SessionNote) -> None:
        """Begin the session, or begin again after it was compacted."""
        self.read_skills = [*(self.read_skills or ()), *note.briefed]
        self.known_texts = KnownTexts(briefed_rules=set(note.rules))

    def open_prompt(self, note: journal.PromptNote, current: SessionPrompt | None) -> SessionPrompt:
        """Add a prompt, whose words may judge the current prompt."""
        if current and current.has_continuation(note.text):
            current.later_ids.append(note.id)
            return current
        if current and note.attended is not False:
            current.next_words, current.next_attended = note.text, note.attended
        if self.read_skills is not None:
            self.read_skills += [skill.name for skill in note.shown]
        self.known_texts.add(note)
        self.prompts.append(SessionPrompt(note=note, calls=[]))
        return self.prompts[-1]


def build_history(notes: Iterable[journal.Note | None]) -> SessionHistory:
    """Return the history of a session from its notes."""
    history = SessionHistory()
    current: SessionPrompt | None = None
    for note in notes:
        match note:
            case None:  # the notes that follow may belong to another prompt
                current = None
            case journal.SessionNote():
                history.begin(note)
            case journal.PromptNote():
                current = history.open_prompt(note, current)
            case journal.CallNote() if current:
                current.add_call(note)
            case journal.WordNote() if current:
                current.last_words, current.said_at = note.text, note.at
            case journal.HandoverNote():
                for prompt in history.prompts:
                    if prompt.note.id == note.prompt:
                        prompt.digest = note.digest
    return history


def skill_note(skill: "ServedSkill") -> journal.ShownSkill:
    """Return the note of a skill that came with a prompt."""
    if skill.how == "named":
        return journal.ShownSkill(skill.name)
    lines = frozenset(map(_line_digest, _lines_of(skill)))
    return journal.ShownSkill(skill.name, skill.blob, lines)


def _lines_of(skill: "ServedSkill") -> list[str]:
    return [line for line in skill.body.splitlines() if line.strip() and line[0] != "#"]


def _line_digest(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()[:_DIGEST_DIGITS]

"""What a hook of an agent's client says and records: the events of a session.

Nothing is committed here: receipts and outcomes go to the inbox. What a session has done
is noted below the git folder (`clients.notes`) until it is handed in. The same rules as for
transcripts say how a prompt ended.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from skillvault.clients import notes as noted
from skillvault.clients.notes import SessionNotes, domain_of
from skillvault.clients.payload import Payload
from skillvault.exchange.transcripts import events, prompts, reader, signs
from skillvault.learning.recommend import disclosure, render
from skillvault.model import reasoning
from skillvault.model.errors import BadInputError, SkillvaultError
from skillvault.model.text.text import count_tokens, cut_between_words, trim_to_tokens
from skillvault.serving import shelf as shelves
from skillvault.sessions import transcripts
from skillvault.vault.commit.store import Store
from skillvault.vault.files import arrival, redact
from skillvault.vault.files.inbox import Inbox

if TYPE_CHECKING:
    from skillvault.learning.recommend.recommend import Selection
    from skillvault.model.policy import HookPolicy
    from skillvault.serving.shelf import Shelf

MOST = 8000  # characters that a hook prints
_TASK = 8000  # characters of a prompt that say what is asked
_BUDGET = 1700  # tokens of a recommendation, so that it is never longer than `MOST`
_OUTPUT = 16 * 1024  # characters of the end of an output
_ARGUMENT = 2000  # characters of what a tool was given
_TRANSCRIPT = 8 * 1024 * 1024  # bytes of a prompt's part of a transcript that are read
_LINE = 60  # tokens of a skill in a briefing
_EDITS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write", "apply_patch"})
_SHELLS = frozenset("Bash exec_command local_shell shell shell_command".split())
_READS = frozenset({"Read", "Skill"})
_BRIEFED = ("strategy", "guide", "warning", "evolved")
_CONTINUED = frozenset({"resume", "fork"})  # what the agent has read is before it again
_CUT_OFF = BadInputError(
    "notes of an agent's session: handing them in was cut off; read them, then drop them",
    code="cut-off",
)
_CONTRADICTED = {
    "claim": "what was observed contradicts your last message",
    "skill": "it failed although a skill was applied",
    "": "",
}


class Prompted(Struct):
    """A prompt of a session with the notes that belong to it."""

    asked: noted.PromptNote
    calls: list[noted.CallNote]
    last_words: str = ""
    said_at: datetime | None = None
    next_words: str | None = None
    is_questioned: bool = False
    handed_in: str = ""


class HookVault(Struct, frozen=True, kw_only=True):
    """What an event needs of a vault."""

    root: Path
    store: Store
    inbox: Inbox
    shelf: "Callable[[], Shelf]"
    recommend: "Callable[..., Selection]"
    export: Callable[[str, Path, str], object]
    questions: Callable[[str], int]


class HookedClient(Struct, frozen=True, kw_only=True):
    """Who calls: `domain` is that of folders that no pattern names.

    `links`: the folder to which skills are exported instead of being recommended. `is_attended`: a
    person writes the prompts, and no script.
    """

    name: str
    domain: str | None = None
    links: Path | None = None
    is_attended: bool = True


class Hooks:
    """The events of a client's sessions."""

    def __init__(self, vault: HookVault, client: HookedClient, now: datetime) -> None:
        self._vault = vault
        self._client = client.name
        self._domain = client.domain
        self._links = client.links
        self._is_attended = client.is_attended
        self._now = now
        self._folder = vault.store.git.dirs()[0] / "skillvault"

    def react(self, event: str, payload: Payload) -> str:
        """What the client is to read, "" for nothing; what is to be recorded is on its way."""
        acts: Mapping[str, Callable[[Payload], str]] = {
            "SessionStart": self._open_session,
            "UserPromptSubmit": self._advise_on,
            "PostToolUse": self._note_call,
            "PostToolUseFailure": self._note_call,
            "Stop": self._answer_stop,
            "SessionEnd": self._end_session,
        }
        return acts[event](payload)

    # ── a session begins ─────────────────────────────────────────────────────────────

    def _open_session(self, payload: Payload) -> str:
        self._hand_in_leftovers()
        if self._links is not None:
            self._vault.export(self._client, self._links, self._domain_of(payload))
            return ""
        if payload.source in _CONTINUED:
            return ""
        # Amid a session, as when it is made shorter, the decision that is open has its hold-outs.
        notes = SessionNotes(self._folder, payload.session)
        earlier, _ = self._prompts(notes)
        hidden = frozenset(name for one in earlier for name in one.asked.held_out)
        text, names = self._briefing(self._domain_of(payload), payload.session, hidden)
        notes.append(noted.SessionNote(session=payload.session, briefed=names))
        return text

    def _briefing(
        self, domain: str, session: str, hidden: Collection[str]
    ) -> tuple[str, list[str]]:
        """Return (the strategy, guides and warnings of a domain, a line each; their names).

        Nothing of it tells of a skill that is `hidden`.
        """
        budget = self._hook_rules.briefing
        head = f"Learned from earlier work in {domain}, to weigh and not to obey:"
        lines, names, rest = [head], list[str](), budget - count_tokens(head)
        waiting = self._vault.questions(session) if budget else 0
        if waiting:
            lines.append(f"{waiting} question(s) wait for an agent: `skillvault ask --next`.")
            rest -= count_tokens(lines[-1])
        for name, description in self._lessons(domain) if budget else ():
            if name in hidden or description != disclosure.without_names(description, hidden):
                continue
            line = f"- {name}: {trim_to_tokens(description, _LINE)}"
            rest -= count_tokens(line) + 1
            if rest < 0:
                break
            lines.append(line)
            names.append(name)
        if len(lines) == 1:
            return "", []
        return render.element("learned", render.inert_body("\n".join(lines))), names

    def _lessons(self, domain: str) -> Iterator[tuple[str, str]]:
        """(name, description) of the domain's own, the strategy first."""
        candidates = shelves.live(self._vault.shelf(), domain)
        chosen = [one for one in candidates if one.kind in _BRIEFED and one.domain == domain]
        skills = self._vault.store.head().skills.get_many([one.name for one in chosen])
        for candidate in sorted(chosen, key=lambda one: _BRIEFED.index(one.kind)):
            if candidate.name in skills:
                yield candidate.name, skills[candidate.name].description

    # ── a prompt ─────────────────────────────────────────────────────────────────────

    def _advise_on(self, payload: Payload) -> str:
        text = cut_between_words(payload.prompt, _TASK).encode(errors="replace").decode()
        if not text.strip():
            return ""
        notes = SessionNotes(self._folder, payload.session)
        earlier, read = self._prompts(notes)
        # Else nothing is known that was not at the stop.
        if earlier and self._is_attended and signs.words_say(text):
            self._close_prompt(earlier[-1], text)
        domain = self._domain_of(payload)
        decision = payload.prompt_id or f"{payload.session}-{len(earlier) + 1}"
        shown, names, held_out = "", list[str](), list[str]()
        if self._links is None:
            if read is None:  # nothing is noted of how the session began: it may have read all
                read = [one.name for one in shelves.live(self._vault.shelf())]
                notes.append(noted.SessionNote(session=payload.session, briefed=read))
            answer = self._vault.recommend(
                domain,
                text,
                decision=decision,
                agent=self._client,
                budget=self._budget(),
                seen=read,
                now=self._now,
            )
            if answer.near_domain:  # its outcome would be refused
                return ""
            shown = render.prompt(answer)
            names = [skill.name for skill in answer.recommended]
            held_out = [one.name for one in answer.withheld if one.reason == "held-out"]
        notes.append(
            noted.PromptNote(
                id=decision,
                session=payload.session,
                client=self._client,
                domain=domain,
                text=text,
                at=self._now,
                cwd=str(payload.cwd) if payload.cwd else None,
                transcript=str(payload.transcript) if payload.transcript else None,
                position=_size_of(payload.transcript),
                attended=self._is_attended,
                shown=names,
                held_out=held_out,
            )
        )
        return shown

    # ── a tool was used ──────────────────────────────────────────────────────────────

    def _note_call(self, payload: Payload) -> str:
        """Note what a tool did, if it can say how the prompt ends."""
        is_shell = payload.tool in _SHELLS
        if payload.goes_on or not (is_shell or payload.tool in _EDITS or payload.tool in _READS):
            return ""
        arguments = {
            key: cut_between_words(value, _ARGUMENT) if isinstance(value, str) else value
            for key, value in payload.arguments.items()
            if key in ("command", "cmd", "file_path", "path", "skill", "args")
        }
        output = ""
        if is_shell:
            output = payload.output[-_OUTPUT:]
            output = output if len(payload.output) <= _OUTPUT else output.partition("\n")[2]
        call = noted.CallNote(
            id=payload.tool_id,
            tool=payload.tool,
            arguments=arguments,
            output=output.encode(errors="replace").decode(),
            is_error=payload.is_error,
            exit_code=payload.exit_code,
            at=self._now,
        )
        SessionNotes(self._folder, payload.session).append(call)
        return ""

    # ── the agent stops ──────────────────────────────────────────────────────────────

    def _answer_stop(self, payload: Payload) -> str:
        """Hand in how the prompt ended, if that was observed; or ask the agent, at most once."""
        notes = SessionNotes(self._folder, payload.session)
        before, _ = self._prompts(notes)
        named = [one for one in before if payload.prompt_id in (None, one.asked.id)]
        current = named[-1] if named else None
        if current is None or not current.calls:  # it only talked
            return ""
        reply = _reply_in(payload.last_message) if current.is_questioned else {}
        if not reply:
            words = cut_between_words(payload.last_message, _TASK)
            notes.append(noted.WordNote(text=words, at=self._now))
            current.last_words, current.said_at = words, self._now
        outcome = self._outcome_so_far(current)
        if outcome is None:
            return ""
        if not payload.has_gone_on and (reason := self._question_at_stop(outcome, before, current)):
            notes.append(noted.QuestionNote(prompt=current.asked.id))
            return json.dumps({"decision": "block", "reason": reason})
        outcome = _with_reply(outcome, reply)
        if "observed_by" in outcome["result"] or reply:
            self._hand_in(current, outcome)
        return ""

    def _question_at_stop(
        self, outcome: Mapping[str, Any], before: Iterable[Prompted], current: Prompted
    ) -> str:
        """What the agent is asked when it stops; "" for nothing."""
        ask = self._hook_rules.ask
        observed = "observed_by" in outcome["result"]
        why = _contradiction(outcome) if observed else ""
        surprises = ask == "surprises" and why and not any(one.is_questioned for one in before)
        if not (surprises or (ask == "always" and not current.is_questioned)):
            return ""
        summary = outcome["result"].get("summary", "") if observed else "nothing was observed"
        head = f"skillvault notes how this ended: {summary}. {_CONTRADICTED[why]}".rstrip(" .")
        return (
            f"{head}. Do no more work. Answer once, with this JSON object alone: "
            '{"status": "success" | "failure" | "neutral", "lesson": {"when": "…", "do": "…", '
            '"because": "…", "evidence": "words of the output, verbatim"}}. '
            'Leave "lesson" out if there is nothing that the next one should know.'
        )

    # ── a session ends ───────────────────────────────────────────────────────────────

    def _end_session(self, payload: Payload) -> str:
        place = SessionNotes(self._folder, payload.session).path
        notes, damage = noted.read_notes(place)
        self._hand_in_rest(notes)
        if damage is None:
            place.unlink(missing_ok=True)
        else:
            self._vault.inbox.quarantine.take_notes(place, damage, self._now)
        return ""

    def _hand_in_leftovers(self) -> None:
        """Hand in what sessions left whose client went away.

        Each is set aside before, so that whatever goes wrong with it meets no session again.
        """
        quarantine = self._vault.inbox.quarantine
        for place in noted.abandoned_notes(self._folder):
            notes, damage = noted.read_notes(place)
            aside = quarantine.take_notes(place, damage or _CUT_OFF, self._now)
            try:
                self._hand_in_rest(notes)
            except (OSError, SkillvaultError):  # of the disk or the vault: another time
                shutil.move(aside, place)
                quarantine.remove(aside.name)
                raise
            if damage is None:
                quarantine.remove(aside.name)

    def _hand_in_rest(self, notes: Iterable[noted.Note | None]) -> None:
        """Hand in how each prompt ended that was not; one that only talked is left."""
        prompted, _ = _prompts_in(notes)
        for one in prompted:
            outcome = None if one.handed_in else self._outcome_so_far(one)
            if outcome is not None:
                self._drop_outcome(one, outcome)

    # ── outcomes ─────────────────────────────────────────────────────────────────────

    def _close_prompt(self, prompted: Prompted, next_words: str) -> None:
        """Hand in how a prompt ended, if the next words or what was observed say so."""
        prompted.next_words = next_words
        outcome = None if prompted.handed_in else self._outcome_so_far(prompted)
        if outcome is not None and "observed_by" in outcome["result"]:
            self._hand_in(prompted, outcome)

    def _hand_in(self, prompted: Prompted, outcome: Mapping[str, Any]) -> None:
        """Hand in how a prompt ended, and note that it is done."""
        digest = self._drop_outcome(prompted, outcome)
        if digest != prompted.handed_in:
            note = noted.HandoverNote(prompt=prompted.asked.id, digest=digest)
            SessionNotes(self._folder, prompted.asked.session).append(note)

    def _drop_outcome(self, prompted: Prompted, outcome: Mapping[str, Any]) -> str:
        """Put an outcome into the inbox unless it was there; the digest of what it says."""
        data = json.dumps(outcome, ensure_ascii=False).encode(errors="replace")
        said = json.dumps({**outcome, "occurred_at": ""}, sort_keys=True)
        digest = hashlib.sha256(said.encode(errors="replace")).hexdigest()
        if digest != prompted.handed_in:
            name = f"{transcripts.file_stem(prompted.asked.session)}-{digest[:8]}.json"
            # What is observed of it the hook saw, whatever the agent says.
            git_dir = self._vault.store.git.dirs()[0]
            list(self._vault.inbox.drop(arrival.attest_files(git_dir, [(name, data)])))
        return digest

    def _outcome_so_far(self, prompted: Prompted) -> dict[str, Any] | None:
        """How a prompt ended as far as it is known; None if nothing was done for it."""
        asked = prompted.asked
        policy = self._vault.store.head().policy.transcripts
        tally = prompts.PromptTally(policy.checks, redact.redact_text)
        run = tally.open_run(events.Prompt(asked.at, asked.text, asked.id))
        header = events.Header(session=asked.session, cwd=asked.cwd)
        for event in _events_for(prompted, header):
            tally.note_event(event, run)
        run.next_words = prompted.next_words
        if not (run.has_changed or run.checks or run.skills):
            return None
        header.cwd = asked.cwd
        request = transcripts.Request(
            client=asked.client, domain=asked.domain, trust="local", rules=policy
        )
        return _via_hook(transcripts.outcome_of_prompt(run, header, request))

    # ── what is noted ────────────────────────────────────────────────────────────────

    def _prompts(self, session: SessionNotes) -> tuple[list[Prompted], list[str] | None]:
        """Read what is noted of a session; notes that cannot be read at all are set aside."""
        notes, damage = noted.read_notes(session.path)
        if damage is not None and damage.line is None:
            self._vault.inbox.quarantine.take_notes(session.path, damage, self._now)
        return _prompts_in(notes)

    def _domain_of(self, payload: Payload) -> str:
        folder = payload.cwd or Path.cwd()
        return domain_of(folder, self._hook_rules.domains, self._domain)

    def _budget(self) -> int:
        asked = self._vault.store.head().policy.recommend.budget
        return _BUDGET if asked is None else min(_BUDGET, asked)

    @property
    def _hook_rules(self) -> "HookPolicy":
        return self._vault.store.head().policy.hook


def _prompts_in(
    notes: Iterable[noted.Note | None],
) -> tuple[list[Prompted], list[str] | None]:
    """(the prompts of a session in their order, the skills that its agent has read so far).

    None for the latter: it is not noted how the session began.
    """
    found: list[Prompted] = []
    current: Prompted | None = None
    read: list[str] | None = None
    for note in notes:
        match note:
            case None:  # nobody knows for which prompt was done what follows
                current = None
            case noted.SessionNote(briefed=names):
                read = [*(read or ()), *names]
            case noted.PromptNote():
                if current and note.attended:
                    current.next_words = note.text
                if read is not None:
                    read += note.shown
                current = Prompted(asked=note, calls=[])
                found.append(current)
            case noted.CallNote() if current:
                current.calls.append(note)
            case noted.WordNote() if current:
                current.last_words, current.said_at = note.text, note.at
            case noted.QuestionNote() | noted.HandoverNote():
                _mark_prompt(found, note)
    return found, read


def _via_hook(outcome: dict[str, Any] | None) -> dict[str, Any] | None:
    """An outcome whose end a hook saw, marked so; the checks of a prompt are its tests."""
    if outcome is None or "observed_by" not in outcome["result"]:
        return outcome
    observer = outcome["result"]["observed_by"]
    seen = {"observed_by": "tests" if observer == "exit-code" else observer, "via": "hook"}
    return {**outcome, "result": {**outcome["result"], **seen}}


def _mark_prompt(
    prompted: Iterable[Prompted], note: noted.QuestionNote | noted.HandoverNote
) -> None:
    for one in prompted:
        if one.asked.id != note.prompt:
            continue
        if isinstance(note, noted.QuestionNote):
            one.is_questioned = True
        else:
            one.handed_in = note.digest


def _events_for(prompted: Prompted, header: "events.Header") -> "Iterator[events.Event]":
    """What happened for a prompt: by its transcript, and by the notes that this lacks."""
    told: set[str] = set()
    last = ""
    for event in _told_by_transcript(prompted, header):
        if isinstance(event, events.ToolResult):
            told.add(event.id)
        if isinstance(event, events.Remark):
            last = event.text
        yield event
    for call in prompted.calls:
        if call.id not in told:
            yield events.ToolCall(call.at, call.id, call.tool, call.arguments)
            yield events.ToolResult(call.at, call.id, call.output, call.is_error, call.exit_code)
    if prompted.last_words.strip() and prompted.last_words != last:
        yield events.Remark(prompted.said_at, prompted.last_words)


def _told_by_transcript(prompted: Prompted, header: "events.Header") -> "Iterator[events.Event]":
    """What a transcript tells from the prompt on, up to the next; nothing if it cannot be read."""
    asked = prompted.asked
    place = Path(asked.transcript) if asked.transcript else None
    if place is None or not 0 <= _size_of(place) - asked.position <= _TRANSCRIPT:
        return
    begun = False
    try:
        transcript = reader.Transcript(place, asked.position)
        for event in transcript:
            if isinstance(event, events.Prompt):
                if event.id != asked.id and (begun or event.id is not None):
                    break
                begun = True
            elif not getattr(event, "aside", False):
                yield event
    except (BadInputError, ValueError):  # it cannot be read, or is no name of a file
        return  # the notes tell what was done
    header.model, header.branch = transcript.header.model, transcript.header.branch


def _size_of(place: Path | None) -> int:
    try:
        return place.stat().st_size if place else 0
    except (OSError, ValueError):  # it is not there, or no name of a file
        return 0


def _contradiction(outcome: Mapping[str, Any]) -> str:
    """What an observed end contradicts: `claim`, `skill`, or "" for nothing."""
    result = outcome["result"]
    if result["status"] != "failure":
        return ""
    if reasoning.claims_success(result.get("claim", "")):
        return "claim"
    return "skill" if outcome.get("applied") else ""


def _reply_in(text: str) -> dict[str, Any]:
    """The JSON object that an agent answers with, without what stands around it."""
    start, end = text.find("{"), text.rfind("}")
    try:
        value = msgspec.json.decode(text[start : end + 1]) if 0 <= start < end else None
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _with_reply(outcome: dict[str, Any], reply: Mapping[str, Any]) -> dict[str, Any]:
    """An outcome with what the agent said of it: its lesson, and its word on how it ended."""
    status, lesson = reply.get("status"), reply.get("lesson")
    result = dict(outcome["result"])
    if status in ("success", "failure", "neutral"):
        result["claimed"] = status
        if "observed_by" not in result:
            result["status"] = status
    parts = ("when", "do", "because", "evidence")
    texts = lesson if isinstance(lesson, dict) else {}
    kept = {key: texts[key] for key in parts if isinstance(texts.get(key), str) and texts[key]}
    whole = {**outcome, "result": result}
    return {**whole, "lesson": kept} if "do" in kept or "when" in kept else whole

"""Answer the hooks of an agent's client: recommend skills, and drop outcomes into the inbox.

Each event has a handler in `Hooks`. Nothing is committed here. Events are noted in the git folder
(`clients.notes`) until the outcomes of their session are in the inbox. The rules of `transcripts`
decide the result of a prompt.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from skillvault.clients import notes as journal
from skillvault.clients.notes import SessionNotes, domain_of
from skillvault.clients.payload import Payload, parse_payload
from skillvault.exchange.transcripts import events, prompts, reader
from skillvault.exchange.transcripts.words import CLIENT_WORDS
from skillvault.learning.capture.prompt import LearnedText, frame_learned
from skillvault.learning.recommend import disclosure, render
from skillvault.learning.recommend.recommend import Query
from skillvault.loop.learned import learned_text
from skillvault.model import reaction as words
from skillvault.model import reasoning
from skillvault.model.errors import BadInputError, SkillvaultError
from skillvault.model.text.text import count_tokens, cut_between_words, pluralize, trim_to_tokens
from skillvault.sessions import known_runs, transcripts
from skillvault.sessions.session_history import (
    KnownTexts,
    SessionHistory,
    SessionPrompt,
    build_history,
    skill_note,
)
from skillvault.vault.commit.store import Store
from skillvault.vault.disk import UNSAVED, pause_on_disk_errors
from skillvault.vault.files import arrival, redact
from skillvault.vault.files.inbox import Inbox

if TYPE_CHECKING:
    from skillvault.model.policy import HookPolicy
    from skillvault.serving.shelf import Shelf

MAX_ANSWER = 8000  # the most characters that a hook prints
_MAX_PROMPT = 8000  # the most characters of a prompt that are read
_MAX_TOKENS = 1700  # the most tokens of a recommendation, which fit into `MAX_ANSWER`
_RULES_TOKENS = _MAX_TOKENS // 4  # the most tokens of the rules beside a recommendation
_MAX_OUTPUT = 16 * 1024  # the most characters of the end of an output
_MAX_ARGUMENT_LENGTH = 2000  # the most characters of a tool's argument
_MAX_TRANSCRIPT_BYTES = 8 << 20  # of a transcript that are read for one prompt
_MAX_LINE_TOKENS = 60  # the most tokens of a skill in a briefing
_WRITE_TIME = timedelta(minutes=1)  # an older unreadable file is not a call
_EDIT_TOOLS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write", "apply_patch"})
_SHELL_TOOLS = frozenset("Bash exec_command local_shell shell shell_command".split())
_READ_TOOLS = frozenset({"Read", "Skill"})
_BRIEFED = ("strategy", "guide", "warning", "evolved")
_CONTINUING_SOURCES = frozenset({"resume", "fork"})  # the agent still has the earlier texts
_INTERRUPTED = BadInputError(
    "notes of an agent's session: handing them in was cut off; read them, then drop them",
    code="cut-off",
)


class HookVault(Struct, frozen=True, kw_only=True):
    """The parts of a vault that an event needs.

    `ask` sends the due questions to the judge's client later.
    """

    root: Path
    store: Store
    inbox: Inbox
    shelf: "Callable[[], Shelf]"
    export: Callable[[str, Path, str], object]
    questions: Callable[[str], int]
    ask: Callable[[], None]


class HookClient(Struct, frozen=True, kw_only=True):
    """The client that calls a hook. `domain` is for folders that match no pattern of the policy.

    With `links`, skills are exported to that folder instead of being recommended. `is_attended` is
    True if a person writes the prompts, False for a script, and None if that is unknown. `process`
    identifies the process that the client started for the event.
    """

    name: str
    domain: str | None = None
    links: Path | None = None
    is_attended: bool | None = None
    process: str = ""


class Hooks:
    """The handlers of the events of a client's sessions."""

    def __init__(self, vault: HookVault, client: HookClient, now: datetime) -> None:
        self._vault = vault
        self._client = client
        self._now = now
        self._unknown_version: str | None = None  # None while no transcript was read
        self._folder = vault.store.git.dirs()[0] / "skillvault"

    def react(self, event: str, payload: Payload) -> str:
        """Handle an event, and return the text for the client, or ""."""
        handlers: Mapping[str, Callable[[Payload], str]] = {
            "SessionStart": self._open_session,
            "UserPromptSubmit": self._advise,
            "PostToolUse": self._note_call,
            "PostToolUseFailure": self._note_call,
            "Stop": self._answer_stop,
            "SessionEnd": self._end_session,
        }
        self._collect_calls()
        text = self._answer_once(event, payload, handlers[event])
        if event not in ("PostToolUse", "PostToolUseFailure"):
            activity = journal.activity_of(self._folder, self._client.name)
            if text and event == "UserPromptSubmit":
                activity = replace(activity, shown_at=self._now)
            if self._unknown_version is not None:
                activity = replace(activity, unknown_version=self._unknown_version)
            activity = replace(activity, event=event, at=self._now)
            journal.write_activity(self._folder, self._client.name, activity)
        return text

    def _answer_once(self, event: str, payload: Payload, handler: Callable[[Payload], str]) -> str:
        """Answer an event unless another process does, because hooks may be registered twice."""
        key = _key_of(event, payload)
        if not key:
            return handler(payload)
        notes = self._notes(payload)
        if not notes.claim(key, self._client.process):
            return ""
        text = handler(payload)
        notes.settle(key)
        return text

    def _notes(self, payload: Payload) -> SessionNotes:
        return SessionNotes(self._folder, payload.session)

    def _collect_calls(self) -> None:
        """Move tool calls from the files that hooks wrote to the notes of their sessions."""
        for path, data, called_at in journal.read_calls(self._folder):
            payload = parse_payload(data)
            if payload is not None:
                self._note_call(payload, called_at)
            elif self._now - called_at < _WRITE_TIME:
                continue
            path.unlink(missing_ok=True)

    # ── a session begins ─────────────────────────────────────────────────────────────

    def _open_session(self, payload: Payload) -> str:
        journal.calls_folder(self._folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        self._submit_abandoned()
        if payload.source in _CONTINUING_SOURCES:
            self._notes(payload).restore()
        if self._client.links is not None:
            self._vault.export(self._client.name, self._client.links, self._domain_of(payload))
            return ""
        if payload.source in _CONTINUING_SOURCES:
            return ""
        # After a compaction, the held-out skills of earlier prompts must stay hidden.
        notes = self._notes(payload)
        earlier_prompts = self._history(notes).prompts
        hold_outs = frozenset(name for prompt in earlier_prompts for name in prompt.note.held_out)
        text, names = self._brief_agent(self._domain_of(payload), payload.session, hold_outs)
        all_rules = self._all_rules(payload)
        note = journal.SessionNote(session=payload.session, briefed=names, rules=all_rules.keys)
        notes.append(note)
        rules_text = all_rules.fit(_RULES_TOKENS).prompt_text if self._hook_rules.briefing else ""
        return "\n".join(filter(None, [text, rules_text and render.element("learned", rules_text)]))

    def _brief_agent(
        self, domain: str, session: str, hold_outs: Collection[str]
    ) -> tuple[str, list[str]]:
        """Return a text with a line for each strategy, guide and warning, and their names.

        Skills named in `hold_outs` are not mentioned.
        """
        budget = self._hook_rules.briefing
        heading = f"Learned from earlier work in {domain}, to weigh and not to obey:"
        lines, names, budget_left = [heading], list[str](), budget - count_tokens(heading)
        count = self._vault.questions(session) if budget else 0
        if count:
            lines.append(
                f"For an agent to answer: {pluralize(count, 'question')}; `skillvault ask --next`."
            )
            budget_left -= count_tokens(lines[-1])
        for name, description in self._skills_to_brief(domain) if budget else ():
            if name in hold_outs or description != disclosure.without_names(description, hold_outs):
                continue
            line = f"- {name}: {trim_to_tokens(description, _MAX_LINE_TOKENS)}"
            budget_left -= count_tokens(line) + 1
            if budget_left < 0:
                break
            lines.append(line)
            names.append(name)
        if len(lines) == 1:
            return "", []
        return render.element("learned", render.inert_body("\n".join(lines))), names

    def _skills_to_brief(self, domain: str) -> Iterator[tuple[str, str]]:
        """Yield (name, description) of the domain's skills, the strategy first."""
        skills = self._vault.shelf().live(domain)
        lessons = [skill for skill in skills if skill.kind in _BRIEFED and skill.domain == domain]
        records = self._vault.store.snapshot().skills.get_many([skill.name for skill in lessons])
        for skill in sorted(lessons, key=lambda skill: _BRIEFED.index(skill.kind)):
            if skill.name in records:
                yield skill.name, records[skill.name].description

    # ── a prompt ─────────────────────────────────────────────────────────────────────

    def _advise(self, payload: Payload) -> str:
        text = CLIENT_WORDS[self._client.name].person_text(payload.prompt)
        text = cut_between_words(text, _MAX_PROMPT).encode(errors="replace").decode()
        if not text.strip():
            return ""
        notes = self._notes(payload)
        history = self._history(notes)
        if history.prompts and self._client.is_attended is not False:
            self._close_prompt(history.prompts[-1], text)
        note = journal.PromptNote(
            id=payload.prompt_id or f"{payload.session}-{len(history.prompts) + 1}",
            session=payload.session,
            client=self._client.name,
            domain=self._domain_of(payload),
            text=text,
            at=self._now,
            cwd=str(payload.cwd) if payload.cwd else None,
            transcript=str(payload.transcript) if payload.transcript else None,
            position=_size_of(payload.transcript),
            attended=self._client.is_attended,
        )
        recommendation = ""
        # A prompt that only continues a task needs no new recommendation.
        is_continuation = bool(history.prompts) and history.prompts[-1].has_continuation(text)
        if self._client.links is None and not is_continuation:
            if history.read_skills is None:  # no note about the start: assume that all was read
                history.read_skills = [skill.name for skill in self._vault.shelf().live()]
                notes.append(
                    journal.SessionNote(
                        session=payload.session,
                        briefed=history.read_skills,
                        rules=self._all_rules(payload).keys,
                    )
                )
            advice = self._recommend(payload, note, history)
            if advice is None:
                return ""
            recommendation, note = advice
        notes.append(note)
        return recommendation

    def _recommend(
        self, payload: Payload, note: journal.PromptNote, history: SessionHistory
    ) -> tuple[str, journal.PromptNote] | None:
        """Return (text for a prompt, note with the recommended skills and rules).

        Return None if the domain seems misspelled, because its outcomes would be refused.
        """
        learned = self._select_rules(payload, note.text, history.known_texts)
        budget = self._vault.store.snapshot().policy.recommend.budget
        budget_left = _MAX_TOKENS - count_tokens(learned.prompt_text)
        query = Query(
            domain=note.domain,
            budget=budget_left if budget is None else min(budget_left, budget),
            seen=tuple(history.read_skills or ()),
            strategy="hybrid",
            decision=note.id,
            agent=self._client.name,
            day=f"{self._now:%Y-%m-%d}",
        )
        render.check_recordable(query, note.text)
        selection = self._vault.shelf().recommend(query, note.text)
        if selection.near_domain:
            return None
        receipt = render.record(selection, query, self._now, note.text)
        selection = history.known_texts.without_repeats(selection)
        knows_instruction = history.known_texts.has_any
        skills_text = render.prompt(selection, knows_instruction=knows_instruction)
        text = frame_learned(skills_text, learned, knows_instruction=knows_instruction)
        return text, replace(
            note,
            shown=[skill_note(skill) for skill in selection.recommended],
            facts=[f"{fact.id} {fact.blob}" for fact in selection.facts],
            rules=learned.keys,
            receipt=receipt,
            held_out=[skill.name for skill in selection.withheld if skill.reason == "held-out"],
        )

    def _select_rules(self, payload: Payload, text: str, known_texts: KnownTexts) -> LearnedText:
        """Return the rules that match a prompt, and the rules that are newer than the session.

        A session gets each rule once.
        """
        rules = self._all_rules(payload).without(known_texts.rules)
        briefed_rules = known_texts.briefed_rules
        new_rules = LearnedText() if briefed_rules is None else rules.without(briefed_rules)
        return rules.matching(text).join(new_rules).fit(_RULES_TOKENS)

    def _all_rules(self, payload: Payload) -> LearnedText:
        repository = transcripts.repository_of(str(payload.cwd or Path.cwd()))
        return learned_text(self._vault.store, repository, is_whole=True).text

    # ── a tool was used ──────────────────────────────────────────────────────────────

    def _note_call(self, payload: Payload, called_at: datetime | None = None) -> str:
        """Note a tool call that may be evidence for the result of the prompt."""
        is_shell = payload.tool in _SHELL_TOOLS
        is_noted = is_shell or payload.tool in _EDIT_TOOLS or payload.tool in _READ_TOOLS
        if payload.runs_in_background or not is_noted:
            return ""
        arguments = {
            key: cut_between_words(value, _MAX_ARGUMENT_LENGTH) if isinstance(value, str) else value
            for key, value in payload.arguments.items()
            if key in ("command", "cmd", "file_path", "path", "skill", "args")
        }
        output = ""
        if is_shell:
            output = payload.output[-_MAX_OUTPUT:]
            output = output if len(payload.output) <= _MAX_OUTPUT else output.partition("\n")[2]
        call = journal.CallNote(
            id=payload.tool_id,
            tool=payload.tool,
            arguments=arguments,
            output=redact.redact_text(output.encode(errors="replace").decode()),
            is_error=payload.is_error,
            exit_code=payload.exit_code,
            at=called_at or self._now,
        )
        self._notes(payload).append(call)
        return ""

    # ── the agent stops ──────────────────────────────────────────────────────────────

    def _answer_stop(self, payload: Payload) -> str:
        """Put the outcome of the prompt into the inbox if its end was observed.

        Normally no text is returned, because it would replace the agent's answer. With `insist` in
        the policy, an agent that claims success after a failed check is sent back once.
        """
        notes = self._notes(payload)
        candidates = self._history(notes).prompts
        prompt_id = payload.prompt_id
        matches = [prompt for prompt in candidates if prompt_id is None or prompt.has_id(prompt_id)]
        current = matches[-1] if matches else None
        if current is None or not current.calls:  # the agent only talked
            return ""
        last_message = cut_between_words(payload.last_message, _MAX_PROMPT)
        notes.append(journal.WordNote(text=last_message, at=self._now))
        current.last_words, current.said_at = last_message, self._now
        outcome = self._current_outcome(current)
        if outcome is None or "observed_by" not in outcome["result"]:
            return ""
        result, key = outcome["result"], f"sent back {current.note.id}"
        has_failed = result["status"] == "failure"
        is_false_claim = has_failed and reasoning.claims_success(result.get("claim", ""))
        may_insist = self._hook_rules.insist and self._client.is_attended
        is_first_stop = not payload.is_stop_hook_active
        must_send_back = may_insist and is_false_claim and is_first_stop
        if must_send_back and notes.claim(key, self._client.process):
            notes.settle(key)
            summary = result.get("summary") or "the last check failed"
            reason = f"{summary.rstrip('.')}. Fix it, or say that it fails."
            return json.dumps({"decision": "block", "reason": reason})
        self._submit(current, outcome)
        return ""

    # ── a session ends ───────────────────────────────────────────────────────────────

    def _end_session(self, payload: Payload) -> str:
        notes = self._notes(payload)
        entries, damage = journal.read_notes(notes.path)
        self._submit_open_prompts(entries, self._submit)
        if damage is None:
            notes.close()  # `claude --continue` may go on with its last task
        else:
            self._vault.inbox.quarantine.take_notes(notes.path, damage, self._now)
        self._vault.ask()
        return ""

    def _submit_abandoned(self) -> None:
        """Put the outcomes of abandoned sessions into the inbox.

        The notes are quarantined first, so that a bad file fails only once.
        """
        journal.remove_ended_notes(self._folder)
        quarantine = self._vault.inbox.quarantine
        for path in journal.abandoned_notes(self._folder):
            entries, damage = journal.read_notes(path)
            quarantined_file = quarantine.take_notes(path, damage or _INTERRUPTED, self._now)
            try:
                self._submit_open_prompts(entries, self._drop_outcome)
            except (OSError, SkillvaultError):  # a fault of the disk or the vault: try again later
                shutil.move(quarantined_file, path)
                quarantine.remove(quarantined_file.name)
                raise
            if damage is None:
                quarantine.remove(quarantined_file.name)
            path.with_suffix(journal.CLAIMS).unlink(missing_ok=True)

    def _submit_open_prompts(
        self,
        notes: Iterable[journal.Note | None],
        submit: Callable[[SessionPrompt, Mapping[str, Any]], object],
    ) -> None:
        for prompt in build_history(notes).prompts:
            if prompt.digest:
                continue
            outcome = self._current_outcome(prompt)
            if outcome is not None:
                submit(prompt, outcome)
            else:
                self._drop_files([*_receipt_file(prompt)])

    # ── outcomes ─────────────────────────────────────────────────────────────────────

    def _close_prompt(self, prompt: SessionPrompt, next_words: str) -> None:
        """Submit the outcome of a prompt if the user's next words judge or correct the result.

        Praise is ignored if a check has already shown success.
        """
        reaction = words.read_reaction(next_words, prompt.last_words)
        is_rejection = reaction.is_correction or reaction.status == "failure"
        if not is_rejection and (prompt.digest or reaction.status is None):
            return
        prompt.next_words, prompt.next_attended = next_words, self._client.is_attended
        outcome = self._current_outcome(prompt)
        if outcome is not None and {"observed_by", "next_words"} & outcome["result"].keys():
            self._submit(prompt, outcome)

    def _submit(self, prompt: SessionPrompt, outcome: Mapping[str, Any]) -> None:
        digest = self._drop_outcome(prompt, outcome)
        if digest != prompt.digest:
            note = journal.HandoverNote(prompt=prompt.note.id, digest=digest)
            SessionNotes(self._folder, prompt.note.session).append(note)

    def _drop_outcome(self, prompt: SessionPrompt, outcome: Mapping[str, Any]) -> str:
        """Put an outcome into the inbox, unless it was submitted already, and return its digest.

        The receipt of the prompt is added, so that both become one commit.
        """
        data = json.dumps(outcome, ensure_ascii=False).encode(errors="replace")
        content = json.dumps({**outcome, "occurred_at": ""}, sort_keys=True)
        digest = hashlib.sha256(content.encode(errors="replace")).hexdigest()
        if digest != prompt.digest:
            name = f"{transcripts.file_stem(prompt.note.session)}-{digest[:8]}.json"
            # The hook observed the end itself, so the file is attested.
            git_dir = self._vault.store.git.dirs()[0]
            receipts = [] if prompt.digest else [*_receipt_file(prompt)]
            recorded_outcomes = self._vault.store.snapshot().outcomes
            is_news = known_runs.PromptResults().is_news(outcome, recorded_outcomes, "local")
            files = arrival.attest_files(git_dir, [(name, data)]) if is_news else ()
            self._drop_files([*receipts, *files])
        return digest

    def _drop_files(self, files: Iterable[tuple[str, bytes]]) -> None:
        with pause_on_disk_errors(UNSAVED):
            list(self._vault.inbox.drop(files))

    def _current_outcome(self, prompt: SessionPrompt) -> dict[str, Any] | None:
        note = prompt.note
        policy = self._vault.store.snapshot().policy.transcripts
        tally = prompts.PromptTally(policy.checks, redact.redact_text)
        run = tally.open_run(events.Prompt(note.at, note.text, note.id))
        header = events.Header(session=note.session, cwd=note.cwd)
        for event in _prompt_events(prompt, header):
            tally.note_event(event, run)
        if prompt.unknown_version is not None:
            self._unknown_version = prompt.unknown_version
        run.add_words(prompt.next_words, prompt.next_attended)
        is_corrected = words.read_reaction(run.next_words or "", run.claim).is_correction
        if not (run.has_changed or run.checks or run.commands or run.skills or is_corrected):
            return None
        header.cwd = note.cwd
        options = transcripts.ImportOptions(
            client=note.client,
            domain=note.domain,
            trust="local",
            rules=policy,
            person=self._vault.store.git.settings().email,
        )
        outcome = _mark_observer(transcripts.outcome_of_prompt(run, header, options))
        return outcome and known_runs.with_event(outcome, prompt.message)

    # ── notes and policy ─────────────────────────────────────────────────────────────

    def _history(self, notes: SessionNotes) -> SessionHistory:
        """Read the notes of a session. A file that cannot be read is quarantined."""
        entries, damage = journal.read_notes(notes.path)
        if damage is not None and damage.line is None:
            self._vault.inbox.quarantine.take_notes(notes.path, damage, self._now)
        return build_history(entries)

    def _domain_of(self, payload: Payload) -> str:
        folder = payload.cwd or Path.cwd()
        return domain_of(folder, self._hook_rules.domains, self._client.domain)

    @property
    def _hook_rules(self) -> "HookPolicy":
        return self._vault.store.snapshot().policy.hook


def _key_of(event: str, payload: Payload) -> str:
    """Return the key of an event that is answered only once, or "" for any other event."""
    if event == "SessionStart":
        size = _size_of(payload.transcript)  # the size differs from one compaction to the next
        return f"{event} {payload.source} {size}" if size or payload.source == "startup" else ""
    is_prompt = event == "UserPromptSubmit" and payload.prompt_id
    return f"{event} {payload.prompt_id}" if is_prompt else ""


def _receipt_file(prompt: SessionPrompt) -> Iterator[tuple[str, bytes]]:
    if prompt.note.receipt:
        text = json.dumps(prompt.note.receipt, ensure_ascii=False)
        yield f"recommendation-{prompt.note.id}.json", text.encode(errors="replace")


def _mark_observer(outcome: dict[str, Any] | None) -> dict[str, Any] | None:
    """Mark an outcome as observed by a hook. The checks of a prompt count as tests."""
    if outcome is None or "observed_by" not in outcome["result"]:
        return outcome
    observer = outcome["result"]["observed_by"]
    observation = {"observed_by": "tests" if observer == "exit-code" else observer, "via": "hook"}
    return {**outcome, "result": {**outcome["result"], **observation}}


def _prompt_events(prompt: SessionPrompt, header: "events.Header") -> "Iterator[events.Event]":
    """Yield the events of a prompt from its transcript, then noted calls that it lacks."""
    result_ids: set[str] = set()
    last_remark = ""
    for event in _transcript_events(prompt, header):
        if isinstance(event, events.ToolResult):
            result_ids.add(event.id)
        if isinstance(event, events.Remark):
            last_remark = event.text
        yield event
    for call in prompt.calls:
        if call.id not in result_ids:
            yield events.ToolCall(call.at, call.id, call.tool, call.arguments)
            yield events.ToolResult(call.at, call.id, call.output, call.is_error, call.exit_code)
    if prompt.last_words.strip() and prompt.last_words != last_remark:
        yield events.Remark(prompt.said_at, prompt.last_words)


def _transcript_events(prompt: SessionPrompt, header: "events.Header") -> "Iterator[events.Event]":
    """Yield the events of a prompt from its transcript, if the file can be read."""
    note = prompt.note
    path = Path(note.transcript) if note.transcript else None
    if path is None or not 0 <= _size_of(path) - note.position <= _MAX_TRANSCRIPT_BYTES:
        return
    has_begun = False
    try:
        transcript = reader.Transcript(path, note.position)
        for event in transcript:
            if isinstance(event, events.Prompt) and not event.is_midway:
                is_part = prompt.has_id(event.id) or prompt.has_continuation(event.text)
                is_first = event.id is None or event.text.split() == note.text.split()
                if not is_part and (has_begun or not is_first):
                    break
                prompt.message = prompt.message or event.message
                if has_begun:
                    yield event
                has_begun = True
            elif not getattr(event, "aside", False):
                yield event
    except (BadInputError, ValueError):  # unreadable, or not a file name; the notes remain
        return
    prompt.unknown_version = transcript.unknown_version
    header.model, header.branch = transcript.header.model, transcript.header.branch


def _size_of(path: Path | None) -> int:
    try:
        return path.stat().st_size if path else 0
    except (OSError, ValueError):  # missing, or not a file name
        return 0

"""List the words of the clients' formats, with the versions that used them.

Each client has a table. The `use` of a word is its meaning for the readers. The text of a use that
ends in "pattern" is a regular expression; other texts are compared literally.
"""

import re
from typing import NamedTuple

from msgspec import Struct


class Word(NamedTuple):
    """A word or pattern of a format, with the first and the last version that has it."""

    use: str
    text: str
    versions: str


class ClientWords(Struct, frozen=True):
    """The words of a client, and the versions whose transcripts are known."""

    client: str
    title: str
    versions: tuple[str, ...]
    words: tuple[Word, ...]

    def texts(self, use: str) -> frozenset[str]:
        """Return the words with this use."""
        return frozenset(word.text for word in self.words if word.use == use)

    def beginnings(self, use: str) -> tuple[str, ...]:
        """Return the words with this use as a tuple for `str.startswith`."""
        return tuple(sorted(self.texts(use)))

    def pattern(self, use: str) -> re.Pattern[str]:
        """Return one pattern that matches any of the patterns with this use."""
        texts = "|".join(word.text for word in self.words if word.use == use)
        return re.compile(texts, re.MULTILINE | re.DOTALL)

    def person_text(self, text: str) -> str:
        """Return the person's text in a prompt, or "" if the client wrote all of it."""
        rest = self.pattern("client part pattern").sub("", text)
        return "" if self.pattern("client text pattern").match(rest) else rest.strip()

    def describe_unknown(self, version: str | None) -> str:
        """Return a sentence about a transcript of this version with unknown words."""
        name = f"{self.title} {version}" if version else f"a version of {self.title}"
        return f"{name} writes lines that are not known here; known is {self.versions[-1]}"


def _rows(use: str, versions: str, text: str) -> tuple[Word, ...]:
    return tuple(Word(use, word, versions) for word in text.split())


# What a client writes in a prompt for a picture or a long text.
_PLACEHOLDER = r"\[(?:Image|Pasted text|\.\.\.Truncated text) #\d+[^\]\n]*\]"

CLAUDE_CODE = ClientWords(
    client="claude-code",
    title="Claude Code",
    versions=("2.1.197", "2.1.330"),
    words=(
        # Types of lines without a prompt, a message or a tool call.
        *_rows("ignored line", "2.1.197 2.1.330", "last-prompt queue-operation summary"),
        *_rows("ignored line", "2.1.27", "saved_hook_context"),
        *_rows(
            "ignored line",
            "2.1.330",
            "agent-name ai-title api-request api-request-blob api-request-resumed "
            "api-request-shape artifact-autoreact-ledger artifact-comment-monitor atis-latch "
            "attachment bridge-session content-replacement cost-state custom-title "
            "data-flow-incomplete data-flow-records derived-from dev-mods file-history-snapshot "
            "frame-link history-suppression host-row hybrid-organization isolation-latch mode "
            "permission-mode pr-link progress relocated repl-mode resume-head-vouch session-owner "
            "system tag tools-used worktree-state",
        ),
        # Types by which the client is known, although the lines name no session.
        *_rows("line without a session", "2.1.197 2.1.330", "file-history-snapshot summary"),
        # Keys of lines that the client wrote for the agent or for itself.
        *_rows("hidden line", "2.1.197 2.1.330", "isCompactSummary isMeta"),
        *_rows("hidden line", "2.1.330", "isVirtual isVisibleInTranscriptOnly"),
        # Values of `entrypoint`: a person is at the client, or a script.
        *_rows("attended", "2.1.330", "claude-desktop claude-vscode cli"),
        *_rows("unattended", "2.1.330", "claude-code-github-action mcp sdk-cli sdk-py sdk-ts"),
        # Values of `promptSource`: a person typed the prompt, or the client wrote it.
        *_rows("typed", "2.1.330", "queued typed"),
        *_rows("client prompt", "2.1.330", "system"),
        # The attachment with words that were typed while the agent works, and who typed them.
        *_rows("prompt in a turn", "2.1.330", "queued_command"),
        *_rows("person", "2.1.330", "human"),
        *_rows("model of the client", "2.1.197 2.1.330", "<synthetic>"),
        Word(
            "paste pattern",
            r'\n*<pasted_content id="(\w+)">\n(?P<text>.*?)\n</pasted_content id="\1">\n?',
            "2.1.330",
        ),
        # Parts that the client adds to the text of a person, and the command that a person gives.
        Word(
            "client part pattern",
            r"^[ \t]*<(system-reminder|ide_\w+|user-prompt-\w+-hook|local-command-\w+)>"
            r"(?:(?!<\1>).)*?</\1>\n?",  # up to the next beginning, so that the time is linear
            "2.1.197 2.1.330",
        ),
        Word("client part pattern", _PLACEHOLDER, "2.1.197 2.1.330"),
        Word(
            "command pattern",
            r"\s*<command-message>[^<]*</command-message>\s*<command-name>(/[^<]+)"
            r"</command-name>(?:\s*<command-args>(.*?)</command-args>)?\s*\Z",
            "2.1.197 2.1.330",
        ),
        # Texts that the client itself writes as prompts.
        Word(
            "client text pattern",
            r"\s*<(?:task-notification|system-reminder|local-command|command-|bash-)",
            "2.1.197 2.1.330",
        ),
        Word(
            "client text pattern",
            r"\s*<(?:ide_|user-memory-input|teammate-message|user-prompt-submit-hook"
            r"|cross-session-message|mcp-(?:polling|resource)|fork-boilerplate)",
            "2.1.330",
        ),
        Word("client text pattern", r"\s*Caveat: ", "2.1.197"),
        Word(
            "client text pattern",
            r"\s*(?:\[Request interrupted|\[Image: |Unknown (?:slash command|skill): "
            r"|Stop hook feedback:|Base directory for this skill: )",
            "2.1.197 2.1.330",
        ),
        Word(
            "client text pattern",
            r"\s*This session is being continued from a previous conversation that ran out",
            "2.1.197 2.1.330",
        ),
        Word("interruption", "[Request interrupted", "2.1.197 2.1.330"),
        # Beginnings of the result of a call that the user did not allow.
        Word("refusal", "The user doesn't want to", "2.1.197 2.1.330"),
        Word("refusal", "[Request interrupted", "2.1.197 2.1.330"),
        Word("refusal", "Permission to use", "2.1.197 2.1.330"),
        Word("exit code pattern", r"Exit code (\d+)\b", "2.1.197 2.1.330"),
        Word("running", "Command running in background", "2.1.197 2.1.330"),
        Word("running", "Running in background", "2.1.330"),
        # The client's message about the end of a background command.
        Word(
            "end pattern",
            r"<task-notification>.*?<tool-use-id>(?P<call>[^<]+)</tool-use-id>.*?"
            r"<status>(?P<status>completed|failed)</status>.*?<summary>(?P<told>[^<]*)",
            "2.1.197 2.1.330",
        ),
        Word("end code pattern", r"\bexit code (\d+)\)?\Z", "2.1.197 2.1.330"),
    ),
)

CODEX = ClientWords(
    client="codex",
    title="Codex",
    versions=("0.169.0",),
    words=(
        *_rows("line", "0.169.0", "response_item session_meta turn_context"),
        *_rows(
            "ignored line",
            "0.169.0",
            "compacted event_msg ghost_snapshot token_usage_record world_state",
        ),
        *_rows(
            "ignored item",
            "0.169.0",
            "compaction ghost_snapshot image_generation_call other reasoning web_search_call",
        ),
        *_rows("call", "0.169.0", "custom_tool_call function_call local_shell_call"),
        *_rows("result", "0.169.0", "custom_tool_call_output function_call_output"),
        # Values of `source`: a person is at the client, or a script.
        *_rows("attended", "0.169.0", "cli"),
        *_rows("unattended", "0.169.0", "exec mcp"),
        # Values of `turn_trigger` and of the provenance of a text.
        *_rows("typed", "0.169.0", "user"),
        *_rows("client prompt", "0.169.0", "harness"),
        # What an editor adds before the text of a person.
        Word("client part pattern", _PLACEHOLDER, "0.169.0"),
        Word("client part pattern", r"\A.*?^## My request for Codex:[ \t]*\n?", "0.169.0"),
        # Texts that the client itself writes as prompts.
        Word(
            "client text pattern",
            r"\s*<(?:environment_context|user_instructions|turn_aborted|skill|user_shell_command"
            r"|subagent_notification|agent_message_board_notification|permissions instructions"
            r"|collaboration_mode|codex_internal_context|goal_context|hook_prompt|/?image)\b",
            "0.169.0",
        ),
        Word("client text pattern", r"\s*# (?:AGENTS|Context from my IDE setup:)", "0.169.0"),
        Word("client text pattern", r"Another language model started to solve this", "0.169.0"),
        Word("interruption", "<turn_aborted", "0.169.0"),
        Word("exit code pattern", r"^(?:Process exited with code|Exit code:) (-?\d+)$", "0.169.0"),
        Word("running pattern", r"^Process running with session ID (\d+)$", "0.169.0"),
        Word("output pattern", r"^Output:\n", "0.169.0"),
        Word("refusal pattern", r"\b(?:rejected by (?:the )?user|aborted by user)\b", "0.169.0"),
    ),
)

CLIENT_WORDS = {words.client: words for words in (CLAUDE_CODE, CODEX)}

"""Find suspicious passages in a foreign skill, for a person to read before approving it.

The rules find known tricks against readers. A skill without findings may still be unsafe.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from skillvault.learning.recommend.render import frame_tags
from skillvault.model.text.hidden_characters import escape_hidden, hidden_characters
from skillvault.model.text.tables import read_patterns
from skillvault.model.text.text import shorten

KEEPS_OUT = "secret"  # the code of findings that keep a skill of a public source out
NO_PROOF = "a clean lint proves no safety"
_SHOWN = 40  # findings in a commit or on a screen
_QUOTED = 60  # characters of a match
_LONG_LINE = 4000  # characters of a line that are checked
_LONG_TEXT = 256 * 1024  # and of a file

_CUE = read_patterns("skillvault.learning", "lint.txt")
_REACHES = (
    "the network", "other programs", "code made at run time", "the environment",
    "packages to install", "files to delete",
)  # fmt: skip
_RUNS_WHEN_LOADED = re.compile(r"(?:^|\s)!`[^`]+`")
_PIPED = re.compile(
    r"\b(?:curl|wget)\b[^\n|]{0,200}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|\biex\b.*\biwr\b"
)
_URL = re.compile(r"\bhttps?://[^\s<>\"'`)\]}]+", re.IGNORECASE)
_SCRIPT = re.compile(
    r"\.(?:py|sh|bash|zsh|fish|js|mjs|cjs|ts|tsx|rb|pl|php|ps1|bat|cmd|lua|go|rs|java|swift|applescript|"
    r"scpt|vbs|r|jl)$", re.IGNORECASE)  # fmt: skip
_HOOKS = re.compile(r"^\s*(?:agent-skills\.)?hooks\s*:", re.MULTILINE)

_REDACTED = re.compile(r"\[redacted: [^\]]+\]")
# What a line may hold: a code, a pattern, and a sentence about the words that match.
_IN_LINES = (
    ("orders", _CUE["orders"], "“{}”"),
    ("script", _RUNS_WHEN_LOADED, "runs when a host loads it: “{}”"),
    ("script", _PIPED, "runs what it fetches: “{}”"),
    ("reaches", _CUE["credentials"], "a place of credentials or of what runs by itself: “{}”"),
    ("redacted", _REDACTED, "{}"),
)

Secrets = Callable[[str], Sequence[str]]  # the kinds of the secrets in a text


class Finding(Struct, frozen=True, order=True):
    """A suspicious passage: its code, file, line (0 for the whole file) and message."""

    path: str
    line: int
    code: str
    message: str

    @property
    def where(self) -> str:
        """The file and the line."""
        return f"{self.path}:{self.line}" if self.line else self.path


def lint_files(files: Mapping[str, bytes], secrets: Secrets) -> list[Finding]:
    """Return the findings in the files of a skill, sorted by file and line."""
    return sorted(
        finding for path, data in files.items() for finding in _of_file(path, data, secrets)
    )


def lint_lines(findings: Sequence[Finding]) -> list[str]:
    """Return the counts of the findings, then each finding on a line."""
    counts = Counter(finding.code for finding in findings)
    kinds = ", ".join(f"{count} {code}" for code, count in sorted(counts.items()))
    lines = [f"Lint: {kinds or 'nothing found'}; {NO_PROOF}."]
    lines += [
        f"  {f.code:8} {escape_hidden(f.where)}  {escape_hidden(f.message)}"
        for f in findings[:_SHOWN]
    ]
    if len(findings) > _SHOWN:
        lines.append(f"  and {len(findings) - _SHOWN} more; read the files themselves")
    return lines


def sum_up(skills: Sequence[Sequence[Finding]]) -> str:
    """Say in how many skills each kind of finding is, by the findings of each skill."""
    counts = Counter(code for findings in skills for code in {f.code for f in findings})
    kinds = ", ".join(f"{code} in {count:,}" for code, count in sorted(counts.items()))
    flagged = sum(map(bool, skills))
    sentence = f"findings in {flagged:,} of {len(skills):,} skills ({kinds})"
    return f"Lint: {sentence if kinds else 'nothing found'}; {NO_PROOF}."


def _of_file(path: str, data: bytes, secrets: Secrets) -> Iterator[Finding]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        yield Finding(
            path, 0, "binary", f"{len(data)} bytes that are no text, and were not looked at"
        )
        return
    if len(text) > _LONG_TEXT:
        yield Finding(path, 0, "long", f"only the first {_LONG_TEXT} characters were checked")
        text = text[:_LONG_TEXT]
    is_script = bool(_SCRIPT.search(path)) or text.startswith("#!")
    yield from _hidden_characters(path, text)
    yield from _urls(path, text)
    yield from _secrets(path, text, secrets)
    if is_script:
        reach_names = [name for name in _REACHES if _CUE[name].search(text)]
        message = f"reaches {', '.join(reach_names)}" if reach_names else "reaches nothing known"
        yield Finding(path, 0, "script", message)
    if path == "SKILL.md" and _HOOKS.search(text.partition("\n---")[0]):
        yield Finding(path, 0, "script", "hooks, which a host may run")
    yield from _line_findings(path, text, is_script=is_script)


def _line_findings(path: str, text: str, *, is_script: bool) -> Iterator[Finding]:
    lines = [line[:_LONG_LINE] for line in text.splitlines()]
    checked_text = "\n".join(lines)
    for code, pattern, sentence in _IN_LINES:
        # One search of the whole text costs far less than one of each line.
        if pattern.search(checked_text) and not (is_script and code == "orders"):
            for number, line in enumerate(lines, 1):
                for words in _matches(pattern, line):
                    yield Finding(path, number, code, sentence.format(_first_words(words)))
    if frame_tags(checked_text) or _CUE["frame"].search(checked_text):
        for number, line in enumerate(lines, 1):
            if tags := [*frame_tags(line), *_matches(_CUE["frame"], line)]:
                yield Finding(path, number, "frame", f"“{_first_words(tags[0])}”")


def _secrets(path: str, text: str, secrets: Secrets) -> Iterator[Finding]:
    """Yield each secret with its line; a secret over several lines belongs to the whole file."""
    if kinds := secrets(text):
        lines = enumerate(text.splitlines(), 1)
        secret_lines = [(number, kind) for number, line in lines for kind in secrets(line)]
        for number, kind in secret_lines or [(0, kinds[0])]:
            yield Finding(path, number, KEEPS_OUT, f"looks like a secret ({kind})")


def _hidden_characters(path: str, text: str) -> Iterator[Finding]:
    """Yield the first use of each kind of hidden character."""
    findings: dict[str, Finding] = {}
    for char in hidden_characters(text):
        findings.setdefault(char.name, Finding(path, char.line, "hidden", char.name))
    yield from findings.values()


def _urls(path: str, text: str) -> Iterator[Finding]:
    """Yield the first use of each host."""
    hosts: dict[str, Finding] = {}
    for number, line in enumerate(text.splitlines(), 1):
        for url in _matches(_URL, line):
            host = _host_of(url)
            hosts.setdefault(host, Finding(path, number, "url", host))
    yield from hosts.values()


def _host_of(url: str) -> str:
    try:
        return shorten(urlsplit(url).netloc, _QUOTED)
    except ValueError:
        return shorten(url, _QUOTED)


def _matches(pattern: re.Pattern[str], line: str) -> Iterable[str]:
    return (match[0] for match in pattern.finditer(line))


def _first_words(words: str) -> str:
    return shorten(words.strip(), _QUOTED)

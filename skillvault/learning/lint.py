"""Find suspicious passages in a foreign skill, for a person to read before approving it.

Installations, imports and reviews show the findings. The rules find only known tricks, so a skill
without findings may still be unsafe. Add patterns to `lint.txt`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from skillvault.learning.recommend.render import frame_tags
from skillvault.model.lazy import regex
from skillvault.model.text.hidden_characters import escape_hidden, hidden_characters
from skillvault.model.text.tables import read_patterns
from skillvault.model.text.text import shorten

_LINK_PLACE = regex(r"\]\(<?https?://|<https?://|^\s*(?:[-*+]|\d+[.)])\s")
_LINK = "url"  # the code of links to read; one that a line asks for is a `fetch`
KEEPS_OUT = "secret"  # the code of findings for which a skill of a public source is refused
NO_PROOF = "a clean lint proves no safety"
_MAX_FINDINGS = 40  # findings in a commit or on a screen
_MAX_QUOTE = 60  # characters of a match
_MAX_LINE = 4000  # characters of a line that are checked
_MAX_TEXT = 256 * 1024  # characters of a file that are checked

_CUE = read_patterns("skillvault.learning", "lint.txt")
_REACHES = (
    "the network", "other programs", "code made at run time", "the environment",
    "packages to install", "files to delete",
)  # fmt: skip
# (code, pattern, sentence about the matching words) for findings in one line
_LINE_RULES = (
    ("orders", _CUE["orders"], "“{}”"),
    ("script", _CUE["runs when loaded"], "runs when a host loads it: “{}”"),
    ("script", _CUE["piped"], "runs what it fetches: “{}”"),
    ("reaches", _CUE["credentials"], "a place of credentials or of what runs by itself: “{}”"),
    ("redacted", _CUE["redacted"], "{}"),
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
        """The place as `file:line`, or the file alone."""
        return f"{self.path}:{self.line}" if self.line else self.path


def is_clean(findings: Sequence[Finding]) -> bool:
    """Return True if the lint found nothing but links to read."""
    return all(finding.code == _LINK for finding in findings)


def lint_files(files: Mapping[str, bytes], secrets: Secrets) -> list[Finding]:
    """Return the findings in the files of a skill, sorted by file and line.

    `secrets` returns the kinds of the secrets in a text.
    """
    return sorted(f for path in files for f in _file_findings(path, files[path], secrets))


def lint_rule(text: str, secrets: Secrets) -> list[str]:
    """Return a line for a person about each finding in a rule."""
    findings = lint_files({"rule.md": text.encode()}, secrets)
    return [f"Lint: {finding.code}: {escape_hidden(finding.message)}" for finding in findings]


def lint_lines(findings: Sequence[Finding]) -> list[str]:
    """Return lines for a person: the counts of the findings, then one line for each finding."""
    counts = Counter(finding.code for finding in findings)
    kinds = ", ".join(f"{count} {code}" for code, count in sorted(counts.items()))
    lines = [f"Lint: {kinds or 'nothing found'}; {NO_PROOF}."]
    lines += [
        f"  {finding.code:8} {escape_hidden(finding.where)}  {escape_hidden(finding.message)}"
        for finding in findings[:_MAX_FINDINGS]
    ]
    if len(findings) > _MAX_FINDINGS:
        lines.append(f"  and {len(findings) - _MAX_FINDINGS} more; read the files themselves")
    return lines


def sum_up(skills: Sequence[Sequence[Finding]]) -> str:
    """Return a sentence with the number of skills that have each kind of finding."""
    counts = Counter(code for findings in skills for code in {finding.code for finding in findings})
    kinds = ", ".join(f"{code} in {count:,}" for code, count in sorted(counts.items()))
    flagged_count = sum(map(bool, skills))
    sentence = f"findings in {flagged_count:,} of {len(skills):,} skills ({kinds})"
    return f"Lint: {sentence if kinds else 'nothing found'}; {NO_PROOF}."


def _file_findings(path: str, data: bytes, secrets: Secrets) -> Iterator[Finding]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        message = f"{len(data)} bytes that are no text, and were not looked at"
        yield Finding(path, 0, "binary", message)
        return
    if len(text) > _MAX_TEXT:
        yield Finding(path, 0, "long", f"only the first {_MAX_TEXT} characters were checked")
        text = text[:_MAX_TEXT]
    is_script = bool(_CUE["script file"].search(path)) or text.startswith("#!")
    yield from _hidden_characters(path, text)
    yield from _urls(path, text)
    yield from _secrets(path, text, secrets)
    if is_script:
        reach_names = [name for name in _REACHES if _CUE[name].search(text)]
        message = f"reaches {', '.join(reach_names)}" if reach_names else "reaches nothing known"
        yield Finding(path, 0, "script", message)
    if path == "SKILL.md" and _CUE["hooks"].search(text.partition("\n---")[0]):
        yield Finding(path, 0, "script", "hooks, which a host may run")
    yield from _line_findings(path, text, is_script=is_script)


def _line_findings(path: str, text: str, *, is_script: bool) -> Iterator[Finding]:
    lines = [line[:_MAX_LINE] for line in text.splitlines()]
    checked_text = "\n".join(lines)
    for code, pattern, sentence in _LINE_RULES:
        # One search of the whole text costs far less than a search of each line.
        if pattern.search(checked_text) and not (is_script and code == "orders"):
            for number, line in enumerate(lines, 1):
                for words in _matches(pattern, line):
                    yield Finding(path, number, code, sentence.format(_first_words(words)))
    if frame_tags(checked_text) or _CUE["frame"].search(checked_text):
        for number, line in enumerate(lines, 1):
            if tags := [*frame_tags(line), *_matches(_CUE["frame"], line)]:
                yield Finding(path, number, "frame", f"“{_first_words(tags[0])}”")


def _secrets(path: str, text: str, secrets: Secrets) -> Iterator[Finding]:
    """Yield each secret with its line, or with line 0 if it extends over several lines."""
    if kinds := secrets(text):
        lines = enumerate(text.splitlines(), 1)
        secret_lines = [(number, kind) for number, line in lines for kind in secrets(line)]
        for number, kind in secret_lines or [(0, kinds[0])]:
            yield Finding(path, number, KEEPS_OUT, f"looks like a secret ({kind})")


def _hidden_characters(path: str, text: str) -> Iterator[Finding]:
    findings: dict[str, Finding] = {}
    for char in hidden_characters(text):
        findings.setdefault(char.name, Finding(path, char.line, "hidden", char.name))
    yield from findings.values()


def _urls(path: str, text: str) -> Iterator[Finding]:
    """Yield the first use of each host: as a link to read, and as an address in an instruction.

    A link is in brackets or in a list, on a line without a request.
    """
    hosts: dict[tuple[str, str], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        for url in _matches(_CUE["url"], line):
            is_asked = _CUE["the network"].search(line) or _CUE["requests"].search(line)
            is_link = _LINK_PLACE.search(line) and not is_asked
            hosts.setdefault((_host_of(url), _LINK if is_link else "fetch"), number)
    yield from (Finding(path, number, code, host) for (host, code), number in hosts.items())


def _host_of(url: str) -> str:
    try:
        return shorten(urlsplit(url).netloc, _MAX_QUOTE)
    except ValueError:
        return shorten(url, _MAX_QUOTE)


def _matches(pattern: re.Pattern[str], line: str) -> Iterable[str]:
    return (match[0] for match in pattern.finditer(line))


def _first_words(words: str) -> str:
    return shorten(words.strip(), _MAX_QUOTE)

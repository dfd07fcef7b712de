"""The table of rules: for each kind of record what two clones' versions of it become.

A kind without a row goes by its content, as an outcome does. A new kind that needs more has its row
here.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import fields

from skillvault.learning.capture.rules import SEPARATOR, blocks_of, rule_words
from skillvault.learning.sync.skill import is_edited, merged_skill
from skillvault.learning.sync.standing import merged_expertise
from skillvault.learning.sync.texts import (
    earliest,
    least_trust,
    merged_keys,
    merged_statements,
    parted,
    ranked,
    whole_file,
)
from skillvault.learning.sync.three_way import (
    Rule,
    Versions,
    contradiction,
    file_by,
    joined_set,
    lesser,
    three_way,
    woven,
)
from skillvault.model.errors import BadInputError
from skillvault.model.records import (
    FACT_KINDS,
    Decision,
    Lesson,
    Outcome,
    Recommendation,
    Result,
    Session,
    Source,
)
from skillvault.model.text import front_matter, strict_yaml
from skillvault.model.text.text import rule_key

UNDECIDED = re.compile(r"^# undecided: (?P<key>\S+) is (?P<values>.*)\n?", re.MULTILINE)
_HOW = "  # write the one that holds, and remove this line"
_OR = " or "


def undecided(text: str) -> dict[str, list[str]]:
    """key -> the values that clones gave it, of those on which a person must decide."""
    return {
        line["key"]: sorted(line["values"].removesuffix(_HOW).split(_OR))
        for line in UNDECIDED.finditer(text)
    }


def undecided_line(key: str, values: Iterable[str]) -> str:
    """The comment for a key."""
    return f"# undecided: {key} is {_OR.join(sorted(values))}{_HOW}\n"


_KEY = re.compile(r"(?P<key>[^\s#:][^:]*):(?:\s|$)")

Place = tuple[str, ...]


class SharedSetting(NamedTuple):
    """A key's value, and what clones wrote there, if nobody decided yet."""

    value: Any = None
    undecided: frozenset[str] = frozenset()


def merged_settings(versions: Versions) -> bytes:
    """Each key as one side changed it; see the module for one that both did."""
    base, ours, theirs = (_settings_in(side or b"") for side in versions)
    settings = {
        place: _merged(base.get(place), ours.get(place), theirs.get(place))
        for place in [*ours, *(place for place in theirs if place not in ours)]
    }
    values = _nested({place: setting.value for place, setting in settings.items()})
    content = _policy_text(values, versions)
    lines = [
        undecided_line(".".join(place), s.undecided)
        for place, s in sorted(settings.items())
        if s.undecided
    ]
    return (content + "".join(lines)).encode()


def _merged(
    base: SharedSetting | None, ours: SharedSetting | None, theirs: SharedSetting | None
) -> SharedSetting:
    before, first, second = (
        base or SharedSetting(),
        ours or SharedSetting(),
        theirs or SharedSetting(),
    )
    lists = [side.value or [] for side in (before, first, second)]
    if all(_is_words(words) for words in lists) and any(lists):
        return SharedSetting(joined_set(*lists))
    return three_way(before, first, second, lambda o, t: _open(before, o, t))


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _open(before: SharedSetting, *sides: SharedSetting) -> SharedSetting:
    """What two clones decided otherwise: the value of before, and theirs."""
    open_sides = [side for side in sides if side.undecided]
    candidates = (side.undecided or {json.dumps(side.value, ensure_ascii=False)} for side in sides)
    value = min(open_sides, key=str).value if open_sides else before.value
    return SharedSetting(value, frozenset().union(*candidates))


# ── text ─────────────────────────────────────────────────────────────────────────────


def _settings_in(content: bytes) -> dict[Place, SharedSetting]:
    """Every setting of the file by its place, those of a section by themselves."""
    text = front_matter.text_of(content)
    values = _leaves(front_matter.as_mapping(strict_yaml.load(text) or {}))
    settings = {place: SharedSetting(value) for place, value in values}
    for key, candidates in undecided(text).items():
        place = tuple(key.split("."))
        value = settings.get(place, SharedSetting()).value
        settings[place] = SharedSetting(value, frozenset(candidates))
    return settings


def _leaves(values: Mapping[str, Any], place: Place = ()) -> Iterable[tuple[Place, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*place, key))
        else:
            yield (*place, key), value


def _nested(leaves: Mapping[Place, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for (*above, key), value in leaves.items():
        section = values
        for name in above if value is not None else ():
            section = section.setdefault(name, {})
        if value is not None:
            section[key] = value
    return values


def _policy_text(values: Mapping[str, Any], versions: Versions) -> str:
    """A text that says this: its lines as they stand, but for what both sides changed."""
    base, ours, theirs = (_chunks(side or b"") for side in versions)
    written = [three_way(base.get("", ""), ours.get("", ""), theirs.get("", ""), min)]
    for key in woven([*ours], [*theirs], values):
        chunk = three_way(base.get(key, ""), ours.get(key, ""), theirs.get(key, ""), min)
        says_so = strict_yaml.load(chunk) == {key: values[key]}
        written.append(chunk if says_so else _edited_chunk(chunk, key, values[key]))
    text = "".join(written)
    return text if strict_yaml.load(text) == values else strict_yaml.dump(dict(values))


def _chunks(content: bytes) -> dict[str, str]:
    """The lines of each key of the first level, with the comments above it; "" is what is above."""
    chunks: dict[str, str] = {"": ""}
    above = ""
    for line in UNDECIDED.sub("", front_matter.text_of(content)).splitlines():
        key = _KEY.match(line)
        if key or not line.startswith("#"):
            name = key["key"].strip("'\"") if key else [*chunks][-1]
            chunks[name] = f"{chunks.get(name, '')}{above}{line}\n"
            above = ""
        else:
            above += f"{line}\n"
    chunks[[*chunks][-1]] += above
    return chunks


def _edited_chunk(chunk: str, key: str, value: Any) -> str:
    """The lines of a key, edited so far as only values of theirs change; else written anew."""
    try:
        for place, leaf in _leaves({key: value}):
            chunk = strict_yaml.with_value(chunk, place, tuple(leaf) if _is_words(leaf) else leaf)
        if strict_yaml.load(chunk) == {key: value} and _is_sorted(chunk):
            return chunk
    except BadInputError:
        return strict_yaml.dump({key: _sorted(value)})
    return strict_yaml.dump({key: _sorted(value)})


def _is_sorted(chunk: str) -> bool:
    """Whether no key was added out of its order."""
    places = [place for place, _ in _leaves(strict_yaml.load(chunk))]
    return places == sorted(places)


def _sorted(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {key: _sorted(value[key]) for key in sorted(value)}


def merged_retraction(versions: Versions) -> bytes:
    """The earlier one; of two of one time the one that comes first as text."""
    return min(
        versions.sides, key=lambda side: (str(strict_yaml.load(side.decode()).get("at", "")), side)
    )


_TIMES = frozenset({"created_at", "at", "occurred_at", "ended_at"})
_TRUST = "trust"
_KINDS = (Outcome, Decision, Result, Lesson, Source, Recommendation, Session)
_KNOWN = frozenset(field.name for kind in _KINDS for field in fields(kind)) - {"metadata"}
_OFFLINE = "offline"


def merged_record(versions: Versions) -> bytes:
    """Least trust, the earliest time, unknown keys of both; BadInputError if they differ else."""
    first, second = (_record_in(content) for content in versions.sides)
    merged = _joined_values(first, second, "")
    if merged in (first, second):
        return versions.sides[0 if merged == first else 1]
    return _as_file(merged, is_json=versions.ours.lstrip().startswith(b"{"))


def _record_in(content: bytes) -> dict[str, Any]:
    return front_matter.as_mapping(strict_yaml.load(front_matter.text_of(content)))


def _as_file(values: Mapping[str, Any], *, is_json: bool) -> bytes:
    if is_json:
        return (json.dumps(values, ensure_ascii=False, indent=2) + "\n").encode()
    return strict_yaml.dump(values).encode()


def _joined_values(first: Any, second: Any, key: str) -> Any:
    """One value of two; `key` is its dotted place."""
    name = key.rpartition(".")[2]
    if first == second:
        return first
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return _joined_mappings(first, second, key)
    if name == _TRUST:
        return "untrusted"
    if name in _TIMES:
        return min(first, second, key=str)
    raise contradiction(key, first, second)


def _joined_mappings(
    first: Mapping[str, Any], second: Mapping[str, Any], place: str
) -> dict[str, Any]:
    """The keys that the format knows in its order, behind them those of either side, sorted."""
    shared = {
        name: _joined_values(first[name], second[name], f"{place}.{name}" if place else name)
        for name in first
        if name in second
    }
    single = {**first, **second}
    for name in sorted(single.keys() - shared.keys()):
        if name in _KNOWN and name != _TRUST:
            raise contradiction(f"{place}.{name}".strip("."), first.get(name), second.get(name))
        shared[name] = single[name]
    known = {name: value for name, value in shared.items() if name in _KNOWN}
    return {**known, **{name: shared[name] for name in sorted(shared.keys() - known.keys())}}


def merged_judgement(versions: Versions) -> bytes:
    """One of both, whole: a paid judge's, the newer version, then the lesser bytes."""
    return max(reversed(versions.sides), key=_rank)


def _rank(content: bytes) -> tuple[bool, tuple[int, ...], str]:
    judge = front_matter.as_mapping(_record_in(content).get("judge"))
    version = str(judge.get("version", ""))
    numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
    return judge.get("name") != _OFFLINE, numbers, version


def merged_learnings(versions: Versions) -> bytes:
    """The header as one side changed it, and the rules of both, each once."""
    texts = [(side or b"").decode(errors="surrogateescape") for side in versions]
    before, first, second = map(_header, texts)
    header = three_way(before, first, second, max)
    base, ours, theirs = map(_rule_blocks, texts)
    blocks = {
        **ours,
        **theirs,
        **{key: min(ours[key], theirs[key]) for key in ours.keys() & theirs},
    }
    rules = [blocks[key] for key in joined_set(base, [*ours], [*theirs])]
    return "".join([header, *rules]).encode(errors="surrogateescape")


def _header(text: str) -> str:
    """What stands before the first rule, up to the separator there."""
    return "".join(block.whole for block in blocks_of(text) if block.header)


def _rule_blocks(text: str) -> Mapping[str, str]:
    """The blocks below the header by what their rules say, each with a separator behind it."""
    return {
        rule_key(rule_words(block.text)): _with_end(block.text) + (block.end or SEPARATOR)
        for block in blocks_of(text)
        if not block.header and block.text.strip()
    }


def _with_end(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


_ORDER = (
    "id", "domain", "importance", "kind", "created_at", "insight_type", "trust", "supersedes",
    "review_by",
)  # fmt: skip
_RULES = {
    "importance": ranked(("low", "medium", "high")),
    "created_at": earliest,
    "trust": least_trust,
    "supersedes": lesser,
    "review_by": earliest,
    "kind": ranked([kind for kind in FACT_KINDS if kind != "human"] + ["human"]),
}


def merged_fact(versions: Versions) -> bytes:
    """The higher importance, the earliest time; the statements of both."""
    base, ours, theirs = map(parted, versions)
    values = merged_keys(base.values, ours.values, theirs.values, rules=_RULES)
    body = three_way(
        base.body, ours.body, theirs.body, lambda o, t: merged_statements(base.body, o, t)
    )
    return whole_file(values, body, (base, ours, theirs), _ORDER)


def says_otherwise(base: bytes, side: bytes) -> bool:
    """Whether a person changed a fact's text: the program writes that once."""
    return parted(base).body != parted(side).body


def merged_links(versions: Versions) -> bytes:
    """The lines of both lists, without those that one took away; a person rejected these."""
    base, *sides = (
        content.rstrip(b"\n").split(b"\n") if content else []
        for content in (versions.base or b"", *versions.sides)
    )
    return b"".join(line + b"\n" for line in joined_set(base, *sides))


POLICY, LEARNINGS, EXPERTISE = "vault.yaml", "LEARNINGS.md", "expertise.yaml"
LINKS = "links"  # a list of links, which without a line is no file

# A rule is asked about what both sides changed.
RULES: Mapping[str, Rule] = {
    "evaluation": merged_judgement,
    "answer": merged_judgement,
    "fact": merged_fact,
    "skill": merged_skill,
    "reference": lambda versions: versions.sides[1],  # it is written anew with its skill
    LINKS: merged_links,
    POLICY: merged_settings,
    LEARNINGS: merged_learnings,
    EXPERTISE: merged_expertise,
}
# Whether what one side changed stays if the other took the file away; nothing else does.
STAYS: Mapping[str, Callable[[bytes, bytes], bool]] = {
    "fact": says_otherwise,
    "skill": is_edited,
    POLICY: lambda _base, _side: True,
    LEARNINGS: lambda _base, _side: True,
    EXPERTISE: lambda _base, _side: True,
}


def rule_of(kind: str) -> Rule:
    """The rule of a kind of record, or of one of the vault's own files."""
    if kind == "retraction":
        return merged_retraction
    return partial(file_by, RULES.get(kind, merged_record))


def stays(kind: str, base: bytes, side: bytes) -> bool:
    """Whether a person changed a file that the other side took away, so that it stays."""
    return kind in STAYS and STAYS[kind](base, side)

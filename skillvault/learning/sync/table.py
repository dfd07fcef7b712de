"""The table of merge rules: one row for each kind of record that two clones may change.

`team/sync_tree.py` asks `rule_of` and `must_stay` for each path. To add a rule, write a function
and a row in `_FILE_RULES`. A kind without a row is merged by `merge_record`, like an outcome.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec.structs import fields

from skillvault.learning.capture.rules import SEPARATOR, blocks_of, rule_words
from skillvault.learning.sync import three_way
from skillvault.learning.sync.skill import is_edited, merge_expertise, merge_skill
from skillvault.learning.sync.three_way import Rule, Versions
from skillvault.model.codec import FACT_KEYS
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
_HINT = "  # write the one that holds, and remove this line"
_SEPARATOR = " or "


def read_undecided(text: str) -> dict[str, list[str]]:
    """Return the values in the clones for each key that a person must decide."""
    return {
        line["key"]: sorted(line["values"].removesuffix(_HINT).split(_SEPARATOR))
        for line in UNDECIDED.finditer(text)
    }


_KEY = re.compile(r"(?P<key>[^\s#:][^:]*):(?:\s|$)")

Place = tuple[str, ...]


class SharedSetting(NamedTuple):
    """The value of a key in vault.yaml, and the values of the clones if a person must decide."""

    value: Any = None
    undecided: frozenset[str] = frozenset()


def merge_settings(versions: Versions) -> bytes:
    """Merge vault.yaml key by key; if both sides changed a key, a person must decide."""
    base, first, second = (_read_settings(side or b"") for side in versions)
    settings = {
        path: _merge_setting(base.get(path), first.get(path), second.get(path))
        for path in [*first, *(path for path in second if path not in first)]
    }
    values = _nest({path: setting.value for path, setting in settings.items()})
    content = _policy_text(values, versions)
    lines = [
        f"# undecided: {'.'.join(path)} is {_SEPARATOR.join(sorted(setting.undecided))}{_HINT}\n"
        for path, setting in sorted(settings.items())
        if setting.undecided
    ]
    return (content + "".join(lines)).encode()


def _merge_setting(
    base: SharedSetting | None, first: SharedSetting | None, second: SharedSetting | None
) -> SharedSetting:
    sides = [side or SharedSetting() for side in (base, first, second)]
    lists = [side.value or [] for side in sides]
    if all(map(_is_list, lists)) and any(lists):
        return SharedSetting(three_way.merge_sets(*lists))
    return three_way.merge_values(sides, partial(_undecided_setting, sides[0]))


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _undecided_setting(base: SharedSetting, *sides: SharedSetting) -> SharedSetting:
    """Return the base value, with the values of both clones as undecided."""
    open_sides = [side for side in sides if side.undecided]
    candidates = (side.undecided or {json.dumps(side.value, ensure_ascii=False)} for side in sides)
    value = min(open_sides, key=str).value if open_sides else base.value
    return SharedSetting(value, frozenset().union(*candidates))


# ── text ─────────────────────────────────────────────────────────────────────────────


def _read_settings(content: bytes) -> dict[Place, SharedSetting]:
    text = front_matter.text_of(content)
    values = _leaves(front_matter.as_mapping(strict_yaml.load(text) or {}))
    settings = {path: SharedSetting(value) for path, value in values}
    for key, candidates in read_undecided(text).items():
        path = tuple(key.split("."))
        value = settings.get(path, SharedSetting()).value
        settings[path] = SharedSetting(value, frozenset(candidates))
    return settings


def _leaves(values: Mapping[str, Any], path: Place = ()) -> Iterable[tuple[Place, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _nest(leaves: Mapping[Place, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for (*parents, key), value in leaves.items():
        if value is None:
            continue
        section = values
        for name in parents:
            section = section.setdefault(name, {})
        section[key] = value
    return values


def _policy_text(values: Mapping[str, Any], versions: Versions) -> str:
    """Return vault.yaml with these values; edit only lines that both sides changed."""
    sides = [_chunks(side or b"") for side in versions]
    chunks = [three_way.merge_values([side.get("", "") for side in sides], min)]
    for key in three_way.merge_orders([*sides[1]], [*sides[2]], values):
        chunk = three_way.merge_values([side.get(key, "") for side in sides], min)
        is_current = strict_yaml.load(chunk) == {key: values[key]}
        chunks.append(chunk if is_current else _edit_chunk(chunk, key, values[key]))
    text = "".join(chunks)
    return text if strict_yaml.load(text) == values else strict_yaml.dump(dict(values))


def _chunks(content: bytes) -> dict[str, str]:
    """Return the lines of each top-level key with the comments above; "" has the start."""
    chunks: dict[str, str] = {"": ""}
    comments = ""
    for line in UNDECIDED.sub("", front_matter.text_of(content)).splitlines():
        key = _KEY.match(line)
        if key or not line.startswith("#"):
            name = key["key"].strip("'\"") if key else [*chunks][-1]
            chunks[name] = f"{chunks.get(name, '')}{comments}{line}\n"
            comments = ""
        else:
            comments += f"{line}\n"
    chunks[[*chunks][-1]] += comments
    return chunks


def _edit_chunk(chunk: str, key: str, value: Any) -> str:
    """Edit the values in the lines of a key, or write the lines again if that fails."""
    new_chunk = strict_yaml.dump({key: _sort_mapping(value)})
    try:
        for path, leaf in _leaves({key: value}):
            chunk = strict_yaml.with_value(chunk, path, tuple(leaf) if _is_list(leaf) else leaf)
        settings = strict_yaml.load(chunk)
        paths = [path for path, _ in _leaves(settings)]
    except BadInputError:
        return new_chunk
    return chunk if settings == {key: value} and paths == sorted(paths) else new_chunk


def _sort_mapping(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {key: _sort_mapping(value[key]) for key in sorted(value)}


def merge_retraction(versions: Versions) -> bytes:
    """Return the earlier retraction, or the lesser text at equal times."""
    return min(
        versions.sides, key=lambda side: (str(strict_yaml.load(side.decode()).get("at", "")), side)
    )


_TIME_KEYS = frozenset({"created_at", "at", "occurred_at", "ended_at"})
_TRUST = "trust"
_KINDS = (Outcome, Decision, Result, Lesson, Source, Recommendation, Session)
_FORMAT_KEYS = frozenset(field.name for kind in _KINDS for field in fields(kind)) - {"metadata"}
_OFFLINE = "offline"


def merge_record(versions: Versions) -> bytes:
    """Merge trust, times and foreign keys; raise BadInputError for other differences."""
    first, second = (_load_record(content) for content in versions.sides)
    result = _merge_record_values(first, second, "")
    if result in (first, second):
        return versions.sides[0 if result == first else 1]
    if versions.first.lstrip().startswith(b"{"):
        return (json.dumps(result, ensure_ascii=False, indent=2) + "\n").encode()
    return strict_yaml.dump(result).encode()


def _load_record(content: bytes) -> dict[str, Any]:
    return front_matter.as_mapping(strict_yaml.load(front_matter.text_of(content)))


def _merge_record_values(first: Any, second: Any, key: str) -> Any:
    name = key.rpartition(".")[2]
    if first == second:
        return first
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return _merge_mappings(first, second, key)
    if name == _TRUST:
        return "untrusted"
    if name in _TIME_KEYS:
        return min(first, second, key=str)
    raise three_way.contradiction(key, first, second)


def _merge_mappings(
    first: Mapping[str, Any], second: Mapping[str, Any], path: str
) -> dict[str, Any]:
    """Merge two mappings; write the keys of the format first, then other keys, sorted."""
    shared_values = {
        name: _merge_record_values(first[name], second[name], f"{path}.{name}" if path else name)
        for name in first
        if name in second
    }
    all_values = {**first, **second}
    for name in sorted(all_values.keys() - shared_values.keys()):
        if name in _FORMAT_KEYS and name != _TRUST:
            key = f"{path}.{name}".strip(".")
            raise three_way.contradiction(key, first.get(name), second.get(name))
        shared_values[name] = all_values[name]
    format_keys = {name: value for name, value in shared_values.items() if name in _FORMAT_KEYS}
    other_names = sorted(shared_values.keys() - format_keys.keys())
    return {**format_keys, **{name: shared_values[name] for name in other_names}}


def merge_judgement(versions: Versions) -> bytes:
    """Return the side of a paid judge, else of the newer version, else with the lesser bytes."""
    return max(reversed(versions.sides), key=_rank)


def _rank(content: bytes) -> tuple[bool, tuple[int, ...], str]:
    judge = front_matter.as_mapping(_load_record(content).get("judge"))
    version = str(judge.get("version", ""))
    numbers = tuple(int(part) for part in version.split(".") if part.isdigit())
    return judge.get("name") != _OFFLINE, numbers, version


def merge_learnings(versions: Versions) -> bytes:
    """Merge LEARNINGS.md: the headers, and the set of the rules."""
    texts = [(side or b"").decode(errors="surrogateescape") for side in versions]
    headers = ["".join(b.full_text for b in blocks_of(text) if b.header) for text in texts]
    header = three_way.merge_values(headers, max)
    base, first, second = map(_rule_blocks, texts)
    blocks = {
        **first,
        **second,
        **{key: min(first[key], second[key]) for key in first.keys() & second},
    }
    rules = [blocks[key] for key in three_way.merge_sets(base, [*first], [*second])]
    return "".join([header, *rules]).encode(errors="surrogateescape")


def _rule_blocks(text: str) -> Mapping[str, str]:
    return {
        rule_key(rule_words(block.text)): (
            block.text.removesuffix("\n") + "\n" + (block.end or SEPARATOR)
        )
        for block in blocks_of(text)
        if not block.header and block.text.strip()
    }


_FACT_RULES = {
    "importance": three_way.rank_rule(("low", "medium", "high")),
    "created_at": three_way.lesser,
    "trust": three_way.least_trust,
    "supersedes": three_way.lesser,
    "review_by": three_way.lesser,
    "kind": three_way.rank_rule([kind for kind in FACT_KINDS if kind != "human"] + ["human"]),
}


def merge_fact(versions: Versions) -> bytes:
    """Merge a fact: each key by its rule, and the statements of both sides as a set."""
    sides = [three_way.parse_file(content) for content in versions]
    values = three_way.merge_keys([side.values for side in sides], _FACT_RULES)
    body = three_way.merge_values(
        [side.body for side in sides], partial(three_way.merge_statements, sides[0].body)
    )
    return three_way.render_file(values, body, sides, FACT_KEYS)


def supersede_facts(facts: Mapping[str, bytes], insight: str) -> dict[str, bytes]:
    """Return the changed files of facts, by id, so that each fact supersedes the next.

    The first fact is the one with `insight`, the insight of the merged evaluation, or the one with
    the least id. A fact that supersedes a fact outside the group stays as it is.
    """
    statement = " ".join(insight.split())
    bodies = {key: " ".join(three_way.parse_file(facts[key]).body.split()) for key in facts}
    order = sorted(facts, key=lambda key: (not statement or statement not in bodies[key], key))
    changed_files: dict[str, bytes] = {}
    for key, next_key in pairwise(order):
        content = _with_supersedes(facts[key], next_key, order)
        if content != facts[key]:
            changed_files[key] = content
    return changed_files


def _with_supersedes(content: bytes, superseded: str, group: Sequence[str]) -> bytes:
    superseded_id = three_way.parse_file(content).values.get("supersedes")
    if superseded_id is not None and superseded_id not in group:
        return content
    try:
        return front_matter.with_key(content, ("supersedes",), superseded)
    except BadInputError:  # a person's fact without front matter supersedes nothing
        return content


def has_other_text(base: bytes, side: bytes) -> bool:
    """Return True if the text of a fact changed; only persons change the text."""
    return three_way.parse_file(base).body != three_way.parse_file(side).body


def merge_links(versions: Versions) -> bytes:
    """Merge two lists of links; a line that one side removed stays removed."""
    base, *sides = (
        content.rstrip(b"\n").split(b"\n") if content else []
        for content in (versions.base or b"", *versions.sides)
    )
    return b"".join(line + b"\n" for line in three_way.merge_sets(base, *sides))


POLICY, LEARNINGS, EXPERTISE = "vault.yaml", "LEARNINGS.md", "expertise.yaml"
LINKS = "links"  # a list of links; without a line there is no file

# The rules for files that both sides changed.
_FILE_RULES: Mapping[str, Rule] = {
    "evaluation": merge_judgement,
    "answer": merge_judgement,
    "fact": merge_fact,
    "correction": merge_fact,
    "skill": merge_skill,
    "reference": lambda versions: versions.sides[1],  # written again with its skill
    LINKS: merge_links,
    POLICY: merge_settings,
    LEARNINGS: merge_learnings,
    EXPERTISE: merge_expertise,
}
# If one side changed a file and the other removed it, the file stays if the test returns True.
_EDIT_TESTS: Mapping[str, Callable[[bytes, bytes], bool]] = {
    "fact": has_other_text,
    "correction": has_other_text,
    "skill": is_edited,
    POLICY: lambda _base, _side: True,
    LEARNINGS: lambda _base, _side: True,
    EXPERTISE: lambda _base, _side: True,
}


def rule_of(kind: str) -> Rule:
    """Return the rule that merges a kind of record or file that both sides changed."""
    if kind == "retraction":
        return merge_retraction
    return partial(three_way.merge_file, _FILE_RULES.get(kind, merge_record))


def must_stay(kind: str, base: bytes, side: bytes) -> bool:
    """Return True if a person changed a file that the other side removed."""
    return kind in _EDIT_TESTS and _EDIT_TESTS[kind](base, side)

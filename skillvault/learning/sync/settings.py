"""vault.yaml that two clones changed: its keys, each as one side changed it.

A key that both changed keeps the value that it had before, and a comment at the end of the file
says what each wrote, until a person decides.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from skillvault.learning.sync.three_way import Versions, file_by, joined_set, three_way, woven
from skillvault.learning.sync.undecided import UNDECIDED, undecided, undecided_line
from skillvault.model.errors import BadInputError
from skillvault.model.text import front_matter, strict_yaml

_KEY = re.compile(r"(?P<key>[^\s#:][^:]*):(?:\s|$)")

Place = tuple[str, ...]


class SharedSetting(NamedTuple):
    """A key's value, and what clones wrote there, if nobody decided yet."""

    value: Any = None
    undecided: frozenset[str] = frozenset()


def merged_settings(versions: Versions) -> bytes:
    """Each key as one side changed it; see the module for one that both did."""
    return file_by(_both_policies, versions)


def _both_policies(versions: Versions) -> bytes:
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
    candidates = (side.undecided or {_shown(side.value)} for side in sides)
    value = min(open_sides, key=str).value if open_sides else before.value
    return SharedSetting(value, frozenset().union(*candidates))


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


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
    written = [_header(*(side.get("", "") for side in (base, ours, theirs)))]
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


def _header(base: str, ours: str, theirs: str) -> str:
    return three_way(base, ours, theirs, min)


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

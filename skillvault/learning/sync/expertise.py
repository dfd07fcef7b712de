"""expertise.yaml that two clones changed: its patterns and its log, each as a set of entries."""

from collections.abc import Mapping
from typing import Any

from skillvault.learning.sync.three_way import Versions, file_by, greater, joined_set, three_way
from skillvault.model.text import front_matter, strict_yaml
from skillvault.model.text.text import rule_key

_ORDER = ("version", "patterns", "evolution_log")


def merged_expertise(versions: Versions) -> bytes:
    """The patterns of both; of one that both counted, the entry with more files."""
    return file_by(_both_expertises, versions)


def _both_expertises(versions: Versions) -> bytes:
    base, ours, theirs = sides = [_expertise_in(side) for side in versions]
    merged: dict[str, Any] = {
        name: three_way(base.get(name), ours.get(name), theirs.get(name), greater)
        for name in sorted({*ours, *theirs} - {*_ORDER[1:]})
    }
    merged["patterns"] = _patterns(*(_by_key(side) for side in sides))
    merged["evolution_log"] = _log(*(_log_entries(side) for side in sides))
    ordered = {name: merged[name] for name in _ORDER if name in merged}
    text = strict_yaml.dump({**ordered, **{n: v for n, v in merged.items() if n not in ordered}})
    # A person's comments stay, above all of it: the lines that they stood at are written anew.
    above = joined_set(*(strict_yaml.comments(front_matter.text_of(s or b"")) for s in versions))
    return "".join([*(f"{comment}\n" for comment in above), text]).encode()


def _expertise_in(content: bytes | None) -> Mapping[str, Any]:
    return front_matter.as_mapping(strict_yaml.load(front_matter.text_of(content or b"")) or {})


def _by_key(side: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The patterns by what they have in common with others that say the same."""
    return {rule_key(str(entry.get("pattern"))): entry for entry in side.get("patterns") or ()}


def _patterns(*sides: Mapping[str, Any]) -> list[Any]:
    base, ours, theirs = sides
    return [
        three_way(base.get(key), ours.get(key) or theirs[key], theirs.get(key) or ours[key], _more)
        for key in joined_set(base, [*ours], [*theirs])
    ]


def _more(first: Any, second: Any) -> Any:
    return max((first, second), key=lambda entry: (entry.get("occurrences") or 0, str(entry)))


def _log_entries(side: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of the log, each by all that it says."""
    return {f"{entry.get('date')} {entry}": entry for entry in side.get("evolution_log") or ()}


def _log(*sides: Mapping[str, Any]) -> list[Any]:
    base, ours, theirs = sides
    return [{**ours, **theirs}[key] for key in joined_set(base, [*ours], [*theirs])]

"""Read the policy in `vault.yaml`, and refuse unknown or wrong settings.

docs/policy.md has the table of all settings; a test compares the table with `policy`.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from skillvault.model.claude_models import MODELS
from skillvault.model.conversion import convert_stored
from skillvault.model.errors import BadInputError, key_error
from skillvault.model.policy import PROFILE_SETTINGS, JudgePolicy, Policy, TranscriptsPolicy
from skillvault.model.text.text import is_slug

_UNKNOWN = re.compile(r"unknown field `(?P<name>[^`]+)`")
_HEADING = re.compile(r"(?=\S)[^\n\r#]{1,60}(?<=\S)")


def parse_policy(raw: Any) -> Policy:
    """Return the policy in the parsed `vault.yaml`. Raise BadInputError with the wrong key."""
    if raw is None:
        raw = {}
    if not isinstance(raw, Mapping):
        raise BadInputError("expected keys and values, such as `format: 1`", code="wrong-type")
    _check_headings(raw)
    try:
        policy = convert_stored(_with_profile(raw), Policy)
    except BadInputError as error:
        raise _with_suggestion(error) from None
    _check_models(policy.judge)
    _check_patterns(policy.transcripts)
    for name in policy.domains:
        if not is_slug(name):
            problem = (
                f"{name!r} cannot be a folder name; use lower-case letters, digits "
                "and single hyphens"
            )
            raise key_error("domains", "bad-domain", problem)
    return policy


def _with_profile(raw: Mapping[Any, Any]) -> dict[Any, Any]:
    profile = raw.get("profile")
    settings = PROFILE_SETTINGS.get(profile, {}) if isinstance(profile, str) else {}
    merged = dict(raw)
    for section, defaults in settings.items():
        values = raw.get(section, {})
        merged[section] = {**defaults, **values} if isinstance(values, Mapping) else values
    return merged


def _check_headings(raw: Mapping[Any, Any]) -> None:
    rules = raw.get("generate")
    headings = rules.get("context_headings") if isinstance(rules, Mapping) else None
    for domain, heading in headings.items() if isinstance(headings, Mapping) else ():
        key = f"generate.context_headings.{domain}"
        if not (isinstance(domain, str) and is_slug(domain)):
            problem = f"{domain!r} is not a domain's name; use a slug such as perps"
            raise key_error(key, "bad-domain", problem)
        if not isinstance(heading, str) or not _HEADING.fullmatch(heading):
            problem = "expected a heading of one line, such as `Market Context`"
            raise key_error(key, "bad-value", problem)


def _check_patterns(transcripts: TranscriptsPolicy) -> None:
    for pattern in transcripts.checks:
        try:
            re.compile(pattern)
        except re.error as error:
            raise key_error(
                "transcripts.checks",
                "bad-value",
                f"{pattern[:80]!r} is not a regular expression ({error}); correct it, or quote it",
            ) from None


def _check_models(judge: JudgePolicy) -> None:
    """Refuse a model without a known price, and a temperature that a model does not accept.

    No budget can limit a model without a price.
    """
    for key, model in (("judge.model", judge.model), ("judge.fast_model", judge.fast_model)):
        if model not in {*MODELS, *judge.prices}:
            problem = (
                f"the price of {model!r} is unknown; choose one of {', '.join(MODELS)}, "
                f"or state its price: `prices: {{{model}: [2.0, 10.0]}}`"
            )
            raise key_error(key, "unknown-model", problem)
        if (
            judge.temperature is not None
            and model in MODELS
            and not MODELS[model].takes_temperature
        ):
            problem = f"{model} accepts none; remove the key, or choose another {key}"
            raise key_error("judge.temperature", "bad-value", problem)


def settings() -> Iterator[tuple[str, Any]]:
    """Yield (key, default) for every setting, in the order of `vault.yaml`."""
    for section, value in msgspec.structs.asdict(Policy()).items():
        if isinstance(value, Struct):
            for name, default in msgspec.structs.asdict(value).items():
                yield f"{section}.{name}", default
        else:
            yield section, value


def _with_suggestion(error: BadInputError) -> BadInputError:
    match = _UNKNOWN.search(error.message)
    if match is None:
        return error
    key = ".".join(filter(None, (error.key, match["name"])))
    names = [name for name, _ in settings()] + [*Policy.__struct_fields__]
    matches = difflib.get_close_matches(key, names, n=1)
    hint = f"did you mean {matches[0]!r}?" if matches else "see the policy table in docs/policy.md"
    return key_error(key, "unknown-key", f"no such setting; {hint}")

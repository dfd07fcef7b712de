"""put: what is accepted is read back as it was given; what cannot be is refused in a sentence."""

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from skillvault.api import Vault
from skillvault.model import codec
from skillvault.model.errors import BadInputError, SkillvaultError, UsageError
from skillvault.model.records import Ref, Skill
from skillvault.review.curate import clean_skill
from skillvault.vault.files.layers import seed_folder
from tests.conftest import Person
from tests.given import NOW
from tests.thorough import THOROUGH

MUTANTS = 500 if THOROUGH else 40
TOKEN = "ghp" + "_" + "a1B2" * 9


def mine(**changes: Any) -> Skill:
    return replace(Skill(name="mine", description="What mine does.", body="# Mine"), **changes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"tags": ("two words",)}, "tags: ('two words',) would be read as ('two', 'words')"),
        (
            {"body": "a\n<<<<<<< HEAD\nb"},
            "cannot be read once written: line 13: a merge conflict marker",
        ),
        ({"body": "a\0b", "description": 3}, "Expected `str`, got `int` - at `$.description`"),
        ({"body": None}, "Expected `str`, got `null` - at `$.body`"),
        ({"kind": "advice"}, "metadata.kind: 'advice' is not one of guide"),
        ({"status": "live"}, "metadata.status: 'live' is not one of proposed"),
        ({"origin": "me"}, "metadata.origin: 'me' is not one of seed"),
        ({"trust": "full"}, "metadata.trust: 'full' is not one of local"),
        ({"version": ""}, "version: '' would be read as '1.0'"),
        ({"expires": "soon"}, "metadata.expires: 'soon' is not a time"),
        ({"domain": "Not A Slug"}, "metadata.domain: 'Not A Slug' cannot be a folder name"),
        ({"description": "d" * 1025}, "its description has 1025 characters"),
        ({"description": "\u200b"}, "its description has 0 characters"),
        ({"foreign": ("author",)}, "foreign: ('author',) would be read as ()"),
        ({"name": "Mine"}, "'Mine' cannot be a skill's name"),
        ({"name": "mine\n"}, "cannot be a skill's name"),
        ({"tags": ("x" * 70_000,)}, "front matter longer than 64 KiB"),
    ],
)
def test_what_would_not_be_read_back_is_refused(
    changes: dict[str, Any], says: str, vault: Vault
) -> None:
    head = vault.store.git.head()
    with pytest.raises(UsageError) as refused:
        vault.curate.put(mine(**changes), now=NOW)
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)
    assert vault.store.git.head() == head
    assert vault.check().problems == []


def test_secrets_and_what_hides_leave_a_skill(vault: Vault) -> None:
    given = mine(
        body=f"Use `{TOKEN}`\u202e.", description=f"With\x1b[31m {TOKEN}", tags=("a\u200b",)
    )
    vault.curate.put(given, now=NOW)
    skill, _ = vault.skill("mine")
    assert skill.body == "Use `[redacted: GitHub Token]`."
    assert (skill.description, skill.tags) == ("With [redacted: GitHub Token]", ("a",))
    history = vault.store.git.run("log", "-p", "--all").decode()
    assert TOKEN not in history
    vault.curate.put(mine(body=f"password: {TOKEN}"), now=NOW)
    assert TOKEN not in vault.store.git.run("log", "-p", "--all").decode()


def test_a_key_that_is_left_empty_is_cleared(vault: Vault) -> None:
    full = mine(
        domain="coding",
        expires="2027-01-01T00:00:00Z",
        tags=("a", "b"),
        roles=("r",),
        stages=("s",),
    )
    vault.curate.put(full, now=NOW)
    vault.curate.put(replace(full, expires=None, tags=(), domain=None), now=NOW)
    skill, _ = vault.skill("mine")
    assert (skill.expires, skill.tags, skill.domain) == (None, (), None)
    assert (skill.roles, skill.stages) == (("r",), ("s",))
    vault.curate.put(mine(), now=NOW)
    assert vault.skill("mine")[0] == mine()
    assert vault.check().problems == []


def test_a_skill_that_is_put_over_a_persons_file_keeps_their_other_bytes(
    vault: Vault, person: Person
) -> None:
    hand = "---\nname: w   # mine\ndescription: does\nlicense: 'MIT'\n---\n\nOld text.\n"
    person.write("skills/w/SKILL.md", hand)
    person.git("add", "skills")
    person.git("commit", "-qm", "a skill of mine")
    new = Skill("w", "does more", "New text.", tags=("a", "b"), kind="guide")
    vault.curate.put(new, now=NOW)
    text = (vault.root / "skills/w/SKILL.md").read_text()
    assert "name: w   # mine\ndescription: does more\nlicense: 'MIT'\n" in text
    found, _ = vault.skill("w")
    assert (found.description, found.tags, found.body) == ("does more", ("a", "b"), "New text.")
    assert person.status() == ""


def test_a_skill_that_is_served_elsewhere_or_unreadable_is_not_written_twice(
    vault: Vault, person: Person
) -> None:
    vault.curate.put(mine(), now=NOW)
    vault.curate.retire("mine", now=NOW)
    with pytest.raises(UsageError, match="is in archive/; `skill restore` brings it back"):
        vault.curate.put(mine(), now=NOW)
    person.write("skills/broken/SKILL.md", "---\nname: [\n---\n")
    person.git("add", "-A")
    person.git("commit", "-qm", "broken", "--no-verify")
    with pytest.raises(SkillvaultError, match=r"skills/broken/SKILL\.md: line "):
        vault.curate.put(mine(name="broken"), now=NOW)


# ── mutated files ────────────────────────────────────────────────────────────────────

_SCRAPS = [
    "---", "---\n", ": ", " #", "'", '"', "|", "> ", "- ", "\t", "\r\n", "\n\n", "\0", "\x1b[31m",
    "\u202e", "\ufeff", "\u2028", "é", "止损", "👩\u200d💻", "<<<<<<< HEAD\n", ">>>>>>> x\n",
    "{{a: b}}", "[1, 2]", "null", "true", "017", "1e3", "~", "@", "`", "%", "&a", "*a", "!!str",
    "?", "<skill>", "</skills>", "metadata:\n", "  kind: warning\n", "  tags: a b\n",
    "  version: 1.10\n", "license: MIT\n", "description: >-\n  folded\n", "tags: [a, b]\n",
    "usage_count: 3\n", f"token={TOKEN}", "x" * 1100,
]  # fmt: skip


def _mutated(text: str, chance: Random) -> str:
    """A skill's file with one to four things done to it."""
    for _ in range(chance.randint(1, 4)):
        at, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        end = min(end, at + chance.choice((0, 0, 1, 5, 40)))
        text = text[:at] + chance.choice(_SCRAPS) * chance.choice((1, 1, 1, 3)) + text[end:]
        if chance.random() < 0.3:
            lines = text.split("\n")
            moved = lines.pop(chance.randrange(len(lines)))
            lines.insert(chance.randrange(len(lines) + 1), moved)
            text = "\n".join(lines)
    return text


def _skills(count: int) -> list[Skill]:
    """Skills as they are read from mutated files, each under one of a few names."""
    chance = Random(25)
    files = sorted(seed_folder().rglob("SKILL.md"))
    heads = [file.read_text() for file in files]
    texts = [text[:600] + text[-300:] for text in heads]
    skills: list[Skill] = []
    while len(skills) < count:
        mutant = _mutated(chance.choice(texts), chance)
        try:
            skill = codec.decode(Ref("skill", "s"), mutant.encode())
        except BadInputError:
            continue
        assert isinstance(skill, Skill)
        skills.append(replace(skill, name=f"{skill.name[:50]}-{chance.randrange(40)}"))
    return skills


def test_of_mutated_skills_what_is_accepted_is_read_back(vault: Vault) -> None:
    accepted, refused = 0, list[str]()
    for skill in _skills(MUTANTS):
        old = vault.store.snapshot().skills.get(skill.name)
        try:
            vault.curate.put(skill, now=NOW)
        except UsageError as error:
            refused.append(str(error))
            continue
        accepted += 1
        expected = clean_skill(skill)
        if old:  # whose these are
            own = ("status", "origin", "trust", "created", "subject", "account", "retired", "trial")
            kept = {key: getattr(old, key) for key in (*own, "foreign", "elsewhere")}
            expected = replace(expected, **kept)
        read, _ = vault.skill(skill.name)
        assert replace(read, description=" ".join(read.description.split())) == expected
    assert accepted > 0.6 * MUTANTS
    assert len(refused) > 0.04 * MUTANTS
    assert all("\n" not in message for message in refused)
    problems = vault.check().problems
    assert problems == [], problems

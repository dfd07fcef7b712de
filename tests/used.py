"""A vault whose skills were used: which decisions applied which, and how they ended."""

from datetime import timedelta

from skillvault.api import Vault
from tests.conftest import NOW, Person
from tests.given import START, as_file, raw, shown


def use_skills(vault: Vault, person: Person) -> Vault:
    """A vault with a skill that helps, one that hurts, and one that nobody used."""
    for name in ("good", "bad", "idle"):
        person.write(f"skills/{name}/SKILL.md", f"---\nname: {name}\ndescription: d\n---\n\nx\n")
    person.git("add", "skills")
    person.git("commit", "-qm", "skills")
    vault.record([*map(ended, range(90)), *map(receipt, range(0, 90, 3))], now=NOW)
    return vault


def ended(number: int) -> tuple[str, bytes]:
    skill = ("good", "bad", None)[number % 3]
    success = {"good": number % 20 != 0, "bad": number % 20 == 1, None: number % 2 == 0}[skill]
    at = (START + timedelta(hours=number)).isoformat()
    given = raw(occurred_at=at, decision__id=f"d-{number}")
    del given["decision"]["made_at"]
    given |= {"result": {"status": "success" if success else "failure"}}
    given |= {"applied": [skill] if skill else []}
    return f"o{number}.json", as_file(given)


def receipt(number: int) -> tuple[str, bytes]:
    """That a decision was shown the skill that helps."""
    at = (START + timedelta(hours=number)).isoformat()
    skills = [{"skill": "good", "blob": "0" * 40}]
    given = shown(decision=f"d-{number}", domain="coding", at=at, shown=skills, held_out=[])
    return f"r{number}.json", as_file(given)

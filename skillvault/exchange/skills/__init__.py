"""Formats of skills, one module each, both ways: what other programs read and write.

Pure: files in and out as bytes by their path, no folder is opened and nothing is fetched.
"""

from collections.abc import Callable, Mapping

from skillvault.exchange.skills import agent_skills
from skillvault.exchange.skills.agent_skills import SkillFolder
from skillvault.records import Problem

SkillReader = Callable[[Mapping[str, bytes], str], SkillFolder | Problem]

SKILL_FORMATS: dict[str, SkillReader] = {"agent-skills": agent_skills.read_skill}

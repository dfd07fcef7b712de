"""A setup takes out of a person's files what it put in, and changes no other value."""

import json
from itertools import product
from pathlib import Path

import pytest

from skillvault.clients.edits import JsonEntry, block_edit, is_skillvault_entry, json_edit
from skillvault.model.errors import BadInputError
from skillvault.model.text.managed_block import with_block, without_block

GROUP = {"hooks": [{"type": "command", "command": "skillvault-hook Stop --domain v"}]}
WISHES = [
    JsonEntry(("hooks", "Stop"), GROUP),
    JsonEntry(("hooks", "Pre"), GROUP),
    JsonEntry(("mcpServers", "skillvault"), {"command": "skillvault"}, is_value=True),
]
EDIT = json_edit(Path("settings.json"), WISHES, "")
TEXTS = [
    "",
    "{}\n",
    '{"a":1}',
    '{\n  "a": 1\n}\n',
    '{\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{"x": "a \\" }] b"}\n\t\t]\n\t}\n}',
    '{\n    "hooks": {\n        "Pre": [{"b": [1, 2.5e3, null, true]}]\n    },\n "z": {}}\n',
    '{"mcpServers": {"other": {"command": "x"}}, "é": "\\u00e9"}',
    '{"mcpServers": {}, "hooks": {"Stop": []}, "list": [1, 2]}',
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_put_in_comes_out_again(text: str) -> None:
    whole = EDIT.put(text)
    values = json.loads(whole)
    assert values["hooks"]["Stop"][-1] == values["hooks"]["Pre"][-1] == GROUP
    assert {**values, **json.loads(text or "{}")}.keys() == values.keys()
    assert EDIT.put(whole) == whole
    assert EDIT.take_out(whole, text) == text
    assert EDIT.take_out(json.dumps(json.loads(whole)), text) == text


@pytest.mark.parametrize("lead", ["", "  ", "    ", "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("letter", ["é", "\\u00e9"])
def test_a_file_keeps_its_indent_and_lines(lead: str, newline: str, end: str, letter: str) -> None:
    text = newline.join(["{", f'{lead}"a": [', f'{lead * 2}"{letter}"', f"{lead}]", "}"]) + end
    whole = EDIT.put(text)
    assert whole.startswith(text.removesuffix(f"{newline}}}{end}"))
    assert EDIT.take_out(whole, text) == text


@pytest.mark.parametrize("text", TEXTS)
def test_what_holds_nothing_of_ours_is_not_written_anew(text: str) -> None:
    assert EDIT.take_out(text, "") == text


@pytest.mark.parametrize(
    ("text", "added"), list(product(TEXTS[3:], ['"mine": [1]', '"z2": {"a": {}}']))
)
def test_what_a_person_adds_later_stays(text: str, added: str) -> None:
    whole = EDIT.put(text).replace("{", f"{{{added}, ", 1)
    assert json.loads(EDIT.take_out(whole, text)) == {
        **json.loads(text),
        **json.loads(f"{{{added}}}"),
    }


def test_a_command_of_ours_that_changed_takes_the_place_of_the_former() -> None:
    other = json.loads(json.dumps(GROUP).replace("domain v", "domain w"))
    whole = json_edit(Path("s"), [JsonEntry(("hooks", "Stop"), other)], "").put(EDIT.put("{}"))
    assert json.loads(whole)["hooks"]["Stop"] == [other]


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"a": 1, "a": 2}',
        "{'a': 1}",
        "{// note\n}",
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": "\\ud83d"}',
        '{"hooks": []}',
        '{"hooks": {"Stop": {}}}',
    ],
)
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(BadInputError):
        EDIT.put(text)


@pytest.mark.parametrize(
    ("value", "ours"),
    [
        (GROUP, True),
        ({"hooks": [*GROUP["hooks"], {"command": "mine.sh"}]}, False),
        ({"hooks": [{"command": "/home/skillvault/run.sh"}]}, False),
        ("skillvault", True),
        ({"command": "/usr/bin/python", "args": ["-m", "skillvault", "mcp"]}, True),
    ],
)
def test_only_what_calls_this_program_and_nothing_else_is_ours(value: object, ours: bool) -> None:
    assert is_skillvault_entry(value) is ours


@pytest.mark.parametrize("page", ["", "# Mine\n", "# Mine\r\n\r\nText.\r\n"])
def test_a_block_comes_out_of_a_page_to_the_byte(page: str) -> None:
    whole = with_block(page, "one\ntwo")
    assert with_block(whole, "one\ntwo") == whole
    assert "three" in with_block(whole, "three")
    assert without_block(whole) == page
    assert block_edit(Path("CLAUDE.md"), "one\ntwo").put(page) == whole

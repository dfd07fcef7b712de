"""A user's next words: judgments of the work before, and rules."""

import pytest

from skillvault.model.reaction import Reaction, read_reaction
from skillvault.model.reaction.phrases import required_texts


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("no, that is wrong: we use uv here, never pip", "we use uv here, never pip"),
        (
            "the route test fails, every route needs @signed_in",
            "every route needs @signed_in",
        ),
        ("you mocked redis. we never mock redis, there is fakeredis", "we never mock redis"),
        ("Keys come from the vault, never from files.", "Keys come from the vault"),
        ("handlers must not open files. take the storage client", "handlers must not open files"),
        ("structlog only, always", "structlog only, always"),
        ("no, we do not run black any more, ruff formats", "we do not run black any more"),
        ("nope. we are on version 2 now, so use load_all instead of load", "we are on version 2"),
        ("wrong. use faker for anything that needs a name", "use faker for anything that needs"),
        ("nope, floats are not allowed here", "floats are not allowed here"),
        ("only the deploy job may write to prod/", "only the deploy job may write to prod/"),
        ("nein, wir nehmen hier uv, nie pip", "wir nehmen hier uv, nie pip"),
        ("Logik gehört bei uns in Services", "Logik gehört bei uns in Services"),
        ("Finger weg von vendor/", "Finger weg von vendor/"),
        ("no, eso no. aquí usamos pnpm, nunca npm", "aquí usamos pnpm, nunca npm"),
        ("las fechas siempre en UTC", "las fechas siempre en UTC"),
        ("non, on utilise uv ici, jamais pip", "on utilise uv ici, jamais pip"),
        ("no, mails must always go out by the queue", "mails must always go out by the queue"),
        ("aucun mot de passe dans le dépôt", "aucun mot de passe dans le dépôt"),
        ("不对，我们这里用 pnpm，不要用 npm", "我们这里用 pnpm，不要用 npm"),
        ("日志统一走 logger，不要用 print", "日志统一走 logger，不要用 print"),
        ("não, aqui a gente usa pnpm, nunca npm", "aqui a gente usa pnpm, nunca npm"),
        ("não, todo endpoint precisa de testes", "todo endpoint precisa de testes"),
    ],
)
def test_a_correction_in_the_form_of_a_rule_is_quoted_verbatim(text: str, rule: str) -> None:
    reaction = read_reaction(text)
    assert (reaction.status, reaction.is_correction) == ("failure", True)
    assert reaction.rules[0].startswith(rule)
    assert reaction.rules[0] in text


def test_the_reason_of_a_rule_is_no_rule_of_its_own() -> None:
    words = "no, forget black, we dropped it. Use ruff format, not black"
    reaction = read_reaction(words, "Tidied up, and formatted with black.")
    assert reaction.rules == ("Use ruff format, not black",)
    reaction = read_reaction("Forget black, we dropped it. Use ruff format.", "Tidied with black.")
    assert reaction.rules == ("Use ruff format",)


def test_a_ban_and_the_choice_after_it_are_one_rule() -> None:
    assert read_reaction("Never use pip. Use uv.").rules == ("Never use pip. Use uv",)
    rules = ("never use pip", "use uv for scripts")
    assert read_reaction("- never use pip\n- use uv for scripts").rules == rules


@pytest.mark.parametrize(
    "text",
    [
        "good, merged. from now on commit messages start with the ticket",
        "danke, aber in Zukunft bitte ein Commit pro Thema",
        "bien, y a partir de ahora los commits en inglés",
        "parfait. à l'avenir un commit par sujet",
        "可以，以后提交信息用英文",
    ],
)
def test_a_rule_for_later_does_not_make_the_work_a_failure(text: str) -> None:
    reaction = read_reaction(text)
    assert reaction.rules
    assert reaction.is_correction
    assert reaction.status != "failure"


@pytest.mark.parametrize(
    "text",
    [
        "should we always use uv?",
        "the function always returns None, can you fix it?",
        "the README says: never use pip",
        "fix this issue:\nno, always use pnpm here",
        "```\nnever use pip\n```",
        "> no, always use pnpm",
        "never mind, I found it",
        "im Wiki steht, dass man nie pip nutzt. gilt das?",
        "como usuario quiero que nunca salgan los borrados",
        "同事说永远不要用 npm，对吗？",
        "- never show a total below 0\n- always round up",
        "- Never push to main\n- Always sign commits\ntranslate that, please",
        "given a muted thread, when somebody posts, then no push is ever sent",
        "you don't have to ask for staging here",
        "angenommen, wir löschen den Cache nie",
        "so every handler needs @audited? or only the ones that write",
        "别的模块也照这个来一遍吧",
    ],
)
def test_a_question_a_quotation_and_code_state_no_rule(text: str) -> None:
    assert read_reaction(text).rules == ()


@pytest.mark.parametrize(
    "paste",
    [
        "# Contributing\n\nAlways use pnpm in this repo.\nNever commit to main.",
        "#12 Wrong lockfile\nno, always use pnpm. we never use npm here",
        "https://example.org/style\nEvery module needs a docstring, always.",
        "maria commented yesterday\nno, you must never use npm in this repo",
        "* never use npm here\n* always use pnpm here",
        "Steps to reproduce:\nno, we always use pnpm here",
        "---\nwe never use npm here",
        '"no, that is wrong: we always use pnpm here, never npm"',
    ],
)
def test_nothing_in_a_pasted_part_is_a_rule(paste: str) -> None:
    assert read_reaction(f"have a look at this\n{paste}") == Reaction()


@pytest.mark.parametrize(
    "text",
    [
        "add a form; every row needs a link",
        "implement retry: always wait for the header, never more than 60s",
        "a muted thread never sends mails, write the endpoint and tests",
        "baue ein Formular, jede Zeile braucht einen Knopf",
        "añade una tabla; cada fila debe tener un enlace",
        "ajoute un tableau ; chaque ligne doit avoir un lien",
        "帮我加一个表格，每一行都要有链接",
        "jetzt die Prüfung: Termine dürfen nie doppelt sein",
        "ahora la validación: nunca dos correos iguales",
        "再加个校验，金额不能为负",
    ],
)
def test_a_new_task_may_state_its_needs(text: str) -> None:
    assert read_reaction(text) == Reaction()


@pytest.mark.parametrize(
    "text",
    [
        "don't commit yet, I want to read it",
        "use the old branch for this release, not main",
        "heute bitte nichts deployen",
        "hoy no subas nada",
        "pour cette fois, pas de tests",
        "这次先不要写测试",
        "only models.py for now",
        "use 5433 here",
    ],
)
def test_a_wish_for_once_is_no_rule(text: str) -> None:
    assert read_reaction(text) == Reaction()


@pytest.mark.parametrize(
    "text",
    [
        "you renamed the wrong column",
        "why did you touch the schema?",
        "leave the lockfile alone",
        "bring back the old text",
        "I asked for one test",
        "a list, not a tuple",
        "du hast die Tests gelöscht",
        "stell das wieder her",
        "¿quién te dijo que tocaras eso?",
        "has borrado los comentarios",
        "tu as supprimé les tests",
        "remets les textes",
        "谁让你改这个的？",
        "改回去",
        "desfaz isso",
        "put slim back",
        "mach das Logging wieder raus",
        "você apagou os testes",
    ],
)
def test_an_accusation_and_a_wish_to_restore_reject_the_work(text: str) -> None:
    assert read_reaction(text) == Reaction("failure", True)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("I moved the link into the sidebar.", "the link should be in the menu"),
        ("Der Link ist in der Seitenleiste.", "der Link soll ins Menü"),
        ("El enlace está en la barra.", "el enlace tiene que ir en el menú"),
        ("链接放到侧栏了。", "链接应该放在菜单里"),
    ],
)
def test_a_requirement_about_what_the_agent_has_named_rejects_the_work(
    answer: str, text: str
) -> None:
    assert read_reaction(text, answer) == Reaction("failure", True)
    assert read_reaction(text, "Done.") == Reaction()


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("I moved the link into the sidebar.", "the link should also have an icon"),
        ("Where does the link go?", "the link should go into the menu"),
        ("I moved the link into the sidebar.", "should the link be in the menu?"),
        ("The feed is ready.", "the feed must be public by Friday"),
        ("Die Suche läuft.", "die Suche soll auch Nummern finden"),
        ("I fixed the crash that you saw.", "that should do it"),
        ("This works with a cache, too.", "this must have helped a lot"),
        ("The tests pass.", "the tests should be enough for the release"),
        ("The draft is ready.", "the draft needs to wait for the others"),
        ("Die Suche läuft.", "die Suche sollte reichen"),
        ("La recherche est là.", "la recherche devrait suffire"),
        ("测试都通过了。", "测试跑得很快"),
    ],
)
def test_a_further_wish_or_an_answer_rejects_nothing(answer: str, text: str) -> None:
    assert read_reaction(text, answer) == Reaction()


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("1. use uv 2. no pip", ("use uv", "no pip")),
        ("1. always squash 2. never push to main", ("always squash", "never push to main")),
        ("no:\n- we use uv here\n- never pip", ("we use uv here", "never pip")),
        (
            "for the future:\n1. commits in English\n2. no merges",
            ("commits in English", "no merges"),
        ),
        ("1. 用 pnpm，不要用 npm\n2. 提交信息用英文", ("用 pnpm，不要用 npm", "提交信息用英文")),
    ],
)
def test_a_short_list_that_a_person_types_states_rules(text: str, rules: tuple[str, ...]) -> None:
    assert read_reaction(text, "Done.").rules == rules
    assert read_reaction(text, "Sure, please paste the rules of that project.").status is None


@pytest.mark.parametrize(
    "text",
    [
        "- a coupon must not be used twice\n- the total can never go below 0",
        "- add tests\n- never log tokens\n- update the docs",
        "have a look at this:\n- never use npm here\n- always use pnpm here",
        "## Rules\n- never use npm here\n- always use pnpm here",
        "- never use npm, see https://example.org\n- always use pnpm here",
    ],
)
def test_a_list_of_needs_and_a_pasted_list_state_no_rule(text: str) -> None:
    assert read_reaction(text, "Done.") == Reaction()


@pytest.mark.parametrize(
    "text",
    [
        "the job never finishes before eight",
        "the api always returns UTC, never local time",
        "users never see the total",
        "der Nachtjob wird nie vor acht fertig",
        "el proceso siempre acaba tarde",
        "le job ne finit jamais à temps",
        "夜间任务总是跑到八点",
    ],
)
def test_what_a_program_or_its_users_do_each_time_is_no_rule(text: str) -> None:
    assert not read_reaction(text, "The job is scheduled.").rules


@pytest.mark.parametrize(
    "text",
    [
        "every PR needs two reviews here, I'll ask for them",
        "jeder PR braucht bei uns zwei Reviews, das dauert",
        "rows without a date should be skipped",
        "a password must have at least 12 characters",
        "files over 10 MB must be rejected",
        "a refund must never exceed the price. implement that",
        "每个房间每天只能预订一次",
    ],
)
def test_a_plan_and_a_need_of_the_product_state_no_rule(text: str) -> None:
    assert not read_reaction(text, "The page is ready.").is_correction


@pytest.mark.parametrize("answer", ["Sure, paste it.", "A) celery or B) rq.", "I need the format."])
def test_words_that_the_answer_asks_for_are_no_judgment(answer: str) -> None:
    assert read_reaction("the total is never negative, not even for refunds", answer) == Reaction()


@pytest.mark.parametrize(
    "text", ["then leave it alone", "dann lass es", "entonces no", "那就别动它"]
)
def test_a_conclusion_from_the_answer_is_no_correction(text: str) -> None:
    assert read_reaction(text, "The file is generated.") == Reaction()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("texts come from the table, please fix that", "texts come from the table"),
        ("primary keys are uuids in all our tables, change it", "primary keys are uuids"),
        ("texte immer über i18n, bitte anpassen", "texte immer über i18n"),
    ],
)
def test_a_wish_to_repair_the_work_is_no_new_task(text: str, rule: str) -> None:
    assert read_reaction(text, "Done.").rules[0].startswith(rule)


def test_doubt_of_a_word_of_the_answer_rejects_the_work() -> None:
    assert read_reaction("blue? the design says green", "I made it blue.").is_correction
    assert not read_reaction("blue?", "I made it blue.").is_correction
    assert not read_reaction("why blue? just curious", "I made it blue.").is_correction


def test_a_reason_takes_nothing_from_a_rule() -> None:
    text = "every key has to exist in all three files or the build breaks"
    assert read_reaction(text, "Added the key.").rules == (text,)


@pytest.mark.parametrize(
    "text",
    ["it accepts 31 february", "some users lost their avatar", "mis fotos salen giradas"],
)
def test_a_plain_report_about_the_work_is_a_failure(text: str) -> None:
    assert read_reaction(text, "Done.") == Reaction("failure")


def test_a_sentence_of_one_word_belongs_to_the_rule_before() -> None:
    assert read_reaction("no. we squash merge. Always.").rules == ("we squash merge. Always",)


@pytest.mark.parametrize("text", ["no subtitles in the second clip", "keine Bilder im Anhang"])
def test_a_lack_of_something_is_reported_and_not_forbidden(text: str) -> None:
    assert read_reaction(text) == Reaction("failure")
    assert read_reaction("no comments in generated code").is_correction


@pytest.mark.parametrize(
    "text",
    [
        "excel shows umlauts wrong",
        "hm, now the search page is a 500",
        "bei mir kommt nichts an",
        "aucun effet",
        "half of the images are gone",
        "nothing happens when I click save",
        "the tests still fail, fix them",
        "jeder Kunde bekommt zwei Mails",
        "al pulsar guardar no pasa nada",
        "les clients reçoivent deux factures",
        "le batch a pas tourné",
        "ahora tarda el doble",
        "用户收到了两封邮件",
    ],
)
def test_words_that_report_a_fault_make_the_work_a_failure(text: str) -> None:
    assert read_reaction(text) == Reaction("failure")


@pytest.mark.parametrize(
    "text",
    [
        "wrong repository, sorry",
        "sorry, I meant the other branch",
        "no preference from my side",
        "no, the migration can wait until tomorrow",
        "not for this release",
        "the suite takes 40 seconds, same as before",
        "0 failures, 0 warnings",
        "the red check is known",
        "falscher Branch, sorry",
        "the tests are all passing now",
        "we already have users, so write a migration",
        "das haben wir schon getestet, passt",
        "on a déjà la maquette, tu peux continuer",
        "说好了，明天上线",
        "没有更多了",
        "no effect on the API, I hope?",
    ],
)
def test_weak_signs_judge_nothing(text: str) -> None:
    assert read_reaction(text).status is None


@pytest.mark.parametrize(
    "text",
    [
        "no failures in CI",
        "no regressions in the suite",
        "keine Konflikte mit main",
        "ningún error en los logs",
        "aucun conflit sur la branche",
        "没有冲突",
    ],
)
def test_a_lack_of_something_bad_is_no_fault_and_no_rule(text: str) -> None:
    assert read_reaction(text) == Reaction()


def test_a_lack_of_something_bad_may_come_before_a_complaint_or_be_a_rule() -> None:
    assert read_reaction("no errors in the log, but the page is empty") == Reaction("failure")
    assert read_reaction("no warnings in the build, ever").rules


def test_the_matter_of_a_new_task_is_not_read() -> None:
    assert read_reaction("reply to them: no, we never refund a broken order") == Reaction()


def test_words_that_reject_and_report_a_fault_are_a_correction() -> None:
    assert read_reaction("no, customers see old prices now") == Reaction("failure", True)


@pytest.mark.parametrize(
    "text",
    [
        "the export is empty for old orders, please find out why",
        "my mistake, I ran it on the wrong branch",
        "the two red tests were red before",
        "ich hatte den falschen Branch",
        "culpa mía, rama equivocada",
        "c'est ma faute, mauvaise branche",
        "是我的错，切错分支了",
        "哦是我配错了",
        "the vendor's sandbox is down again",
        "die Suche war schon immer kaputt",
        "esa pantalla lleva meses rota",
        "导出一直是坏的",
    ],
)
def test_a_fault_of_the_program_or_of_the_user_is_no_judgment(text: str) -> None:
    assert read_reaction(text) == Reaction()


def test_words_that_say_nothing_of_the_work_are_no_sign() -> None:
    statuses = {
        "No, undo that.": "failure",
        "still failing": "failure",
        "Thanks!": "success",
        "Great, now the docs": "success",
        "not bad at all": "success",
        "no complaints, ship it": "success",
        "no notes, ship it": None,
        "no no it's great": None,
        "i cant complain, it is not even long": "success",
        "no need to test it": None,
        "no, haven't deployed it, go ahead": None,
        "nein, danke": None,
        "thanks but it still fails": "failure",
        "mail arrives on staging, thank you": None,
        "now add the docs": None,
    }
    assert {text: read_reaction(text).status for text in statuses} == statuses


@pytest.mark.parametrize("text", ["no, the small one", "pdf, not html", "不，用第二个"])
def test_a_reply_to_a_question_of_the_agent_is_no_judgment(text: str) -> None:
    assert read_reaction(text, "I can write both. Which one?") == Reaction()
    assert read_reaction(text, "Done.").status == "failure"


def test_a_reply_to_a_question_may_accuse_the_agent() -> None:
    assert read_reaction("no, you deleted the tests", "All done. Shall I push?").status == "failure"


def test_repeated_filler_is_read_at_once() -> None:
    assert read_reaction("hm " * 500) == Reaction()


@pytest.mark.parametrize(
    ("typed", "rule"),
    [
        ("las rutas siempre con autenticacion, nunca sin ella", True),
        ("les depots passent toujours par le service, jamais en direct", True),
        ("no funciona, todavia falla", False),
    ],
)
def test_spanish_and_french_are_read_without_accents(typed: str, rule: bool) -> None:
    reaction = read_reaction(typed)
    assert (reaction.status, bool(reaction.rules)) == ("failure", rule)


def test_a_question_with_an_exclamation_mark_accuses() -> None:
    assert read_reaction("you pushed straight to main?! put the tests first").is_correction


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("undo that", ["undo that"]),
        (r"(?:that|it)(?: is|'s) (?!right)wrong\b", ["wrong"]),
        (r"no+pes?(?: no)*[,.!]", ["no"]),
        (r"(?:very )?(?:slow|late)(?=[.!]*$)", ["slow", "late"]),
        (r"\w+ x{2,}|\xe3", [" ", ""]),
    ],
)
def test_each_match_of_a_pattern_has_one_of_its_required_texts(
    pattern: str, texts: list[str]
) -> None:
    assert required_texts(pattern) == texts

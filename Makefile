# Two commands do everything on a fresh machine with Python >= 3.11, git and make.
# The plain commands behind them stand in the README.
PYTHON ?= python3
BIN := .venv/bin
DEMO := demo-vault
SKILLVAULT := $(BIN)/skillvault --vault $(DEMO)
EXAMPLES := vault_template/examples

.PHONY: demo test smoke later browser pictures release thorough interop crash teams person soak transcripts bench bench-quick clean

# The demo works without a git identity: where git has none, it commits as somebody.
demo: export GIT_AUTHOR_NAME := $(shell git config user.name || echo "skillvault demo")
demo: export GIT_AUTHOR_EMAIL := $(shell git config user.email || echo demo@example.invalid)
demo: export GIT_COMMITTER_NAME := $(GIT_AUTHOR_NAME)
demo: export GIT_COMMITTER_EMAIL := $(GIT_AUTHOR_EMAIL)
demo: .venv/installed
	$(BIN)/skillvault init $(DEMO) --nested --domain perps --domain coding --domain dlmm
	@echo; echo "== a week: a guide from the first day on, facts, and a skill made of them"
	@for day in 1 2 3 4 5 6 7; do \
	date=2026-11-0$$((day + 1)); echo; echo "-- day $$day"; \
	sed -n "$${day}p" $(EXAMPLES)/week.jsonl | $(SKILLVAULT) record - --now $${date}T20:05:00Z 2>/dev/null || exit 1; \
	$(SKILLVAULT) run --now $${date}T20:10:00Z 2>/dev/null || exit 1; done
	@echo; echo "-- what the week taught: the facts, and the skill that is made of them"
	$(SKILLVAULT) fact list --domain dlmm
	$(SKILLVAULT) skill show $$($(SKILLVAULT) skill list | grep '^pattern-dlmm' | cut -d ' ' -f 1)
	@echo; echo "== two more domains, all at once"
	$(SKILLVAULT) import jsonl $(EXAMPLES)/trading.jsonl $(EXAMPLES)/coding.jsonl
	$(SKILLVAULT) run
	@echo; echo "== the skills it learned"
	$(SKILLVAULT) skill list
	@echo; echo "== a guide: what to do before an action and what to leave, from what was tried"
	$(SKILLVAULT) skill show guide-perps-open-long
	@echo; echo "-- the outcomes behind it"
	$(SKILLVAULT) why guide-perps-open-long
	@echo; echo "-- what an agent reads of it before its next task"
	$(SKILLVAULT) recommend --domain perps --task "AVAX breaks out above 30 on strong momentum; funding is high"
	@echo; echo "== a strategy: what separates the losses and the wins of a domain"
	$(SKILLVAULT) skill show strategy-perps
	@echo; echo "== where to look next"
	@echo "cd $(DEMO); git log              every learned thing is a commit with its provenance"
	@echo "$(BIN)/skillvault --vault $(DEMO) status"
	@echo "$(BIN)/skillvault record --example > my-outcome.yaml     then edit it, and"
	@echo "$(BIN)/skillvault --vault $(DEMO) record my-outcome.yaml"
	@echo "$(BIN)/skillvault --vault $(DEMO) watch                  the loop, whenever something arrives"

test smoke: export PYTHONDONTWRITEBYTECODE := # else each process compiles every module
test: .venv/tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n auto

# A short way through the loop, the hooks and the Python door with another Python:
# make smoke PYTHON=python3.13. What needs an extra is not tried.
SMOKE := tests/test_api.py tests/cli/test_hook.py tests/loop/test_run.py tests/clients
SMOKED = .venv/smoke-$(notdir $(PYTHON))
smoke:
	$(PYTHON) -m venv $(SMOKED)
	$(SMOKED)/bin/pip install --quiet --disable-pip-version-check --editable . \
		'pytest<10' 'pytest-xdist<4' 'hypothesis<7'
	$(SMOKED)/bin/python -m pytest -n 2 -q $(SMOKE)

# The same with each later Python that runs here.
later:
	@for version in 3.12 3.13; do \
	if command=$$(.ci/python $$version); then $(MAKE) smoke PYTHON="$$command" || exit 1; \
	else echo "no Python $$version runs here: the tests with it are skipped"; fi; done

# The real programs of others read what we write. They come from npm, into a folder of their own;
# CLONES=DIR names a folder with clones of repositories of skills, as owner-name.
INTEROP := skills@1.7.4 clawhub@0.23.3 node@22 @anthropic-ai/claude-code@2.1.330 @openai/codex@0.169.0 \
	@modelcontextprotocol/inspector@0.15.0
interop: .venv/tested
	npm install --prefix .venv/interop --no-audit --no-fund $(INTEROP)
	$(BIN)/pip install --quiet --disable-pip-version-check 'fastmcp-slim[client]==4.1.2'
	SKILLVAULT_INTEROP=.venv/interop $(if $(CLONES),SKILLVAULT_CLONES=$(CLONES)) \
	$(BIN)/pytest tests/interop -rs

# A browser and axe-core, for the tests of the page: as root on Debian by apt, and by npm.
AXE := axe-core@4.14.1
browser: .venv/tested
	command -v chromium || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; }
	npm install --prefix .venv/browser --no-audit --no-fund $(AXE)

# The pictures of the page in the README, of a vault that is made for them, and that of a terminal.
pictures: browser
	$(BIN)/python -m tests.page.pictures
	$(BIN)/pip install --quiet --disable-pip-version-check 'ptyreel==0.3.0'
	test -d .venv/week || $(BIN)/python bench/week.py --only-play .venv/week
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/ptyreel docs/pictures/try.tape

# Builds the wheel and the sdist into dist/ and checks both; `.ci/release --tag` tags the version too.
release:
	.ci/release

# What CI tries a part of: every row of the long tables, and more drawn streams and texts.
thorough: .venv/tested
	SKILLVAULT_THOROUGH=1 $(BIN)/pytest -n auto

# So many kills at random times, and 20 at each point of a capture beside appending agents; so many
# sequences of a person's work beside the program, and histories of which something is taken back.
crash: .venv/tested
	SKILLVAULT_KILLS=$(or $(N),500) $(BIN)/pytest -n auto tests/crash -k any_time
	SKILLVAULT_APPEND_KILLS=20 SKILLVAULT_CAPTURES=200 $(BIN)/pytest -n auto tests/crash/test_appending.py

# So many orders in which three clones meet, for ten seeds.
teams: .venv/tested
	SKILLVAULT_TEAM_SEEDS=10 SKILLVAULT_TEAM_ORDERS=$(or $(N),50) SKILLVAULT_ORDERS=$(or $(N),50) \
		$(BIN)/pytest -n auto tests/team/test_sync_orders.py tests/learning/sync

person: .venv/tested
	SKILLVAULT_SEQUENCES=$(or $(N),2000) $(BIN)/pytest -n auto tests/person
	SKILLVAULT_HISTORIES=$(or $(N),250) $(BIN)/pytest -n auto tests/loop/test_histories.py

# A daemon under a stream of outcomes for so many minutes: nothing lost, nothing that grows.
soak: .venv/installed
	$(BIN)/python bench/soak.py $(or $(N),20)

# So many gigabytes of transcripts, imported with a progress bar in at most 150 MB of memory.
transcripts: .venv/installed
	$(BIN)/python bench/transcripts.py $(or $(GB),1)

# Every figure beside what it stands against, as a table and in bench/latest.json; the quick one
# stops at 10,000 records and takes two minutes.
bench bench-quick: export OPENBLAS_NUM_THREADS := 1
bench: .venv/installed
	$(BIN)/python bench/table.py --json bench/latest.json

bench-quick: .venv/installed
	$(BIN)/python bench/table.py --quick --json bench/latest.json

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/tested: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[test]"
	touch $@

clean:
	rm -rf .venv $(DEMO)

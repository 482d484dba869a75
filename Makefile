# Two commands matter: `make book` builds the course, `make test` checks all of it.
# Either works alone in a fresh clone; what they need is make and Python 3.11 or newer.
# While you write, `make quick` checks what you changed.

# The first of these that is new enough; `make PYTHON=/path/to/python book` overrules it.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,\
	$(shell $(p) -c '$(NEW_ENOUGH)' 2>/dev/null && echo $(p))) python3)

# CONSTRAINTS=/dev/null takes the newest versions instead of the pinned ones.
CONSTRAINTS ?= constraints.txt
VENV ?= .venv
BIN := $(VENV)/bin
# What the book needs, and what everything needs: pyproject.toml has both as extras.
BINDERY := $(VENV)/.book
INSTALLED := $(VENV)/.all
SITE := _build/html

# Processes for the tests: one a core, but only as many as 2.5 GB each leave room for;
# `make JOBS=2 test` overrules it.
FIT := import os; memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"); \
	print(max(1, min(os.cpu_count() or 1, int(memory / 2.5e9))))
JOBS ?= $(shell $(PYTHON) -c '$(FIT)')

# JAX on a CPU hands its memory back to the system after every step and asks for it again
# before the next: half the time of a small training step goes into page faults. These
# four tell glibc to keep its heap, for whatever make starts; elsewhere they do nothing.
export MALLOC_ARENA_MAX := 1
export MALLOC_MMAP_THRESHOLD_ := 4294967296
export MALLOC_TRIM_THRESHOLD_ := 4294967296
export MALLOC_TOP_PAD_ := 67108864

# The tests run a process on every core: threads inside them would only wait for each
# other.
export OMP_NUM_THREADS := 1

# What is installed is compiled when it is first imported, and that is kept: uv does not
# compile all that it installs, as pip does.
export PYTHONDONTWRITEBYTECODE :=

# Progress bars are for people. In a stored output they would differ at each run.
export COURSE_QUIET := 1

export PIP_DISABLE_PIP_VERSION_CHECK := 1

# One step after the other, also under `make -j`: the tests are spread out already.
.NOTPARALLEL:
.PHONY: help book test quick notebooks clean homework grade student pdf zip lint unit outputs site shake bench weekly

help: ## List what can be made
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1	\2/p' Makefile

# A cell that failed, a piece in one framework only, a link without a target are warnings
# to Sphinx. Here they are errors, said at the end. Sphinx does not read a page again that
# it has read, and so would not repeat its warnings: after a failure it forgets them all.
BUILD := $(BIN)/jupyter-book build . -W -n --keep-going
COMPLAINTS := _build/complaints.log
book: $(BINDERY) ## Build the book and say where to open it
	@mkdir -p _build
	@echo $(BUILD)
	@$(BUILD) 2>$(COMPLAINTS) || { \
		rm -rf _build/.doctrees; \
		echo; cat $(COMPLAINTS); \
		echo "The book is not ready: see above, or $(COMPLAINTS)."; \
		exit 1; }
	@echo
	@echo "The book is ready. Open it in a browser: $(CURDIR)/$(SITE)/index.html"

# Each test that is skipped leaves its reason in this file, which says what it lacks.
SKIPPED := $(CURDIR)/_build/skipped.txt
export SKIPPED
test: $(INSTALLED) ## Check everything: code, notebooks, homework, site
	@rm -f $(SKIPPED)
	@$(MAKE) lint unit outputs site
	@echo "All checks passed. Skipped: $$(sort $(SKIPPED) 2>/dev/null | uniq -c | \
		awk '{$$1 = $$1; print}' | paste -sd ';' - | sed 's/;/; /g; s/^$$/nothing/')."

# BASE=HEAD~1 for what changed since the last commit.
quick: lint ## Style, types, and the tests of what changed since main
	$(BIN)/python tools/changed.py --jobs $(JOBS) $(if $(BASE),--base $(BASE))

notebooks: $(BINDERY) ## Execute the chapters whose code changed
	$(BIN)/python book/tools/notebooks.py

clean: ## Remove what was built; the next command sets everything up again
	rm -rf $(VENV) _build api .pytest_cache .ruff_cache .hypothesis .coverage

# Of all assignments, or of one: `make homework ASSIGNMENT=attention`.
homework: $(INSTALLED) ## Build the assignments: for students, and for instructors
	$(BIN)/python homework/build.py $(ASSIGNMENT)

# make grade ASSIGNMENT=attention SUBMISSIONS=folder; MARKS=folder to write to, JOBS at a time.
# ROSTER=file names ids; GRADE="--student ada" and other options of homework/grade.py, such
# as --isolation container or --bare.
HANDED_OUT := _build/homework/instructor
MARKS ?= _build/marks/$(ASSIGNMENT)
ROSTER ?= $(wildcard classroom/roster.csv)
grade: $(INSTALLED) ## Mark a folder of submissions: ASSIGNMENT=attention SUBMISSIONS=folder
	@test -f "$(HANDED_OUT)/$(ASSIGNMENT)/assignment.json" -a -d "$(SUBMISSIONS)" || { \
		echo "make grade needs ASSIGNMENT, one that make homework has built, and SUBMISSIONS, a folder:"; \
		echo "  make grade ASSIGNMENT=attention SUBMISSIONS=submissions"; \
		exit 1; }
	$(BIN)/python homework/grade.py "$(HANDED_OUT)/$(ASSIGNMENT)/assignment.json" \
		"$(SUBMISSIONS)" --out "$(MARKS)" --jobs $(JOBS) $(if $(ROSTER),--roster "$(ROSTER)") \
		$(GRADE)

student: $(BINDERY) ## Site and notebooks without solutions, and the solutions apart
	$(BIN)/python homework/student.py

# Of all pages, or of some: `make pdf PAGES="gpt positions"`. It prints what `make book` built.
pdf: $(BINDERY) ## Print each page, and the book with bookmarks, with Chromium
	$(BIN)/python book/tools/paper.py $(PAGES)

zip: $(BINDERY) ## Pack what `make book` built into one archive, to read offline
	@test -f $(SITE)/index.html || { echo "There is no site yet: run \`make book\` first."; exit 1; }
	@mkdir -p _build/zip
	$(BIN)/python -c 'import shutil; shutil.make_archive("_build/zip/course", "zip", "_build", "html")'

# What `make test` is made of, to run alone.
lint: $(INSTALLED) ## Style, types, and each chapter's text beside its notebook (part of test)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/python book/tools/notebooks.py --check

# Every shape that a signature states is checked as well: see pyproject.toml. A file's
# tests run in one process: what it builds is built once.
unit: $(INSTALLED) ## Tests of the package, the homework, the book's tools (part of test)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile tests \
		--ignore-glob 'tests/book/test_site*.py'

# COMPARE=lax for other versions than the pinned ones: outputs may differ, what the text
# says of them not. KERNELS=fresh for kernels that import everything themselves.
outputs: $(INSTALLED) ## Run the notebooks, compare with what is stored (part of test)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile book \
		--nbval$(if $(COMPARE),-$(COMPARE)) --nbval-current-env --nbval-cell-timeout 300
	$(BIN)/python book/tools/limits.py

# --all: nothing is left of what an earlier build made.
site: $(INSTALLED) ## Build the book from nothing and test the pages (part of test)
	$(BUILD) --all
	$(BIN)/python -m pytest -n $(JOBS) tests/book/test_site*.py

# Of all pages, or of some: `make shake PAGES="attention depth"`. SHAKES="sse nudge" for these.
PAGES ?=
shake: $(INSTALLED) ## Run pages as other processors would: which outputs move?
	$(BIN)/python book/tools/shake.py $(PAGES) --jobs $(JOBS) \
		$(if $(SHAKES),--shake $(SHAKES))

# All cores: with one thread in PyTorch only, JAX would run against a bound opponent.
bench: $(INSTALLED) ## Compare our speed with what a reader would pick instead
	env -u OMP_NUM_THREADS $(BIN)/python -m benchmarks

# What takes hours, in parts: `make weekly PART="oldest newest"` for these.
PART ?= options fresh shakes oldest newest phone
weekly: $(PART:%=weekly-%) ## What is too much for each change: all options, other machines
weekly-options: $(INSTALLED) # every option in both wings, and the slow tests
	WINGS=all $(BIN)/python -m pytest -n $(JOBS) --dist loadfile tests -m "slow or not slow" \
		--ignore-glob 'tests/book/test_site*.py'
weekly-fresh:
	$(MAKE) outputs KERNELS=fresh
weekly-shakes:
	$(MAKE) shake
# Old packages warn of their new neighbors, and new ones of what will go away.
weekly-oldest:
	$(MAKE) unit outputs VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt COMPARE=lax \
		PYTEST_ADDOPTS="-W default"
weekly-newest:
	$(MAKE) unit outputs site VENV=.venv-newest CONSTRAINTS=/dev/null COMPARE=lax \
		PYTEST_ADDOPTS="-W default"
weekly-phone: book # Lighthouse: needs Node and Chromium, and an idle machine
	npx --yes @lhci/cli@0.14.0 autorun --config=.github/lighthouse.yml

# Redone when what is wanted changes, else never. The stamp comes last: a set-up that was
# interrupted starts again. Whoever has everything has what the book needs.
$(VENV)/.%: pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c '$(NEW_ENOUGH)' || { \
		echo "The course needs Python 3.11 or newer; \`$(PYTHON)\` is not."; \
		echo "Install one, or name the one you have: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)"; \
		exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { \
		echo "This Python cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv"; \
		exit 1; }
	$(PYTHON) -m venv $(VENV)
	@echo "Installing what is needed. The first time may take minutes, most of them for PyTorch."
	$(BIN)/python tools/install.py $(CONSTRAINTS) '.[$*]'
	@touch $@ $(if $(filter all,$*),$(BINDERY))

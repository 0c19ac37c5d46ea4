# A thin menu: `make` lists it. Each target does the set-up it needs first (setup/install), so any of them may come first.
#   BUILD=build        the build folder; SUITE= BENCH= FUZZ_SECONDS= PREFIX= DESTDIR= as below
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
# more options for meson setup
MESON_EXTRA ?=
# make check SUITE=unit: only that suite (unit, engine, cli, page, system, python, package, fuzz)
SUITE ?=
# make bench BENCH=overhead: only that bench; QUICK=1: a run of seconds of each, which shows that it works
BENCH ?=
QUICK ?=
FUZZ_SECONDS ?= 60

MESON_OPTIONS = --prefix=$(abspath $(PREFIX)) --libdir=lib $(MESON_EXTRA)
sanitized = meson setup $(1) -Db_sanitize=$(2) -Db_lundef=false -Dbuildtype=debugoptimized -Ddefault_library=static

.PHONY: help demo check build bench configured lint format asan tsan fuzz docs install wheel deb clean setup

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: configured ## set-up, build, then the stages of GraphSAGE measured on two real engines: under five minutes
	@echo "Building and measuring takes under five minutes on two processors, what has to be downloaded apart."
	ninja -C $(BUILD) inferometer inferometer-worker
	tools/demo $(BUILD)

check: build ## set-up, build, then every test (SUITE=unit: only those)
	setup/install check wheel
	tools/run-tests $(BUILD) $(addprefix --suite=,$(SUITE))

setup:
	setup/install

configured: setup
	test -f $(BUILD)/build.ninja || meson setup $(BUILD) $(MESON_OPTIONS)

build: configured ## set-up, then build/inferometer
	ninja -C $(BUILD)

bench: build ## the benches, each a ratio against a named peer or bound (BENCH=NAME: only that; QUICK=1: seconds of each)
	setup/install bench
	tools/run-benches $(BUILD) $(if $(QUICK),--quick) $(BENCH)

lint: ## formatting, static analysis, layers, sizes of rooms, and a build with warnings as errors
	setup/install lint
	tools/lint

format: ## formats every C file in place
	setup/install lint
	git ls-files '*.c' '*.h' | xargs clang-format -i

asan: ## the unit tests, and damaged files through every verb, under the address and undefined-behaviour sanitizers
	setup/install check
	test -f build-asan/build.ninja || $(call sanitized,build-asan,address$(comma)undefined)
	ninja -C build-asan
	tools/run-tests build-asan --suite=unit

tsan: ## the unit tests under the thread sanitizer
	setup/install check
	test -f build-tsan/build.ninja || $(call sanitized,build-tsan,thread)
	ninja -C build-tsan
	tools/run-tests build-tsan --suite=unit

fuzz: ## fuzzes each reader of files (ONNX, graphs, traces, plans) and gradients for FUZZ_SECONDS
	setup/install fuzz
	fuzz/run $(FUZZ_SECONDS)

docs: build ## writes what the documents show of the program and docs/reference/index.html, and checks what they name
	setup/install docs
	tools/make-docs $(BUILD)

install: build ## installs below $(DESTDIR)$(PREFIX)
	meson configure $(BUILD) $(MESON_OPTIONS)
	meson install -C $(BUILD) $(if $(DESTDIR),--destdir=$(abspath $(DESTDIR)))

wheel: configured ## packs dist/inferometer-*.whl, which pip installs: command, library, Python package (the runtimes are dependencies)
	setup/install wheel
	tools/make-wheel $(BUILD) dist

deb: configured ## packs dist/inferometer_*.deb, a Debian package
	setup/install wheel
	tools/make-deb $(BUILD) dist

clean: ## removes what was built; .deps and out stay
	rm -rf build build-asan build-tsan build-lint build-fuzz dist

comma := ,

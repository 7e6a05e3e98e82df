# make             build ./build/hone; V=1 shows every command
# make demo        install what is missing, build, optimise a worked example, check the result
# make check       every test that needs no GPU and no network (installs what is missing)
# make check-fast  unit, language and basic command-line tests, about a minute
# make check-asan  the same tests under AddressSanitizer and UBSan; a leak fails
# make check-gpu   the tests that need a GPU; says so and succeeds where there is none
# make check-long  the long tests: kill -9, fuzzing for minutes, many seeds
# make fuzz        the fuzzers, FUZZ_SECONDS each (default 60); AFL++ too where it is installed
# make lint        layers, banned functions, format, complexity, generated files
# make bench       figures of docs/results for a CPU: the thread, the language, the judge, the memory-bound set, products; minutes
# make bench-long  and the judge's that take two hours: control, estimates, faults, kills. For models
#                  there is bench/llm.sh, for GPUs bench/gpu_*.sh, on a card
# make bless       rewrite golden files and docs/cli; review the diff
# make install     PREFIX=/usr/local DESTDIR=; with man pages and completions. make uninstall
# make dist        build/hone-VERSION.tar.gz; make deb: build/hone_VERSION_ARCH.deb
# make static      build-static/hone, which needs no C library newer than 2.34 (RHEL 9, Ubuntu 22.04)

PREFIX  ?= /usr/local
BUILD   ?= build
CFLAGS  ?= -O2 -g
CPPFLAGS ?=
WERROR  ?=
WARN    = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wwrite-strings \
          -Wpointer-arith
override CFLAGS += -std=c17 -D_GNU_SOURCE -MMD -MP -Isrc -iquote runtime -iquote src/ir -I$(BUILD) $(WARN) $(WERROR)
# Linked statically, so that the binary runs where they are not installed.
LDLIBS  = -l:libjansson.a -l:libsqlite3.a -l:libseccomp.a -l:libinih.a -lm -lpthread -ldl
# One short line for each file, nothing with -s, everything with V=1.
Q       := $(if $(V),,@)
SILENT  := $(findstring s,$(firstword -$(MAKEFLAGS)))
say      = @$(if $(V)$(SILENT),:,printf '  %-5s %s\n' '$(1)' '$@')

VERSION := $(shell cat VERSION)
SRC     := $(sort $(wildcard src/*.c src/*/*.c))
TESTS   := $(sort $(wildcard tests/unit/*.c))
RUNTIME := $(sort $(wildcard runtime/*.h runtime/*.c runtime/*.cu bridge/export/*.py bridge/import/*.py src/store/*.sql src/memory/*.sql prompts/*.txt) \
             src/ir/ops.def src/ir/types.def docs/language.md docs/families.md src/report/page.css src/report/page.js)
OBJ     := $(SRC:%.c=$(BUILD)/%.o) $(BUILD)/embedded.o
LIB     := $(filter-out $(BUILD)/src/main.o,$(OBJ))
TOBJ    := $(TESTS:%.c=$(BUILD)/%.o)
FAKE    := $(patsubst tests/fake/%.c,$(BUILD)/fake/lib64/%.so.1,$(wildcard tests/fake/*.c)) $(addprefix $(BUILD)/fake/lib64/,libcupti.so.13 libopenblas.so.0 libcublasLt.so.13 libcudnn.so.9 ../wrong/libopenblas.so.0)
FUZZ_DIR  = base build calibrate library oracle eval play place ir lang model record loop family gpu profile tools store llm mind mcp
FUZZ_LIB  = $(foreach d,$(FUZZ_DIR),$(filter $(BUILD)/src/$d/%,$(LIB))) $(BUILD)/embedded.o
FUZZ_LINK = -fsanitize=fuzzer,address,undefined
FUZZ    := $(patsubst tests/fuzz/%.c,$(BUILD)/%,$(wildcard tests/fuzz/*.c))
TOOLS    = $(addprefix $(BUILD)/,validate gpu-run llm-server reference oracle-check worker-talk mutants cuda-program)
STAMP    = $(CC) $(CFLAGS) $(CPPFLAGS) $(LDFLAGS) $(VERSION) $(SRC) $(TESTS) $(RUNTIME)

all: $(BUILD)/hone

$(BUILD)/hone: $(OBJ) $(BUILD)/config
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(OBJ) $(LDLIBS)

$(BUILD)/test-unit: $(TOBJ) $(LIB) $(BUILD)/config $(FAKE)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(TOBJ) $(LIB) $(LDLIBS) -lcriterion

$(BUILD)/%.o: %.c $(BUILD)/config
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(CPPFLAGS) -DHONE_VERSION='"$(VERSION)"' -c -o $@ $<

$(BUILD)/embedded.o: $(BUILD)/embedded.c
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) -c -o $@ $<

$(BUILD)/src/cmd/cmd_version.o: $(BUILD)/commit.h
$(BUILD)/commit.h: FORCE
	@mkdir -p $(@D)
	@scripts/commit.sh | cmp -s - $@ || scripts/commit.sh >$@

# Texts that the binary carries (emitted code includes them, the store's schema).
$(BUILD)/embedded.c: $(RUNTIME) scripts/embed.sh $(BUILD)/config
	$(call say,EMBED)
	$(Q)scripts/embed.sh $(RUNTIME) > $@

# Changes when flags or the list of sources change: forces what depends on it.
$(BUILD)/config: FORCE
	@mkdir -p $(@D)
	@echo '$(STAMP)' | cmp -s - $@ || echo '$(STAMP)' > $@

deps deps-check:
	@scripts/install-deps.sh $(if $(filter deps,$@),build,check)
demo: deps
	@echo 'building hone, $(words $(SRC)) files of C'
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@scripts/demo.sh $(abspath $(BUILD)/hone)
check-fast: $(BUILD)/hone $(BUILD)/test-unit $(TOOLS)
	scripts/run-tests.sh fast $(BUILD)
check: deps-check
	$(MAKE) check-built
check-built: $(BUILD)/hone $(BUILD)/test-unit $(TOOLS)
	scripts/run-tests.sh all $(BUILD)
check-long: $(BUILD)/hone $(BUILD)/test-unit $(TOOLS)
	scripts/run-tests.sh long $(BUILD)
	$(MAKE) fuzz
check-gpu: $(BUILD)/hone $(BUILD)/gpu-run $(BUILD)/oracle-check $(BUILD)/validate
	scripts/run-gpu-tests.sh $(abspath $(BUILD)/hone)
check-asan:
	$(MAKE) BUILD=build-asan LDFLAGS="-fsanitize=address,undefined" \
	    CFLAGS="-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=undefined" check-asan-built
check-asan-built: $(BUILD)/hone $(BUILD)/test-unit $(TOOLS)
	scripts/run-tests.sh asan $(BUILD)

fuzz:
	$(MAKE) BUILD=build-fuzz CC=clang CFLAGS="-O1 -gline-tables-only -fsanitize=fuzzer-no-link,address,undefined" fuzz-built
	scripts/run-afl.sh
fuzz-built: $(FUZZ)
	scripts/run-fuzz.sh $(BUILD) $(FUZZ)
$(BUILD)/fuzz_%: tests/fuzz/fuzz_%.c $(FUZZ_LIB) $(BUILD)/config
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(FUZZ_LINK) -o $@ $< $(FUZZ_LIB) $(LDLIBS)

lint: $(BUILD)/hone
	scripts/lint.sh $(BUILD)/hone
bench: $(BUILD)/hone $(BUILD)/peer-interpret $(BUILD)/store-times
	for b in run language judge search cpu_findings cpu_set cpu_products; do bench/$$b.sh $(abspath $(BUILD)/hone) || exit 1; done
bench-long: $(BUILD)/hone $(BUILD)/estimators $(TOOLS)
	for b in control slower; do bench/judge_$$b.sh $(abspath $(BUILD)/hone) || exit 1; done
	$(BUILD)/estimators tests/fixtures/timing/*.txt
	for t in 215-mutants 214-kill; do HONE=$(abspath $(BUILD)/hone) sh tests/cli/t$$t-long.sh || exit 1; done
bless: $(BUILD)/hone
	scripts/bless.sh $(abspath $(BUILD)/hone)
install uninstall: $(BUILD)/hone
	$(Q)scripts/install.sh $@ $< $(PREFIX) $(DESTDIR)
dist:
	@scripts/package.sh dist $(BUILD)
deb: $(BUILD)/hone
	@scripts/package.sh deb $< $(BUILD)
static: build-static/hone
build-static/hone: $(OBJ) scripts/old_libm.c scripts/package.sh $(BUILD)/config
	$(call say,LINK)
	$(Q)CC="$(CC)" scripts/package.sh static $@ $(OBJ) $(LDLIBS)
clean:
	rm -rf build build-asan build-fuzz build-afl build-clang build-static

FORCE:
.PHONY: FORCE all deps deps-check demo check check-fast check-built check-gpu check-long check-asan \
        check-asan-built fuzz fuzz-built lint bench bench-long bless install uninstall dist deb static clean
-include $(OBJ:.o=.d) $(TOBJ:.o=.d) inject/inject.mk tests/tests.mk

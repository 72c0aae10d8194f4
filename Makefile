# SPDX-License-Identifier: MIT
# Builds rowfs: `make help` lists the targets. Plain GNU make.
#
#   make CC=clang              another compiler
#   make V=1                   prints the commands
#   make WERROR=1              warnings are errors (so they are with CI=true in the environment)
#   make BUILD=DIR             another directory for what is built (default: build)
#   make LEVELDB=shared BUILD=DIR  with LevelDB's shared library (docs/recovery.md has the losses)
#   make SANITIZE=1 BUILD=DIR  the same programs with AddressSanitizer and UndefinedBehaviorSanitizer
#   make SANITIZE=thread BUILD=DIR  and with ThreadSanitizer

VERSION := 0.1.0

PREFIX ?= /usr/local
# Where systemd looks for units.
UNITDIR ?= $(PREFIX)/lib/systemd/system
# Where zsh looks for completion.
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
BUILD  ?= build
OBJ    := $(BUILD)/obj

# What make presets, environment and command line override.
ifeq ($(origin CC),default)
CC := gcc
endif
CFLAGS     ?= -O2 -g
PKG_CONFIG ?= pkg-config
JOBS        = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

# ---- Dependencies --------------------------------------------------------------------------
# Expanded only where they are used, since `make deps` may have to install them first.

FUSE_CFLAGS    = $(shell $(PKG_CONFIG) --cflags fuse3)
FUSE_LIBS      = $(shell $(PKG_CONFIG) --libs fuse3)
PCRE2_LIBS     = $(shell $(PKG_CONFIG) --libs libpcre2-8)
CHECK_CFLAGS   = $(shell $(PKG_CONFIG) --cflags check)
CHECK_LIBS     = $(shell $(PKG_CONFIG) --libs check)
JANSSON_CFLAGS = $(shell $(PKG_CONFIG) --cflags jansson)
JANSSON_LIBS   = $(shell $(PKG_CONFIG) --libs jansson)
# static or shared: Debian's LevelDB has no .pc file. ThreadSanitizer has to tell LevelDB's code, which it cannot see
# into, from ours.
LEVELDB       ?= $(if $(filter thread,$(SANITIZE)),shared,static)
LEVELDB_LIB    = $(if $(filter shared,$(LEVELDB)),-lleveldb,-l:libleveldb.a)
LEVELDB_LIBS   = $(LEVELDB_LIB) -lsnappy -lstdc++
STORE_LIBS     = $(LEVELDB_LIBS) $(PCRE2_LIBS) $(JANSSON_LIBS) -lpthread -lm

# ---- Flags ---------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wmissing-prototypes -Wstrict-prototypes
ifneq ($(filter 1 true,$(WERROR) $(CI)),)
WARNINGS += -Werror
endif

BASE_CPPFLAGS := -D_GNU_SOURCE -DROWFS_VERSION=\"$(VERSION)\" -I. $(if $(filter shared,$(LEVELDB)),-DLDB_SHARED)
# Hardening that the compiler has for this machine. It goes without -ftrivial-auto-var-init=zero, since functions have up
# to 49 KiB of buffers for names and with all of them cleared a listing costs twice the processor time; and, by the time that
# .rows of 100,000 rows takes, without _FORTIFY_SOURCE=3 (10 % more) and -fstack-clash-protection (3 to 4 % more): threads
# have a guard of 64 KiB instead (lib/system/threads.h).
HARDENING     := $(shell echo 'int main(void) { return 0; }' | $(CC) -Werror -fcf-protection -S -x c -o /dev/null - \
		2>/dev/null && echo -fcf-protection)
BASE_CFLAGS   := -std=c11 $(WARNINGS) -fPIE -fstack-protector-strong $(HARDENING)
BASE_LDFLAGS  := -pie -Wl,-z,relro,-z,now
comma := ,
ifdef SANITIZE
# Recovering is off, so that a test fails where the fault is. Fortified calls hide faults from it.
SANITIZERS   := -fsanitize=$(if $(filter thread,$(SANITIZE)),thread,address$(comma)undefined)
BASE_CFLAGS  += $(SANITIZERS) -fno-sanitize-recover=all -fno-omit-frame-pointer
BASE_LDFLAGS += $(SANITIZERS)
BASE_CPPFLAGS += $(if $(filter thread,$(SANITIZE)),-DLDB_STRIPES=32u)
else
BASE_CPPFLAGS += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
endif
# Fuzz targets are made for libFuzzer (clang) or, by default, to run inputs from files.
ifdef FUZZ
BASE_CFLAGS += -fsanitize=fuzzer-no-link
FUZZ_DRIVER := -fsanitize=fuzzer
else
FUZZ_DRIVER = $(OBJ)/tests/fuzz/replay.o
endif

# quiet TEXT: prints it in place of the command behind, but with V=1.
quiet   = $(if $(filter 1,$(V)),,@echo '$(1)';)
COMPILE = $(call quiet,CC $<)$(CC) $(BASE_CPPFLAGS) $(CPPFLAGS) $(BASE_CFLAGS) $(JANSSON_CFLAGS) $(CFLAGS) -MMD -MP
LINK    = $(call quiet,LD $@)$(CC) $(BASE_CFLAGS) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS)

# ---- What there is -------------------------------------------------------------------------

objects = $(patsubst %.c,$(OBJ)/%.o,$(1))

STORE_SOURCES := $(wildcard store/*.c store/*/*.c store/*/*/*.c)
LIB_SOURCES   := $(wildcard lib/*.c lib/*/*.c)
FS_SOURCES    := $(filter-out fs/main.c,$(wildcard fs/*.c fs/*/*.c))
MKFS_MAINS    := $(wildcard mkfs/mkfs_rowfs.c mkfs/fsck_rowfs.c mkfs/rowfs_*.c)
MKFS_SHARED   := $(filter-out $(MKFS_MAINS),$(wildcard mkfs/*.c mkfs/*/*.c))
UNIT_MAINS    := $(wildcard tests/unit/test_*.c)
ALLOC         := tests/unit/alloc.c
UNIT_SHARED   := $(filter-out $(UNIT_MAINS) $(ALLOC),$(wildcard tests/unit/*.c))
BENCH_MAINS   := $(wildcard tests/bench/bench_*.c)
BENCH_NULL    := tests/bench/null.c tests/bench/tree.c
BENCH_SHARED  := $(filter-out $(BENCH_MAINS) tests/bench/null.c,$(wildcard tests/bench/*.c))
E2E_TESTS     := $(wildcard tests/e2e/test_*.sh)
CORPUS_TESTS  := $(wildcard tests/fuzz/test_*.sh)
BROWSER_TESTS := $(wildcard tests/browser/test_*.sh)
CRASH_TESTS   := $(wildcard tests/crash/test_*.sh)
FUZZ_MAINS    := $(wildcard tests/fuzz/fuzz_*.c)
E2E_MAINS     := $(wildcard tests/e2e/*.c)
SOURCES       := $(STORE_SOURCES) $(LIB_SOURCES) $(FS_SOURCES) fs/main.c $(MKFS_MAINS) $(MKFS_SHARED) \
		 $(UNIT_MAINS) $(UNIT_SHARED) $(ALLOC) $(BENCH_MAINS) $(BENCH_SHARED) \
		 tests/bench/null.c \
		 $(E2E_MAINS) tests/crash/fault.c $(wildcard tests/fuzz/*.c)

LIBSTORE := $(BUILD)/libstore.a
LIBLIB   := $(BUILD)/liblib.a
LIBFS    := $(BUILD)/libfs.a

# mkfs/mkfs_rowfs.c makes mkfs.rowfs, mkfs/rowfs_load.c makes rowfs-load.
program     = $(patsubst rowfs_%,rowfs-%,$(patsubst %_rowfs,%.rowfs,$(1)))
main_source = mkfs/$(subst -,_,$(subst .,_,$(notdir $(1)))).c

MKFS_PROGRAMS := $(addprefix $(BUILD)/,$(call program,$(notdir $(basename $(MKFS_MAINS)))))
PROGRAMS      := $(BUILD)/rowfs $(MKFS_PROGRAMS)
MAN_PAGES     := $(wildcard man/*.[158])
UNIT_TESTS    := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(UNIT_MAINS))
FAULT         := $(BUILD)/crash/fault.so
E2E_SHARED    := $(call objects,$(wildcard tests/unit/memory_*.c) tests/unit/forge.c tests/unit/forge_write.c tests/unit/heat.c)
E2E_PROGRAMS  := $(patsubst tests/e2e/%.c,$(BUILD)/e2e/%,$(E2E_MAINS))
BENCHES       := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(BENCH_MAINS))
FUZZERS       := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(FUZZ_MAINS))
FUZZ_SHARED   := tests/fuzz/fuzz.c $(filter-out %/suite_main.c,$(UNIT_SHARED)) \
		 mkfs/text/csv.c mkfs/text/csv_rows.c

# ROWFS_KINDS in the environment chooses kinds of tests, of those that `make test` and `make asan` build and run.
KINDS          = $(or $(ROWFS_KINDS),unit fuzz e2e crash)
PROGRAMS_unit  = $(UNIT_TESTS)
PROGRAMS_fuzz  = $(FUZZERS)
PROGRAMS_e2e   = $(E2E_PROGRAMS)
PROGRAMS_crash = $(FAULT)
TESTS_unit     = $(UNIT_TESTS)
TESTS_fuzz     = $(CORPUS_TESTS)
TESTS_e2e      = $(E2E_TESTS)
TESTS_crash    = $(CRASH_TESTS)
TESTS          = $(foreach kind,$(KINDS),$(or $(TESTS_$(kind)),$(error ROWFS_KINDS: there is no kind "$(kind)")))

.PHONY: all deps demo test test-unit test-e2e soak bounds asan tsan crash nightly bench lint install uninstall clean \
	install-contrib uninstall-contrib deb deb-test fresh-test help unit-programs fuzz fuzz-programs docs-pictures \
	browser-test
.DELETE_ON_ERROR:
.SECONDARY:

all: $(PROGRAMS) ## builds the programs into build/ (default)

unit-programs: $(foreach kind,$(KINDS),$(PROGRAMS_$(kind)))

fuzz-programs: $(FUZZERS)

# ---- Rules ---------------------------------------------------------------------------------

$(OBJ)/fs/%.o: EXTRA = $(FUSE_CFLAGS)
$(OBJ)/tests/%.o: EXTRA = $(CHECK_CFLAGS)
$(OBJ)/tests/unit/%.o: EXTRA = $(CHECK_CFLAGS) $(FUSE_CFLAGS)
$(OBJ)/tests/bench/null.o: EXTRA = $(FUSE_CFLAGS)
$(OBJ)/tests/e2e/%.o: EXTRA = $(FUSE_CFLAGS)

# The page's templates are in the program.
$(OBJ)/fs/keyvis/html.o: $(wildcard fs/keyvis/page.*)

# The names by which LevelDB's own functions are replaced or called: a library that lacks one, as of another compiler or
# for another processor, would be linked all the same.
REPLACED = $(if $(filter shared,$(LEVELDB)),,$(shell grep -o '_Z[N][0-9A-Za-z_]*' store/leveldb/core/replace.c))

$(OBJ)/libraries: Makefile store/leveldb/core/replace.c
	@mkdir -p $(@D)
	@{ $(PKG_CONFIG) --exists --print-errors fuse3 libpcre2-8 jansson && \
		printf '%s\n' '#include <leveldb/c.h>' 'int main(void) { return 0; }' | \
		$(CC) $(CPPFLAGS) $(CFLAGS) -x c - -x none $(LDFLAGS) $(LEVELDB_LIBS) -o $@; } || { \
		echo 'make: a compiler or a library is missing, see above: "make deps" installs them' >&2; exit 1; }
	@library="$$($(CC) -print-file-name=libleveldb.a)"; for name in $(REPLACED); do \
		nm "$$library" 2>/dev/null | grep -q " T $$name$$" || { rm -f $@; echo "make: $$library has no $$name:" \
		'rowfs could not replace it; "make LEVELDB=shared" builds without (docs/recovery.md)' >&2; exit 1; }; done

$(OBJ)/%.o: %.c Makefile | $(OBJ)/libraries
	@mkdir -p $(@D)
	$(COMPILE) $(EXTRA) -c -o $@ $<

# fs without main.c is a library, so that the unit tests reach it.
$(LIBSTORE): $(call objects,$(STORE_SOURCES))
$(LIBLIB): $(call objects,$(LIB_SOURCES))
$(LIBFS): $(call objects,$(FS_SOURCES))
$(LIBSTORE) $(LIBLIB) $(LIBFS):
	@mkdir -p $(@D)
	$(call quiet,AR $@)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/rowfs: $(OBJ)/fs/main.o $(LIBFS) $(LIBSTORE) $(LIBLIB)
	$(LINK) -o $@ $^ $(FUSE_LIBS) $(STORE_LIBS)

.SECONDEXPANSION:
$(MKFS_PROGRAMS): $$(call objects,$$(call main_source,$$@)) $(call objects,$(MKFS_SHARED)) $(LIBSTORE) $(LIBLIB)
	$(LINK) -o $@ $^ $(STORE_LIBS)

# The test that has allocations fail replaces what allocates, in its own objects and the store's, not in
# LevelDB's.
$(BUILD)/unit/test_store_alloc: $(call objects,$(ALLOC)) | $(BUILD)/libleveldb_apart.a
$(BUILD)/unit/test_store_alloc: LEVELDB_LIB = $(BUILD)/libleveldb_apart.a
$(BUILD)/unit/test_store_alloc: BASE_LDFLAGS += $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc \
	reallocarray free strdup strndup asprintf vasprintf __asprintf_chk __vasprintf_chk open_memstream)

$(BUILD)/libleveldb_apart.a: Makefile
	@mkdir -p $(@D)
	$(call quiet,OBJCOPY $@)objcopy --redefine-sym malloc=__real_malloc --redefine-sym strdup=__real_strdup \
		"$$($(CC) -print-file-name=libleveldb.a)" $@

$(UNIT_TESTS): $(BUILD)/unit/%: $(OBJ)/tests/unit/%.o $(call objects,$(UNIT_SHARED)) $(LIBFS) $(LIBSTORE) $(LIBLIB)
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(CHECK_LIBS) $(FUSE_LIBS) $(STORE_LIBS)

$(BUILD)/unit/test_store_faults $(BUILD)/unit/test_repair: $(OBJ)/tests/crash/fault.o

$(FAULT): tests/crash/fault.c tests/crash/fault.h Makefile
	@mkdir -p $(@D)
	$(call quiet,LD $@)$(CC) $(BASE_CPPFLAGS) $(CPPFLAGS) -std=c11 $(WARNINGS) $(CFLAGS) -fPIC -shared -o $@ $<

$(FUZZERS): $(BUILD)/fuzz/%: $(OBJ)/tests/fuzz/%.o $(call objects,$(FUZZ_SHARED)) $(filter %.o,$(FUZZ_DRIVER)) $(LIBSTORE) $(LIBLIB)
	@mkdir -p $(@D)
	$(LINK) $(filter -%,$(FUZZ_DRIVER)) -o $@ $^ $(STORE_LIBS)

$(E2E_PROGRAMS): $(BUILD)/e2e/%: $(OBJ)/tests/e2e/%.o $(E2E_SHARED) $(LIBFS) $(LIBSTORE) $(LIBLIB)
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(FUSE_LIBS) $(STORE_LIBS)

$(BENCHES): $(BUILD)/bench/%: $(OBJ)/tests/bench/%.o $(call objects,$(UNIT_SHARED) $(BENCH_SHARED)) $(LIBSTORE) $(LIBLIB)
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(CHECK_LIBS) $(STORE_LIBS)

$(BUILD)/bench/null: $(call objects,$(BENCH_NULL))
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(FUSE_LIBS)

-include $(patsubst %.o,%.d,$(call objects,$(SOURCES)))

# ---- Everything else -----------------------------------------------------------------------
# What installs packages builds in a make of its own, which then finds them.

RUN_TESTS = scripts/run_tests.sh -j $(shell nproc) -b $(BUILD) $(if $(SANITIZE),-s)

deps: ## installs what is missing to build, demonstrate and test (Debian packages)
	scripts/deps.sh build test

demo: ## installs what is missing, builds, and mounts a store full of this machine's packages
	@demo/quietly.sh $(BUILD)/demo/install.log "Installing the packages that are missing" scripts/deps.sh build demo
	@demo/quietly.sh $(BUILD)/demo/build.log "Building rowfs, for a minute or two" $(MAKE) $(JOBS) all
	@demo/demo.sh

test: deps ## installs what is missing, builds, and runs every test; some: ROWFS_KINDS="unit fuzz e2e crash"
	$(MAKE) $(JOBS) all unit-programs
	$(RUN_TESTS) $(TESTS)

test-unit: $(UNIT_TESTS) ## runs the unit tests
	$(RUN_TESTS) $(UNIT_TESTS)

test-e2e: all $(E2E_PROGRAMS) ## runs the end-to-end tests, on real mounts
	$(RUN_TESTS) $(E2E_TESTS)

soak: SOAK = $(or $(T),600)
soak: all ## runs the soak tests longer, for T seconds each (default 600)
	ROWFS_SOAK=$(SOAK) $(RUN_TESTS) -t $$(($(shell nproc) * $(SOAK) + 600)) tests/e2e/test_soak.sh tests/e2e/test_space.sh

bounds: all ## checks the bounds on memory with full sizes: 1,000,000 files, 10,000,000 rows, 100 MiB
	ROWFS_BOUNDS=full $(RUN_TESTS) -t 7200 tests/e2e/test_bounds.sh

asan: deps ## runs these tests with AddressSanitizer and UndefinedBehaviorSanitizer
	$(MAKE) $(JOBS) SANITIZE=1 BUILD=$(BUILD)/asan all unit-programs
	$(ASAN_TESTS) $(patsubst $(BUILD)/%,$(BUILD)/asan/%,$(TESTS))

ASAN_TESTS = scripts/run_tests.sh -j $(shell nproc) -s -t 1200 -b $(BUILD)/asan

crash: ROUNDS = $(or $(N),500)
crash: all $(FAULT) ## cuts the power N times (default: 500) under a load, kills as often, and fills disks; as root
	ROWFS_ROUNDS=$(ROUNDS) ROWFS_FULL=1 $(RUN_TESTS) -t $$((20 * $(ROUNDS) + 1200)) $(CRASH_TESTS)

# The tests that have threads meet.
TSAN_UNIT := ring store_threads store_erase heat_threads store_gc drop_crash store_batch store_random sync leveldb_chunks leveldb_manual metrics lead node
TSAN_E2E  := stress soak live changes fair

tsan: deps ## runs the tests of threads with ThreadSanitizer
	$(MAKE) $(JOBS) SANITIZE=thread BUILD=$(BUILD)/tsan all unit-programs
	scripts/run_tests.sh -j $(shell nproc) -s -t 1200 -b $(BUILD)/tsan $(TSAN_UNIT:%=$(BUILD)/tsan/unit/test_%) \
		$(TSAN_E2E:%=tests/e2e/test_%.sh)

fuzz: ## runs the fuzz targets for T seconds altogether (default 60); what fails is kept
	scripts/deps.sh build test fuzz
	$(MAKE) $(JOBS) CC=clang SANITIZE=1 FUZZ=1 BUILD=$(BUILD)/fuzzing fuzz-programs
	scripts/fuzz.sh $(BUILD)/fuzzing $(or $(T),60)

# Everything that .ci/run leaves out.
nightly: ## runs the long forms of all tests, for hours, as root: sanitizers, fuzzing, crashes, soak, bounds, full loops
	scripts/parts.sh 'asan ROWFS_KINDS="e2e crash"' tsan 'fuzz T=1800' 'crash N=500' soak bounds \
		'test ROWFS_KINDS="unit e2e" ROWFS_FULL=1'

bench: $(BUILD)/bench/bench_table $(BUILD)/bench/null $(BUILD)/rowfs ## measures speed, as a table of ratios (docs/performance.md); larger: SCALE=full
	$<

bench-more: $(filter-out %/bench_table,$(BENCHES)) bench-beside bench-fair bench-views bench-live ## the other benchmarks; bench-gc: one of them
	for bench in $(filter %/bench/%,$^); do $$bench || exit 1; done

bench-beside bench-fair bench-views bench-live: all
	tests/bench/$(subst -,_,$@).py $(BUILD)

bench-%: $(BUILD)/bench/bench_% $(BUILD)/rowfs
	$<

lint: ## checks layout, common faults, scripts and the include rules; installs the tools for it
	scripts/deps.sh build test lint
	$(MAKE) $(JOBS) all
	CC="$(CC)" scripts/lint.sh $(OBJ) $(BASE_CPPFLAGS)

# Where a page goes, below PREFIX; what is installed has the version as well.
man_place = share/man/man$(subst .,,$(suffix $(1)))/$(notdir $(1))

install: all ## installs programs and manual pages below PREFIX (default /usr/local); DESTDIR is put before it
	install -d "$(DESTDIR)$(PREFIX)/bin"
	install -m 755 $(PROGRAMS) "$(DESTDIR)$(PREFIX)/bin"
	install -d $(foreach d,man1 man5 man8,"$(DESTDIR)$(PREFIX)/share/man/$(d)")
	$(foreach p,$(MAN_PAGES),sed 's/^\.Os$$/& rowfs $(VERSION)/' $(p) | \
		install -m 644 /dev/stdin "$(DESTDIR)$(PREFIX)/$(call man_place,$(p))" &&) :

uninstall: ## removes what install installed
	rm -f $(foreach p,$(PROGRAMS),"$(DESTDIR)$(PREFIX)/bin/$(notdir $(p))")
	rm -f $(foreach p,$(MAN_PAGES),"$(DESTDIR)$(PREFIX)/$(call man_place,$(p))")

# The unit for systemd, and completion for bash and zsh.
COMPLETIONS = "$(DESTDIR)$(PREFIX)/share/bash-completion/completions"
INSTALLED   = $(notdir $(PROGRAMS))
install: install-contrib
uninstall: uninstall-contrib

install-contrib:
	install -d "$(DESTDIR)$(UNITDIR)" "$(DESTDIR)$(ZSHDIR)" $(COMPLETIONS)
	sed 's|/usr/bin/|$(PREFIX)/bin/|' contrib/rowfs@.service | \
		install -m 644 /dev/stdin "$(DESTDIR)$(UNITDIR)/rowfs@.service"
	install -m 644 contrib/_rowfs "$(DESTDIR)$(ZSHDIR)/_rowfs"
	install -m 644 contrib/rowfs.bash $(COMPLETIONS)/rowfs
	for program in $(filter-out rowfs,$(INSTALLED)); do ln -sf rowfs $(COMPLETIONS)/$$program || exit; done

uninstall-contrib:
	rm -f "$(DESTDIR)$(UNITDIR)/rowfs@.service" "$(DESTDIR)$(ZSHDIR)/_rowfs" $(foreach p,$(INSTALLED),$(COMPLETIONS)/$(p))

deb: ## makes the Debian package, in build/
	scripts/deps.sh build deb
	scripts/deb.sh $(BUILD) $(VERSION)

deb-test: deb ## has lintian look at it, and installs, uses and removes it in a Debian of its own; as root
	scripts/deps.sh deb-test
	scripts/run_tests.sh -t 1200 -b $(BUILD) tests/package/test_deb.sh

fresh-test: ## runs README's two commands, on what is committed, in a Debian that has nothing but make; as root
	scripts/deps.sh fresh-test
	@mkdir -p $(BUILD)
	scripts/run_tests.sh -t 3600 -b $(BUILD) tests/package/test_fresh.sh

clean: ## removes what was built
	@if grep -qF ' $(abspath $(BUILD))/' /proc/self/mounts; then \
		echo 'make clean: something is mounted below $(BUILD)/ (make demo leaves $(BUILD)/demo/mnt):' \
			'unmount it first, with fusermount3 -u' >&2; exit 1; fi
	rm -rf --one-file-system $(BUILD)

# The heat maps end at one moment, and the session's cells have fixed times: the same programs make the same pictures.
docs-pictures: all $(BUILD)/e2e/keyvis ## makes docs/pictures/ from the programs: heat maps, README's session
	@mkdir -p docs/pictures
	for pattern in sequential hot-row hot-prefix scans even; do \
		work=$$(mktemp -d) && $(BUILD)/e2e/keyvis $$pattern "$$work/store" 1795672800 "$$work" ops.svg && \
		mv "$$work/ops.svg" docs/pictures/$$pattern.svg && rm -r "$$work" || exit 1; done
	scripts/session.py $(BUILD) >$(BUILD)/session.svg
	mv $(BUILD)/session.svg docs/pictures/session.svg

browser-test: ## uses the heat map's page in Chromium, which it installs
	scripts/deps.sh build test browser
	$(MAKE) $(JOBS) all $(E2E_PROGRAMS)
	$(RUN_TESTS) $(BROWSER_TESTS)

help: ## lists these targets
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | sort | \
	while IFS="$$(printf '\t')" read -r target text; do printf '  %-10s %s\n' "$$target" "$$text"; done

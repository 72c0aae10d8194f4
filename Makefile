# SPDX-License-Identifier: MIT
# Builds rowfs: `make help` lists the targets. Plain GNU make.
#
#   make CC=clang              another compiler
#   make WERROR=1              warnings are errors (so they are with CI=true in the environment)
#   make BUILD=DIR             another directory for what is built (default: build)
#   make SANITIZE=1 BUILD=DIR  the same programs with AddressSanitizer and UndefinedBehaviorSanitizer

VERSION := 0.1.0

PREFIX ?= /usr/local
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
JANSSON_CFLAGS = $(shell $(PKG_CONFIG) --cflags jansson)
JANSSON_LIBS   = $(shell $(PKG_CONFIG) --libs jansson)
CHECK_CFLAGS   = $(shell $(PKG_CONFIG) --cflags check)
CHECK_LIBS     = $(shell $(PKG_CONFIG) --libs check)
# Debian's LevelDB comes without a .pc file.
LEVELDB_CFLAGS = $(shell $(PKG_CONFIG) --cflags leveldb 2>/dev/null)
LEVELDB_LIBS   = $(shell $(PKG_CONFIG) --libs leveldb 2>/dev/null || echo -lleveldb)
STORE_LIBS     = $(LEVELDB_LIBS) $(JANSSON_LIBS) -lpthread -lm

# ---- Flags ---------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wmissing-prototypes -Wstrict-prototypes
ifneq ($(filter 1 true,$(WERROR) $(CI)),)
WARNINGS += -Werror
endif

BASE_CPPFLAGS := -D_GNU_SOURCE -DROWFS_VERSION=\"$(VERSION)\" -Istore -Ifs
BASE_CFLAGS   := -std=c11 $(WARNINGS) -fPIE -fstack-protector-strong
BASE_LDFLAGS  := -pie -Wl,-z,relro,-z,now
ifdef SANITIZE
# Recovering is off, so that a test fails where the fault is. Fortified calls hide faults from it.
BASE_CFLAGS  += -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
BASE_LDFLAGS += -fsanitize=address,undefined
else
BASE_CPPFLAGS += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
endif

COMPILE = $(CC) $(BASE_CPPFLAGS) $(CPPFLAGS) $(BASE_CFLAGS) $(CFLAGS) -MMD -MP
LINK    = $(CC) $(BASE_CFLAGS) $(CFLAGS) $(BASE_LDFLAGS) $(LDFLAGS)

# ---- What there is -------------------------------------------------------------------------

objects = $(patsubst %.c,$(OBJ)/%.o,$(1))

STORE_SOURCES := $(wildcard store/*.c store/leveldb/*.c)
FS_SOURCES    := $(wildcard fs/*.c)
MKFS_MAINS    := $(wildcard mkfs/mkfs_rowfs.c mkfs/fsck_rowfs.c mkfs/rowfs_*.c)
MKFS_SHARED   := $(filter-out $(MKFS_MAINS),$(wildcard mkfs/*.c))
UNIT_MAINS    := $(wildcard tests/unit/test_*.c)
UNIT_SHARED   := $(filter-out $(UNIT_MAINS),$(wildcard tests/unit/*.c))
BENCH_MAINS   := $(wildcard tests/bench/bench_*.c)
E2E_TESTS     := $(wildcard tests/e2e/test_*.sh)
SOURCES       := $(STORE_SOURCES) $(FS_SOURCES) $(MKFS_MAINS) $(MKFS_SHARED) \
		 $(UNIT_MAINS) $(UNIT_SHARED) $(BENCH_MAINS)

LIBSTORE := $(BUILD)/libstore.a
NAMES    := $(OBJ)/fs/names.o
RANGES   := $(OBJ)/fs/ranges.o
METRICS  := $(OBJ)/fs/metrics.o $(OBJ)/fs/metrics_now.o

# mkfs/mkfs_rowfs.c makes mkfs.rowfs, mkfs/rowfs_load.c makes rowfs-load.
program     = $(patsubst rowfs_%,rowfs-%,$(patsubst %_rowfs,%.rowfs,$(1)))
main_source = mkfs/$(subst -,_,$(subst .,_,$(notdir $(1)))).c

BIN_PROGRAMS  := $(BUILD)/rowfs \
		 $(addprefix $(BUILD)/,$(call program,$(notdir $(basename $(filter mkfs/rowfs_%,$(MKFS_MAINS))))))
SBIN_PROGRAMS := $(addprefix $(BUILD)/,$(call program,$(notdir $(basename $(filter %_rowfs.c,$(MKFS_MAINS))))))
MKFS_PROGRAMS := $(filter-out $(BUILD)/rowfs,$(BIN_PROGRAMS)) $(SBIN_PROGRAMS)
UNIT_TESTS    := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(UNIT_MAINS))
BENCHES       := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(BENCH_MAINS))

.PHONY: all deps demo test test-unit test-e2e asan bench lint install uninstall clean help \
	unit-programs
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BIN_PROGRAMS) $(SBIN_PROGRAMS) ## builds the programs into build/ (default)

unit-programs: $(UNIT_TESTS)

# ---- Rules ---------------------------------------------------------------------------------

$(OBJ)/fs/%.o: EXTRA = $(FUSE_CFLAGS)
$(OBJ)/store/%.o: EXTRA = $(LEVELDB_CFLAGS) $(JANSSON_CFLAGS)
$(OBJ)/tests/%.o: EXTRA = $(CHECK_CFLAGS)
$(OBJ)/tests/bench/%.o: EXTRA = $(CHECK_CFLAGS) -Itests/unit

$(OBJ)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(COMPILE) $(EXTRA) -c -o $@ $<

$(LIBSTORE): $(call objects,$(STORE_SOURCES))
	@mkdir -p $(@D)
	rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/rowfs: $(call objects,$(FS_SOURCES)) $(LIBSTORE)
	$(LINK) -o $@ $^ $(FUSE_LIBS) $(STORE_LIBS)

.SECONDEXPANSION:
$(MKFS_PROGRAMS): $$(call objects,$$(call main_source,$$@)) $(call objects,$(MKFS_SHARED)) $(NAMES) $(LIBSTORE)
	$(LINK) -o $@ $^ $(STORE_LIBS)

$(UNIT_TESTS): $(BUILD)/unit/%: $(OBJ)/tests/unit/%.o $(call objects,$(UNIT_SHARED)) $(NAMES) $(RANGES) $(METRICS) $(LIBSTORE)
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(CHECK_LIBS) $(STORE_LIBS)

$(BENCHES): $(BUILD)/bench/%: $(OBJ)/tests/bench/%.o $(call objects,$(UNIT_SHARED)) $(NAMES) $(LIBSTORE)
	@mkdir -p $(@D)
	$(LINK) -o $@ $^ $(CHECK_LIBS) $(STORE_LIBS)

-include $(patsubst %.o,%.d,$(call objects,$(SOURCES)))

# ---- Everything else -----------------------------------------------------------------------
# What installs packages builds in a make of its own, which then finds them.

RUN_TESTS = scripts/run_tests.sh -b $(BUILD) $(if $(SANITIZE),-s)

deps: ## installs what is missing to build, demonstrate and test (Debian packages)
	scripts/deps.sh build test

demo: ## installs what is missing, builds, and mounts a store full of this machine's packages
	scripts/deps.sh build demo
	$(MAKE) $(JOBS) all
	demo/demo.sh

test: deps ## installs what is missing, builds, and runs every test
	$(MAKE) $(JOBS) all unit-programs
	$(RUN_TESTS) $(UNIT_TESTS) $(E2E_TESTS)

test-unit: unit-programs ## runs the unit tests
	$(RUN_TESTS) $(UNIT_TESTS)

test-e2e: all ## runs the end-to-end tests, on real mounts
	$(RUN_TESTS) $(E2E_TESTS)

asan: deps ## runs every test with AddressSanitizer and UndefinedBehaviorSanitizer
	$(MAKE) $(JOBS) SANITIZE=1 BUILD=$(BUILD)/asan all unit-programs
	scripts/run_tests.sh -s -t 900 -b $(BUILD)/asan $(patsubst $(BUILD)/%,$(BUILD)/asan/%,$(UNIT_TESTS)) $(E2E_TESTS)

bench: $(BENCHES) ## measures speed, as ratios to what LevelDB alone does (docs/performance.md)
	for bench in $(BENCHES); do $$bench || exit 1; done

lint: ## checks layout, common faults, scripts and the include rules; installs the tools for it
	scripts/deps.sh build test lint
	CC="$(CC)" scripts/lint.sh $(BASE_CPPFLAGS) -Itests/unit

install: all ## installs the programs below PREFIX (default /usr/local); DESTDIR is put before it
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/sbin"
	install -m 755 $(BIN_PROGRAMS) "$(DESTDIR)$(PREFIX)/bin"
	$(if $(SBIN_PROGRAMS),install -m 755 $(SBIN_PROGRAMS) "$(DESTDIR)$(PREFIX)/sbin")

uninstall: ## removes what install installed
	rm -f $(foreach p,$(BIN_PROGRAMS),"$(DESTDIR)$(PREFIX)/bin/$(notdir $(p))")
	rm -f $(foreach p,$(SBIN_PROGRAMS),"$(DESTDIR)$(PREFIX)/sbin/$(notdir $(p))")

clean: ## removes what was built
	@if grep -qF ' $(abspath $(BUILD))/' /proc/self/mounts; then \
		echo 'make clean: something is mounted below $(BUILD)/ (make demo leaves $(BUILD)/demo/mnt):' \
			'unmount it first, with fusermount3 -u' >&2; exit 1; fi
	rm -rf --one-file-system $(BUILD)

help: ## lists these targets
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | sort | \
	while IFS="$$(printf '\t')" read -r target text; do printf '  %-10s %s\n' "$$target" "$$text"; done

# make            builds ./uplua             make test     installs what is missing, builds, runs all tests
# make V=1        shows the commands         make demo     installs what the build needs, builds, finds a leak in a program of its own
# make deps       installs what is missing   make bench    measures uplua beside bpftrace and C
# make bench-followed N=20   the stacks of what commands execute: how many are incomplete, and what they cost
# make test-long  the tests that take minutes because they compare more
# make test-manual  types all pages of the manual that a newcomer types, and compares what is printed
# make doc        writes doc/api.md and the definitions for editors (build/luacats) from lua/uplua/api/
# make lint       checks layers, warnings    make asan     C tests under the address and undefined sanitizers
# make golden     accepts changes of the generated code and of reports: see the difference in git diff tests/golden
# make fuzz-compiler N=10000 SEED=1   random handlers in the kernel, the reference interpreter and LuaJIT
# make test-debugger compares a thousand stacks of seven programs of Debian's with gdb's; installs what it needs
# make test-arguments compares arguments by name with gdb's, in zlib, lua5.4, sqlite3 and leveldb by two compilers; fetches their sources
# make test-vars  compares variables with gdb's at many instructions of zlib, bzip2, lua5.4, sqlite3 and leveldb, the same way
# make test-slide    compares probes that have slid with probes at the entries, in runs of Debian's programs, and prints how many slide
# make test-neighbours   runs scripts and the tools that people use for the same on one run of a program, and each line of the pages
#                 "coming from …" beside that of the other tool; installs these tools
# make test-neighbours-vm   the same for lines that ask for kprobes, in an emulated machine with Debian's kernel 6.1
# make test-prometheus   ten minutes of a script as a service under load, with reloads and upgrades, as Debian's prometheus sees it
# make test-strace   runs systrace.lua and strace on 60 commands, and compares their lines; part of test-neighbours
# make test-browser  opens flame graphs and follows the links of the manual in Chromium, which it installs
# make fuzz-symbols SECONDS=600   damaged files and lists for each parser of src/sym and src/unwind, and BPF objects, under libFuzzer
# make test-rest  what `make test` leaves to the sanitizers and to test-vm: C tests without the first, and all tests of probes @older
# make test-vm    boots Debian's kernels 6.1 and 6.12 in qemu, and runs there the tests that ask something of the kernel
# make test-fresh   README's two commands in new Debian roots: a bare one, and one with other allocators, C libraries and compilers
# make test-load N=50 TESTS="tests/lua/x_test.lua …" LOAD=8   runs each of these N times, while LOAD programs more want the CPUs
# make static     one stripped file without any library, build/static/uplua; make test-static tries it in roots with nothing else, and in Debian's
# make ARCH=aarch64   builds for another CPU, with Debian's packages for it, into build/aarch64; test-vm boots that, too
# make install DESTDIR= PREFIX=/usr/local    make uninstall, with the same    make manual: man pages and HTML    make clean

VERSION := 1.0
PREFIX  ?= /usr/local
MACHINE := $(shell uname -m)
# Also from the environment, where it names a CPU that can be built for: others have the kernel's names there.
ifneq ($(origin ARCH) $(ARCH),environment aarch64)
ARCH    := $(MACHINE)
endif
LUAJIT  ?= luajit
V       ?= 0

ifeq ($(V),0)
say = @printf '  %-5s %s\n' $(1) $(2);
else
say =
endif

.DEFAULT_GOAL := all

# --- the CPU that is built for ----------------------------------------------------------------------------------------

HOST_CC := $(CC)
ifeq ($(ARCH),$(MACHINE))
OUT      := build
UPLUA    := uplua
CLANG     = $(BPF_CLANG)
MUSL_CC  := musl-gcc
STRIP    := strip
OBJCOPY  := objcopy
PKG      := pkg-config
INCLUDES := /usr/include
else ifeq ($(ARCH),aarch64)
OUT      := build/aarch64
UPLUA    := $(OUT)/uplua
SYSROOT  := $(CURDIR)/$(OUT)/sysroot
CROSS    := aarch64-linux-gnu-
CC       := $(CROSS)gcc --sysroot=$(SYSROOT)
CXX      := $(CROSS)g++ --sysroot=$(SYSROOT)
AR       := $(CROSS)ar
CLANG     = $(BPF_CLANG) --target=aarch64-linux-gnu --sysroot=$(SYSROOT)
MUSL_CC  := $(CROSS)gcc -specs $(SYSROOT)/musl.specs
STRIP    := $(CROSS)strip
OBJCOPY  := $(CROSS)objcopy
PKG      := env PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/aarch64-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) pkg-config
INCLUDES := $(SYSROOT)/usr/include
LUA_FOR  := -a arm64
# Return addresses are signed, as distributions have it.
PROTECT  := -mbranch-protection=standard
else
$(error ARCH is $(ARCH); this machine builds for $(MACHINE) and aarch64)
endif
BUILD   ?= $(OUT)

# --- what there is: new files are picked up by themselves -------------------------------------------------------------

OTHER_ARCH  := $(filter-out src/arch/$(ARCH).%,$(wildcard src/arch/x86_64.* src/arch/aarch64.*))
C_FILES     := $(filter-out $(OTHER_ARCH) src/static/%,$(shell find src -name "*.c" | sort))
S_FILES     := $(shell find src -name "*.S" | sort)
LUA_FILES   := $(wildcard lua/*.lua lua/*/*.lua lua/*/*/*.lua lua/*/*/*/*.lua)
TEST_FILES  := $(wildcard tests/c/*_test.c)
TARGETS_C   := $(wildcard tests/targets/*.c)
EXAMPLES_C  := $(wildcard examples/*.c)

OBJECTS     := $(C_FILES:src/%.c=$(BUILD)/%.o) $(S_FILES:src/%.S=$(BUILD)/%.o)
LIBRARY     := $(BUILD)/libuplua.a
LUA_OBJECTS := $(LUA_FILES:lua/%.lua=$(OUT)/modules/%.o) $(OUT)/modules/uplua/contract.o
C_TESTS     := $(TEST_FILES:tests/c/%.c=$(BUILD)/tests/%)
TARGETS     := $(TARGETS_C:tests/targets/%.c=$(OUT)/targets/%)
EXAMPLES    := $(EXAMPLES_C:examples/%.c=$(OUT)/examples/%)

# --- flags ------------------------------------------------------------------------------------------------------------

PACKAGES := luajit libbpf libelf libdw libtraceevent readline
ifneq ($(filter-out clean deps,$(or $(MAKECMDGOALS),all)),)
ifdef SYSROOT
# make makes what it includes first, and begins again.
include $(SYSROOT)/made.mk
$(SYSROOT)/made.mk: tools/sysroot.sh
	$(call say,FETCH,$(SYSROOT)) tools/sysroot.sh $(ARCH) $(SYSROOT) && touch $@
endif
PACKAGE_CFLAGS := $(shell $(PKG) --cflags $(PACKAGES) 2>/dev/null)
PACKAGE_LIBS   := $(shell $(PKG) --libs $(PACKAGES) 2>/dev/null)
endif

CFLAGS   ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow $(WERROR)
CC_FLAGS  = -std=gnu11 $(CFLAGS) $(WARNINGS) -fno-omit-frame-pointer -pthread $(SANITIZE) -D_GNU_SOURCE \
            -DUPLUA_VERSION='"$(VERSION)"' -Isrc -I$(OUT) $(PACKAGE_CFLAGS) $(CPPFLAGS)
LIBS      = $(PACKAGE_LIBS) -lZydis -liberty -llzma -lz -ldl -lm
# The modules' objects, which `luajit -b` writes, do not say that they need no executable stack.
LD_FLAGS  = $(SANITIZE) -pthread -Wl,-z,noexecstack,-z,relro,-z,now $(LDFLAGS)

.DELETE_ON_ERROR:
.PHONY: all deps demo test test-vm check programs tests bench lint asan install clean FORCE
all: $(UPLUA)

# --- what is needed ---------------------------------------------------------------------------------------------------

CHECKED := $(OUT)/.deps-checked

$(CHECKED): tools/deps.sh
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh check $(if $(SYSROOT),$(ARCH),build)
	@mkdir -p $(@D) && touch $@

# … and of programs to trace.
TESTS_CHECKED := $(OUT)/.tests-deps-checked

$(TESTS_CHECKED): tools/deps.sh
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh check $(if $(SYSROOT),$(ARCH))
	@mkdir -p $(@D) && touch $@

deps:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install $(if $(SYSROOT),$(ARCH))

# Objects are made again when the compiler or its flags change, and only then.
FLAGS = $(CC) $(CC_FLAGS) $(LD_FLAGS)
$(BUILD)/.flags: FORCE | $(CHECKED)
	@mkdir -p $(@D)
	@printf '%s\n' "$$FLAGS" | cmp -s - $@ || printf '%s\n' "$$FLAGS" > $@
$(BUILD)/.flags: export FLAGS := $(FLAGS)

# --- the C half -------------------------------------------------------------------------------------------------------

-include bpf/rules.mk

$(OUT)/opcodes.h: src/compile/front/opcodes.lua | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,GEN,$@) $(LUAJIT) $< > $@

$(OUT)/syscall_names.h: | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,GEN,$@) echo '#include <sys/syscall.h>' | $(CC) -E -dM - | \
	    sed -n 's/^#define __NR_\([a-z][a-z0-9_]*\) .*/CALL(\1)/p' | grep -v '(syscalls)\|(arch_specific' | sort > $@

$(BUILD)/%.o: src/%.c $(BUILD)/.flags | $(OUT)/opcodes.h $(OUT)/syscall_names.h
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CC_FLAGS) -MMD -MP -c -o $@ $<

# The dependency files do not see an .incbin: name it.
$(BUILD)/%.o: src/%.S $(BUILD)/.flags | $(OUT)/opcodes.h
	@mkdir -p $(@D)
	$(call say,AS,$<) $(CC) $(CC_FLAGS) -Wa,-I$(OUT) -MMD -MP -c -o $@ $<
$(BUILD)/lua/natives.o: $(OUT)/natives_table.h
$(BUILD)/compile/object/library.o: $(OUT)/library.bpf.o
$(BUILD)/compile/machine/stack_frame.o: $(OUT)/library_stack.h

$(LIBRARY): $(filter-out $(BUILD)/main.o,$(OBJECTS))
	$(call say,AR,$@) rm -f $@ && $(AR) rcs $@ $^

# --- the Lua half: bytecode with line numbers, named "@uplua/run/main.lua" -----------------------------------------------------

$(OUT)/modules/%.o: lua/%.lua | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,LUA,$<) cd lua && $(LUAJIT) -bg $(LUA_FOR) -t o -n $(subst /,.,$*) $*.lua $(CURDIR)/$@

# What Lua shares with C and BPF, from their headers: compiled to assembly for the CPU that is built for, of which the
# values are read, and never run. The declarations are the headers' own. Other builds of the same sources, such as the
# sanitizers', take what the first one makes.
CONTRACT := $(OUT)/lua/uplua/contract.lua
ifneq ($(BUILD),$(OUT))
$(CONTRACT) $(OUT)/natives_table.h:
	@$(MAKE) --no-print-directory BUILD=$(OUT) SANITIZE= $@
else

# Macros that are numbers: not MAP_FAILED, which is an address, and no sizes.
FLAG_HEADERS := fcntl.h sched.h sys/mman.h linux/mman.h sys/socket.h
$(OUT)/flag_names.h: | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,GEN,$@) printf '#include <%s>\n' $(FLAG_HEADERS) | $(CC) -D_GNU_SOURCE -E -dM - | grep -v 'MAP_FAILED\|CLONE_ARGS' | \
	    sed -n 's/^#define \(\(O\|PROT\|MAP\|CLONE\|SOCK\|MSG\)_[A-Z0-9_]*\) .*/NUMBER(\1)/p' | LC_ALL=C sort > $@

$(OUT)/contract.s: tools/contract/contract.c $(BUILD)/.flags | $(OUT)/opcodes.h $(OUT)/flag_names.h
	$(call say,GEN,$@) $(CC) $(CC_FLAGS) -O1 -g0 -MMD -MP -S -o $@ $<

$(OUT)/contract.i: tools/contract/contract.c $(OUT)/contract.s
	$(call say,GEN,$@) $(CC) $(CC_FLAGS) -E -P -o $@ $<

$(CONTRACT): tools/contract/generate.lua $(OUT)/contract.s $(OUT)/contract.i
	@mkdir -p $(@D)
	$(call say,GEN,$@) $(LUAJIT) $< $(OUT)/contract.s $(OUT)/contract.i > $@

$(OUT)/natives_table.h: tools/contract/generate.lua $(OUT)/contract.i
	$(call say,GEN,$@) $(LUAJIT) $< $(OUT)/contract.i > $@

-include $(OUT)/contract.d
endif

$(OUT)/modules/uplua/contract.o: $(CONTRACT)
	@mkdir -p $(@D)
	$(call say,LUA,$<) cd $(OUT)/lua && $(LUAJIT) -bg $(LUA_FOR) -t o -n uplua.contract uplua/contract.lua \
	    $(CURDIR)/$@

# The names of modules, by their files.
MODULES  := $(subst /,.,$(LUA_FILES:lua/%.lua=%)) uplua.contract

# Written anew when there is another module, and only then.
$(OUT)/embedded.c: FORCE | $(CHECKED)
	@mkdir -p $(@D) && $(LUAJIT) tools/embed.lua modules $(MODULES) > $@.new && { cmp -s $@.new $@ || cp $@.new $@; }
$(BUILD)/embedded.o: $(OUT)/embedded.c $(BUILD)/.flags
	$(call say,CC,$<) $(CC) $(CC_FLAGS) -c -o $@ $<

$(UPLUA): $(OBJECTS) $(LUA_OBJECTS) $(BUILD)/embedded.o $(BUILD)/.flags
	$(call say,LINK,$@) $(CC) $(LD_FLAGS) -o $@ $(OBJECTS) $(BUILD)/embedded.o $(LUA_OBJECTS) $(LIBS)

# --- tests ------------------------------------------------------------------------------------------------------------

$(BUILD)/tests/%: tests/c/%.c $(LIBRARY) $(BUILD)/.flags
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CC_FLAGS) -Itests/c -MMD -MP -MF $@.d -o $@ $< $(LD_FLAGS) $(LIBRARY) $(LIBS)

# Programs to trace: ordinary code with frame pointers, whatever flags uplua itself is built with.
$(OUT)/targets/%: tests/targets/%.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fno-omit-frame-pointer -fno-optimize-sibling-calls \
	    -pthread -MMD -MP -MF $@.d -o $@ $< -ldl -lutil

-include tests/targets/rules.mk

$(OUT)/examples/%: examples/%.c $(wildcard examples/*.h) | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fno-omit-frame-pointer -fno-optimize-sibling-calls \
	    -pthread -o $@ $<

# What runs each test.
SUPERVISE := $(OUT)/supervise
$(SUPERVISE): tools/supervise.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 $(WARNINGS) -D_GNU_SOURCE -o $@ $<

# What tests in Lua and shell run.
$(TARGETS): | $(TESTS_CHECKED)
programs: $(UPLUA) $(TARGETS) $(EXAMPLES) $(SUPERVISE)

tests: programs $(C_TESTS)

test: deps
	@$(MAKE) --no-print-directory check

# Each stage runs, whatever became of the one before; the last line has the numbers of all. The sanitized tests look into what the first builds.
# They are the C tests; without the sanitizers these run in test-rest.
check:
	@tools/stages.sh build '$(MAKE) $(PARALLEL) --no-print-directory programs' sanitizers '$(MAKE) $(PARALLEL) --no-print-directory asan' \
	    suite '$(MAKE) --no-print-directory suite'

.PHONY: suite
suite: programs manual
	@BUILD=build tools/test.sh tests/lua/*_test.lua tests/cli/*_test.sh

# As many jobs as there are CPUs, unless make was told otherwise.
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# What `make test` leaves to the sanitizers and to the machines of test-vm: C tests as users have them built, and all tests that set probes of
# functions with what older kernels lack switched off.
.PHONY: test-rest
test-rest: deps
	@$(MAKE) $(PARALLEL) --no-print-directory tests manual
	@tools/stages.sh plain 'tools/test.sh tests/c/*_test.c' older 'OLDER=only tools/test.sh tests/lua/*_test.lua'

# With UPLUA_LONG in the environment, tests that compare with other programs do so with more of them.
.PHONY: test-long
test-long:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install long
	@$(MAKE) --no-print-directory tests
	@UPLUA_LONG=1 BUILD=build tools/test.sh $(shell grep -l UPLUA_LONG tests/c/*_test.c tests/cli/*_test.sh tests/lua/*_test.lua)

# Types the whole manual, as a newcomer does, of which `make test` types a sample.
.PHONY: test-manual
test-manual: deps
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install long
	@$(MAKE) --no-print-directory tests
	@UPLUA_LONG=1 BUILD=build tools/test.sh $(shell grep -l 'require "typed"\.test' tests/lua/*_test.lua)

asan: | $(CHECKED)
	@$(MAKE) --no-print-directory BUILD=build/asan CFLAGS='-O1 -g -DUPLUA_CHECK' \
	    SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=undefined' asan-tests

.PHONY: asan-tests
asan-tests: $(C_TESTS) $(SUPERVISE)
	@BUILD=$(BUILD) tools/test.sh $(TEST_FILES)

# Fetches qemu and a kernel: no part of `make test`.
test-vm:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install vm$(if $(SYSROOT),-$(ARCH))
	@$(MAKE) --no-print-directory programs
	@ARCH=$(ARCH) tests/vm/run

# Installs debootstrap, and takes half an hour: no part of `make test`. What is committed is what is tested.
.PHONY: test-fresh
test-fresh:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install fresh
	@tests/fresh/run

LOAD ?= 8
.PHONY: test-load
test-load: N ?= 50
test-load: tests
	@BUILD=build tools/test-load.sh $(N) $(LOAD) $(TESTS)

# What needs a browser: no part of `make test`.
.PHONY: test-browser
test-browser:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install browser
	@$(MAKE) --no-print-directory uplua $(EXAMPLES) $(SUPERVISE)
	@prove --exec tools/test-one.sh tests/browser/*_test.sh

# Compares stacks with gdb's, on Debian's programs: no part of `make test`.
.PHONY: test-debugger
test-debugger:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install debugger
	@$(MAKE) --no-print-directory uplua
	@tests/debugger/run

# Compares e.args with what gdb prints, in programs of Debian's sources: no part of `make test`.
.PHONY: test-arguments
test-arguments:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install arguments
	@$(MAKE) --no-print-directory uplua
	@tests/debugger/arguments/run

# Compares e.vars with what gdb prints, the same way.
.PHONY: test-vars
test-vars:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install arguments
	@$(MAKE) --no-print-directory uplua
	@tests/debugger/variables/run

# Probes that have slid beside probes at the entries, in real runs, which takes ten minutes: no part of `make test`.
.PHONY: test-slide
test-slide:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install slide
	@$(MAKE) --no-print-directory tests
	@tests/slide/run
	@./uplua tests/slide/shares.lua

# Scripts beside strace, perf and bpftrace, which it installs: no part of `make test`.
.PHONY: test-prometheus
test-prometheus:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install prometheus
	@$(MAKE) --no-print-directory programs
	@tests/service/prometheus.sh

.PHONY: test-neighbours
test-neighbours:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install bench
	@$(MAKE) --no-print-directory tests
	@prove --timer --exec tools/test-one.sh tests/neighbours/*_test.lua

# The same pages, in an emulated machine with Debian's kernel 6.1, which has kprobes, and where nothing else runs.
# What bpfcc-tools compile with: Python, LLVM, and the kernel's headers.
NEIGHBOURS_VM := perl expr getent stdbuf /usr/libexec/coreutils/libstdbuf.so bpftrace perf $(addprefix /usr/sbin/,\
    opensnoop statsnoop runqslower cpudist hardirqs softirqs tcpconnect mountsnoop filetop capable cachestat vfsstat biolatency)
BPFCC_VM = python3 sync /usr/lib/x86_64-linux-gnu/librt.so.1 /usr/lib/python3.11/ /usr/lib/python3/dist-packages/bcc/ $(wildcard /usr/lib/python3.11/lib-dynload/_ctypes.*.so) \
    $(wildcard /usr/lib/x86_64-linux-gnu/libbcc.so.0) $(addprefix /usr/sbin/,funccount-bpfcc pidpersec-bpfcc syncsnoop-bpfcc) \
    $(addsuffix /,$(lastword $(wildcard /usr/src/linux-headers-6.1.*-common)) $(lastword $(wildcard /usr/src/linux-headers-6.1.*-cloud-amd64)) \
    $(lastword $(wildcard /lib/modules/6.1.*-cloud-amd64)))
.PHONY: test-neighbours-vm boot-neighbours
test-neighbours-vm:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install bench
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install vm
	@$(MAKE) --no-print-directory boot-neighbours

# By a make of its own: another one has looked for these files before they were installed.
boot-neighbours: tests
	@VM_DIR=build/vm-neighbours VM_MEMORY=4096 VM_WITH='$(NEIGHBOURS_VM) $(BPFCC_VM)' tests/vm/run $(addprefix tests/neighbours/,from_bcc_test.lua from_bpftrace_test.lua from_perf_test.lua)

.PHONY: test-strace
test-strace:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install
	@$(MAKE) --no-print-directory tests
	@prove --timer --exec tools/test-one.sh tests/neighbours/systrace_test.lua

demo:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install build
	@$(MAKE) --no-print-directory demo-programs
	@examples/demo.sh

SEED ?= 1
# 500 to a process, which keeps the maps of all its programs open.
.PHONY: fuzz-compiler
fuzz-compiler: N ?= 10000
fuzz-compiler: uplua
	@end=$$(($(SEED) + $(N))); seq $(SEED) 500 $$((end - 1)) | xargs -P "$$(nproc)" -I @ \
	    sh -c "./uplua tests/reference/fuzz.lua \$$(($$end - @ < 500 ? $$end - @ : 500)) @"

# What the code generator makes of all handlers, and reports, are compared with tests/golden: takes over what is there now.
.PHONY: golden
golden: tests
	@UPDATE_GOLDEN=1 BUILD=build tools/test.sh tests/lua/golden_test.lua tests/lua/explain_test.lua

-include tests/bench/rules.mk
-include tests/fuzz/rules.mk

BENCH_PARTS := run names allocators redis emits timelines sampling churn heap price scripts reports prompt

bench:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install bench
	@$(MAKE) --no-print-directory bench-programs
	@failed=0; for part in $(BENCH_PARTS); do tests/bench/$$part || failed=1; done; \
	for script in hits functions; do ./uplua tests/bench/$$script.lua || failed=1; done; exit $$failed

# Stacks of what commands execute, with and without tables of earlier runs: about ten minutes.
bench-followed: N ?= 20
bench-followed: uplua build/bench/measure
	@tests/bench/followed $(N)

.PHONY: demo-programs bench-programs bench-followed
demo-programs: uplua $(EXAMPLES)
	@:
bench-programs: uplua $(TARGETS) $(EXAMPLES) $(BENCH)
	@:

# .ci/run has gcc say what it warns of where it builds.
LINT_CC ?= gcc clang
lint: uplua | $(CHECKED)
	@LUAJIT='$(LUAJIT)' tools/lint.sh
	@for cc in $(LINT_CC); do \
	    if command -v $$cc >/dev/null; then \
	        printf '  %-5s %s\n' LINT "all files with $$cc -Werror"; \
	        $(MAKE) $(PARALLEL) --no-print-directory -s BUILD=build/lint-$$cc CC=$$cc WERROR=-Werror V=1 lint-objects || exit 1; \
	    fi; \
	done

# The manual of the API, which is checked in, and LuaCATS definitions for editors: from lua/uplua/api/.
LUACATS := build/luacats/uplua.lua

.PHONY: doc
doc: doc/api.md $(LUACATS)

doc/api.md: $(wildcard lua/uplua/api/*.lua) tools/api/page.lua | $(CHECKED)
	$(call say,GEN,$@) $(LUAJIT) tools/api/page.lua > $@

$(LUACATS): $(wildcard lua/uplua/api/*.lua) tools/api/luacats.lua | $(CHECKED)
	@rm -rf $(@D) && mkdir -p $(@D)/uplua
	$(call say,GEN,$@) $(LUAJIT) tools/api/luacats.lua $(@D)

.PHONY: lint-objects
lint-objects: $(OBJECTS) $(STATIC_FILES:src/%.c=$(BUILD)/%.o) $(C_TESTS)

include tools/install.mk
include tools/static.mk

clean:
	rm -rf build uplua

-include $(OBJECTS:.o=.d) $(C_TESTS:=.d) $(TARGETS:=.d)

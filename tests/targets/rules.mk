# Programs to trace that are made in another way than tests/targets/NAME.c → build/targets/NAME.

# Allocators that are installed: their files, and their names.
allocator_file = $(wildcard $(shell $(CC) -print-file-name=lib$(1) 2>/dev/null))
JEMALLOC   := $(call allocator_file,jemalloc.so.2)
TCMALLOC   := $(call allocator_file,tcmalloc_minimal.so.4)
MIMALLOC   := $(call allocator_file,mimalloc.so.2)
ALLOCATORS := $(if $(JEMALLOC),jemalloc) $(if $(TCMALLOC),tcmalloc) $(if $(MIMALLOC),mimalloc)

# variables.c by both compilers, and at fixed addresses for gdb.
VARIABLES := $(foreach compiler,gcc clang,$(foreach level,0 1 2 3,$(OUT)/targets/variables-$(compiler)-O$(level))) $(addprefix $(OUT)/targets/variables-fixed-,O0 O2)

# What functions return, by both compilers: what is in the upper half of a register is theirs to choose.
RETURNS := $(foreach name,return_widths return_types,$(foreach compiler,gcc clang,$(foreach level,0 2,$(OUT)/targets/$(name)-$(compiler)-O$(level))))

# computed_goto.c by both compilers, as position-independent code, at fixed addresses, and static.
LINES := $(addprefix $(OUT)/targets/lines-,gcc-O0 gcc-O1 gcc-O2 clang-O0 clang-O2)
COMPUTED_GOTOS := $(foreach compiler,gcc clang,$(foreach level,O1 O2,$(addprefix $(OUT)/targets/computed_goto-$(compiler)-$(level)-,pie fixed static)))

# Fortran, where its compiler is there: of each file by reference as it is written, and for the optimiser's places.
FORTRAN := $(if $(if $(SYSROOT),,$(shell command -v gfortran)),$(foreach name,references procedures modules,$(addprefix $(OUT)/targets/$(name)-gfortran-,O0 O2)))

TARGETS := $(FORTRAN) $(filter-out $(OUT)/targets/lib% $(OUT)/targets/sectionless $(OUT)/targets/computed_goto $(OUT)/targets/optimised_parameters $(OUT)/targets/same_addresses $(OUT)/targets/variables $(OUT)/targets/return_widths $(OUT)/targets/clone_names_other $(OUT)/targets/usdt_statics_too $(addprefix $(OUT)/targets/,same_names same_names_too inlined_whole inlined_whole_too block_names),$(TARGETS)) $(RETURNS) $(OUT)/targets/return_widths-gcc-O2-plain $(OUT)/targets/same_addresses-small $(OUT)/targets/same_addresses-large $(OUT)/targets/libshim.so $(OUT)/targets/libinject.so $(OUT)/targets/libplugin.so $(OUT)/targets/libmiscompile.so $(OUT)/targets/libexhausted.so $(OUT)/targets/leak-stripped $(OUT)/targets/busy-stripped \
           $(OUT)/targets/allocator-glibc $(OUT)/targets/leak-static $(OUT)/targets/usdt-static $(OUT)/targets/sites-static $(OUT)/targets/hostile-static $(OUT)/targets/libchain.so $(OUT)/targets/chain-clang $(OUT)/targets/chain-static-pie \
           $(OUT)/targets/chain-static-pie-clang $(OUT)/targets/chain-musl $(OUT)/targets/chain-musl-static \
           $(OUT)/targets/chain-musl-clang $(OUT)/targets/throws $(OUT)/targets/cxx_exceptions \
           $(addprefix $(OUT)/targets/,cxx_exceptions-static cxx_exceptions-static-stripped cxx_exceptions-static-pie-stripped sites-static-stripped) $(OUT)/targets/pads $(OUT)/targets/pads-clang \
           $(addprefix $(OUT)/targets/,cxx_parameters-gcc-O0 cxx_parameters-gcc-O2 cxx_parameters-clang-O0 cxx_parameters-clang-O2 optimised_parameters-gcc optimised_parameters-gcc-4 optimised_parameters-clang optimised_parameters-clang-4) \
           $(COMPUTED_GOTOS) $(addprefix $(OUT)/targets/,label_tables-fixed data_entries-fixed data_entries-static data_entries-packed) \
           $(VARIABLES) $(addprefix $(OUT)/targets/containers-,gcc gcc-4 clang) \
           $(OUT)/targets/typed-clang $(OUT)/targets/typed-split $(OUT)/targets/typed-plain \
           $(addprefix $(OUT)/targets/,chain-debug-frame chain-debug-frame-zlib chain-debug-frame-split) \
           $(addprefix $(OUT)/targets/,chain-bare chain-bare-pointers chain-none chain-none-pointers) \
           $(OUT)/targets/bare/chain $(OUT)/targets/bare/libchain.so \
           $(addprefix $(OUT)/targets/,sorts_below-musl sorts_below-static sorts_below-stripped undescribed-clang undescribed-stripped) \
           $(addprefix $(OUT)/targets/,libframes.so libframes-clang.so libframes-zlib.so libframes-split.so) \
           $(addprefix $(OUT)/targets/,sectionless sectionless-sysv libsectionless.so libsectionless-sysv.so) \
           $(addprefix $(OUT)/targets/,libleft.so libright.so) $(OUT)/targets/libsizeless.so $(OUT)/targets/sizeless $(OUT)/targets/vfork_stack-plain $(OUT)/targets/static_pie \
           $(addprefix $(OUT)/targets/,libversions.so loop_to_entry-Os reentries-fixed reentries-packed usdt_statics-bare) \
           $(OUT)/targets/brackets $(OUT)/targets/reach_cxx $(OUT)/targets/reach-plain $(OUT)/targets/allocators $(OUT)/targets/allocators-static \
           $(addprefix $(OUT)/targets/,reports-fixed reports-fixed-stripped reports_calls-fixed reports_cxx inlined globals-4 globals-5) \
           $(addprefix $(OUT)/targets/,names-gcc names-gcc-4 names-clang same_names-lto block_names-gcc block_names-clang) \
           $(LINES) $(addprefix $(OUT)/targets/,inlined_classes inlined_whole-lto) \
           $(addprefix $(OUT)/targets/,aligned_new aligned_requests aligned_requests-static cxx_pairs) $(ALLOCATORS:%=$(OUT)/targets/allocators-%)

$(OUT)/targets/libshim.so: tests/targets/libshim.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fno-omit-frame-pointer -fno-optimize-sibling-calls \
	    -fno-builtin -fPIC -shared -o $@ $< -ldl

$(OUT)/targets/libinject.so: tests/targets/libinject.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fno-omit-frame-pointer -fno-optimize-sibling-calls \
	    -pthread -fPIC -shared -o $@ $<

$(OUT)/targets/libplugin.so: tests/targets/libplugin.c tests/targets/noinline.h examples/usdt.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fPIC -shared -o $@ $<

# Two libraries whose code is equally long, as turns.c has them in one place.
$(OUT)/targets/libleft.so:  TURN := -DTURN=left -DBYTES=111
$(OUT)/targets/libright.so: TURN := -DTURN=right -DBYTES=222
$(OUT)/targets/libleft.so $(OUT)/targets/libright.so: tests/targets/libturn.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fPIC -shared $(TURN) -o $@ $<

$(OUT)/targets/libmiscompile.so: tests/targets/libmiscompile.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fPIC -shared -o $@ $< -ldl

$(OUT)/targets/libexhausted.so: tests/targets/libexhausted.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fno-builtin -fPIC -shared -o $@ $<

define fortran_rule
$(OUT)/targets/%-gfortran-$(1): tests/targets/%.f90 | $(CHECKED)
	@mkdir -p $(OUT)/targets/modules/$$(@F)
	$$(call say,F90,$$<) gfortran -$(1) -g -Wall -Wno-unused-dummy-argument -fno-inline -fno-partial-inlining -fno-ipa-cp -fno-ipa-sra \
	    -static-libgfortran -J$(OUT)/targets/modules/$$(@F) -o $$@ $$<
endef
$(foreach level,O0 O2,$(eval $(call fortran_rule,$(level))))

$(OUT)/targets/%-stripped: $(OUT)/targets/%
	$(call say,STRIP,$@) $(STRIP) -o $@ $<

$(OUT)/targets/%-plain: $(OUT)/targets/%
	$(call say,STRIP,$@) $(STRIP) --strip-debug -o $@ $<

$(OUT)/targets/allocator: tests/targets/allocator.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -O1 -g -Wall -Wextra -fno-builtin -nostdlib -static -o $@ $<

$(OUT)/targets/allocator-glibc: tests/targets/allocator.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -O1 -g -Wall -Wextra -fno-builtin -nostdlib -static -DGLIBC -o $@ $<

$(OUT)/targets/leak-static $(OUT)/targets/usdt-static: $(OUT)/targets/%-static: tests/targets/%.c tests/targets/noinline.h examples/usdt.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread -static -o $@ $<

$(OUT)/targets/sites-static: tests/targets/sites.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -static -o $@ $<

$(OUT)/targets/same_addresses-large: SIZE := -DLARGE
$(OUT)/targets/same_addresses-small $(OUT)/targets/same_addresses-large: tests/targets/same_addresses.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fomit-frame-pointer -static -no-pie $(SIZE) -o $@ $<

$(OUT)/targets/hostile-static: tests/targets/hostile.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -static -o $@ $<

FIXED := -fno-pic -no-pie

$(COMPUTED_GOTOS): tests/targets/computed_goto.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(if $(findstring -clang-,$@),$(CLANG),$(CC)) -std=gnu11 -g -Wall -Wextra $(if $(findstring -O1-,$@),-O1,-O2) \
	    $(if $(filter %-pie,$@),-fPIC -pie) $(if $(filter %-fixed,$@),$(FIXED)) $(if $(filter %-static,$@),-fno-pic -static) -o $@ $<

$(OUT)/targets/%-fixed: tests/targets/%.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) -std=gnu11 -O1 -g -Wall -Wextra $(FIXED) -o $@ $<

$(OUT)/targets/data_entries-static: tests/targets/data_entries.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fno-pic -static -o $@ $<

# As it is usually built, so that the locked instruction comes first.
$(OUT)/targets/locked_first: tests/targets/locked_first.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O2 -g -Wall -Wextra -fomit-frame-pointer -o $@ $<

# Whose relocations are packed (DT_RELR), where the linker can.
$(OUT)/targets/%-packed: tests/targets/%.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fPIC -pie -Wl,-z,pack-relative-relocs -o $@ $<

# Stripped, as libraries are.
# Types in units of their own, and debug information in other files, by DWARF 4 and 5. %-types-4, %-split-4 …
TYPE_UNITS := $(foreach kind,types-4 types-5 split-4 split-5,$(OUT)/targets/type_units-gcc-$(kind)) \
              $(foreach kind,types-4 types-5,$(OUT)/targets/type_units-clang-$(kind) $(OUT)/targets/values-$(kind))
TARGETS := $(TARGETS) $(OUT)/targets/type_units $(TYPE_UNITS)

$(OUT)/targets/type_units: tests/targets/type_units.cc | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(CXX) -O1 -g -Wall -Wextra -o $@ $<

define type_units_rules
$(OUT)/targets/type_units-gcc-$(1): tests/targets/type_units.cc | $(CHECKED)
	@mkdir -p $$(@D)
	$$(call say,CXX,$$@) $(CXX) -O1 -g $(2) -Wall -Wextra -o $$@ $$<
$(OUT)/targets/type_units-clang-$(1): tests/targets/type_units.cc | $(CHECKED)
	@mkdir -p $$(@D)
	$$(call say,CXX,$$@) $(CLANG) --driver-mode=g++ -O1 -g $(2) -Wall -Wextra -o $$@ $$<
$(OUT)/targets/values-$(1): tests/targets/values.c | $(CHECKED)
	@mkdir -p $$(@D)
	$$(call say,CC,$$@) $(CC) -std=gnu11 -O1 -g $(2) -pthread -o $$@ $$<
endef
$(eval $(call type_units_rules,types-4,-gdwarf-4 -fdebug-types-section))
$(eval $(call type_units_rules,types-5,-gdwarf-5 -fdebug-types-section))
$(eval $(call type_units_rules,split-4,-gdwarf-4 -gsplit-dwarf))
$(eval $(call type_units_rules,split-5,-gdwarf-5 -gsplit-dwarf))

# Without section tables: what runs needs none. Symbols are found by DT_GNU_HASH, and at fixed addresses by DT_HASH.
define sectionless_rules
$(OUT)/targets/whole/libsectionless$(1).so: tests/targets/libsectionless.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $$(@D)
	$$(call say,CC,$$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fPIC -shared $(2) -o $$@ $$<
$(OUT)/targets/libsectionless$(1).so: $(OUT)/targets/whole/libsectionless$(1).so
	$$(call say,STRIP,$$@) llvm-objcopy --strip-sections $$< $$@
$(OUT)/targets/sectionless$(1): tests/targets/sectionless.c $(OUT)/targets/libsectionless$(1).so | $(CHECKED)
	$$(call say,CC,$$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -rdynamic $(2) $(3) -o $$@ $$< \
	    -L$(OUT)/targets/whole -lsectionless$(1) -Wl,-rpath,'$$$$ORIGIN' && llvm-objcopy --strip-sections $$@
endef
$(eval $(call sectionless_rules,,-Xlinker --hash-style=gnu))
$(eval $(call sectionless_rules,-sysv,-Xlinker --hash-style=sysv,-no-pie))

$(OUT)/targets/libsizeless.so: tests/targets/libsizeless.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -Wall -Wextra -fvisibility=hidden -fPIC -shared -s -o $@ $<

$(OUT)/targets/sizeless: tests/targets/sizeless.c tests/targets/noinline.h $(OUT)/targets/libsizeless.so | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fno-toplevel-reorder -o $@ $< -L$(@D) -lsizeless \
	    -Wl,-rpath,'$$ORIGIN' && $(OBJCOPY) --strip-symbol=removed $@

$(OUT)/targets/vfork_stack-plain: tests/targets/vfork_stack.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fomit-frame-pointer -o $@ $<

# Bound at once: what the loader runs to bind a function finds its frame by a register that the walk does not know.
$(OUT)/targets/stepped: tests/targets/stepped.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fno-omit-frame-pointer -Wl,-z,now -o $@ $<

$(OUT)/targets/static_pie: tests/targets/static_pie.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fno-builtin -static-pie -o $@ $<

# Optimised, so that functions are inlined, and of two files, so that both have the code of one.
$(OUT)/targets/inlined: tests/targets/inlined.cc tests/targets/inlined_too.cc tests/targets/inlined.h tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$<) $(CXX) -std=c++17 -O2 -g -Wall -Wextra -o $@ tests/targets/inlined.cc tests/targets/inlined_too.cc

$(OUT)/targets/inlined_classes: tests/targets/inlined_classes.cc | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$<) $(CXX) -std=c++17 -O2 -g -Wall -Wextra -o $@ $<

$(OUT)/targets/inlined_whole-lto: tests/targets/inlined_whole.c tests/targets/inlined_whole_too.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) -std=gnu11 -O2 -g -flto=auto -Wall -Wextra -o $@ tests/targets/inlined_whole.c tests/targets/inlined_whole_too.c

# With the debug information of DWARF 4 and of DWARF 5, whatever the compiler's own is.
$(OUT)/targets/libglobals.so: tests/targets/libglobals.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(CXX) -std=c++17 -O1 -g -Wall -Wextra -fPIC -shared -o $@ $<

$(OUT)/targets/globals-4 $(OUT)/targets/globals-5: $(OUT)/targets/globals-%: tests/targets/globals.cc tests/targets/globals_too.cc \
    tests/targets/noinline.h $(OUT)/targets/libglobals.so | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(CXX) -std=c++17 -O1 -gdwarf-$* -Wall -Wextra -pthread -o $@ tests/targets/globals.cc tests/targets/globals_too.cc \
	    $(OUT)/targets/libglobals.so -Wl,-rpath,'$$ORIGIN'

$(LINES): tests/targets/lines.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(if $(findstring clang,$@),$(CLANG) --driver-mode=g++,$(CXX)) -std=c++17 -$(lastword $(subst -, ,$@)) -g -Wall -Wextra -o $@ $<

# By two compilers, with the debug information of DWARF 4 and of DWARF 5, and without what nothing uses.
$(OUT)/targets/names-gcc $(OUT)/targets/names-gcc-4 $(OUT)/targets/names-clang: tests/targets/names.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(if $(findstring clang,$@),$(CLANG) --driver-mode=g++,$(CXX)) -std=c++17 -O1 -gdwarf-$(if $(findstring -4,$@),4,5) -Wall -Wextra \
	    -Wno-unused-parameter -ffunction-sections -fdata-sections -Wl,--gc-sections -o $@ $<

# Optimised as one program, with names that each file has.
$(OUT)/targets/same_names-lto: tests/targets/same_names.c tests/targets/same_names_too.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) for name in first second; do \
	    $(CC) -std=gnu11 -O2 -g -flto -Wall -Wextra -DNAME=$$name -DFIRST=$$([ $$name = first ] && echo 1000 || echo 1000000000000) \
	        -c -o $@-$$name.o tests/targets/same_names_too.c || exit 1; done && \
	    $(CC) -std=gnu11 -O2 -g -flto=auto -Wall -Wextra -o $@ $< $@-first.o $@-second.o && rm $@-first.o $@-second.o

$(OUT)/targets/block_names-gcc $(OUT)/targets/block_names-clang: tests/targets/block_names.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(if $(findstring clang,$@),$(CLANG),$(CC)) -std=gnu11 -O0 -g -Wall -Wextra -o $@ $<

# Without frame pointers, at fixed addresses, and with debug information of DWARF 5, whatever the compiler's own is.
$(addprefix $(OUT)/targets/,reports-fixed reports_calls-fixed): $(OUT)/targets/%-fixed: tests/targets/%.c tests/targets/reports.h tests/targets/noinline.h examples/usdt.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) -std=gnu11 -O2 -gdwarf-5 -Wall -Wextra -fomit-frame-pointer -pthread $(FIXED) -o $@ $<

$(OUT)/targets/reports_cxx: tests/targets/reports.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$<) $(CXX) -std=c++17 -O1 -g -Wall -Wextra -fno-omit-frame-pointer -fno-optimize-sibling-calls -o $@ $<

# With a clone of a function.
$(OUT)/targets/clones: tests/targets/clones.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O3 -fipa-cp-clone -g -Wall -Wextra -o $@ $<

# Of two files, which have variables and functions of the same names.
$(OUT)/targets/clone_names $(OUT)/targets/usdt_statics: $(OUT)/targets/%: tests/targets/%.c tests/targets/%.h tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fno-omit-frame-pointer -o $@ $< $(filter-out $<,$(wildcard tests/targets/$*_*.c))

$(OUT)/targets/clone_names: tests/targets/clone_names_other.c
$(OUT)/targets/usdt_statics: tests/targets/usdt_statics_too.c examples/usdt.h

$(OUT)/targets/usdt_statics-bare: tests/targets/usdt_statics.c tests/targets/usdt_statics_too.c tests/targets/usdt_statics.h tests/targets/noinline.h examples/usdt.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) -std=gnu11 -O1 -Wall -Wextra -fno-omit-frame-pointer -o $@ $(filter %.c,$^)

# Several versions of one function, and a program that calls the older ones.
$(OUT)/targets/libversions.so: tests/targets/libversions.c tests/targets/libversions.map tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fPIC -shared -Wl,--version-script=tests/targets/libversions.map -o $@ $<

$(OUT)/targets/versions: tests/targets/versions.c $(OUT)/targets/libversions.so | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -o $@ $< $(OUT)/targets/libversions.so -Wl,-rpath,'$$ORIGIN'

$(OUT)/targets/loop_to_entry-Os: tests/targets/loop_to_entry.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -Os -g -Wall -Wextra -o $@ $<

# As distributions build: optimised and without frame pointers.
CHAIN_FLAGS := -std=gnu11 -O2 -g -Wall -Wextra -fomit-frame-pointer -fasynchronous-unwind-tables -pthread $(PROTECT)

$(OUT)/targets/busy: tests/targets/busy.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) -o $@ $<

# The same chain of calls by gcc and clang, linked in several ways, with glibc and with musl.
CHAIN_FILES := tests/targets/chain.c tests/targets/chain_frames.S

$(OUT)/targets/chain: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) -o $@ $(CHAIN_FILES) -ldl

$(OUT)/targets/chain-clang: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CLANG) $(CHAIN_FLAGS) -Wl,-z,noseparate-code -o $@ $(CHAIN_FILES) -ldl

$(OUT)/targets/chain-static-pie: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) -DSTATIC -static-pie -o $@ $(CHAIN_FILES)

$(OUT)/targets/chain-static-pie-clang: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CLANG) $(CHAIN_FLAGS) -DSTATIC -static-pie -o $@ $(CHAIN_FILES)

$(OUT)/targets/chain-musl: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(MUSL_CC) $(CHAIN_FLAGS) -o $@ $(CHAIN_FILES)

$(OUT)/targets/chain-musl-static: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(MUSL_CC) $(CHAIN_FLAGS) -DSTATIC -static -o $@ $(CHAIN_FILES)

# musl-gcc knows how to link.
$(OUT)/targets/chain-musl-clang: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CLANG) $(CHAIN_FLAGS) -nostdlibinc -isystem $(INCLUDES)/$(ARCH)-linux-musl -fPIC -c -o $@.o $< && \
	    $(MUSL_CC) $(CHAIN_FLAGS) -o $@ $@.o tests/targets/chain_frames.S

# Code without unwind tables: musl's own, and all of a program.
$(OUT)/targets/sorts_below-static: LINKED := -static
$(OUT)/targets/sorts_below-musl $(OUT)/targets/sorts_below-static: tests/targets/sorts_below.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(MUSL_CC) -std=gnu11 -O1 -Wall -Wextra -fno-optimize-sibling-calls $(LINKED) -o $@ $<

$(OUT)/targets/sorts_below-stripped: $(OUT)/targets/sorts_below-static
	$(call say,STRIP,$@) $(STRIP) -o $@ $<

UNDESCRIBED := -std=gnu11 -O2 -Wall -Wextra -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer \
               -fno-optimize-sibling-calls -fstack-clash-protection

$(OUT)/targets/undescribed-stripped: $(OUT)/targets/undescribed
	$(call say,STRIP,$@) $(STRIP) -o $@ $<

$(OUT)/targets/undescribed: tests/targets/undescribed.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(UNDESCRIBED) -o $@ $<

$(OUT)/targets/undescribed-clang: tests/targets/undescribed.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CLANG) $(UNDESCRIBED) -o $@ $<

ALLOCATORS_FLAGS := -std=c++17 -O1 -g -Wall -Wextra -fno-builtin -fsized-deallocation -fno-omit-frame-pointer -fno-optimize-sibling-calls

$(OUT)/targets/allocators: tests/targets/allocators.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$<) $(CXX) $(ALLOCATORS_FLAGS) -o $@ $<

$(addprefix $(OUT)/targets/,aligned_new aligned_requests cxx_pairs): $(OUT)/targets/%: tests/targets/%.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$<) $(CXX) $(ALLOCATORS_FLAGS) -o $@ $<

$(OUT)/targets/aligned_requests-static: tests/targets/aligned_requests.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(CXX) $(ALLOCATORS_FLAGS) -static -o $@ $<

$(OUT)/targets/allocators-static: LINKED := -static
$(OUT)/targets/allocators-jemalloc: LINKED := $(JEMALLOC)
$(OUT)/targets/allocators-tcmalloc: LINKED := $(TCMALLOC)
$(OUT)/targets/allocators-mimalloc: LINKED := $(MIMALLOC)
$(OUT)/targets/allocators-static $(ALLOCATORS:%=$(OUT)/targets/allocators-%): tests/targets/allocators.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(CXX) $(ALLOCATORS_FLAGS) -o $@ $< -Wl,--no-as-needed $(LINKED)

$(OUT)/targets/reach_cxx: tests/targets/reach_cxx.cc | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(CXX) -O1 -g -Wall -Wextra -fno-omit-frame-pointer -fno-optimize-sibling-calls -o $@ $<

$(OUT)/targets/reach: tests/targets/reach_more.h

$(OUT)/targets/brackets: tests/targets/brackets.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$<) $(CXX) -std=c++17 -O1 -g -Wall -Wextra -o $@ $<

$(OUT)/targets/throws: tests/targets/throws.cc | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$<) $(CXX) -O1 -g -Wall -Wextra -o $@ $<

$(OUT)/targets/pads: tests/targets/pads.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$<) $(CXX) $(patsubst -std=%,,$(CHAIN_FLAGS)) -o $@ $<

$(OUT)/targets/cxx_exceptions: tests/targets/cxx_exceptions.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$<) $(CXX) $(patsubst -std=%,,$(CHAIN_FLAGS)) -o $@ $<

$(OUT)/targets/cxx_exceptions-static $(OUT)/targets/cxx_exceptions-static-pie: $(OUT)/targets/cxx_exceptions-%: tests/targets/cxx_exceptions.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(CXX) $(patsubst -std=%,,$(CHAIN_FLAGS)) -$* -o $@ $<

$(OUT)/targets/pads-clang: tests/targets/pads.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$<) $(CLANG) --driver-mode=g++ $(patsubst -std=%,,$(CHAIN_FLAGS)) -o $@ $<

$(addprefix $(OUT)/targets/variables-gcc-,O0 O1 O2 O3): $(OUT)/targets/variables-gcc-%: tests/targets/variables.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -$* -g -w -fpie -pie -o $@ $<

$(addprefix $(OUT)/targets/variables-fixed-,O0 O2): $(OUT)/targets/variables-fixed-%: tests/targets/variables.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -$* -g -w -no-pie -o $@ $<

$(addprefix $(OUT)/targets/variables-clang-,O0 O1 O2 O3): $(OUT)/targets/variables-clang-%: tests/targets/variables.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CLANG) -std=gnu11 -$* -g -w -fpie -pie -o $@ $<

$(addprefix $(OUT)/targets/return_widths-gcc-,O0 O2): $(OUT)/targets/return_widths-gcc-%: tests/targets/return_widths.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) -std=gnu11 -$* -g -w -o $@ $<

$(addprefix $(OUT)/targets/return_widths-clang-,O0 O2): $(OUT)/targets/return_widths-clang-%: tests/targets/return_widths.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CLANG) -std=gnu11 -$* -g -w -o $@ $<

$(addprefix $(OUT)/targets/return_types-gcc-,O0 O2): $(OUT)/targets/return_types-gcc-%: tests/targets/return_types.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(CXX) -$* -g -w -o $@ $<

$(addprefix $(OUT)/targets/return_types-clang-,O0 O2): $(OUT)/targets/return_types-clang-%: tests/targets/return_types.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(CLANG) --driver-mode=g++ -$* -g -w -o $@ $<

$(OUT)/targets/typed-clang: tests/targets/typed.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CLANG) $(CHAIN_FLAGS) $(if $(filter x86_64,$(ARCH)),-fcf-protection) -gdwarf-4 -o $@ $<

# How parameters are passed depends on the compiler and on what it optimises, and where debug information has them on its version.
PASSED_FILES := tests/targets/cxx_parameters.cc tests/targets/cxx_parameters_elsewhere.cc
PASSED_FLAGS := -std=c++17 -Wall -Wextra $(PROTECT)

$(addprefix $(OUT)/targets/cxx_parameters-gcc-,O0 O2): $(OUT)/targets/cxx_parameters-gcc-%: $(PASSED_FILES) tests/targets/cxx_parameters_nowhere.cc tests/targets/cxx_parameters.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(CXX) $(PASSED_FLAGS) -c -o $@.o tests/targets/cxx_parameters_nowhere.cc && $(CXX) $(PASSED_FLAGS) -$* -g -o $@ $(PASSED_FILES) $@.o

$(addprefix $(OUT)/targets/cxx_parameters-clang-,O0 O2): $(OUT)/targets/cxx_parameters-clang-%: $(PASSED_FILES) tests/targets/cxx_parameters_nowhere.cc tests/targets/cxx_parameters.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(CLANG) --driver-mode=g++ $(PASSED_FLAGS) -c -o $@.o tests/targets/cxx_parameters_nowhere.cc && $(CLANG) --driver-mode=g++ $(PASSED_FLAGS) -$* -g -o $@ $(PASSED_FILES) $@.o

# clang leaves out the classes of libraries, unless it is asked for them.
$(OUT)/targets/containers-gcc $(OUT)/targets/containers-gcc-4: tests/targets/containers.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(CXX) $(PASSED_FLAGS) -O1 -g $(if $(filter %-4,$@),-gdwarf-4) -o $@ $<

$(OUT)/targets/containers-clang: tests/targets/containers.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$@) $(CLANG) --driver-mode=g++ $(PASSED_FLAGS) -g -fstandalone-debug -o $@ $<

$(OUT)/targets/optimised_parameters-gcc $(OUT)/targets/optimised_parameters-gcc-4: tests/targets/optimised_parameters.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) -std=gnu11 -Wall -Wextra $(PROTECT) -O2 -g $(if $(filter %-4,$@),-gdwarf-4) -o $@ $<

$(OUT)/targets/optimised_parameters-clang $(OUT)/targets/optimised_parameters-clang-4: tests/targets/optimised_parameters.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CLANG) -std=gnu11 -Wall -Wextra $(PROTECT) -O2 -g $(if $(filter %-4,$@),-gdwarf-4) -o $@ $<

$(OUT)/targets/libchain.so: tests/targets/libchain.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) -fPIC -shared -o $@ $<

# Without .eh_frame, but for what others link in: call frame information is where debuggers look for it.
DEBUG_FRAME := -fno-asynchronous-unwind-tables -fno-unwind-tables

$(OUT)/targets/chain-debug-frame: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) $(DEBUG_FRAME) -o $@ $(CHAIN_FILES) -ldl

$(OUT)/targets/chain-debug-frame-zlib: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) $(DEBUG_FRAME) -gz=zlib -o $@ $(CHAIN_FILES) -ldl

# Our own code has no call frame information at all; with "pointers" it has frame pointers.
$(OUT)/targets/chain-bare: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) $(DEBUG_FRAME) -g0 -o $@ $(CHAIN_FILES) -ldl

$(OUT)/targets/chain-bare-pointers: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) $(DEBUG_FRAME) -g0 -fno-omit-frame-pointer -o $@ $(CHAIN_FILES) -ldl

# Not even the linker's.
$(OUT)/targets/chain-none%: $(OUT)/targets/chain-bare%
	$(call say,COPY,$@) $(OBJCOPY) --remove-section=.eh_frame --remove-section=.eh_frame_hdr $< $@

$(OUT)/targets/chain-none: $(OUT)/targets/chain-bare
	$(call say,COPY,$@) $(OBJCOPY) --remove-section=.eh_frame --remove-section=.eh_frame_hdr $< $@

# A program that has it with a library that has not.
$(OUT)/targets/bare/chain: $(OUT)/targets/chain
	@mkdir -p $(@D)
	$(call say,COPY,$@) cp $< $@

$(OUT)/targets/bare/libchain.so: tests/targets/libchain.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) $(DEBUG_FRAME) -g0 -fPIC -shared -nostartfiles -o $@ $<

# A library of some of our own code.
FRAMES_FILES := $(wildcard src/base/*.c src/elf/*.c src/unwind/*.c src/sym/*.c)
FRAMES_FLAGS  = $(CC_FLAGS) -fomit-frame-pointer -fPIC -shared $(DEBUG_FRAME)

$(OUT)/targets/libframes.so: $(FRAMES_FILES) | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(FRAMES_FLAGS) -gdwarf-5 -o $@ $(FRAMES_FILES)

$(OUT)/targets/libframes-clang.so: $(FRAMES_FILES) | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CLANG) $(FRAMES_FLAGS) -gdwarf-4 -o $@ $(FRAMES_FILES)

$(OUT)/targets/libframes-zlib.so: $(OUT)/targets/libframes.so
	$(call say,COPY,$@) $(OBJCOPY) --compress-debug-sections=zlib $< $@

# The debug file stands beside the stripped one.
$(OUT)/targets/%-split.so: $(OUT)/targets/%.so
	$(call say,STRIP,$@) $(OBJCOPY) --only-keep-debug $< $(@:.so=.debug) && \
	    $(STRIP) -o $@ $< && $(OBJCOPY) --add-gnu-debuglink=$(@:.so=.debug) $@

$(OUT)/targets/%-split: $(OUT)/targets/%
	$(call say,STRIP,$@) $(OBJCOPY) --only-keep-debug $< $@.debug && $(STRIP) -o $@ $< && $(OBJCOPY) --add-gnu-debuglink=$@.debug $@

# BPF objects that tests bring along.
TARGETS += $(patsubst tests/objects/%.c,$(OUT)/objects/%.o,$(wildcard tests/objects/*.bpf.c))

$(OUT)/objects/untyped.bpf.o: BPF_FLAGS := $(filter-out -g,$(BPF_FLAGS))
$(OUT)/objects/%.bpf.o: tests/objects/%.bpf.c bpf/rules.mk | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,BPF,$<) $(BPF_CLANG) $(BPF_FLAGS) -Wno-unused-parameter -c -o $@ $<

# A function that ends in a jump to another one, and what only a caller knows.
$(OUT)/targets/tail_callers: tests/targets/tail_callers.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O2 -g -Wall -Wextra -MMD -MP -MF $@.d -o $@ $<

# Programs to trace that are made in another way than tests/targets/NAME.c → build/targets/NAME.
TARGETS := $(filter-out build/targets/lib%,$(TARGETS)) build/targets/libshim.so build/targets/libmiscompile.so build/targets/leak-stripped build/targets/busy-stripped \
           build/targets/allocator-glibc build/targets/sites-static build/targets/libchain.so build/targets/chain-clang build/targets/chain-static-pie \
           build/targets/chain-static-pie-clang build/targets/chain-musl build/targets/chain-musl-static \
           build/targets/chain-musl-clang build/targets/pads build/targets/pads-clang \
           build/targets/typed-clang build/targets/typed-split build/targets/typed-plain \
           $(addprefix build/targets/,chain-debug-frame chain-debug-frame-zlib chain-debug-frame-split) \
           $(addprefix build/targets/,chain-bare chain-bare-pointers chain-none chain-none-pointers) \
           build/targets/bare/chain build/targets/bare/libchain.so \
           $(addprefix build/targets/,libframes.so libframes-clang.so libframes-zlib.so libframes-split.so)

build/targets/libshim.so: tests/targets/libshim.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fno-omit-frame-pointer -fno-optimize-sibling-calls \
	    -fno-builtin -fPIC -shared -o $@ $< -ldl

build/targets/libmiscompile.so: tests/targets/libmiscompile.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fPIC -shared -o $@ $< -ldl

build/targets/%-stripped: build/targets/%
	$(call say,STRIP,$@) strip -o $@ $<

build/targets/%-plain: build/targets/%
	$(call say,STRIP,$@) strip --strip-debug -o $@ $<

build/targets/allocator: tests/targets/allocator.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -O1 -g -Wall -Wextra -fno-builtin -nostdlib -static -o $@ $<

build/targets/allocator-glibc: tests/targets/allocator.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -O1 -g -Wall -Wextra -fno-builtin -nostdlib -static -DGLIBC -o $@ $<

build/targets/sites-static: tests/targets/sites.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -static -o $@ $<

# As distributions build: optimised and without frame pointers.
CHAIN_FLAGS := -std=gnu11 -O2 -g -Wall -Wextra -fomit-frame-pointer -fasynchronous-unwind-tables -pthread

build/targets/busy: tests/targets/busy.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) -o $@ $<

# The same chain of calls by gcc and clang, linked in several ways, with glibc and with musl.
CHAIN_FILES := tests/targets/chain.c tests/targets/chain_frames.S

build/targets/chain: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) -o $@ $(CHAIN_FILES) -ldl

build/targets/chain-clang: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(BPF_CLANG) $(CHAIN_FLAGS) -o $@ $(CHAIN_FILES) -ldl

build/targets/chain-static-pie: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) -DSTATIC -static-pie -o $@ $(CHAIN_FILES)

build/targets/chain-static-pie-clang: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(BPF_CLANG) $(CHAIN_FLAGS) -DSTATIC -static-pie -o $@ $(CHAIN_FILES)

build/targets/chain-musl: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) musl-gcc $(CHAIN_FLAGS) -o $@ $(CHAIN_FILES)

build/targets/chain-musl-static: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) musl-gcc $(CHAIN_FLAGS) -DSTATIC -static -o $@ $(CHAIN_FILES)

# musl-gcc knows how to link.
build/targets/chain-musl-clang: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(BPF_CLANG) $(CHAIN_FLAGS) -nostdlibinc -isystem /usr/include/$(MACHINE)-linux-musl -fPIC -c -o $@.o $< && \
	    musl-gcc $(CHAIN_FLAGS) -o $@ $@.o tests/targets/chain_frames.S

build/targets/pads: tests/targets/pads.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$<) g++ $(patsubst -std=%,,$(CHAIN_FLAGS)) -o $@ $<

build/targets/pads-clang: tests/targets/pads.cc tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CXX,$<) $(BPF_CLANG)++ $(patsubst -std=%,,$(CHAIN_FLAGS)) -o $@ $<

build/targets/typed-clang: tests/targets/typed.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(BPF_CLANG) $(CHAIN_FLAGS) -gdwarf-4 -o $@ $<

build/targets/libchain.so: tests/targets/libchain.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) -fPIC -shared -o $@ $<

# Without .eh_frame, but for what others link in: call frame information is where debuggers look for it.
DEBUG_FRAME := -fno-asynchronous-unwind-tables -fno-unwind-tables

build/targets/chain-debug-frame: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) $(DEBUG_FRAME) -o $@ $(CHAIN_FILES) -ldl

build/targets/chain-debug-frame-zlib: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) $(DEBUG_FRAME) -gz=zlib -o $@ $(CHAIN_FILES) -ldl

# Our own code has no call frame information at all; with "pointers" it has frame pointers.
build/targets/chain-bare: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) $(DEBUG_FRAME) -g0 -o $@ $(CHAIN_FILES) -ldl

build/targets/chain-bare-pointers: $(CHAIN_FILES) tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) $(DEBUG_FRAME) -g0 -fno-omit-frame-pointer -o $@ $(CHAIN_FILES) -ldl

# Not even the linker's.
build/targets/chain-none%: build/targets/chain-bare%
	$(call say,COPY,$@) objcopy --remove-section=.eh_frame --remove-section=.eh_frame_hdr $< $@

build/targets/chain-none: build/targets/chain-bare
	$(call say,COPY,$@) objcopy --remove-section=.eh_frame --remove-section=.eh_frame_hdr $< $@

# A program that has it with a library that has not.
build/targets/bare/chain: build/targets/chain
	@mkdir -p $(@D)
	$(call say,COPY,$@) cp $< $@

build/targets/bare/libchain.so: tests/targets/libchain.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) $(DEBUG_FRAME) -g0 -fPIC -shared -nostartfiles -o $@ $<

# A library of some of our own code.
FRAMES_FILES := $(wildcard src/unwind/*.c src/sym/*.c)
FRAMES_FLAGS  = $(CC_FLAGS) -fomit-frame-pointer -fPIC -shared $(DEBUG_FRAME)

build/targets/libframes.so: $(FRAMES_FILES) | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(CC) $(FRAMES_FLAGS) -gdwarf-5 -o $@ $(FRAMES_FILES)

build/targets/libframes-clang.so: $(FRAMES_FILES) | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$@) $(BPF_CLANG) $(FRAMES_FLAGS) -gdwarf-4 -o $@ $(FRAMES_FILES)

build/targets/libframes-zlib.so: build/targets/libframes.so
	$(call say,COPY,$@) objcopy --compress-debug-sections=zlib $< $@

# The debug file stands beside the stripped one.
build/targets/%-split.so: build/targets/%.so
	$(call say,STRIP,$@) objcopy --only-keep-debug $< $(@:.so=.debug) && \
	    strip -o $@ $< && objcopy --add-gnu-debuglink=$(@:.so=.debug) $@

build/targets/%-split: build/targets/%
	$(call say,STRIP,$@) objcopy --only-keep-debug $< $@.debug && strip -o $@ $< && objcopy --add-gnu-debuglink=$@.debug $@

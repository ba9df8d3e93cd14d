# Programs to trace that are made in another way than tests/targets/NAME.c → build/targets/NAME.
TARGETS := $(filter-out build/targets/lib%,$(TARGETS)) build/targets/libshim.so build/targets/libmiscompile.so build/targets/leak-stripped \
           build/targets/allocator-glibc build/targets/libchain.so build/targets/chain-clang build/targets/chain-static-pie \
           build/targets/chain-static-pie-clang build/targets/chain-musl build/targets/chain-musl-static \
           build/targets/chain-musl-clang build/targets/pads build/targets/pads-clang

build/targets/libshim.so: tests/targets/libshim.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fno-omit-frame-pointer -fno-optimize-sibling-calls \
	    -fno-builtin -fPIC -shared -o $@ $< -ldl

build/targets/libmiscompile.so: tests/targets/libmiscompile.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fPIC -shared -o $@ $< -ldl

build/targets/leak-stripped: build/targets/leak
	$(call say,STRIP,$@) strip -o $@ $<

build/targets/allocator: tests/targets/allocator.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -O1 -g -Wall -Wextra -fno-builtin -nostdlib -static -o $@ $<

build/targets/allocator-glibc: tests/targets/allocator.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -O1 -g -Wall -Wextra -fno-builtin -nostdlib -static -DGLIBC -o $@ $<

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

build/targets/libchain.so: tests/targets/libchain.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) -fPIC -shared -o $@ $<

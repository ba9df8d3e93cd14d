# Programs to trace that are made in another way than tests/targets/NAME.c → build/targets/NAME.
TARGETS := $(filter-out build/targets/lib%,$(TARGETS)) build/targets/libshim.so build/targets/libmiscompile.so build/targets/leak-stripped \
           build/targets/allocator-glibc build/targets/libchain.so build/targets/chain-clang

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

build/targets/chain: tests/targets/chain.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) -o $@ $< -ldl

build/targets/chain-clang: tests/targets/chain.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(BPF_CLANG) $(CHAIN_FLAGS) -o $@ $< -ldl

build/targets/libchain.so: tests/targets/libchain.c tests/targets/noinline.h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CHAIN_FLAGS) -fPIC -shared -o $@ $<

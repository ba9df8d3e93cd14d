# What `make bench` measures with, and the program in C that it compares with.
BENCH := build/bench/mallocleak build/bench/mallocleak.bpf.o build/bench/measure build/bench/programs build/bench/chain \
         build/bench/chain-fp build/bench/walk build/bench/walk.bpf.o build/bench/tables build/bench/usdt \
         build/bench/emits build/bench/paths build/bench/typist build/bench/heapful build/bench/heapful-lsan \
         $(patsubst tests/bench/handlers/%.bpf.c,build/bench/handlers/%.bpf.o,$(wildcard tests/bench/handlers/*.bpf.c))

build/bench/%: tests/bench/%.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -o $@ $< -lbpf

build/bench/chain-fp: tests/bench/chain.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -fno-omit-frame-pointer -DFRAME_POINTERS -o $@ $<

build/bench/heapful-lsan: tests/bench/heapful.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -fsanitize=leak -o $@ $<

build/bench/tables: tests/bench/tables.c $(LIBRARY) | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CC_FLAGS) -o $@ $< $(LD_FLAGS) $(LIBRARY) $(LIBS)

build/bench/walk.bpf.o: tests/bench/walk.bpf.c bpf/rules.mk | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,BPF,$<) $(BPF_CLANG) $(BPF_FLAGS) -Wno-unused-parameter -c -o $@ $<

build/bench/program.bpf.o: tests/bench/mallocleak.bpf.c bpf/rules.mk | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,BPF,$<) $(BPF_CLANG) $(BPF_FLAGS) -Wno-unused-parameter -c -o $@ $<

build/bench/mallocleak.bpf.o: build/bpf/link build/bench/program.bpf.o build/bpf/stack.bpf.o \
                               build/bpf/stack_slow.bpf.o build/bpf/unwind.bpf.o build/bpf/tracer_frames.bpf.o \
                               build/bpf/license.bpf.o
	$(call say,LINK,$@) build/bpf/link $@ $(filter %.bpf.o,$^)

# BENCH_PID: the process of the filter.
build/bench/handlers/%.bpf.o: tests/bench/handlers/%.bpf.c tests/bench/handlers/handler.h bpf/aggregate.bpf.c bpf/aggregate.h bpf/rules.mk | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,BPF,$<) $(BPF_CLANG) $(BPF_FLAGS) $(BENCH_PID:%=-DPID=%) -c -o $@ $<

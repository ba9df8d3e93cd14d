# Fuzzers of what traced processes and their files may contain: see tests/fuzz/run.
SECONDS ?= 600
FUZZERS ?=

.PHONY: fuzz-symbols fuzz-programs
fuzz-symbols: | $(CHECKED)
	@$(MAKE) --no-print-directory BUILD=build/fuzz CC=clang CFLAGS='-O1 -g' SANITIZE='-fsanitize=address,fuzzer-no-link' \
	    fuzz-programs
	@tests/fuzz/run $(SECONDS) $(FUZZERS)

fuzz-programs: $(patsubst tests/fuzz/%.c,$(BUILD)/fuzzers/%,$(wildcard tests/fuzz/*.c)) $(patsubst tests/objects/%.c,$(OUT)/objects/%.o,$(wildcard tests/objects/*.bpf.c))

$(BUILD)/fuzzers/%: tests/fuzz/%.c tests/fuzz/fuzz.h $(LIBRARY)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) $(CC_FLAGS) -fsanitize=fuzzer -o $@ $< $(LD_FLAGS) $(LIBRARY) $(LIBS)

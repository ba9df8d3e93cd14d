# The BPF half: every bpf/*.bpf.c is compiled by itself, and all are linked into build/library.bpf.o, which
# src/compile/object/library.S embeds. build/library_stack.h says how much stack its functions take. No kernel headers:
# only linux/bpf.h and libbpf's.

BPF_CLANG   ?= clang
BPF_FILES   := $(sort $(wildcard bpf/*.bpf.c))
BPF_OBJECTS := $(BPF_FILES:bpf/%.c=$(OUT)/bpf/%.o)
BPF_TARGET  := $(if $(filter aarch64,$(ARCH)),arm64,x86)
# v3: atomic exchanges (Linux 5.12). The multiarch folder holds asm/types.h, which clang finds for its own machine only.
BPF_FLAGS   := -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_TARGET) -Wall -Wextra -Wshadow \
               -isystem $(INCLUDES)/$(ARCH)-linux-gnu

$(OUT)/bpf/%.bpf.o: bpf/%.bpf.c bpf/rules.mk | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,BPF,$<) $(BPF_CLANG) $(BPF_FLAGS) -MMD -MP -c -o $@ $<

$(OUT)/bpf/link: bpf/link.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(HOST_CC) -std=gnu11 -O1 -Wall -Wextra -o $@ $< $$(pkg-config --cflags --libs libbpf libelf)

GRAPH := src/compile/object/library_graph

$(OUT)/bpf/stack_bytes: bpf/stack_bytes.c $(GRAPH).c $(GRAPH).h | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(HOST_CC) -std=gnu11 -O1 -Wall -Wextra -Isrc -o $@ $< $(GRAPH).c \
	    $$(pkg-config --cflags --libs libelf)

# What the compiler leaves of the stack for the library's functions: an error if a handler that calls one has no room.
$(OUT)/library_stack.h: $(OUT)/bpf/stack_bytes $(OUT)/library.bpf.o
	$(call say,GEN,$@) $< $(OUT)/library.bpf.o > $@

$(OUT)/library.bpf.o: $(OUT)/bpf/link $(BPF_OBJECTS)
	$(call say,LINK,$@) $(OUT)/bpf/link $@ $(BPF_OBJECTS)

-include $(BPF_OBJECTS:.o=.d)

# The BPF half: every bpf/*.bpf.c is compiled by itself, and all are linked into build/library.bpf.o, which
# src/compile/object/library.S embeds. No kernel headers: only linux/bpf.h and libbpf's.

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

$(OUT)/library.bpf.o: $(OUT)/bpf/link $(BPF_OBJECTS)
	$(call say,LINK,$@) $(OUT)/bpf/link $@ $(BPF_OBJECTS)

-include $(BPF_OBJECTS:.o=.d)

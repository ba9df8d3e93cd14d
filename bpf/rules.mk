# The BPF half: every bpf/*.bpf.c is compiled by itself, and all are linked into build/library.bpf.o, which
# src/compile/library.S embeds. No kernel headers: only linux/bpf.h and libbpf's.

BPF_CLANG   ?= clang
BPF_FILES   := $(sort $(wildcard bpf/*.bpf.c))
BPF_OBJECTS := $(BPF_FILES:bpf/%.c=build/bpf/%.o)
BPF_TARGET  := $(if $(filter aarch64,$(MACHINE)),arm64,x86)
# v3: atomic exchanges (Linux 5.12). The multiarch folder holds asm/types.h, which clang finds for its own machine only.
BPF_FLAGS   := -O2 -g -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_TARGET) -Wall -Wextra -Wshadow \
               -isystem /usr/include/$(MACHINE)-linux-gnu

build/bpf/%.bpf.o: bpf/%.bpf.c bpf/rules.mk | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,BPF,$<) $(BPF_CLANG) $(BPF_FLAGS) -MMD -MP -c -o $@ $<

build/bpf/link: bpf/link.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -Wall -Wextra $(PACKAGE_CFLAGS) -o $@ $< $(PACKAGE_LIBS)

build/library.bpf.o: build/bpf/link $(BPF_OBJECTS)
	$(call say,LINK,$@) build/bpf/link $@ $(BPF_OBJECTS)

-include $(BPF_OBJECTS:.o=.d)

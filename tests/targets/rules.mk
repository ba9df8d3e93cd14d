# The programs that the tests trace: build/targets/NAME from tests/targets/NAME.c, with frame pointers and debug information.
TARGET_NAMES    := $(filter-out lib%,$(basename $(notdir $(wildcard tests/targets/*.c))))
TARGETS         := $(addprefix build/targets/,$(TARGET_NAMES)) build/targets/libshim.so build/targets/leak-stripped build/targets/leaky
TARGET_CFLAGS   := -std=gnu11 -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-builtin-malloc \
                   -Wall -Wextra -Wshadow -pthread

build/targets:
	@mkdir -p $@

build/targets/%: tests/targets/%.c tests/targets/noinline.h | build/targets
	$(Q)$(CC) $(TARGET_CFLAGS) -o $@ $<

# Of no interest to the linker: found by LD_PRELOAD.
build/targets/libshim.so: tests/targets/libshim.c | build/targets
	$(Q)$(CC) $(TARGET_CFLAGS) -fno-builtin -fPIC -shared -o $@ $< -ldl

build/targets/leak-stripped: build/targets/leak
	$(Q)strip -o $@ $<

build/targets/leaky: examples/leaky.c | build/targets
	$(Q)$(CC) $(TARGET_CFLAGS) -o $@ $<

.PHONY: targets
targets: $(TARGETS)

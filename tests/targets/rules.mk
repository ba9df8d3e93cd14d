# Programs to trace that are made in another way than tests/targets/NAME.c → build/targets/NAME.
TARGETS := $(filter-out build/targets/lib%,$(TARGETS)) build/targets/libshim.so build/targets/leak-stripped \
           build/targets/allocator-glibc

build/targets/libshim.so: tests/targets/libshim.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -std=gnu11 -O1 -g -Wall -Wextra -fno-omit-frame-pointer -fno-optimize-sibling-calls \
	    -fno-builtin -fPIC -shared -o $@ $< -ldl

build/targets/leak-stripped: build/targets/leak
	$(call say,STRIP,$@) strip -o $@ $<

build/targets/allocator: tests/targets/allocator.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -O1 -g -Wall -Wextra -fno-builtin -nostdlib -static -o $@ $<

build/targets/allocator-glibc: tests/targets/allocator.c | $(CHECKED)
	@mkdir -p $(@D)
	$(call say,CC,$<) $(CC) -O1 -g -Wall -Wextra -fno-builtin -nostdlib -static -DGLIBC -o $@ $<

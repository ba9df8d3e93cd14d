# `make static`: one stripped file without any library, for any Linux on this kind of CPU. It has the scripts in itself.
#
# It is linked from the objects of the program as it is otherwise built, Debian's static libraries, and what src/static
# has in place of the C library's functions that would load something. Of Zydis Debian has no static library: what decodes
# is compiled from Debian's source package, with the headers of libzycore-dev. lua-cjson, for --json, is compiled from its own.

comma          := ,
STATIC         := $(OUT)/static
STATIC_CHECKED := $(STATIC)/.deps-checked
SOURCES        := build/sources
ZYDIS_FILES    := Decoder DecoderData Register SharedData Formatter FormatterATT FormatterBase FormatterBuffer FormatterIntel Mnemonic String Utils
CJSON_FILES    := lua_cjson strbuf fpconv
STATIC_FILES   := $(wildcard src/static/*.c)
STATIC_OBJECTS := $(STATIC_FILES:src/static/%.c=$(STATIC)/%.o) $(STATIC)/embedded.o $(STATIC)/modules/scripts.o \
    $(ZYDIS_FILES:%=$(STATIC)/zydis/%.o) $(CJSON_FILES:%=$(STATIC)/cjson/%.o)
WRAPPED        := dlopen dlsym dlclose dlerror setlocale
# Relocations as bits, which Debian's linker for other CPUs cannot write yet: 190 KB less.
RELOCATIONS    := $(if $(filter x86_64,$(ARCH)),-Wl$(comma)-z$(comma)pack-relative-relocs)
STATIC_LIBS    := -lluajit-5.1 -lbpf -ldw -lelf -ltraceevent -lreadline -ltinfo -liberty -lbz2 -llzma -lz -lm

.PHONY: static test-static
static: $(STATIC)/uplua $(if $(SYSROOT),,$(UPLUA))
	@tools/static.sh $< $(if $(SYSROOT),,./uplua)

$(STATIC_CHECKED): tools/deps.sh | $(CHECKED)
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install static$(if $(SYSROOT),-$(ARCH))
	@mkdir -p $(@D) && touch $@

# Not in the folder of one CPU: they are the same for all.
$(SOURCES)/.fetched: tools/sources.sh | $(STATIC_CHECKED)
	$(call say,FETCH,$(SOURCES)) tools/sources.sh $(SOURCES) zydis lua-cjson && touch $@

$(STATIC)/zydis/%.o: $(SOURCES)/.fetched $(BUILD)/.flags
	@mkdir -p $(@D)
	$(call say,CC,zydis/src/$*.c) $(CC) -O2 -ffunction-sections -fdata-sections -DNDEBUG -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD \
	    -I$(SOURCES)/zydis/include -I$(SOURCES)/zydis/src -c -o $@ $(SOURCES)/zydis/src/$*.c

$(STATIC)/cjson/%.o: $(SOURCES)/.fetched $(BUILD)/.flags
	@mkdir -p $(@D)
	$(call say,CC,lua-cjson/$*.c) $(CC) -O2 -w -DNDEBUG $(PACKAGE_CFLAGS) -include tools/cjson.h -c -o $@ $(SOURCES)/lua-cjson/$*.c

$(STATIC)/scripts.lua: tools/embed.lua $(wildcard scripts/*.lua) | $(STATIC_CHECKED)
	@mkdir -p $(@D)
	$(call say,GEN,$@) $(LUAJIT) $< scripts $(sort $(wildcard scripts/*.lua)) > $@

$(STATIC)/modules/scripts.o: $(STATIC)/scripts.lua
	@mkdir -p $(@D)
	$(call say,LUA,$<) $(LUAJIT) -b $(LUA_FOR) -t o -n uplua.scripts $< $@

$(STATIC)/embedded.c: FORCE | $(STATIC_CHECKED)
	@mkdir -p $(@D) && $(LUAJIT) tools/embed.lua modules $(MODULES) uplua.scripts + cjson cjson.safe > $@.new && { cmp -s $@.new $@ || cp $@.new $@; }

$(STATIC)/embedded.o: $(STATIC)/embedded.c $(BUILD)/.flags
	$(call say,CC,$<) $(CC) $(CC_FLAGS) -c -o $@ $<

$(STATIC)/uplua: $(OBJECTS) $(LUA_OBJECTS) $(STATIC_OBJECTS) $(BUILD)/.flags tools/static.mk
	$(call say,LINK,$@) $(CC) -static-pie $(LD_FLAGS) -Wl,--gc-sections $(RELOCATIONS) $(WRAPPED:%=-Wl,--wrap=%) -o $@.unstripped \
	    $(OBJECTS) $(LUA_OBJECTS) $(STATIC_OBJECTS) $(STATIC_LIBS) && $(STRIP) -o $@ $@.unstripped

-include $(STATIC_FILES:src/static/%.c=$(STATIC)/%.d)

# In roots with nothing else, and in those of Debian 11 and 12; for another CPU in an emulated machine.
test-static:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install $(if $(SYSROOT),vm-$(ARCH),fresh)
	@$(MAKE) --no-print-directory static $(addprefix $(OUT)/targets/,leak-static usdt-static $(if $(SYSROOT),,pty))
	@prove --timer --exec $(if $(SYSROOT),'env ARCH=$(ARCH)' tests/static/machine,tools/test-one.sh tests/static/*_test.sh)

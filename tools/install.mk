# The manual as man pages and as HTML, and what is installed.

PAGES := README.md $(wildcard doc/*.md doc/cases/*.md doc/scripts/*.md)
MAN   := build/manual/uplua.1 build/manual/uplua-api.3lua build/manual/uplua-handlers.7 build/manual/uplua-prompt.7 \
    $(patsubst scripts/%.lua,build/manual/uplua-%.1,$(wildcard scripts/*.lua))
HTML  := $(PAGES:%.md=build/manual/%.html)
# $(call man,PAGE): roff of it
man    = $(call say,MAN,$@) mkdir -p $(@D) && $(LUAJIT) tools/man.lua $1 > $@.md && \
    lowdown -s -Tman --out-no-smarty -M title=$(basename $(@F)) -M section=$(patsubst .%,%,$(suffix $@)) -M source='uplua $(VERSION)' $@.md -o $@ && rm $@.md

.PHONY: manual uninstall
manual: $(MAN) $(HTML) $(LUACATS)

MANUAL_CHECKED := $(OUT)/.manual-deps-checked

$(MANUAL_CHECKED): tools/deps.sh
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh check manual
	@mkdir -p $(@D) && touch $@

$(MAN) $(HTML): tools/man.lua tools/html.lua tools/install.mk | $(MANUAL_CHECKED)

build/manual/uplua.1: doc/uplua.md
	$(call man,$<)
build/manual/uplua-api.3lua: doc/api.md
	$(call man,$<)
build/manual/uplua-handlers.7: doc/handlers.md
	$(call man,$<)
build/manual/uplua-prompt.7: doc/prompt.md
	$(call man,$<)
build/manual/uplua-%.1: scripts/%.lua $(wildcard doc/scripts/*.md) doc/mallocleak.md
	$(call man,$<)
build/manual/%.html: %.md
	$(call say,HTML,$@) mkdir -p $(@D) && $(LUAJIT) tools/html.lua $< > $@

install: uplua manual
	@tools/install.sh install '$(DESTDIR)' '$(PREFIX)'

uninstall:
	@tools/install.sh uninstall '$(DESTDIR)' '$(PREFIX)'

# A Debian package of what is committed, built in a folder of its own: build/deb/uplua_VERSION_ARCH.deb. It needs debhelper.
.PHONY: deb
deb:
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install deb
	@rm -rf build/deb && mkdir -p build/deb/uplua-$(VERSION)
	@git archive HEAD | tar -x -C build/deb/uplua-$(VERSION)
	$(call say,DEB,build/deb) cd build/deb/uplua-$(VERSION) && dpkg-buildpackage -b -us -uc -j$(shell nproc) >../log 2>&1 || { tail -n 20 ../log; exit 1; }

# Installs debootstrap and lintian: no part of `make test`.
.PHONY: test-packages
test-packages: deb
	@CC='$(HOST_CC)' LUAJIT='$(LUAJIT)' tools/deps.sh install fresh
	@lintian --fail-on error,warning --allow-root build/deb/uplua_$(VERSION)_*.changes
	@tests/fresh/run packaged

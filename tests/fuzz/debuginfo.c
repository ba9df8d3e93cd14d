/* DWARF in any ELF file, as libdw reads it from the copy that it is given. */
#include "sym/debuginfo.h"
#include "fuzz.h"
#include "sym/debugcalls.h"
#include "sym/debugclass.h"
#include "sym/debugfunction.h"
#include "sym/debuglines.h"
#include "sym/debugscope.h"
#include "sym/debugtypes.h"
#include "sym/debugvariable.h"
#include "sym/location.h"

static int look(const struct debugfield *field, void *depth)
{
    char name[DEBUGTYPE_NAME];
    struct debugtype type;
    int inner = *(int *)depth - 1;
    debugtype_name(field->type, name);
    if (!debugtype_get(field->type, &type) && inner) {
        debugtype_fields(field->type, look, &inner);
        look(&(struct debugfield){.type = type.element}, &inner);
    }
    return 0;
}

/* What e.args and watchpoints ask for. */
static void ask_for_types(struct debuginfo *debuginfo)
{
    struct debugfunction function;
    struct debugparameter parameter;
    struct location location;
    uint32_t type;
    int depth = 3;
    for (uint64_t at = 0x1000; at < 0x1400; at += 13)
        for (unsigned i = 0; i < 4 && !debugfunction_at(debuginfo, at, &function) &&
                             !debugfunction_parameter(debuginfo, &function, i, &parameter);
             i++) {
            look(&(struct debugfield){.type = parameter.type}, &depth);
            debugclass_passing(parameter.type);
            if (parameter.instance)
                location_find(debuginfo, parameter.instance, function.instance, at, i % 2, &location);
        }
    if (!debugvariable_find(debuginfo, "config", 0x4000, &type))
        look(&(struct debugfield){.type = type}, &depth);
}

struct place {
    struct debuginfo *debuginfo;
    uint64_t address, function;
    int left;
};

static int locate(const struct debuglocal *local, void *context)
{
    struct place *place = context;
    struct location location;
    if (local->entry)
        location_find(place->debuginfo, local->entry, place->function, place->address, false, &location);
    return --place->left == 0;
}

static int count_line(const struct debugline *line, void *context)
{
    (void)line;
    return --((struct place *)context)->left == 0;
}

static int pass(const struct debugcall *call, void *context)
{
    struct place *place = context;
    struct location location;
    struct location_number number;
    debugcall_passes(place->debuginfo, call, 5, &location, &number);
    return --place->left == 0;
}

/* What e.vars asks for. */
static void ask_for_variables(struct debuginfo *debuginfo)
{
    for (uint64_t at = 0x1000; at < 0x1400; at += 37) {
        struct place place = {debuginfo, at, 0, 64};
        if (!debuginfo_function(debuginfo, at, false, &place.function))
            continue;
        debugscope_visit(debuginfo, at, locate, &place);
        place.left = 64;
        debuglines_visit(debuginfo, at, count_line, &place);
        debuglines_prologue_end(debuginfo, at);
        place.left = 64;
        debugcalls_visit(debuginfo, place.function, pass, &place);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stat stat;
    struct elf_file elf;
    struct debuginfo *debuginfo;
    struct source_line places[16];
    int fd = fuzz_file(data, size, &stat);
    if (!elf_file_open(&elf, fd) && !debuginfo_open(&debuginfo, &elf, NULL, true)) {
        for (uint64_t at = 0x1000; at < 0x1400; at += 13)
            debuginfo_lookup(debuginfo, at, places, 16);
        ask_for_types(debuginfo);
        ask_for_variables(debuginfo);
        debugtypes_forget();
        debuginfo_free(debuginfo);
    }
    elf_file_close(&elf);
    close(fd);
    return 0;
}

/* What files have at addresses: lines of the source, and code; and which files they are. */
#include "sym/image.h"
#include "sym/symbols.h"

size_t symbols_places(struct symbols *symbols, pid_t pid, uint64_t program, uint64_t address,
                      struct source_line *places, size_t room)
{
    struct in_file at = symbols_in_file(symbols, pid, program, address);
    return at.image ? image_places(at.image, at.offset, at.executable, places, room) : 0;
}

size_t symbols_code(struct symbols *symbols, pid_t pid, uint64_t program, uint64_t frame, uint64_t *address, void *code,
                    size_t size)
{
    struct in_file at = symbols_in_file(symbols, pid, program, frame);
    *address = at.image ? image_address(at.image, at.offset) : 0;
    int count = at.image ? image_bytes(at.image, at.offset, code, size) : 0;
    return count > 0 ? (size_t)count : 0;
}

int symbols_build_id(struct symbols *symbols, pid_t pid, uint64_t frame, uint8_t id[static BUILD_ID_MAX])
{
    struct in_file at = symbols_in_file(symbols, pid, 0, frame);
    return at.image ? image_build_id(at.image, id) : 0;
}

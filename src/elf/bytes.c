/* A reader of bytes that never reads beyond their end. */
#include "elf/bytes.h"

#include <dwarf.h>
#include <string.h>

const uint8_t *bytes_take(struct bytes *bytes, uint64_t size)
{
    if (size > bytes_left(bytes)) {
        bytes->at = bytes->end;
        bytes->failed = true;
        return NULL;
    }
    const uint8_t *taken = bytes->at;
    bytes->at += size;
    return taken;
}

struct bytes bytes_inside(struct bytes *bytes, uint64_t size)
{
    const uint8_t *taken = bytes_take(bytes, size);
    return taken ? bytes_of(taken, (size_t)size) : bytes_of(bytes->end, 0);
}

uint64_t bytes_unsigned(struct bytes *bytes, size_t size)
{
    const uint8_t *taken = bytes_take(bytes, size);
    uint16_t half;
    uint32_t word;
    uint64_t number;
    if (!taken)
        return 0;
    switch (size) {
    case 1:
        return *taken;
    case 2:
        memcpy(&half, taken, sizeof half);
        return half;
    case 4:
        memcpy(&word, taken, sizeof word);
        return word;
    default:
        memcpy(&number, taken, sizeof number);
        return number;
    }
}

int64_t bytes_signed(struct bytes *bytes, size_t size)
{
    unsigned unused = 64 - 8 * (unsigned)size;
    return (int64_t)(bytes_unsigned(bytes, size) << unused) >> unused;
}

/* The bits of a LEB128 number, and in *SHIFT how many there were. */
static uint64_t leb(struct bytes *bytes, unsigned *shift, uint8_t *last)
{
    uint64_t number = 0;
    *shift = 0;
    do {
        *last = (uint8_t)bytes_unsigned(bytes, 1);
        if (*shift > 63) {
            bytes->failed = true;
            return 0;
        }
        number |= (uint64_t)(*last & 0x7f) << *shift;
        *shift += 7;
    } while (*last & 0x80);
    return number;
}

uint64_t bytes_uleb(struct bytes *bytes)
{
    unsigned shift;
    uint8_t last;
    return leb(bytes, &shift, &last);
}

int64_t bytes_sleb(struct bytes *bytes)
{
    unsigned shift;
    uint8_t last;
    uint64_t number = leb(bytes, &shift, &last);
    if (shift < 64 && last & 0x40)
        number |= ~UINT64_C(0) << shift;
    return (int64_t)number;
}

uint64_t bytes_pointer(struct bytes *bytes, uint8_t encoding, uint64_t address, uint64_t base)
{
    uint64_t value;
    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        value = bytes_unsigned(bytes, 8);
        break;
    case DW_EH_PE_udata2:
        value = bytes_unsigned(bytes, 2);
        break;
    case DW_EH_PE_sdata2:
        value = (uint64_t)bytes_signed(bytes, 2);
        break;
    case DW_EH_PE_udata4:
        value = bytes_unsigned(bytes, 4);
        break;
    case DW_EH_PE_sdata4:
        value = (uint64_t)bytes_signed(bytes, 4);
        break;
    case DW_EH_PE_uleb128:
        value = bytes_uleb(bytes);
        break;
    case DW_EH_PE_sleb128:
        value = (uint64_t)bytes_sleb(bytes);
        break;
    default:
        bytes->failed = true;
        return 0;
    }
    switch (encoding & 0xf0) {
    case 0:
        return value;
    case DW_EH_PE_pcrel:
        return value + address;
    case DW_EH_PE_datarel:
        return value + base;
    default:
        bytes->failed = true;
        return 0;
    }
}

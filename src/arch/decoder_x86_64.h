/* The decoder of x86_64's instructions, which is Zydis's. */
#pragma once

#include <Zydis/Zydis.h>
#include <stdbool.h>

static inline const ZydisDecoder *decoder_x86_64(void)
{
    static ZydisDecoder instance;
    static bool made;
    if (!made)
        made = ZYAN_SUCCESS(ZydisDecoderInit(&instance, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
    return &instance;
}

/* True if OPERAND is what is in memory, not its address. */
static inline bool is_memory(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.type != ZYDIS_MEMOP_TYPE_AGEN;
}

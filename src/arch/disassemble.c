/* The text of an instruction, as objdump prints it: x86_64's, by Zydis. */
#include "arch/instruction.h"

#if defined(__x86_64__)
#include <Zydis/Zydis.h>

static bool prepare(ZydisDecoder *decoder, ZydisFormatter *formatter)
{
    return ZYAN_SUCCESS(ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) &&
           ZYAN_SUCCESS(ZydisFormatterInit(formatter, ZYDIS_FORMATTER_STYLE_ATT)) &&
           ZYAN_SUCCESS(ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
                                                  ZYDIS_PADDING_DISABLED)) &&
           ZYAN_SUCCESS(
               ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED)) &&
           ZYAN_SUCCESS(
               ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED)) &&
           ZYAN_SUCCESS(ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE));
}

bool arch_disassemble(const uint8_t *code, size_t size, uint64_t address, char *text, size_t room)
{
    static ZydisDecoder decoder;
    static ZydisFormatter formatter;
    static bool prepared;
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    prepared = prepared || prepare(&decoder, &formatter);
    return prepared && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, size, &instruction, operands)) &&
           ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &instruction, operands,
                                                        instruction.operand_count_visible, text, room, address, NULL));
}

#else

bool arch_disassemble(const uint8_t *code, size_t size, uint64_t address, char *text, size_t room)
{
    (void)code, (void)size, (void)address, (void)text, (void)room;
    return false;
}
#endif

/* The state that outlives a compilation: deep copies into the memory of the compiler, each made once. */
#include "compile/context/keep.h"

#include <string.h>

static const char *keep_text(struct compiler *compiler, const char *text)
{
    return text ? arena_string(&compiler->kept, text, strlen(text)) : NULL;
}

/* Files are few, and positions in them many: each name is there once. */
static const char *keep_file(struct compiler *compiler, const char *file)
{
    for (size_t i = 0; i < compiler->file_count; i++)
        if (!strcmp(compiler->files[i], file))
            return compiler->files[i];
    compiler->files = arena_grow(&compiler->kept, compiler->files, compiler->file_count, sizeof *compiler->files);
    return compiler->files[compiler->file_count++] = keep_text(compiler, file);
}

static const struct position *keep_position(struct compiler *compiler, const struct position *position)
{
    if (!position)
        return NULL;
    struct position *copy = arena_allocate(&compiler->kept, sizeof *copy);
    *copy = (struct position){.file = keep_file(compiler, position->file),
                              .line = position->line,
                              .caller = keep_position(compiler, position->caller)};
    return copy;
}

static struct record *keep_record(struct compiler *compiler, struct record *record)
{
    record = record_of(record);
    if (record->kept)
        return record->kept;
    struct record *copy = arena_allocate(&compiler->kept, sizeof *copy);
    *copy = *record;
    record->kept = copy->kept = copy;
    copy->frozen = true;
    copy->conflict = NULL;
    copy->fields = arena_allocate(&compiler->kept, (record->field_count + 1) * sizeof *copy->fields);
    for (size_t i = 0; i < record->field_count; i++) {
        struct field *field = &copy->fields[i];
        *field = record->fields[i];
        field->name = keep_text(compiler, field->name);
        field->at = keep_position(compiler, field->at);
        field->type = keep_type(compiler, field->type);
        if (!field->type.declared)
            field->type.bits = 0;
    }
    return copy;
}

struct type keep_type(struct compiler *compiler, struct type type)
{
    if (type.kind == TYPE_RECORD)
        type.record = keep_record(compiler, type.record);
    return type;
}

static const struct captured *keep_constant(struct compiler *compiler, const struct captured *constant)
{
    if (!constant)
        return NULL;
    struct captured *copy = arena_allocate(&compiler->kept, sizeof *copy);
    *copy = *constant;
    if (copy->kind == CAPTURED_STRING)
        copy->string.bytes = arena_string(&compiler->kept, constant->string.bytes, constant->string.length);
    return copy;
}

static const struct print *keep_print(struct compiler *compiler, const struct print *print)
{
    if (!print)
        return NULL;
    struct print *copy = arena_allocate(&compiler->kept, sizeof *copy);
    *copy = *print;
    copy->format = arena_string(&compiler->kept, print->format, print->length);
    copy->args = arena_allocate(&compiler->kept, (print->count + 1) * sizeof *copy->args);
    for (size_t i = 0; i < print->count; i++) {
        copy->args[i] = print->args[i];
        copy->args[i].constant = keep_constant(compiler, print->args[i].constant);
        copy->args[i].value = NULL;
    }
    return copy;
}

struct shared keep_object(struct compiler *compiler, const struct shared *object, const struct shared *before)
{
    struct shared kept = *object;
    kept.name = before->name ? before->name : keep_text(compiler, object->name);
    kept.key = keep_type(compiler, object->key);
    kept.value = keep_type(compiler, object->value);
    kept.key_at = before->key_at ? before->key_at : keep_position(compiler, object->key_at);
    kept.value_at = before->value_at ? before->value_at : keep_position(compiler, object->value_at);
    kept.given_key = kept.given_value = (struct type){.kind = TYPE_NONE};
    kept.given_key_at = kept.given_value_at = NULL;
    kept.variants = before->variants;
    for (size_t i = before->variant_count; i < object->variant_count; i++) {
        const struct variant *variant = &object->variants[i];
        struct type type = keep_type(compiler, (struct type){.kind = TYPE_RECORD, .record = variant->record});
        kept.variants = arena_grow(&compiler->kept, kept.variants, i, sizeof *kept.variants);
        kept.variants[i] = (struct variant){type.record, keep_print(compiler, variant->print)};
    }
    return kept;
}

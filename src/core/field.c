// This runs on every submit and again on every claim, so the good way neither allocates nor prints: words are only made for a
// refusal. What it does not do: know which fields there are (core/task_fields), or what a value of one looks like
// (core/field_type).
#include "core/field.h"

// ---- refusals

enum err field_refuse(struct field_reader *reader, enum err err, struct str name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    problem_set_args(reader->why, err, reader->within, format, args);
    va_end(args);
    if (name.n)
        problem_point(reader->why, name);
    return err;
}

// The field that was probably meant.
static const struct field *guess_field(const struct fields *fields, struct str name)
{
    const struct field *best = NULL;
    size_t least = STR_FAR;
    for (size_t i = 0; i < fields->count; i++)
        if (str_nearer(name, fields->rows[i].name, &least))
            best = &fields->rows[i];
    return best;
}

static enum err refuse_unknown(struct field_reader *reader, const struct fields *fields, struct str name)
{
    if (!name.n)
        return field_refuse(reader, ERR_UNKNOWN_FIELD, name, "A field's name must not be empty.");
    enum err err = fields->refuse_name ? fields->refuse_name(reader, fields, name) : ERR_OK;
    if (err)
        return err;
    const struct field *meant = guess_field(fields, name);
    if (meant)
        return field_refuse(reader, ERR_UNKNOWN_FIELD, name, "There is no such field in %s; did you mean \"%s\"?", fields->what,
                            meant->name.p);
    return field_refuse(reader, ERR_UNKNOWN_FIELD, name, "There is no such field in %s.", fields->what);
}

// ---- reading

static const struct field *find_field(const struct fields *fields, struct str name)
{
    for (const struct field *field = fields->rows, *end = field + fields->count; field < end; field++)
        if (field->name.n == name.n && memcmp(field->name.p, name.p, name.n) == 0)
            return field;
    return NULL;
}

enum err field_read_all(struct field_reader *reader, const struct fields *fields, struct json object)
{
    struct json key, value;
    for (struct json_iter iter = json_iter(object); json_next(&iter, &key, &value);) {
        struct str name = json_text(key, reader->arena);
        const struct field *field = find_field(fields, name);
        if (!field)
            return refuse_unknown(reader, fields, name);
        if (value.type == JSON_NULL && !field->null_counts)
            continue;
        enum err err = field->type->take(reader, field, value, (char *)reader->object + field->offset);
        if (err)
            return err;
    }
    return ERR_OK;
}

// ---- writing

static inline bool put_value(const struct field *field, const void *object, enum field_audience audience, struct buf *buf)
{
    if (!field->type->of)
        return field->type->put(field, (const char *)object + field->offset, buf);
    buf_putc(buf, '{');
    field_write_all(field->type->of, object, audience, buf);
    buf_putc(buf, '}');
    return true;
}

static bool has_default(const struct fields *fields, const struct field *field, const void *object)
{
    buf_auto struct buf value = {0}, by_default = {0};
    if (!put_value(field, fields->defaults, FIELD_FOR_KEYS, &by_default)) // none to show: what is there was given
        return false;
    put_value(field, object, FIELD_FOR_KEYS, &value);
    return str_eq(buf_str(&value), buf_str(&by_default));
}

// A field that a release adds is in a key's digest only when it is given: or the keys of yesterday would be those of other tasks.
void field_write_all(const struct fields *fields, const void *object, enum field_audience audience, struct buf *buf)
{
    bool first = true;
    for (const struct field *field = fields->rows, *end = field + fields->count; field < end; field++) {
        size_t before = buf->n;
        if (audience == FIELD_FOR_KEYS && !field->old && has_default(fields, field, object))
            continue;
        if (!first)
            buf_putc(buf, ',');
        buf_putc(buf, '"');
        buf_put(buf, field->name);
        buf_puts(buf, "\":");
        if (put_value(field, object, audience, buf))
            first = false;
        else
            buf->n = before;
    }
}

// This runs on every submit and again on every claim, so a good document is read without printing, and memory is only taken for a
// group: text is only made for a refusal. What it does not do: know which fields there are (core/task/task_fields), or what a
// value of one looks like (core/task/field_type).
#include "core/task/field.h"

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

__attribute__((cold)) static enum err refuse_unknown(struct field_reader *reader, const struct fields *fields, struct str name)
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

static const struct field *find_field(const struct fields *fields, struct str name)
{
    for (const struct field *field = fields->rows, *end = field + fields->count; field < end; field++)
        if (field->name.n == name.n && memcmp(field->name.p, name.p, name.n) == 0)
            return field;
    return NULL;
}

// ---- forms

static bool is_given(struct json object, struct str name)
{
    enum json_type type = json_member(object, name).type;
    return type != JSON_ABSENT && type != JSON_NULL;
}

// A field of a second form was found. When the key of just one of them is given, that is the form that is meant, and the other
// field is the one that the refusal names.
__attribute__((cold)) static enum err refuse_second_form(struct field_reader *reader, const struct fields *fields,
                                                         const struct field *field, struct json object)
{
    const struct field_form *meant = reader->form, *other = field->form;
    bool first_is_given = is_given(object, meant->key), second_is_given = is_given(object, other->key);
    if (first_is_given == second_is_given)
        return field_refuse_value(reader, field, "There must be exactly one %s: %s belongs to %s, and other fields here to %s.",
                                  fields->part, field->name.p, other->name, meant->name);
    if (second_is_given) {
        meant = field->form;
        field = reader->form_field;
        other = field->form;
    }
    return field_refuse_value(reader, field, "%s belongs to %s, which needs %s; %s makes this %s.", field->name.p, other->name,
                              other->key.p, meant->key.p, meant->name);
}

static enum err enter_form(struct field_reader *reader, const struct fields *fields, const struct field *field,
                           struct json object)
{
    if (reader->form)
        return refuse_second_form(reader, fields, field, object);
    reader->form = field->form;
    reader->form_field = field;
    memcpy((char *)reader->object + fields->part_offset, field->form->defaults, fields->part_size);
    return ERR_OK;
}

static enum err check_form(struct field_reader *reader, const struct fields *fields)
{
    const struct field_form *form = reader->form ? reader->form : fields->usual_form;
    const struct str *key = (const void *)((const char *)reader->object + fields->part_offset + form->key_offset);
    if (reader->form && key->p)
        return ERR_OK;
    return field_refuse(reader, ERR_MISSING_FIELD, form->key, "%s", form->key_missing);
}

// ---- groups

static const char *group_of(const struct field_group *group, const void *object)
{
    const char *fields = NULL;
    if (object)
        memcpy(&fields, (const char *)object + group->pointer, sizeof fields);
    return fields;
}

// Where the group of a field that is given is kept.
static char *enter_group(struct field_reader *reader, const struct field_group *group)
{
    char *fields = (char *)group_of(group, reader->object);
    if (fields)
        return fields;
    fields = arena_alloc(reader->arena, group->size);
    memcpy(fields, group->defaults, group->size);
    memcpy((char *)reader->object + group->pointer, &fields, sizeof fields);
    return fields;
}

// ---- fields that need others

// `given` has a bit for each row that was given and depends on others. It is checked when all of the object is read, because what
// a field needs may stand behind it.
static enum err check_dependent(struct field_reader *reader, const struct fields *fields, uint64_t given)
{
    for (size_t i = 0; given >> i; i++) {
        const struct field *field = &fields->rows[i];
        const char *lacks = given >> i & 1 ? field->lacks(reader->object) : NULL;
        if (lacks)
            return field_refuse_value(reader, field, "%s may only be given with %s.", field->name.p, lacks);
    }
    return ERR_OK;
}

// ---- reading

enum err field_read_all(struct field_reader *reader, const struct fields *fields, struct json object)
{
    struct json key, value;
    uint64_t dependent = 0;
    for (struct json_iter iter = json_iter(object); json_next(&iter, &key, &value);) {
        struct str name = json_text(key, reader->arena);
        const struct field *field = find_field(fields, name);
        if (!field)
            return refuse_unknown(reader, fields, name);
        if (value.type == JSON_NULL && !field->null_counts)
            continue;
        enum err err = field->form == reader->form || !field->form ? ERR_OK : enter_form(reader, fields, field, object);
        if (err)
            return err;
        char *within = field->group ? enter_group(reader, field->group) : reader->object;
        err = field->type->take(reader, field, value, within + field->offset);
        if (err)
            return err;
        if (field->lacks && value.type != JSON_NULL)
            dependent |= UINT64_C(1) << (field - fields->rows);
    }
    enum err err = fields->part ? check_form(reader, fields) : ERR_OK;
    return err || !dependent ? err : check_dependent(reader, fields, dependent);
}

// ---- writing

// `within` is the object, or what it has for the group of the field.
static inline bool put_value(const struct field *field, const void *within, enum field_audience audience, struct buf *buf)
{
    if (!field->type->of)
        return field->type->put(field, (const char *)within + field->offset, buf);
    buf_putc(buf, '{');
    field_write_all(field->type->of, NULL, within, audience, buf);
    buf_putc(buf, '}');
    return true;
}

static const void *defaults_of(const struct fields *fields, const struct field *field)
{
    if (field->form)
        return (const char *)field->form->defaults - fields->part_offset;
    return field->group ? field->group->defaults : fields->defaults;
}

static bool has_default(const struct fields *fields, const struct field *field, const void *within)
{
    buf_auto struct buf value = {0}, by_default = {0};
    const void *defaults = defaults_of(fields, field);
    if (!put_value(field, defaults, FIELD_FOR_KEYS, &by_default)) // none to show: what is there was given
        return false;
    put_value(field, within, FIELD_FOR_KEYS, &value);
    return str_eq(buf_str(&value), buf_str(&by_default));
}

// A field that a release adds is in a key's digest only when it is given; otherwise a key that was used before the release would
// not match its task any more.
void field_write_all(const struct fields *fields, const struct field_form *form, const void *object, enum field_audience audience,
                     struct buf *buf)
{
    size_t comma = 1; // the first head is written without its comma
    for (const struct field *field = fields->rows, *end = field + fields->count; field < end; field++) {
        size_t before = buf->n;
        const void *within = field->group ? group_of(field->group, object) : object;
        if (!within || (field->form && field->form != form) || (field->lacks && field->lacks(object)))
            continue;
        if (audience == FIELD_FOR_KEYS && !field->old && has_default(fields, field, within))
            continue;
        buf_put(buf, (struct str){field->head.p + comma, field->head.n - comma});
        if (put_value(field, within, audience, buf))
            comma = 0;
        else
            buf->n = before;
    }
}

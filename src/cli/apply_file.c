// See apply_file.h. What is read of TOML becomes the JSON object that it stands for, since that is what the API takes. What the
// fields of a task may hold is the server's to say.
#include "cli/apply_file.h"

#include "base/data/hash.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/toml.h"

#include <stdarg.h>
#include <stdio.h>

enum { TASKS_AT_FIRST = 16 };

// One file while it is read.
struct reading {
    struct apply_file *files;
    const char *file;
    bool from_toml;
    struct buf *problems;
};

void apply_file_init(struct apply_file *ret_files)
{
    *ret_files = (struct apply_file){0};
    arena_init(&ret_files->arena);
}

void apply_file_done(struct apply_file *files)
{
    map_done(&files->by_name);
    mem_free(files->tasks);
    arena_done(&files->arena);
}

// ---- places

void apply_file_put_place(struct buf *buf, const struct apply_task *task)
{
    buf_printf(buf, task->from_toml ? "%s:%zu" : "%s[%zu]", task->file, task->number);
}

__attribute__((format(printf, 3, 4))) static void say(const struct reading *reading, const struct apply_task *task,
                                                      const char *words, ...)
{
    va_list args;
    char text[ERR_WHY_MAX * 2];
    va_start(args, words);
    vsnprintf(text, sizeof text, words, args);
    va_end(args);
    if (task)
        apply_file_put_place(reading->problems, task);
    else
        buf_puts(reading->problems, reading->file);
    buf_printf(reading->problems, ": %s\n", text);
}

// ---- one task

// The task of that name, or the key under which it would be: names of one hash have keys side by side.
static const struct apply_task *find_task(const struct apply_file *files, struct str name, int64_t *ret_key)
{
    uint64_t key = hash_bytes(name.p, name.n);
    const size_t *at;
    while ((at = map_get(&files->by_name, (int64_t)key)) && !str_eq(files->tasks[*at].name, name))
        key++;
    *ret_key = (int64_t)key;
    return at ? &files->tasks[*at] : NULL;
}

static void keep_task(struct apply_file *files, const struct apply_task *task, int64_t key)
{
    size_t *at = arena_alloc(&files->arena, sizeof *at);
    if (files->count == files->room) {
        files->room = files->room ? files->room * 2 : TASKS_AT_FIRST;
        files->tasks = mem_grow(files->tasks, files->room * sizeof *files->tasks);
    }
    *at = files->count;
    files->tasks[files->count++] = *task;
    map_put(&files->by_name, key, at);
}

static void add_task(const struct reading *reading, size_t number, struct json json)
{
    struct apply_file *files = reading->files;
    struct apply_task task = {.json = json.raw, .file = reading->file, .number = number, .from_toml = reading->from_toml};
    int64_t key;
    if (json.type != JSON_OBJECT) {
        say(reading, &task, "a task is an object");
        return;
    }
    struct json name = json_member(json, STR("name"));
    if (name.type == JSON_STRING)
        task.name = json_text(name, &files->arena);
    if (!task.name.n) {
        say(reading, &task, "a task needs a name, which is a text");
        return;
    }
    const struct apply_task *other = find_task(files, task.name, &key);
    if (!other) {
        keep_task(files, &task, key);
        return;
    }
    buf_auto struct buf place = {0};
    apply_file_put_place(&place, other);
    say(reading, &task, "the name %.*s is given a second time; the first is at " STR_FMT,
        (int)(task.name.n > 100 ? 100 : task.name.n), task.name.p, STR_ARG(buf_str(&place)));
}

// ---- JSON

// The array that the text has, or JSON_ABSENT after saying what is wrong.
static struct json find_array(const struct reading *reading, struct json whole)
{
    struct json key, value, array = whole;
    if (whole.type == JSON_OBJECT) {
        array = json_member(whole, STR("tasks"));
        for (struct json_iter iter = json_iter(whole); json_next(&iter, &key, &value);) {
            struct str name = json_text(key, &reading->files->arena);
            if (str_is(name, "tasks"))
                continue;
            say(reading, NULL, "%.*s is not known here; an object has only tasks, an array of them",
                (int)(name.n > 100 ? 100 : name.n), name.p);
        }
    }
    if (array.type == JSON_ARRAY)
        return array;
    say(reading, NULL, "a file of tasks is an array of objects, or {\"tasks\": […]}");
    return (struct json){0};
}

static void read_json(const struct reading *reading, struct str text)
{
    char why[ERR_WHY_MAX];
    struct json whole, task;
    size_t index = 0;
    if (json_check(text, &whole, why)) {
        say(reading, NULL, "%s", why);
        return;
    }
    struct json array = find_array(reading, whole);
    if (array.type != JSON_ARRAY)
        return;
    for (struct json_iter iter = json_iter(array); json_next_item(&iter, &task); index++)
        add_task(reading, index, task);
}

// ---- TOML

// An entry of a table, by the part of its key that is not used up.
struct member {
    struct str key;
    const struct toml_entry *entry; // NULL: it was put into the object already
};

// Takes a part off the front of a key: plain, or a string of JSON.
static struct str take_part(struct str *key)
{
    size_t n = 0;
    if (key->p[0] == '"')
        for (n = 1; key->p[n] != '"'; n++)
            n += key->p[n] == '\\';
    while (n < key->n && key->p[n] != '.')
        n++;
    struct str part = {key->p, n};
    *key = str_skip(*key, n + (n < key->n));
    return part;
}

static void put_name(struct buf *json, struct str part)
{
    if (part.p[0] == '"')
        buf_put(json, part);
    else
        json_put_string(json, part);
    buf_putc(json, ':');
}

// Moves the members from `at` on whose keys begin with `part` into a table of their own.
static size_t gather(struct member *members, size_t count, size_t at, struct str part, struct member *ret_inner)
{
    size_t found = 0;
    for (size_t i = at; i < count; i++) {
        struct str rest = members[i].key;
        if (!members[i].entry || !str_eq(take_part(&rest), part))
            continue;
        ret_inner[found++] = (struct member){rest, members[i].entry};
        members[i].entry = NULL;
    }
    return found;
}

// Keys with a common beginning need not stand side by side: each name is written where it comes first.
static void put_object(struct arena *arena, struct buf *json, struct member *members, size_t count)
{
    char between = '{';
    if (!count)
        buf_putc(json, '{');
    for (size_t i = 0; i < count; i++) {
        struct str rest = members[i].key;
        if (!members[i].entry)
            continue;
        struct str part = take_part(&rest);
        buf_putc(json, between);
        between = ',';
        put_name(json, part);
        if (!rest.n) {
            toml_put_json(json, members[i].entry);
            continue;
        }
        struct member *inner = arena_array(arena, struct member, count - i);
        put_object(arena, json, inner, gather(members, count, i, part, inner));
    }
    buf_putc(json, '}');
}

// Entries of an item of a list that is not known are told by the item alone.
static void check_tables(const struct reading *reading, const struct toml *toml)
{
    for (size_t i = 0; i < toml->item_count; i++) {
        const struct toml_item *item = &toml->items[i];
        if (!str_is(item->list, "task"))
            buf_printf(reading->problems, "%s:%d:%d: a task is written [[task]]\n", reading->file, item->line, item->column);
    }
    for (size_t i = 0; i < toml->count; i++) {
        const struct toml_entry *entry = &toml->entries[i];
        if (!entry->item)
            buf_printf(reading->problems, "%s:%d:%d: %.*s stands in no task: each begins with [[task]]\n", reading->file,
                       entry->line, entry->column, (int)(entry->key.n > 100 ? 100 : entry->key.n), entry->key.p);
    }
}

// `members` are those of this item.
static void read_item(const struct reading *reading, const struct toml_item *item, struct member *members, size_t count)
{
    struct apply_task place = {.file = reading->file, .number = (size_t)item->line, .from_toml = true};
    buf_auto struct buf json = {0};
    struct json value;
    char why[ERR_WHY_MAX];
    put_object(&reading->files->arena, &json, members, count);
    struct str text = arena_copy(&reading->files->arena, buf_str(&json));
    if (!json_check(text, &value, why)) {
        add_task(reading, place.number, value);
        return;
    }
    const char *words = strstr(why, ": "); // behind a place in the JSON, which nobody has seen
    say(reading, &place, "%s", words ? words + 2 : why);
}

// The entries of each item, side by side, in the order of the file. ret_starts has one more than there are items.
static struct member *sort_entries(const struct toml *toml, struct arena *arena, size_t *ret_starts)
{
    struct member *members = arena_array(arena, struct member, toml->count + 1);
    size_t *at = arena_array(arena, size_t, toml->item_count + 2);
    for (size_t i = 0; i < toml->count; i++)
        at[toml->entries[i].item + 1]++;
    for (size_t i = 0; i <= toml->item_count; i++)
        at[i + 1] += at[i];
    memcpy(ret_starts, at, (toml->item_count + 2) * sizeof *at);
    for (size_t i = 0; i < toml->count; i++)
        members[at[toml->entries[i].item]++] = (struct member){toml->entries[i].key, &toml->entries[i]};
    return members;
}

static void read_toml(const struct reading *reading, struct str text)
{
    struct arena *arena = &reading->files->arena;
    struct toml toml;
    bool good = toml_read_documents(text, arena, &toml);
    for (size_t i = 0; i < toml.error_count; i++)
        buf_printf(reading->problems, "%s:%d:%d: %s\n", reading->file, toml.errors[i].line, toml.errors[i].column,
                   toml.errors[i].why);
    if (!good)
        return;
    check_tables(reading, &toml);
    size_t *starts = arena_array(arena, size_t, toml.item_count + 2);
    struct member *members = sort_entries(&toml, arena, starts);
    for (size_t i = 1; i <= toml.item_count; i++)
        if (str_is(toml.items[i - 1].list, "task"))
            read_item(reading, &toml.items[i - 1], members + starts[i], starts[i + 1] - starts[i]);
}

// ---- which of the two

static bool ends_with(struct str text, struct str end)
{
    return text.n >= end.n && str_eq(str_skip(text, text.n - end.n), end);
}

static struct str skip_space(struct str text)
{
    while (text.n && text.p[0] && strchr(" \t\r\n", text.p[0]))
        text = str_skip(text, 1);
    return text;
}

// A [ begins an array of JSON when an object follows or nothing, and else a header of TOML.
static bool is_toml(const char *file, struct str text)
{
    if (ends_with(str_of(file), STR(".toml")) || ends_with(str_of(file), STR(".json")))
        return ends_with(str_of(file), STR(".toml"));
    text = skip_space(text);
    if (text.n && text.p[0] == '[') {
        text = skip_space(str_skip(text, 1));
        return !text.n || (text.p[0] != '{' && text.p[0] != ']');
    }
    return !text.n || text.p[0] != '{';
}

bool apply_file_add(struct apply_file *files, const char *file, struct str text, struct buf *problems)
{
    struct reading reading = {.files = files, .file = file, .from_toml = is_toml(file, text), .problems = problems};
    size_t before = problems->n;
    (reading.from_toml ? read_toml : read_json)(&reading, text);
    return problems->n == before;
}

// ---- what is made of them

const struct apply_task *apply_file_find(const struct apply_file *files, struct str name)
{
    int64_t key;
    return find_task(files, name, &key);
}

static void put_labels(struct buf *buf, struct json labels, struct str set)
{
    buf_puts(buf, "\"labels\":{\"" APPLY_FILE_LABEL "\":");
    json_put_string(buf, set);
    struct json key, value;
    for (struct json_iter iter = json_iter(labels); json_next(&iter, &key, &value);) {
        buf_putc(buf, ',');
        buf_put(buf, key.raw);
        buf_putc(buf, ':');
        buf_put(buf, value.raw);
    }
    buf_putc(buf, '}');
}

static bool check_labels(struct json labels, char why[ERR_WHY_MAX])
{
    if (labels.type != JSON_OBJECT)
        snprintf(why, ERR_WHY_MAX, "labels is an object of texts");
    else if (json_member(labels, STR(APPLY_FILE_LABEL)).type != JSON_ABSENT)
        snprintf(why, ERR_WHY_MAX, "the label " APPLY_FILE_LABEL " is set by rota apply: --set names the set");
    else
        return true;
    return false;
}

bool apply_file_put_document(struct buf *buf, const struct apply_task *task, struct str set, char why[ERR_WHY_MAX])
{
    static const struct json none = {JSON_OBJECT, {"{}", 2}};
    struct json document = {JSON_OBJECT, task->json}, labels = json_member(document, STR("labels")), key, value;
    if (labels.type == JSON_ABSENT)
        labels = none;
    if (!check_labels(labels, why))
        return false;
    buf_putc(buf, '{');
    put_labels(buf, labels, set);
    for (struct json_iter iter = json_iter(document); json_next(&iter, &key, &value);) {
        if (value.raw.p == labels.raw.p)
            continue;
        buf_putc(buf, ',');
        buf_put(buf, key.raw);
        buf_putc(buf, ':');
        buf_put(buf, value.raw);
    }
    buf_putc(buf, '}');
    return true;
}

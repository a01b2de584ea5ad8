// A member that rota adds takes the place of one of the same name that is null, which says nothing: a name that stood there
// twice would make a document that nobody can read any more. So the document is put together anew, and read again as it will be
// read when its job is due. Only requests with such a header pay for it.
#include "core/task/task_headers.h"

#include "base/mem.h"

enum { KEY_MAX = TASK_KEY_MAX };

const char *task_headers_key_wrong(struct str value)
{
    bool good = value.n >= 1 && value.n <= KEY_MAX;
    for (size_t i = 0; i < value.n && good; i++)
        good = value.p[i] >= ' ' && value.p[i] <= '~';
    return good ? NULL : "Idempotency-Key must be 1 to 255 printable ASCII characters; any other key goes into the field `key`.";
}

enum err task_headers_key(const struct task_headers *headers, struct task *task, struct problem *why)
{
    if (!headers->key.n || str_eq(headers->key, task->key))
        return ERR_OK;
    if (task->key.n)
        return problem_set(
            why, ERR_INVALID_FIELD, "/key",
            "The header Idempotency-Key and the field `key` mean the same and are different here: give one of them.");
    task->key = headers->key;
    return ERR_OK;
}

struct addition {
    const char *name;
    struct str text; // .n == 0: nothing is added
};

static bool is_replaced(const struct addition *additions, size_t count, struct str name, struct json value)
{
    for (size_t i = 0; i < count; i++)
        if (value.type == JSON_NULL && additions[i].text.n && str_is(name, additions[i].name))
            return true;
    return false;
}

static struct str put_together(struct json doc, const struct addition *additions, size_t count, struct arena *arena)
{
    buf_auto struct buf buf = {0};
    struct json key, value;
    for (size_t i = 0; i < count; i++) {
        if (!additions[i].text.n)
            continue;
        buf_puts(&buf, buf.n ? ",\"" : "{\"");
        buf_puts(&buf, additions[i].name);
        buf_puts(&buf, "\":");
        json_put_string(&buf, additions[i].text);
    }
    for (struct json_iter iter = json_iter(doc); json_next(&iter, &key, &value);) {
        if (is_replaced(additions, count, json_text(key, arena), value))
            continue;
        buf_putc(&buf, ',');
        buf_put(&buf, key.raw);
        buf_putc(&buf, ':');
        buf_put(&buf, value.raw);
    }
    buf_putc(&buf, '}');
    return arena_copy(arena, buf_str(&buf));
}

// What was added is checked by what will read it: a document that cannot be read is refused here, and not when it is due.
static enum err read_again(struct task *task, struct str doc, struct arena *arena, struct problem *why)
{
    char words[ERR_WHY_MAX];
    if (doc.n > TASK_DOC_MAX)
        return problem_set(
            why, ERR_TOO_LARGE, NULL,
            "A task may have 1 MiB; with what its headers add (Idempotency-Key, traceparent) this one has %zu bytes.", doc.n);
    if (!task_read(task, doc, arena, words))
        return problem_set(why, ERR_INVALID_FIELD, NULL, "With what its headers add the task cannot be read: %.180s", words);
    return ERR_OK;
}

enum err task_headers_document(const struct task_headers *headers, struct task *task, struct json doc, struct arena *arena,
                               struct str *ret_doc, struct problem *why)
{
    bool adds_key = headers->key.n && task->key.p == headers->key.p; // from task_headers_key(), and not from the document
    bool adds_trace = headers->traceparent.n && !task->traceparent.n;
    *ret_doc = doc.raw;
    if (!adds_key && !adds_trace)
        return ERR_OK;
    struct addition additions[] = {{"key", adds_key ? headers->key : (struct str){0}},
                                   {"traceparent", adds_trace ? headers->traceparent : (struct str){0}}};
    *ret_doc = put_together(doc, additions, array_count(additions), arena);
    return read_again(task, *ret_doc, arena, why);
}

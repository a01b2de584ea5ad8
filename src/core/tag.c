#include "core/tag.h"

#include "core/fnv.h"

// What a text is of is a part of its tag.
enum { OF_NAME = 'n', OF_LABEL = 'l', OF_TRACING_ID = 't', OF_CREATED_BY = 'c' };

// The length of the first text keeps "ab" and "c" apart from "a" and "bc".
static int64_t make_tag(char of, struct str text, struct str value)
{
    uint64_t hash = fnv_add_number(fnv_add_number(FNV_START, (uint8_t)of), text.n);
    hash = fnv_add(fnv_add(hash, text), value);
    hash ^= hash >> 32; // this and the next two lines spread the bits
    hash *= 0xD6E8FEB86659FD93u;
    hash ^= hash >> 32;
    return (int64_t)(hash & ~(uint64_t)1);
}

static size_t put(int64_t tags[TAGS_MAX], size_t count, char of, struct str text)
{
    if (text.n)
        tags[count++] = make_tag(of, text, (struct str){0});
    return count;
}

size_t tags_of_task(const struct task *task, struct arena *arena, int64_t ret_tags[TAGS_MAX])
{
    size_t count = put(ret_tags, 0, OF_TRACING_ID, task->tracing_id);
    if (task->labels.type == JSON_OBJECT) {
        struct json key, value;
        struct json_iter iter = json_iter(task->labels);
        for (size_t i = 0; i < TASK_LABELS_MAX && json_next(&iter, &key, &value); i++)
            ret_tags[count++] = make_tag(OF_LABEL, json_text(key, arena), json_text(value, arena));
    }
    count = put(ret_tags, count, OF_CREATED_BY, task->created_by);
    return put(ret_tags, count, OF_NAME, task->name);
}

size_t tags_of_filter(const struct filter *filter, int64_t ret_tags[TAGS_MAX])
{
    size_t count = put(ret_tags, 0, OF_TRACING_ID, filter->tracing_id);
    for (size_t i = 0; i < filter->label_count; i++)
        ret_tags[count++] = make_tag(OF_LABEL, filter->labels[i].key, filter->labels[i].value);
    count = put(ret_tags, count, OF_CREATED_BY, filter->created_by);
    return put(ret_tags, count, OF_NAME, filter->name);
}

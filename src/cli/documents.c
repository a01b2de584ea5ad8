// See documents.h. Which of the three it is shows at the beginning: an array begins with [, and a line of NDJSON is a whole
// value.
#include "cli/documents.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 16, DOCUMENT_MAX = 1 << 20 };

static bool read_more(struct documents *documents)
{
    struct buf *text = &documents->text;
    buf_reserve(text, CHUNK);
    ssize_t n;
    do
        n = read(documents->fd, text->p + text->n, CHUNK);
    while (n < 0 && errno == EINTR);
    documents->error = n < 0 ? errno : 0;
    documents->ended = n <= 0;
    text->n += n > 0 ? (size_t)n : 0;
    return n > 0;
}

static struct str rest_of(const struct documents *documents)
{
    return (struct str){documents->text.p + documents->at, documents->text.n - documents->at};
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// Returns where something other than space begins, or the end of the text.
static size_t find_begin(struct documents *documents)
{
    size_t at = 0;
    while ((at < documents->text.n || read_more(documents)) && is_space(documents->text.p[at]))
        at++;
    return at;
}

static void refuse(struct document *document, enum err err, const char *why)
{
    document->err = err;
    snprintf(document->why, sizeof document->why, "%s", why);
}

// ---- one JSON text

static bool take_whole(struct documents *documents, char why[ERR_WHY_MAX])
{
    struct json value;
    if (json_check(buf_str(&documents->text), &value, why))
        return false;
    documents->items = json_iter(value);
    return true;
}

static bool open_array(struct documents *documents, char why[ERR_WHY_MAX])
{
    while (read_more(documents))
        ;
    return take_whole(documents, why);
}

// An object is made an array of one, after it was checked as it stands, so that what is wrong is found where it stands.
static bool open_object(struct documents *documents, char why[ERR_WHY_MAX])
{
    struct json value;
    char line_why[ERR_WHY_MAX / 2];
    snprintf(line_why, sizeof line_why, "%s", why);
    while (documents->text.n <= DOCUMENT_MAX && read_more(documents))
        ;
    if (documents->text.n > DOCUMENT_MAX) {
        snprintf(why, ERR_WHY_MAX, "its first line is not a task (%s), and a task may have at most 1 MiB", line_why);
        return false;
    }
    if (json_check(buf_str(&documents->text), &value, why))
        return false;
    struct buf array = {0};
    buf_putc(&array, '[');
    buf_put(&array, value.raw);
    buf_putc(&array, ']');
    buf_done(&documents->text);
    documents->text = array;
    return take_whole(documents, why);
}

// ---- lines

// Takes a line off, without its line feed. Returns false when there is none. A line that is too long is skipped and comes back
// empty.
static bool take_line(struct documents *documents, struct str *ret_line, bool *ret_too_long)
{
    size_t seen = 0;
    const char *end = NULL;
    struct str rest;
    *ret_too_long = false;
    do {
        rest = rest_of(documents);
        end = rest.n > seen ? memchr(rest.p + seen, '\n', rest.n - seen) : NULL;
        seen = rest.n;
        if (!end && seen > DOCUMENT_MAX) {
            *ret_too_long = true;
            documents->given += seen;
            documents->at = documents->text.n = seen = 0;
        }
    } while (!end && read_more(documents));
    rest = rest_of(documents);
    if (!rest.n && !*ret_too_long)
        return false;
    *ret_line = (struct str){rest.p, end ? (size_t)(end - rest.p) : rest.n};
    documents->at += ret_line->n + (end != NULL);
    documents->given += ret_line->n + (end != NULL);
    return true;
}

// Lines that were given are dropped before more is read, so that memory does not grow with the file.
static void let_go(struct documents *documents)
{
    struct str rest = rest_of(documents);
    if (!documents->at || (documents->at < CHUNK && rest.n))
        return;
    memmove(documents->text.p, rest.p, rest.n);
    documents->text.n = rest.n;
    documents->at = 0;
}

static bool is_blank(struct str line)
{
    for (size_t i = 0; i < line.n; i++)
        if (!is_space(line.p[i]))
            return false;
    return true;
}

// Each line is a text of its own, so that a place within it is only a column.
static void check_line(struct document *document, struct str line)
{
    char words[ERR_WHY_MAX];
    static const struct str before = {"Line 1, ", 8};
    document->err = json_check(line, &document->json, words);
    if (document->err)
        snprintf(document->why, sizeof document->why, "%s", words + (str_starts(str_of(words), before) ? before.n : 0));
}

static bool next_line(struct documents *documents, struct document *ret_document)
{
    struct str line;
    bool too_long;
    let_go(documents);
    do {
        if (!take_line(documents, &line, &too_long))
            return false;
        ret_document->number = documents->number++;
    } while (!too_long && is_blank(line));
    if (too_long)
        refuse(ret_document, ERR_TOO_LARGE, "The line has more than 1 MiB, which is the most a task may have.");
    else
        check_line(ret_document, line);
    return true;
}

// ---- any of them

// Is the line that begins there a value by itself? If not, `why` says so, and the whole is one object over several lines,
// or wrong.
static bool is_line(struct documents *documents, size_t begin, char why[ERR_WHY_MAX])
{
    const struct buf *text = &documents->text;
    const char *end;
    struct json value;
    while (!(end = memchr(text->p + begin, '\n', text->n - begin)) && text->n <= DOCUMENT_MAX && read_more(documents))
        ;
    struct str line = {text->p + begin, end ? (size_t)(end - text->p) - begin : text->n - begin};
    return !json_check(line, &value, why);
}

static bool open_any(struct documents *documents, char why[ERR_WHY_MAX])
{
    size_t begin = find_begin(documents);
    bool empty = begin == documents->text.n, array = !empty && documents->text.p[begin] == '[';
    documents->lines = empty || (!array && is_line(documents, begin, why));
    documents->number = documents->lines;
    bool good = documents->lines || (array ? open_array : open_object)(documents, why);
    if (documents->error)
        snprintf(why, ERR_WHY_MAX, "cannot be read: %s", strerror(documents->error));
    return good && !documents->error;
}

bool documents_open(struct documents *ret_documents, const char *path, char why[ERR_WHY_MAX])
{
    struct stat stat;
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    *ret_documents = (struct documents){.fd = fd};
    if (fd < 0) {
        snprintf(why, ERR_WHY_MAX, "cannot be read: %s", strerror(errno));
        return false;
    }
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode))
        ret_documents->size = (uint64_t)stat.st_size;
    return open_any(ret_documents, why);
}

void documents_close(struct documents *documents)
{
    buf_done(&documents->text);
    if (documents->fd >= 0)
        close(documents->fd);
}

bool documents_next(struct documents *documents, struct document *ret_document)
{
    *ret_document = (struct document){0};
    if (documents->lines) {
        if (!next_line(documents, ret_document))
            return false;
    } else {
        if (!json_next_item(&documents->items, &ret_document->json))
            return false;
        ret_document->number = documents->number++;
        documents->given = (uint64_t)(documents->items.at - documents->text.p);
    }
    if (!ret_document->err && ret_document->json.type != JSON_OBJECT)
        refuse(ret_document, ERR_INVALID_FIELD, "A task is a JSON object.");
    return true;
}

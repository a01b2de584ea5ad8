// cli/documents: the tasks of a file. Whatever is in it, places go up, what is given is an object of the text or has words about
// it, and of lines nothing is left out: those that are given and those that are blank are all there are.
#include "cli/documents.h"
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

static size_t count_lines(struct str text)
{
    size_t count = 0;
    while (text.n) {
        struct str line = fuzz_cut(&text, '\n');
        bool blank = true;
        for (size_t i = 0; i < line.n; i++)
            blank = blank && strchr(" \t\r", line.p[i]) && line.p[i];
        count += !blank;
    }
    return count;
}

static void check_all(struct documents *documents, struct str text)
{
    struct document document;
    size_t count = 0, last = 0;
    for (; documents_next(documents, &document); count++, last = document.number) {
        must(!count || document.number > last);
        must(document.err ? document.why[0] != 0 : document.json.type == JSON_OBJECT);
        must(document.err || memmem(text.p, text.n, document.json.raw.p, document.json.raw.n));
    }
    must(!documents->error);
    must(!documents->lines || count == count_lines(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size);
    struct documents documents;
    char path[64], why[ERR_WHY_MAX] = "";
    int fd = memfd_create("tasks", MFD_CLOEXEC);
    must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (documents_open(&documents, path, why))
        check_all(&documents, text);
    else
        must(why[0]);
    documents_close(&documents);
    close(fd);
    return 0;
}

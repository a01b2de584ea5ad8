// The end of a file is found by reading, because stdin and devices do not say how long they are.
#include "cli/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

enum { CHUNK = 65536 };

static ssize_t read_chunk(int fd, struct buf *text)
{
    ssize_t n;
    buf_reserve(text, CHUNK);
    do
        n = read(fd, text->p + text->n, CHUNK);
    while (n < 0 && errno == EINTR);
    text->n += n > 0 ? (size_t)n : 0;
    return n;
}

bool whole_file_read(const char *path, size_t max, struct buf *ret_text)
{
    int fd = str_is(str_of(path), "-") ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && ret_text->n <= max)
        n = read_chunk(fd, ret_text);
    int error = n < 0 ? errno : ret_text->n > max ? EFBIG : 0;
    if (fd >= 0)
        close(fd);
    errno = error;
    return !error;
}

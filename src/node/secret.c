// The secret is the SHA-256 of all bytes of the file, so that a file may have any form: random bytes, hexadecimal digits, a long
// phrase. Nothing is trimmed: whether a newline belongs to it would otherwise depend on what the random bytes happen to be.
//
// That everybody may read the file is told and not refused: secrets of Docker have mode 0444 in a container where nobody else is.
// What this does not do: judge whether the bytes can be guessed.
#include "node/secret.h"

#include "base/data/digest.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static_assert((int)STORE_SECRET_SIZE == DIGEST_SIZE, "a digest is a secret");

// Returns how many bytes there are, at most `max`; < 0: errno says why they cannot be read.
static ssize_t read_bytes(int fd, char *bytes, size_t max)
{
    size_t n = 0;
    while (n < max) {
        ssize_t more = read(fd, bytes + n, max - n);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            return more < 0 ? -1 : (ssize_t)n;
        n += (size_t)more;
    }
    return (ssize_t)n;
}

// What is wrong with so many bytes; NULL: nothing.
static const char *fault(ssize_t n)
{
    if (n < 0)
        return strerror(errno);
    if (n == 0)
        return "it is empty";
    if (n < SECRET_FILE_MIN)
        return "it is so short that it could be guessed";
    return n > SECRET_FILE_MAX ? "it is too long for a secret" : NULL;
}

// Who can read the secret can complete jobs.
static void remark(int fd, const char *path, char why[ERR_WHY_MAX])
{
    struct stat about;
    why[0] = 0;
    if (!fstat(fd, &about) && (about.st_mode & S_IROTH))
        snprintf(why, ERR_WHY_MAX,
                 "secret_file %.100s can be read by everybody on this machine (mode %04o), and who reads it can complete jobs; "
                 "chmod 0400 leaves it to its owner",
                 path, about.st_mode & 07777);
}

bool secret_read(const char *path, uint8_t ret_secret[STORE_SECRET_SIZE], char why[ERR_WHY_MAX])
{
    char bytes[SECRET_FILE_MAX + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read_bytes(fd, bytes, sizeof bytes);
    const char *wrong = fault(n);
    if (wrong) {
        snprintf(why, ERR_WHY_MAX,
                 "secret_file %.100s cannot be used: %.50s; give a file of %d to %d bytes, such as `openssl rand -hex 32` makes",
                 path, wrong, SECRET_FILE_MIN, SECRET_FILE_MAX);
    } else {
        digest_sha256((struct str){bytes, (size_t)n}, ret_secret);
        remark(fd, path, why);
    }
    explicit_bzero(bytes, sizeof bytes);
    if (fd >= 0)
        close(fd);
    return !wrong;
}

// rota backup: a copy of a running server's database, in a file.
//
// The copy is written to FILE.tmp, synced, and only then given its name, so that FILE is at any time either the old backup or a
// whole new one. What is not whole (the server went away, the disk is full, Ctrl-C) is removed. The server makes the copy
// consistent; that all of it came is checked here by what a SQLite file says of itself.
#include "base/text/json.h"
#include "cli/server/failure.h"
#include "cli/server/print.h"
#include "cli/show/terminal.h"
#include "cli/show/text.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_SIZE = 100, IDLE_S = 120, PROGRESS_STEP = 4 << 20 };

struct backup {
    const char *file;
    struct buf tmp; // its name, with a NUL behind it
    int fd;
    int64_t size, told;
    int failed; // errno of a write that failed
    unsigned char header[HEADER_SIZE];
};

// Ctrl-C leaves no half file. The handler needs the name, and a handler has no arguments.
static char unfinished[4096];

static void end_by_signal(int number)
{
    unlink(unfinished);
    signal(number, SIG_DFL);
    raise(number);
}

static void guard(const char *path)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    snprintf(unfinished, sizeof unfinished, "%s", path);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], *path ? end_by_signal : SIG_DFL);
}

static int say_failed(const struct backup *backup, const char *what, int number)
{
    terminal_talk("rota backup: %s cannot be %s: %s\n", backup->file, what, strerror(number));
    return CLI_UNWRITTEN;
}

// Two backups into one file at the same time would be mixed. The lock keeps the second out; it ends with the process.
static int open_tmp(struct backup *backup)
{
    backup->fd = open(backup->tmp.p, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (backup->fd < 0)
        return say_failed(backup, "written", errno);
    if (flock(backup->fd, LOCK_EX | LOCK_NB) < 0) {
        terminal_talk("rota backup: another backup is writing %s\n", backup->tmp.p);
        return CLI_UNWRITTEN;
    }
    guard(backup->tmp.p);
    return ftruncate(backup->fd, 0) < 0 ? say_failed(backup, "written", errno) : CLI_OK;
}

static void keep_header(struct backup *backup, struct str bytes)
{
    if (backup->size >= HEADER_SIZE)
        return;
    size_t room = HEADER_SIZE - (size_t)backup->size;
    memcpy(backup->header + backup->size, bytes.p, bytes.n < room ? bytes.n : room);
}

static void tell(struct backup *backup)
{
    char line[64];
    if (backup->size - backup->told < PROGRESS_STEP)
        return;
    backup->told = backup->size;
    snprintf(line, sizeof line, "%lld MiB", (long long)(backup->size >> 20));
    terminal_progress(str_of(line));
}

static bool take(void *ctx, struct str bytes)
{
    struct backup *backup = ctx;
    keep_header(backup, bytes);
    if (!terminal_write_all(backup->fd, bytes)) {
        backup->failed = errno;
        return false;
    }
    backup->size += (int64_t)bytes.n;
    tell(backup);
    return true;
}

static int64_t big_endian(const unsigned char *at, int bytes)
{
    int64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

// The file's own header: what it is, the size of a page, and how many there are (https://www.sqlite.org/fileformat.html). The
// count is to be believed when it was written with the last change.
static bool is_whole(const struct backup *backup)
{
    const unsigned char *header = backup->header;
    if (backup->size < HEADER_SIZE || memcmp(header, "SQLite format 3", 16) != 0)
        return false;
    int64_t page = big_endian(header + 16, 2), pages = big_endian(header + 28, 4);
    page = page == 1 ? 65536 : page;
    bool counted = memcmp(header + 24, header + 92, 4) == 0;
    return page >= 512 && backup->size % page == 0 && (!counted || backup->size == page * pages);
}

// The name is durable when its directory is.
static bool sync_directory(const char *file)
{
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", file);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return synced;
}

static int finish(struct backup *backup)
{
    if (!is_whole(backup)) {
        terminal_talk("rota backup: what came is not a whole database (%lld bytes), so it was not kept\n",
                      (long long)backup->size);
        return CLI_UNREACHED;
    }
    if (fsync(backup->fd) < 0 || rename(backup->tmp.p, backup->file) < 0)
        return say_failed(backup, "written", errno);
    guard(""); // from here on the file is whole, and Ctrl-C must not take it
    return sync_directory(backup->file) ? CLI_OK : say_failed(backup, "synced", errno);
}

static int copy(struct caller *caller, struct backup *backup)
{
    struct reply reply;
    struct stream stream = {
        .path = "/v1/backup", .type = "application/octet-stream", .idle_s = IDLE_S, .take = take, .ctx = backup};
    call_stream(caller, &stream, &reply);
    terminal_progress((struct str){0});
    int code = reply.code;
    if (backup->failed) {
        code = say_failed(backup, "written", backup->failed);
    } else if (code == CLI_UNREACHED && stream.began) {
        terminal_talk("rota backup: the copy broke off after %lld bytes and was not kept: %s\n", (long long)backup->size,
                      reply.why);
    } else if (code != CLI_OK) {
        failure_tell(caller, &reply);
    } else {
        code = finish(backup);
    }
    reply_done(&reply);
    return code;
}

static int print_done(const struct cli *cli, const struct backup *backup)
{
    buf_auto struct buf out = {0};
    if (cli->output == OUTPUT_TEXT) {
        text_put_safe(&out, str_of(backup->file), false);
        buf_printf(&out, "  %lld bytes\n", (long long)backup->size);
        return terminal_write(buf_str(&out));
    }
    buf_puts(&out, "{\"file\":");
    json_put_string(&out, str_of(backup->file));
    buf_printf(&out, ",\"bytes\":%lld}", (long long)backup->size);
    return print_json(cli, buf_str(&out));
}

// A database that is in use has its log beside it. Over it no copy may be put: neither would fit the other.
static int check_file(const struct cli *cli, const char *file)
{
    static const char *const logs[] = {"-wal", "-journal"};
    struct stat info;
    if (str_is(str_of(file), "-") || strlen(file) > sizeof unfinished - 16)
        return verb_misused(cli, "FILE must be the name of a file");
    if (stat(file, &info) == 0 && !S_ISREG(info.st_mode))
        return verb_misused(cli, "%s is not a file", file);
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        char log[sizeof unfinished];
        snprintf(log, sizeof log, "%s%s", file, logs[i]);
        if (access(log, F_OK) == 0)
            return verb_misused(cli, "%s belongs to a database that is in use (there is %s): choose another file", file, log);
    }
    return CLI_OK;
}

static int run_backup(struct cli *cli)
{
    struct caller caller = {0};
    struct backup backup = {.file = cli->options.args[0], .fd = -1};
    int code = check_file(cli, backup.file);
    code = code ? code : call_open(&caller, cli);
    if (code)
        return code;
    buf_printf(&backup.tmp, "%s.tmp", backup.file);
    buf_putc(&backup.tmp, 0);
    code = open_tmp(&backup);
    code = code ? code : copy(&caller, &backup);
    if (*unfinished)
        unlink(unfinished);
    guard("");
    if (backup.fd >= 0)
        close(backup.fd);
    buf_done(&backup.tmp);
    call_close(&caller);
    return code ? code : print_done(cli, &backup);
}

const struct verb verb_backup = {
    .name = "backup",
    .args = "FILE",
    .args_min = 1,
    .args_max = 1,
    .output = true,
    .server = true,
    .help = "Copy a running server's SQLite database into a file",
    .about =
        "The server goes on meanwhile. The copy is complete when the command ends with 0; until then FILE, if there was one, is "
        "what it was. To restore it, stop the server and put the copy as rota.db into its data directory. Do "
        "not serve it beside the original: what is planned in both would run in both. A server on PostgreSQL is "
        "copied with pg_dump.",
    .example = "rota backup /var/backups/rota.db",
    .run = run_backup};

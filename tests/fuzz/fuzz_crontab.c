// cli/crontab: whatever a crontab has in it, each of its entries is taken or left out, and what is written is plain text that
// `rota apply` reads as a file of as many tasks as were taken.
#include "base/text/utf8.h"
#include "cli/apply_file.h"
#include "cli/crontab/crontab.h"
#include "cli/crontab/import.h"
#include "fuzz.h"

// How many entries there are, right or wrong; one with bytes that are no text may also be a setting, so it is counted apart.
static size_t count_entries(struct str text, size_t *ret_settings)
{
    struct arena arena;
    struct crontab_line line;
    size_t number = 0, count = 0;
    arena_init(&arena);
    *ret_settings = 0;
    while (crontab_next(&text, &number, &arena, &line)) {
        must(!line.text.n || !memchr(line.text.p, '\n', line.text.n));
        must(line.kind != CRONTAB_WRONG || line.why);
        must(line.kind != CRONTAB_ENTRY || (line.pattern.n && line.command.n <= line.text.n));
        must(!line.has_input || (line.input.n && line.input.p[line.input.n - 1] == '\n'));
        count += line.kind == CRONTAB_ENTRY || line.kind == CRONTAB_WRONG;
        *ret_settings += line.kind == CRONTAB_SETTING;
    }
    arena_done(&arena);
    return count;
}

static void check_text(struct str text)
{
    const char *end = text.p + text.n;
    int length;
    for (const char *at = text.p; at < end; at += length) {
        length = utf8_length(at, end);
        must(length > 0);
        must(*at == '\n' || *at == '\t' || !utf8_is_control(utf8_rune(at, length)));
    }
}

static size_t count_tasks(struct str file)
{
    struct apply_file files;
    buf_auto struct buf problems = {0};
    apply_file_init(&files);
    must(apply_file_add(&files, "tasks.toml", file, &problems));
    size_t count = files.count;
    apply_file_done(&files);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_input(data, size);
    struct import import;
    size_t settings, entries = count_entries(text, &settings);
    import_crontab(text, "crontab", NULL, &import);
    check_text(buf_str(&import.file));
    check_text(buf_str(&import.talk));
    must(import.taken == count_tasks(buf_str(&import.file)));
    must(import.taken + import.left_out >= entries && import.taken + import.left_out <= entries + settings);
    import_done(&import);
    return 0;
}

// rota apply: tasks become what files say. All files are read before the first call, so that a slip in one of them changes
// nothing.
//
// A task is found by its name. What apply makes has a label with the name of its set; --prune removes what has this label and is
// in no file, and nothing else.
#include "base/text/json.h"
#include "cli/apply_file.h"
#include "cli/server/failure.h"
#include "cli/server/pages.h"
#include "cli/server/print.h"
#include "cli/show/terminal.h"
#include "cli/show/text.h"
#include "cli/whole_file.h"

#include <errno.h>

enum { FILE_MAX = 16 << 20 };

enum change { CREATED, CHANGED, UNCHANGED, DELETED, CHANGES };

static const struct {
    char sign;
    const char *word;  // as the server says it, and -o json
    const char *after; // a number, in the summary
} changes[CHANGES] = {
    [CREATED] = {'+', "created", "created"},
    [CHANGED] = {'~', "changed", "changed"},
    [UNCHANGED] = {'=', "none", "as they were"},
    [DELETED] = {'-', "deleted", "deleted"},
};

struct applying {
    struct caller caller;
    struct apply_file files;
    struct str set;
    bool dry_run;
    size_t counts[CHANGES], refused, shown;
};

// A task of the set that may be removed.
struct candidate {
    struct str id, name;
};

// ---- the files

static bool read_file(struct applying *applying, const char *path, struct buf *problems)
{
    buf_auto struct buf text = {0};
    if (!whole_file_read(path, FILE_MAX, &text)) {
        buf_printf(problems, "%s: cannot be read: %s\n", path, strerror(errno));
        return false;
    }
    struct str kept = arena_copy(&applying->files.arena, buf_str(&text));
    return apply_file_add(&applying->files, str_is(str_of(path), "-") ? "stdin" : path, kept, problems);
}

static int read_files(struct applying *applying, const struct cli *cli)
{
    buf_auto struct buf problems = {0};
    bool good = true;
    for (size_t i = 0; i < cli->options.arg_count; i++)
        good = read_file(applying, cli->options.args[i], &problems) && good;
    if (!good) {
        terminal_talk(STR_FMT "rota apply: nothing was changed\n", STR_ARG(buf_str(&problems)));
        return CLI_USAGE;
    }
    if (!applying->files.count && options_get(&cli->options, "prune"))
        return verb_misused(
            cli, "there is no task in what is given, so --prune would remove the whole set; rota delete --label " APPLY_FILE_LABEL
                 "=NAME does that");
    return CLI_OK;
}

// ---- what is said

static int show_change(struct applying *applying, enum change change, struct str name)
{
    const struct cli *cli = applying->caller.cli;
    buf_auto struct buf out = {0}, json = {0};
    applying->counts[change]++;
    if (cli->output == OUTPUT_TEXT) {
        buf_printf(&out, "%c ", changes[change].sign);
        text_put_safe(&out, name, false);
        buf_putc(&out, '\n');
    } else {
        buf_printf(&json, "{\"change\":\"%s\",\"name\":", changes[change].word);
        json_put_string(&json, name);
        buf_putc(&json, '}');
        print_put_item(&out, cli, !applying->shown, buf_str(&json));
    }
    applying->shown++;
    return terminal_write(buf_str(&out));
}

static void tell_refusal(struct applying *applying, const struct apply_task *task, struct str detail, struct str field)
{
    buf_auto struct buf line = {0};
    applying->refused++;
    apply_file_put_place(&line, task);
    buf_puts(&line, ": ");
    text_put_short(&line, detail, 400);
    if (field.n) {
        buf_puts(&line, " (");
        text_put_short(&line, field, 100);
        buf_putc(&line, ')');
    }
    terminal_talk(STR_FMT "\n", STR_ARG(buf_str(&line)));
}

// A document that is refused does not keep the others from being applied; anything else that fails would fail for them, too.
static int take_failure(struct applying *applying, const struct apply_task *task, const struct reply *reply)
{
    bool of_document = reply->status == 400 || reply->status == 409 || reply->status == 413 || reply->status == 422;
    if (!of_document)
        return failure_tell(&applying->caller, reply);
    tell_refusal(applying, task, value_text(value_at(reply->value, "detail")), value_text(value_at(reply->value, "field")));
    return CLI_OK;
}

static int tell_foreign(void)
{
    terminal_talk("rota apply: what answers there does not say what has become of a task; is the server older than this rota?\n");
    return CLI_UNREACHED;
}

// ---- one task

static void call_by_name(struct applying *applying, const char *method, struct str name, struct str body, struct reply *ret_reply)
{
    buf_auto struct buf path = {0};
    buf_puts(&path, "/v1/tasks/by-name/");
    call_put_escaped(&path, name);
    if (body.n && applying->dry_run)
        call_put_query(&path, STR("dry_run"), STR("1"));
    buf_putc(&path, 0);
    call(&applying->caller, method, path.p, body, ret_reply);
}

// The version that a task has now, and its set; 0: there is none of this name.
static int get_version(struct applying *applying, struct str name, int64_t *ret_version, struct str *ret_set)
{
    struct reply reply;
    call_by_name(applying, "GET", name, (struct str){0}, &reply);
    *ret_version = value_int(value_at(reply.value, "version"), 0);
    *ret_set = arena_copy(&applying->files.arena, value_text(value_member(value_at(reply.value, "labels"), APPLY_FILE_LABEL)));
    int code = reply.status == 404 ? CLI_OK : failure_tell(&applying->caller, &reply);
    reply_done(&reply);
    return code;
}

// What the answer to a PUT says has become of the task; CHANGES: it does not say.
static enum change find_change(const struct applying *applying, const struct reply *reply, int64_t version)
{
    if (!applying->dry_run) {
        int64_t now = value_int(value_at(reply->value, "version"), 0);
        return now < 1 ? CHANGES : reply->status == 201 ? CREATED : now == version ? UNCHANGED : CHANGED;
    }
    struct str word = value_text(value_at(reply->value, "changes"));
    enum change change = CREATED;
    while (change < DELETED && !str_is(word, changes[change].word))
        change++;
    return change < DELETED ? change : CHANGES;
}

// Two projects that share a server may have chosen the same name.
static void tell_move(const struct applying *applying, struct str name, struct str set)
{
    if (set.n && !str_eq(set, applying->set))
        terminal_talk(STR_FMT ": it %s in the set " STR_FMT ", and %s in " STR_FMT "\n", STR_ARG(name),
                      applying->dry_run ? "is" : "was", STR_ARG(set), applying->dry_run ? "would be" : "is now",
                      STR_ARG(applying->set));
}

static int put_task(struct applying *applying, const struct apply_task *task, struct str document)
{
    int64_t version;
    struct str set;
    struct reply reply;
    int code = get_version(applying, task->name, &version, &set);
    if (code)
        return code;
    call_by_name(applying, "PUT", task->name, document, &reply);
    if (reply.code == CLI_OK) {
        enum change change = find_change(applying, &reply, version);
        if (change == CHANGED)
            tell_move(applying, task->name, set);
        code = change == CHANGES ? tell_foreign() : show_change(applying, change, task->name);
    } else {
        code = take_failure(applying, task, &reply);
    }
    reply_done(&reply);
    return code;
}

static int apply_task(struct applying *applying, const struct apply_task *task)
{
    buf_auto struct buf document = {0};
    char why[ERR_WHY_MAX];
    if (apply_file_put_document(&document, task, applying->set, why))
        return put_task(applying, task, buf_str(&document));
    tell_refusal(applying, task, str_of(why), (struct str){0});
    return CLI_OK;
}

// ---- --prune

static void add_candidates(struct applying *applying, const struct value *items, struct candidate *candidates, size_t *count)
{
    struct arena *arena = &applying->files.arena;
    const struct value *item;
    for (size_t i = 0; i < PAGES_LIMIT_MAX && (item = value_item(items, i)); i++) {
        struct str id = value_text(value_at(item, "id")), name = value_text(value_at(item, "name"));
        if (id.n && name.n && !apply_file_find(&applying->files, name))
            candidates[(*count)++] = (struct candidate){arena_copy(arena, id), arena_copy(arena, name)};
    }
}

// A task that was submitted with such a name and label is not the one that the name stands for: it stays.
static int is_declared(struct applying *applying, const struct candidate *candidate, bool *ret_declared)
{
    struct reply reply;
    call_by_name(applying, "GET", candidate->name, (struct str){0}, &reply);
    *ret_declared = reply.code == CLI_OK && str_eq(value_text(value_at(reply.value, "id")), candidate->id);
    int code = reply.status == 404 ? CLI_OK : failure_tell(&applying->caller, &reply);
    reply_done(&reply);
    return code;
}

static int delete_task(struct applying *applying, const struct candidate *candidate)
{
    buf_auto struct buf path = {0};
    struct reply reply;
    bool declared;
    int code = is_declared(applying, candidate, &declared);
    if (code || !declared)
        return code;
    if (applying->dry_run)
        return show_change(applying, DELETED, candidate->name);
    if (!call_path(&path, candidate->id.p, ""))
        return tell_foreign();
    call(&applying->caller, "DELETE", path.p, (struct str){0}, &reply);
    code = reply.code == CLI_OK || reply.status == 404 ? show_change(applying, DELETED, candidate->name)
                                                       : failure_tell(&applying->caller, &reply);
    reply_done(&reply);
    return code;
}

// A page is looked through before anything of it is removed, and the next one follows its cursor.
static int prune(struct applying *applying)
{
    struct candidate *candidates = arena_array(&applying->files.arena, struct candidate, PAGES_LIMIT_MAX);
    buf_auto struct buf path = {0};
    buf_puts(&path, "/v1/tasks");
    call_put_query(&path, STR("label." APPLY_FILE_LABEL), applying->set);
    struct pages pages = {.caller = &applying->caller, .path = buf_str(&path)};
    int code;
    do {
        struct reply reply;
        const struct value *items;
        size_t count = 0;
        code = pages_next(&pages, PAGES_LIMIT_MAX, &reply, &items);
        if (!code)
            add_candidates(applying, items, candidates, &count);
        reply_done(&reply);
        for (size_t i = 0; !code && i < count; i++)
            code = delete_task(applying, &candidates[i]);
    } while (!code && pages.cursor.n);
    return code;
}

// ---- the whole

static void tell_summary(const struct applying *applying)
{
    buf_auto struct buf line = {0};
    for (size_t i = 0; i < CHANGES; i++)
        buf_printf(&line, "%zu %s, ", applying->counts[i], changes[i].after);
    terminal_talk(STR_FMT "%zu refused%s\n", STR_ARG(buf_str(&line)), applying->refused,
                  applying->dry_run ? " (it would be so: nothing was changed)" : "");
}

static int apply_all(struct applying *applying, const struct cli *cli)
{
    int code = read_files(applying, cli);
    if (code)
        return code;
    for (size_t i = 0; !code && i < applying->files.count; i++)
        code = apply_task(applying, &applying->files.tasks[i]);
    bool wants_prune = options_get(&cli->options, "prune");
    if (!code && wants_prune && applying->refused)
        terminal_talk("rota apply: nothing is pruned, because not all tasks were taken\n");
    else if (!code && wants_prune)
        code = prune(applying);
    int end = print_items_end(cli, !applying->shown);
    tell_summary(applying);
    code = code ? code : end;
    return code ? code : applying->refused ? CLI_REFUSED : CLI_OK;
}

static int run_apply(struct cli *cli)
{
    const char *set = options_get(&cli->options, "set");
    struct applying applying = {.set = str_of(set ? set : "default"), .dry_run = options_get(&cli->options, "dry-run")};
    if (!applying.set.n)
        return verb_misused(cli, "--set takes a name");
    apply_file_init(&applying.files);
    int code = call_open(&applying.caller, cli);
    if (!code)
        code = apply_all(&applying, cli);
    call_close(&applying.caller);
    apply_file_done(&applying.files);
    return code;
}

static const struct option options[] = {
    {"set", 0, "NAME", "what the tasks of these files are called together (default)"},
    {"prune", 0, NULL, "also remove what apply has made under this set and what is in no file"},
    {"dry-run", 0, NULL, "only show what would change"},
    {0},
};

const struct verb verb_apply = {
    .name = "apply",
    .args = "FILE...",
    .args_min = 1,
    .args_max = SIZE_MAX,
    .output = true,
    .server = true,
    .help = "Make tasks what files say",
    .about =
        "A file is TOML, with a [[task]] for each, or JSON, an array of tasks; - is stdin. Each task has a name, by which it is "
        "found: it is created (+), changed (~) or left as it is (=). With --prune, tasks that an earlier apply of the same set "
        "has made and that are in no file any more are removed (-). A task of another set becomes one of this set, and is named. "
        "A task that the server refuses is named with its place in "
        "the file, the others are applied all the same, and it exits with 3.",
    .example = "rota apply tasks.toml --set shop --prune --dry-run",
    .options = options,
    .run = run_apply};

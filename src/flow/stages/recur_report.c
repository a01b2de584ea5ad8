// See recur_report.h. A failing schedule is no warning of the node: it is its owner's to look after, who is told by the event.
#include "flow/stages/recur_report.h"

#include "base/log.h"
#include "core/id.h"

#include <stdio.h>

static void say(struct node *node, const struct store_task *task, struct event_item item, const char *words, int64_t now_ms)
{
    char id[ID_TEXT_SIZE];
    id_format(id, ID_TASK, task->id);
    log_warn("task %s: %s", id, words);
    item.tenant = task->tenant;
    item.at_ms = now_ms;
    item.task_id = task->id;
    item.queue = task->queue;
    item.name = task->name;
    item.reason = str_of(words);
    events_emit(node->events, &item);
}

static void warn_missing(struct node *node, const struct store_task *task, size_t missing, const char *words, int64_t now_ms)
{
    stats_count(&node->stats, STATS_MISSING, (int64_t)missing);
    warnings_add(node->warnings, WARNING_SCHEDULE_MISSING, task->id, now_ms, words);
    say(node, task, (struct event_item){.type = EVENT_SCHEDULE_MISSING}, words, now_ms);
}

void recur_report_missing(struct node *node, const struct store_task *task, size_t missing, int64_t now_ms)
{
    char words[ERR_WHY_MAX];
    snprintf(words, sizeof words, "%zu planned %s removed from the store by somebody else, and planned again", missing,
             missing == 1 ? "job was" : "jobs were");
    warn_missing(node, task, missing, words, now_ms);
}

void recur_report_gone(struct node *node, const struct store_task *task, int64_t job_id, int64_t now_ms)
{
    char words[ERR_WHY_MAX], id[ID_TEXT_SIZE];
    id_format(id, ID_JOB, job_id);
    snprintf(words, sizeof words, "job %s, which ran, was removed from the store by somebody else; others need not wait for it",
             id);
    warn_missing(node, task, 1, words, now_ms);
}

void recur_report_failing(struct node *node, const struct store_task *task, int64_t failures, int64_t pauses_after,
                          int64_t now_ms)
{
    char words[ERR_WHY_MAX];
    snprintf(words, sizeof words, "%lld %s of its schedule failed in a row, and it pauses itself after %lld", (long long)failures,
             failures == 1 ? "run" : "runs", (long long)pauses_after);
    say(node, task, (struct event_item){.type = EVENT_SCHEDULE_FAILING, .failures = failures, .pauses_after = pauses_after},
        words, now_ms);
}

struct str recur_skip_words(enum plan_reason reason)
{
    static const char *const texts[PLAN_REASON_COUNT] = {[PLAN_MISFIRE] = "skipped: its time was missed",
                                                         [PLAN_OVERLAP] = "skipped: another run of the task has not ended",
                                                         [PLAN_PAUSED] = "skipped: the task was paused",
                                                         [PLAN_EXCLUDED] = "skipped: the day is excluded",
                                                         [PLAN_WINDOW] =
                                                             "skipped: its time was missed by more than misfire_window"};
    return str_of(texts[reason]);
}

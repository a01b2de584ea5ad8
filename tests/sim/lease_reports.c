// What targets say later about attempts they answered with 202: too soon, in time, twice, too late, never, and with tokens of
// attempts that are over. A target that gets no answer, or is told to try again, does so.
#include "world.h"

#include <stdio.h>
#include <string.h>

enum { TRIES_MAX = 20, LEASE_MS = 30000 }; // the usual timeout of a task

struct report {
    struct event event;
    struct lease_report op;
    struct list link; // while a node has it
    struct sim_node *node;
    int64_t job_id, number;
    enum lease_report_kind kind;
    char ticket[ORDER_TICKET_SIZE];
    bool after_cancel; // the cancel of the job was confirmed before this was said
    int tries;
};

static struct list on_their_way = {&on_their_way, &on_their_way};
static size_t open_reports;

static void send(struct event *event);

static void end_report(struct report *report)
{
    open_reports--;
    mem_free(report);
}

static void again(struct report *report)
{
    if (++report->tries == TRIES_MAX)
        end_report(report);
    else
        world_at(report->event.world, report->event.world->now + between(report->event.world, 10, 3000), &report->event, send);
}

static void heard(struct lease_report *op)
{
    struct report *report = container_of(op, struct report, op);
    struct world *world = report->event.world;
    const struct shadow *shadow = shadow_of(world, report->job_id);
    list_remove(&report->link);
    if (err_info(op->err)->may_retry) {
        again(report);
        return;
    }
    bool taken = op->err == ERR_OK && report->kind == LEASE_COMPLETE;
    if (taken && shadow->job.state != JOB_SUCCESS)
        violate(world, 18, "job %lld was completed, and that was confirmed, and it is %s", (long long)report->job_id,
                job_state_text(shadow->job.state));
    // A failure that was said before may be said again, whatever became of the job since.
    if (op->err == ERR_OK && report->kind != LEASE_FAIL && report->after_cancel)
        violate(world, 5, "a report about job %lld was taken after its cancel was confirmed", (long long)report->job_id);
    if (taken && report->number + 2 < shadow->job.token)
        violate(world, 18, "a report with the token of an old attempt of job %lld was taken", (long long)report->job_id);
    if (op->err && op->err != ERR_LEASE_LOST && op->err != ERR_ILLEGAL_TRANSITION && op->err != ERR_NOT_FOUND)
        violate(world, 18, "a report about job %lld was refused: %s", (long long)report->job_id, err_info(op->err)->code);
    bool under_way = report->number == shadow->job.token - (shadow->job.lease_until != 0) && shadow->job.state == JOB_RESERVED;
    if (op->err && under_way && !shadow->removed)
        violate(world, 18, "a report about the attempt of job %lld that is under way was refused", (long long)report->job_id);
    end_report(report);
}

static void send(struct event *event)
{
    struct report *report = container_of(event, struct report, event);
    struct sim_node *node = any_node(event->world);
    struct shadow *shadow = shadow_of(event->world, report->job_id);
    if (!node) {
        again(report);
        return;
    }
    report->node = node;
    report->after_cancel = shadow->cancelled;
    report->op = (struct lease_report){.kind = report->kind,
                                       .job_id = report->job_id,
                                       .ticket = str_of(report->ticket),
                                       .result = report->kind == LEASE_COMPLETE ? STR("{\"rows\": 17}") : (struct str){0},
                                       .reason = report->kind == LEASE_FAIL ? STR("it went wrong") : (struct str){0},
                                       .done = heard};
    list_append(&on_their_way, &report->link);
    if (report->kind != LEASE_HEARTBEAT)
        check_report(event->world, report->job_id, report->number,
                     report->kind == LEASE_COMPLETE ? OUTCOME_SUCCESS : OUTCOME_FAILED);
    lease_reports_submit(node->flow->lease_reports, &report->op);
}

void reports_say(struct world *world, const struct exec_attempt *attempt, enum lease_report_kind what, int64_t at)
{
    struct report *report = mem_zero(sizeof *report);
    report->job_id = attempt->outcome->job.id;
    report->number = attempt->outcome->token;
    report->kind = what;
    memcpy(report->ticket, attempt->order->ticket, sizeof report->ticket);
    open_reports++;
    world_at(world, at, &report->event, send);
}

// What became of an attempt that is answered with 202 at `answer`.
void reports_plan(struct world *world, const struct exec_attempt *attempt, int64_t answer)
{
    enum lease_report_kind end = chance(world, 700) ? LEASE_COMPLETE : LEASE_FAIL;
    int64_t at = chance(world, 300) ? between(world, world->now, answer + 5) : answer + between(world, 0, LEASE_MS - 5000);
    if (chance(world, 200)) // it works longer than it has, and says so, or does not
        for (int64_t last = at + between(world, 20000, 90000); at < last; at += between(world, 5000, 25000))
            reports_say(world, attempt, LEASE_HEARTBEAT, at);
    if (chance(world, 150))
        return; // and then falls silent
    if (chance(world, 100))
        at += LEASE_MS;
    reports_say(world, attempt, end, at);
    if (chance(world, 300))
        reports_say(world, attempt, end, at + between(world, 0, 60000));
    if (chance(world, 100))
        reports_say(world, attempt, end == LEASE_FAIL ? LEASE_COMPLETE : LEASE_FAIL, at + between(world, 1, 60000));
}

// A dead node may have carried out a report or not, so it is made again. The one that it had lives on with its memory.
void reports_crash(struct world *world, struct sim_node *node)
{
    list_each (&on_their_way, link) {
        struct report *report = list_entry(link, struct report, link);
        if (report->node != node)
            continue;
        list_remove(link);
        struct report *copy = mem_zero(sizeof *copy);
        *copy = (struct report){.job_id = report->job_id, .number = report->number, .kind = report->kind, .tries = report->tries};
        memcpy(copy->ticket, report->ticket, sizeof copy->ticket);
        copy->event.world = world;
        keep(world, report);
        again(copy);
    }
}

bool reports_done(struct world *world)
{
    return open_reports == 0;
}

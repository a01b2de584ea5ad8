// What targets say later about attempts they answered with 202: too soon, in time, twice, too late, never, and with tokens of
// attempts that are over. A target that gets no answer, or is told to try again, does so.
#include "world.h"

#include <stdio.h>
#include <string.h>

enum { TRIES_MAX = 20, LEASE_MS = 30000 }; // the usual timeout of a task

struct word {
    struct event event;
    struct lease_report op;
    struct list link; // while a node has it
    struct sim_node *node;
    int64_t job_id, number;
    enum lease_report_kind word;
    char ticket[ORDER_TICKET_SIZE];
    bool after_cancel; // the cancel of the job was confirmed before this was said
    int tries;
};

static struct list on_their_way = {&on_their_way, &on_their_way};
static size_t open_words;

static void send(struct event *event);

static void end_word(struct word *word)
{
    open_words--;
    mem_free(word);
}

static void again(struct word *word)
{
    if (++word->tries == TRIES_MAX)
        end_word(word);
    else
        world_at(word->event.world, word->event.world->now + between(word->event.world, 10, 3000), &word->event, send);
}

static void heard(struct lease_report *op)
{
    struct word *word = container_of(op, struct word, op);
    struct world *world = word->event.world;
    const struct shadow *shadow = shadow_of(world, word->job_id);
    list_remove(&word->link);
    if (err_info(op->err)->may_retry) {
        again(word);
        return;
    }
    bool taken = op->err == ERR_OK && word->word == LEASE_COMPLETE;
    if (taken && shadow->job.state != JOB_SUCCESS)
        violate(world, 18, "job %lld was completed, and that was confirmed, and it is %s", (long long)word->job_id,
                job_state_text(shadow->job.state));
    // A failure that was said before may be said again, whatever became of the job since.
    if (op->err == ERR_OK && word->word != LEASE_FAIL && word->after_cancel)
        violate(world, 5, "a word about job %lld was taken after its cancel was confirmed", (long long)word->job_id);
    if (taken && word->number + 2 < shadow->job.token)
        violate(world, 18, "a word with the token of an old attempt of job %lld was taken", (long long)word->job_id);
    if (op->err && op->err != ERR_LEASE_LOST && op->err != ERR_ILLEGAL_TRANSITION && op->err != ERR_NOT_FOUND)
        violate(world, 18, "a word about job %lld was refused: %s", (long long)word->job_id, err_info(op->err)->code);
    bool under_way = word->number == shadow->job.token - (shadow->job.lease_until != 0) && shadow->job.state == JOB_RESERVED;
    if (op->err && under_way && !shadow->removed)
        violate(world, 18, "a word about the attempt of job %lld that is under way was refused", (long long)word->job_id);
    end_word(word);
}

static void send(struct event *event)
{
    struct word *word = container_of(event, struct word, event);
    struct sim_node *node = any_node(event->world);
    struct shadow *shadow = shadow_of(event->world, word->job_id);
    if (!node) {
        again(word);
        return;
    }
    word->node = node;
    word->after_cancel = shadow->cancelled;
    word->op = (struct lease_report){.word = word->word,
                                     .job_id = word->job_id,
                                     .ticket = str_of(word->ticket),
                                     .result = word->word == LEASE_COMPLETE ? STR("{\"rows\": 17}") : (struct str){0},
                                     .reason = word->word == LEASE_FAIL ? STR("it went wrong") : (struct str){0},
                                     .done = heard};
    list_append(&on_their_way, &word->link);
    if (word->word != LEASE_HEARTBEAT)
        check_word(event->world, word->job_id, word->number, word->word == LEASE_COMPLETE ? OUTCOME_SUCCESS : OUTCOME_FAILED);
    lease_reports_submit(node->flow->lease_reports, &word->op);
}

void words_say(struct world *world, const struct exec_attempt *attempt, enum lease_report_kind what, int64_t at)
{
    struct word *word = mem_zero(sizeof *word);
    word->job_id = attempt->outcome->job.id;
    word->number = attempt->outcome->token;
    word->word = what;
    memcpy(word->ticket, attempt->order->ticket, sizeof word->ticket);
    open_words++;
    world_at(world, at, &word->event, send);
}

// What became of an attempt that is answered with 202 at `answer`.
void words_plan(struct world *world, const struct exec_attempt *attempt, int64_t answer)
{
    enum lease_report_kind end = chance(world, 700) ? LEASE_COMPLETE : LEASE_FAIL;
    int64_t at = chance(world, 300) ? between(world, world->now, answer + 5) : answer + between(world, 0, LEASE_MS - 5000);
    if (chance(world, 200)) // it works longer than it has, and says so, or does not
        for (int64_t last = at + between(world, 20000, 90000); at < last; at += between(world, 5000, 25000))
            words_say(world, attempt, LEASE_HEARTBEAT, at);
    if (chance(world, 150))
        return; // and then falls silent
    if (chance(world, 100))
        at += LEASE_MS;
    words_say(world, attempt, end, at);
    if (chance(world, 300))
        words_say(world, attempt, end, at + between(world, 0, 60000));
    if (chance(world, 100))
        words_say(world, attempt, end == LEASE_FAIL ? LEASE_COMPLETE : LEASE_FAIL, at + between(world, 1, 60000));
}

// What a dead node was told it may have done or not: it is said again. The word that it had is among its own memory.
void words_crash(struct world *world, struct sim_node *node)
{
    list_each (&on_their_way, link) {
        struct word *word = list_entry(link, struct word, link);
        if (word->node != node)
            continue;
        list_remove(link);
        struct word *copy = mem_zero(sizeof *copy);
        *copy = (struct word){.job_id = word->job_id, .number = word->number, .word = word->word, .tries = word->tries};
        memcpy(copy->ticket, word->ticket, sizeof copy->ticket);
        copy->event.world = world;
        keep(world, word);
        again(copy);
    }
}

bool words_done(struct world *world)
{
    return open_words == 0;
}

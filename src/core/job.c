// The table and the steps. A step assigns a state by change_state() alone. Besides, a job gets its first state where it is made
// (flow/stages/admit, flow/commands), and DUE of a store makes jobs ready whose time has come.
//
// What it does not do: decide when something is due or who may take it (flow/stages/pull), or remember (store/).
#include "core/job.h"

#include "base/clock.h"
#include "core/id.h"

#include <assert.h>

static const struct {
    const char *text;
    bool final;
} states[JOB_STATE_COUNT] = {
#define X(name, text, final) [JOB_##name] = {text, final},
    JOB_STATES(X)
#undef X
};

static const struct {
    const char *text, *words;
} events[JOB_EVENT_COUNT] = {
#define X(name, text, words) [JOB_ON_##name] = {text, words},
    JOB_EVENTS(X)
#undef X
};

static const char *const outcomes[OUTCOME_COUNT] = {
#define X(name, text) [OUTCOME_##name] = text,
    JOB_OUTCOMES(X)
#undef X
};

static const char *const stages[STAGE_COUNT] = {NULL, "puller", "queue", "target"};

// Where a cell is empty (0) the event cannot happen; otherwise it holds the next state + 1. The final states have no row.
#define TO(name) (JOB_##name + 1)
static const uint8_t table[JOB_STATE_COUNT][JOB_EVENT_COUNT] = {
    [JOB_BLOCKED] = {[JOB_ON_UNBLOCK] = TO(DELAYED),
                     [JOB_ON_DUE] = TO(READY),
                     [JOB_ON_GIVE_UP] = TO(ABORTED),
                     [JOB_ON_CANCEL] = TO(CANCELLED)},
    [JOB_DELAYED] =
        {[JOB_ON_DUE] = TO(READY), [JOB_ON_CLAIM] = TO(WATCHING), [JOB_ON_CANCEL] = TO(CANCELLED), [JOB_ON_REPLAN] = TO(DELAYED)},
    [JOB_READY] = {[JOB_ON_CLAIM] = TO(WATCHING), [JOB_ON_CANCEL] = TO(CANCELLED), [JOB_ON_REPLAN] = TO(DELAYED)},
    [JOB_WATCHING] = {[JOB_ON_START] = TO(RESERVED),
                      [JOB_ON_RELEASE] = TO(READY),
                      [JOB_ON_POSTPONE] = TO(DELAYED),
                      [JOB_ON_BLOCK] = TO(BLOCKED),
                      [JOB_ON_LOSE] = TO(READY),
                      [JOB_ON_CANCEL] = TO(CANCELLED)},
    [JOB_RESERVED] = {[JOB_ON_SUCCEED] = TO(SUCCESS),
                      [JOB_ON_RETRY] = TO(DELAYED),
                      [JOB_ON_GIVE_UP] = TO(ABORTED),
                      [JOB_ON_INTERRUPT] = TO(READY),
                      [JOB_ON_DETACH] = TO(RESERVED),
                      [JOB_ON_EXTEND] = TO(RESERVED),
                      [JOB_ON_LOSE] = TO(READY),
                      [JOB_ON_BURY] = TO(BURIED),
                      [JOB_ON_CANCEL] = TO(CANCELLED)},
};

const char *job_state_text(enum job_state state)
{
    assert(state < JOB_STATE_COUNT);
    return states[state].text;
}

const char *job_event_text(enum job_event event)
{
    assert(event < JOB_EVENT_COUNT);
    return events[event].text;
}

const char *job_event_words(enum job_event event)
{
    assert(event < JOB_EVENT_COUNT);
    return events[event].words;
}

const char *job_outcome_text(enum job_outcome outcome)
{
    assert(outcome < OUTCOME_COUNT);
    return outcomes[outcome];
}

const char *job_trigger_text(enum job_trigger trigger)
{
    static const char *const texts[] = {
#define X(name, text) text,
        JOB_TRIGGERS(X)
#undef X
    };
    return texts[trigger];
}

enum job_trigger job_made_by(const struct job *job)
{
    return job->trigger == TRIGGER_SUBMIT && job->parent_id ? TRIGGER_RETRY : (enum job_trigger)job->trigger;
}

const char *job_stage_text(enum job_stage stage)
{
    assert(stage < STAGE_COUNT);
    return stages[stage];
}

bool job_state_final(enum job_state state)
{
    assert(state < JOB_STATE_COUNT);
    return states[state].final;
}

bool job_state_held(enum job_state state)
{
    return state == JOB_WATCHING || state == JOB_RESERVED;
}

bool job_state_waiting(enum job_state state)
{
    return state == JOB_DELAYED || state == JOB_READY;
}

bool job_planned(const struct job *job)
{
    return !job_state_final(job->state) && job->state != JOB_RESERVED;
}

bool job_is_ahead(const struct job *job)
{
    return job->trigger == TRIGGER_SCHEDULE && !job->attempts && job_planned(job);
}

bool job_in_hand(const struct job *job)
{
    return job_state_held(job->state) && !job->lease_until;
}

enum job_state job_next(enum job_state state, enum job_event event)
{
    assert(state < JOB_STATE_COUNT && event < JOB_EVENT_COUNT);
    return table[state][event] ? (enum job_state)(table[state][event] - 1) : JOB_STATE_COUNT;
}

// I2: the table, and nothing but the table.
static enum err change_state(struct job *job, enum job_event event)
{
    enum job_state next = job_next(job->state, event);
    if (next == JOB_STATE_COUNT)
        return ERR_ILLEGAL_TRANSITION;
    // I3: a job that leaves a holder's hand gets a new token. The start of an attempt leaves it with the same holder, the passing
    // of time with none, and a longer lease is the same lease.
    if (event != JOB_ON_START && event != JOB_ON_DUE && event != JOB_ON_EXTEND)
        job->token++;
    job->state = next;
    job->touched_at = 0;
    if (next != JOB_RESERVED) { // a lease, and what was said under it, ends with the attempt
        job->lease_until = 0;
        job->result = (struct str){0};
    }
    return ERR_OK;
}

// The latest attempt leaves the record, so that the next one can be written there.
static void clear_attempt(struct job *job)
{
    job->picked_at = job->started_at = job->completed_at = 0;
    job->status = 0;
    job->outcome = OUTCOME_NONE;
    job->response = (struct str){0};
    job->response_truncated = false;
}

struct attempt job_latest_attempt(const struct job *job)
{
    return (struct attempt){.job_id = job->id,
                            .number = job->attempts,
                            .status = job->status,
                            .outcome = job->outcome,
                            .picked_at = job->picked_at,
                            .started_at = job->started_at,
                            .completed_at = job->completed_at,
                            .holder = job->holder,
                            .reason = job->reason,
                            .response = job->response,
                            .response_truncated = job->response_truncated};
}

// The place of the first one of this job, or of a later one.
static size_t find_attempt(int64_t job_id, const struct attempt *attempts, size_t count)
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (attempts[middle].job_id < job_id)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

const struct attempt *job_attempts(int64_t job_id, const struct attempt *attempts, size_t *count)
{
    size_t from = find_attempt(job_id, attempts, *count), to = from;
    while (to < *count && attempts[to].job_id == job_id)
        to++;
    *count = to - from;
    return to > from ? attempts + from : NULL;
}

static struct job_step keep_attempt(const struct job *job)
{
    struct job_step step = {.kept = true, .attempt = job_latest_attempt(job)};
    if (job_state_final(job->state)) { // its answer stays in the record: nothing follows that would take its place
        step.attempt.response = (struct str){0};
        step.attempt.response_truncated = false;
    }
    return step;
}

static void end(struct job *job, const struct job_policy *policy, int64_t now_ms)
{
    job->completed_at = now_ms;
    job->purge_at = policy->ttl_ms < 0 ? 0 : now_ms + policy->ttl_ms;
}

enum err job_claim(struct job *job, int64_t holder, int64_t now_ms)
{
    enum err err = change_state(job, JOB_ON_CLAIM);
    if (err)
        return err;
    clear_attempt(job);
    job->reason = (struct str){0};
    job->holder = holder;
    job->picked_at = now_ms;
    return ERR_OK;
}

enum job_stage job_slowest_stage(const struct job *job)
{
    int64_t puller = job->picked_at - job->due_at;
    int64_t queue = job->started_at - (job->picked_at > job->due_at ? job->picked_at : job->due_at);
    int64_t host = job->due_at - job->ready_at;
    if (host >= puller && host >= queue)
        return STAGE_TARGET;
    return puller >= queue ? STAGE_PULLER : STAGE_QUEUE;
}

enum err job_start(struct job *job, const struct job_policy *policy, int64_t now_ms)
{
    enum err err = change_state(job, JOB_ON_START);
    if (err)
        return err;
    job->attempts++;
    job->started_at = now_ms;
    // I11
    if (job->late_stage == STAGE_NONE && now_ms - job->ready_at > policy->sla_ms)
        job->late_stage = job_slowest_stage(job);
    return ERR_OK;
}

static void take_result(struct job *job, const struct job_result *result)
{
    job->outcome = result->outcome;
    job->status = result->status;
    job->reason = result->reason;
    job->response = result->response;
    job->response_truncated = result->truncated;
    job->completed_at = result->completed_at;
    if (result->outcome == OUTCOME_SUCCESS)
        job->result = result->result;
}

enum err job_finish(struct job *job, const struct job_policy *policy, const struct job_result *result, uint64_t dice,
                    struct job_step *ret_step)
{
    *ret_step = (struct job_step){0};
    bool again = job->retries < policy->retry.max && !result->no_retry;
    enum job_event event = result->outcome == OUTCOME_SUCCESS ? JOB_ON_SUCCEED : again ? JOB_ON_RETRY : JOB_ON_GIVE_UP;
    enum err err = change_state(job, event);
    if (err)
        return err;
    take_result(job, result);
    if (event != JOB_ON_SUCCEED)
        *ret_step = keep_attempt(job);
    if (event != JOB_ON_RETRY) {
        end(job, policy, result->completed_at);
        return ERR_OK;
    }
    job->retries++;
    int64_t delay = retry_delay(&policy->retry, job->retries, result->retry_after_ms, dice);
    job->ready_at = job->due_at = result->completed_at + delay;
    job->touched_at = result->completed_at;
    clear_attempt(job);
    return ERR_OK;
}

enum err job_detach(struct job *job, const struct job_policy *policy, const struct job_result *answer)
{
    if (job->lease_until)
        return ERR_ILLEGAL_TRANSITION;
    enum err err = change_state(job, JOB_ON_DETACH);
    if (err)
        return err;
    job->status = answer->status;
    job->response = answer->response;
    job->response_truncated = answer->truncated;
    job->lease_until = job->started_at + policy->timeout_ms;
    job->touched_at = answer->completed_at;
    return ERR_OK;
}

enum err job_extend(struct job *job, const struct job_policy *policy, int64_t now_ms, struct str progress)
{
    enum err err = job->lease_until ? change_state(job, JOB_ON_EXTEND) : ERR_ILLEGAL_TRANSITION;
    if (err)
        return err;
    job->lease_until = now_ms + policy->timeout_ms;
    job->touched_at = now_ms;
    if (progress.p)
        job->result = progress;
    return ERR_OK;
}

enum err job_expire_lease(struct job *job, const struct job_policy *policy, int64_t now_ms, uint64_t dice,
                          struct job_step *ret_step)
{
    *ret_step = (struct job_step){0};
    if (!job->lease_until || job->lease_until > now_ms)
        return ERR_ILLEGAL_TRANSITION;
    struct job_result silence = {.outcome = OUTCOME_TIMEOUT,
                                 .status = job->status,
                                 .completed_at = now_ms,
                                 .reason = STR("its lease ran out: nobody said in time that it goes on, or how it ended"),
                                 .response = job->response,
                                 .truncated = job->response_truncated};
    return job_finish(job, policy, &silence, dice, ret_step);
}

// A claim raises the token to the number of its attempt, a detach once more, and so does the end. So a record in nobody's hand
// that is one or two further has seen the end of that attempt and no claim since.
enum job_standing job_standing(const struct job *job, int64_t number)
{
    int64_t current = job->token - (job->lease_until != 0);
    bool held = job_state_held(job->state);
    if (held && number == current)
        return job->state == JOB_RESERVED ? JOB_UNDER_WAY : JOB_NOT_YET;
    if (number > current || (number == current && !job_state_final(job->state)))
        return JOB_NOT_YET;
    return !held && job->token - number <= 2 ? JOB_ENDED : JOB_OUTDATED;
}

enum err job_release(struct job *job, int64_t due_at, int64_t now_ms)
{
    if (due_at < job->ready_at)
        due_at = job->ready_at;
    enum job_event event = due_at > now_ms ? JOB_ON_POSTPONE : JOB_ON_RELEASE;
    enum err err = change_state(job, event);
    if (err)
        return err;
    // A job that was due stays due since then: moving its time to now would blame its host for the time it lay here.
    if (event == JOB_ON_POSTPONE || due_at < job->due_at) {
        job->touched_at = due_at != job->due_at ? now_ms : 0;
        job->due_at = due_at;
    }
    clear_attempt(job);
    return ERR_OK;
}

enum err job_block(struct job *job, int64_t now_ms)
{
    enum err err = change_state(job, JOB_ON_BLOCK);
    if (err)
        return err;
    clear_attempt(job);
    job->touched_at = now_ms;
    return ERR_OK;
}

// What it waited for counts as its plan, not as somebody's delay.
enum err job_unblock(struct job *job, int64_t now_ms)
{
    enum err err = change_state(job, JOB_ON_UNBLOCK);
    if (err)
        return err;
    job->ready_at = job->due_at = time_max(job->ready_at, now_ms);
    if (job->due_at <= now_ms)
        err = change_state(job, JOB_ON_DUE);
    job->touched_at = now_ms;
    return err;
}

enum err job_interrupt(struct job *job, int64_t now_ms, struct job_step *ret_step)
{
    *ret_step = (struct job_step){0};
    enum err err = change_state(job, JOB_ON_INTERRUPT);
    if (err)
        return err;
    job->outcome = OUTCOME_RELEASED;
    job->reason = STR("the server was stopped");
    job->completed_at = now_ms;
    *ret_step = keep_attempt(job);
    job->ready_at = job->due_at = job->touched_at = now_ms;
    clear_attempt(job);
    return ERR_OK;
}

// I6: a job that was only watched may have been started by the dead holder, which writes `reserved` late: if its time had
// come, the record says so. It stays free, because it did not count as begun.
static enum err lose_watched(struct job *job, int64_t now_ms, struct job_step *ret_step)
{
    bool may_have_begun = job->due_at <= now_ms;
    enum err err = change_state(job, job->due_at > now_ms ? JOB_ON_POSTPONE : JOB_ON_LOSE);
    if (err)
        return err;
    if (may_have_begun) {
        job->attempts++;
        job->outcome = OUTCOME_LOST;
        job->completed_at = now_ms;
        job->reason = STR("its holder died; it may have begun");
        job->touched_at = now_ms;
        *ret_step = keep_attempt(job);
    }
    clear_attempt(job);
    return ERR_OK;
}

enum err job_lose(struct job *job, const struct job_policy *policy, int64_t now_ms, struct job_step *ret_step)
{
    *ret_step = (struct job_step){0};
    if (job->state == JOB_WATCHING)
        return lose_watched(job, now_ms, ret_step);
    bool bury = policy->bury_lost || job->losses + 1 >= policy->lost_max;
    enum err err = change_state(job, bury ? JOB_ON_BURY : JOB_ON_LOSE);
    if (err)
        return err;
    job->losses++;
    job->outcome = OUTCOME_LOST;
    job->completed_at = now_ms;
    job->reason = STR("its holder died");
    *ret_step = keep_attempt(job);
    if (bury) {
        end(job, policy, now_ms);
        return ERR_OK;
    }
    job->ready_at = job->due_at = job->touched_at = now_ms;
    clear_attempt(job);
    return ERR_OK;
}

enum err job_cancel(struct job *job, const struct job_policy *policy, int64_t now_ms, struct str reason,
                    struct job_step *ret_step)
{
    *ret_step = (struct job_step){0};
    bool begun = job->state == JOB_RESERVED;
    enum err err = change_state(job, JOB_ON_CANCEL);
    if (err)
        return err;
    job->reason = reason;
    if (begun) {
        job->outcome = OUTCOME_CANCELLED;
        job->completed_at = now_ms;
        *ret_step = keep_attempt(job);
    }
    end(job, policy, now_ms);
    return ERR_OK;
}

enum err job_cancel_elsewhere(struct job *job, const struct job_policy *policy, int64_t now_ms, struct str reason,
                              struct job_step *ret_step)
{
    // Even if its time is not quite there: it may come between this decision and its being written.
    bool may_have_begun = job->state == JOB_WATCHING;
    enum err err = job_cancel(job, policy, now_ms, reason, ret_step);
    if (err || !may_have_begun)
        return err;
    job->attempts++;
    job->outcome = OUTCOME_CANCELLED;
    *ret_step = keep_attempt(job);
    ret_step->attempt.reason = STR("cancelled while another process held it; it may have begun");
    return ERR_OK;
}

static enum err wait_until(struct job *job, int64_t due_at, int64_t now_ms)
{
    enum err err = change_state(job, JOB_ON_REPLAN);
    job->due_at = err ? job->due_at : due_at;
    if (!err && due_at <= now_ms)
        err = change_state(job, JOB_ON_DUE);
    job->touched_at = err ? job->touched_at : now_ms;
    return err;
}

// A new plan, which raises the token: whoever decided on the job as it was planned before, a change of its task or a pause, has
// to decide anew and does not put it off again.
enum err job_run_now(struct job *job, int64_t now_ms)
{
    if (job->state == JOB_BLOCKED || job_state_final(job->state))
        return ERR_ILLEGAL_TRANSITION;
    if (job->state == JOB_READY || job->due_at <= now_ms)
        return ERR_OK;
    enum err err = wait_until(job, now_ms, now_ms);
    if (!err)
        job->scheduled_at = job->ready_at = now_ms;
    return err;
}

enum err job_replan(struct job *job, int64_t scheduled_at, int64_t now_ms)
{
    if (scheduled_at == job->scheduled_at) // what put it off beyond that may be over
        return wait_until(job, job->ready_at, now_ms);
    enum err err = wait_until(job, scheduled_at, now_ms);
    if (!err)
        job->scheduled_at = job->ready_at = scheduled_at;
    return err;
}

enum err job_resume(struct job *job, int64_t now_ms)
{
    int64_t ready_at = job->ready_at > now_ms ? job->ready_at : now_ms;
    enum err err = wait_until(job, ready_at, now_ms);
    if (!err)
        job->ready_at = ready_at;
    return err;
}

int64_t job_paused_until(const struct job *job, int64_t now_ms)
{
    enum { LEAST_MS = 5000, MOST_MS = 3600000 };
    int64_t waited = now_ms - job->ready_at;
    return now_ms + (waited < LEAST_MS ? LEAST_MS : waited > MOST_MS ? MOST_MS : waited);
}

enum job_wait job_wait(const struct job *job, bool queue_paused, int64_t now_ms)
{
    if (job->expires_at && job->expires_at <= now_ms)
        return WAIT_EXPIRED;
    if (job->due_at > now_ms)
        return WAIT_TIME;
    return queue_paused ? WAIT_QUEUE : WAIT_NOTHING;
}

// A clock that was set back in between makes a difference negative, which would read as "not known".
static int64_t not_negative(int64_t ms)
{
    return time_max(ms, 0);
}

struct job_delays job_delays(const struct job *job)
{
    struct job_delays delays = {-1, -1, -1};
    if (!job->picked_at)
        return delays;
    int64_t picked = time_max(job->picked_at, job->due_at);
    delays.puller = picked - job->due_at;
    if (job->started_at)
        delays.queue = not_negative(job->started_at - picked);
    if (job->started_at && job->completed_at)
        delays.target = not_negative(job->completed_at - job->started_at) + not_negative(job->due_at - job->ready_at);
    return delays;
}

int64_t job_updated_at(const struct job *job)
{
    if (job_state_final(job->state))
        return job->completed_at;
    return time_max(time_max(id_time(job->id), job->touched_at), time_max(job->picked_at, job->started_at));
}

int64_t job_last_start(const struct job *job, const struct attempt *attempts, size_t count)
{
    int64_t started_at = job->started_at;
    for (size_t i = count; i > 0 && !started_at; i--)
        started_at = attempts[i - 1].started_at;
    return started_at;
}

int64_t job_late_by(const struct job *job, const struct attempt *attempts, size_t count)
{
    int64_t started_at = job_last_start(job, attempts, count);
    return started_at ? not_negative(started_at - job->scheduled_at) : -1;
}

enum job_sla job_sla(const struct job *job, const struct attempt *attempts, size_t count)
{
    if (job->late_stage != STAGE_NONE)
        return JOB_SLA_MISSED;
    return job_last_start(job, attempts, count) ? JOB_SLA_MET : JOB_SLA_OPEN;
}

enum job_state job_state_at(const struct job *job, int64_t now_ms)
{
    return job->state == JOB_DELAYED && job->due_at <= now_ms ? JOB_READY : (enum job_state)job->state;
}

// A job: one run of a task. Its record, its states, and the one table that says what may follow what.
// Layer: core, pure: no I/O, clock, thread or heap. Stages decide with these functions; stores only remember the record.
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "core/retry.h"

#include <stdbool.h>
#include <stdint.h>

// name, text, is it final
#define JOB_STATES(X)              \
    X(BLOCKED, "blocked", false)   \
    X(DELAYED, "delayed", false)   \
    X(READY, "ready", false)       \
    X(WATCHING, "watching", false) \
    X(RESERVED, "reserved", false) \
    X(SUCCESS, "success", true)    \
    X(ABORTED, "aborted", true)    \
    X(BURIED, "buried", true)      \
    X(CANCELLED, "cancelled", true)

enum job_state {
#define X(name, text, final) JOB_##name,
    JOB_STATES(X)
#undef X
        JOB_STATE_COUNT
};

// What can happen to a job: name, text, what it means. docs/states.md is made from this and the table in job.c.
#define JOB_EVENTS(X)                                                                 \
    X(UNBLOCK, "unblock", "what it waited for is done, its time is in the future")    \
    X(DUE, "due", "its time has come, and it waits for nothing else")                 \
    X(CLAIM, "claim", "an incarnation takes it in hand")                              \
    X(RELEASE, "release", "given back before it began, to be taken again at once")    \
    X(POSTPONE, "postpone", "given back before it began, to be taken again later")    \
    X(BLOCK, "block", "given back before it began, until another of its task ended")  \
    X(START, "start", "an attempt begins")                                            \
    X(SUCCEED, "succeed", "the attempt succeeded")                                    \
    X(RETRY, "retry", "the attempt failed, another is left")                          \
    X(GIVE_UP, "give_up", "the attempt failed, none is left; or a dependency failed") \
    X(INTERRUPT, "interrupt", "the holder gives the attempt up because it stops")     \
    X(DETACH, "detach", "who runs the attempt says later how it ended, by its lease") \
    X(EXTEND, "extend", "its lease is made longer")                                   \
    X(LOSE, "lose", "the holder died")                                                \
    X(BURY, "bury", "the holder died once too often")                                 \
    X(CANCEL, "cancel", "by hand, by expiry, by a dependency")                        \
    X(REPLAN, "replan", "its task was changed or is not paused any more, or it is run now by hand")

enum job_event {
#define X(name, text, words) JOB_ON_##name,
    JOB_EVENTS(X)
#undef X
        JOB_EVENT_COUNT
};

// How an attempt ended. OUTCOME_NONE: it has not.
#define JOB_OUTCOMES(X)               \
    X(NONE, "none")                   \
    X(SUCCESS, "success")             \
    X(FAILED, "failed")               \
    X(TIMEOUT, "timeout")             \
    X(LOST, "lost")                   \
    X(REFUSED, "refused")             \
    X(DNS_ERROR, "dns_error")         \
    X(CONNECT_ERROR, "connect_error") \
    X(TLS_ERROR, "tls_error")         \
    X(BAD_RESPONSE, "bad_response")   \
    X(EGRESS_DENIED, "egress_denied") \
    X(RELEASED, "released")           \
    X(CANCELLED, "cancelled")

enum job_outcome {
#define X(name, text) OUTCOME_##name,
    JOB_OUTCOMES(X)
#undef X
        OUTCOME_COUNT
};

// What made a job. Stores keep these numbers.
#define JOB_TRIGGERS(X)     \
    X(SUBMIT, "submit")     \
    X(SCHEDULE, "schedule") \
    X(RUN, "run")           \
    X(RETRY, "retry")       \
    X(BACKFILL, "backfill")

enum job_trigger {
#define X(name, text) TRIGGER_##name,
    JOB_TRIGGERS(X)
#undef X
        TRIGGER_COUNT
};

enum job_stage { STAGE_NONE, STAGE_PULLER, STAGE_QUEUE, STAGE_TARGET, STAGE_COUNT };

enum { JOB_REASON_MAX = 256, JOB_LOST_MAX = 3, JOB_PRIORITIES = 10, JOB_RESULT_MAX = 1024 * 1024, JOB_PROGRESS_MAX = 4096 };

// The record of a job. Times are wall-clock milliseconds, 0 where there is none. picked_at … outcome are of the latest attempt;
// earlier ones that did not succeed are attempt records of their own.
struct job {
    int64_t id, task_id;
    int64_t parent_id; // the job this one repeats by hand, or 0
    int64_t lane;      // which lane it waits in: given by the store
    int32_t tenant;
    uint8_t state; // enum job_state
    uint8_t priority;
    uint8_t trigger;      // enum job_trigger: what made it
    int64_t scheduled_at; // planned; does not change but by hand
    int64_t ready_at;     // what the SLA counts from: the later of planned, unblocked, retry time
    int64_t due_at;       // when it may start; later than ready_at only while its host is full or away
    int64_t nominal_at;   // the instant of the schedule that made it
    int64_t expires_at;   // not started by then: cancelled
    int64_t holder;       // the incarnation that has (or last had) it in hand
    int64_t token;        // grows with every change of holder; a write with another token is refused
    int64_t picked_at, started_at, completed_at;
    int32_t attempts;   // begun so far: the number of the latest
    int32_t retries;    // of them, tries after a failure
    int32_t losses;     // of them, those whose holder died
    int32_t status;     // HTTP code of the latest attempt, 0: none
    uint8_t outcome;    // enum job_outcome of the latest attempt
    uint8_t late_stage; // enum job_stage: STAGE_NONE while every attempt started within the SLA
    bool response_truncated;
    bool result_left_out; // of a record that was read: there is a result, and it was too large to come along
    int64_t lease_until;  // reserved, in nobody's hand: until when the target may report how the attempt ended; 0: no lease
    int64_t purge_at;     // when retention removes it; 0: not final, or kept
    int64_t touched_at;   // when a step changed it that leaves no other time behind; of a step: 0 when it leaves one
    struct str reason;    // why the latest attempt, or the job, ended as it did
    struct str response;  // first bytes of the target's answer
    struct str result;    // JSON as it was given: of a success what came out of it, under a lease how far it has come
};

// One attempt that did not succeed, kept for the record.
struct attempt {
    int64_t job_id;
    int32_t number;
    int32_t status;
    uint8_t outcome;
    int64_t picked_at, started_at, completed_at;
    int64_t holder;
    struct str reason;
    struct str
        response; // first bytes of the target's answer; the last attempt of a job that has ended has it in the job's record
    bool response_truncated;
};

struct attempt job_latest_attempt(const struct job *job); // as the record has it

// Of attempts of several jobs, which are sorted by job, those of one: how many is written to `count`. NULL: there is none.
const struct attempt *job_attempts(int64_t job_id, const struct attempt *attempts, size_t *count);

const char *job_state_text(enum job_state state);
const char *job_event_text(enum job_event event);
const char *job_event_words(enum job_event event);
const char *job_outcome_text(enum job_outcome outcome);
const char *job_trigger_text(enum job_trigger trigger);
enum job_trigger job_made_by(const struct job *job); // also of one that a release before this made
const char *job_stage_text(enum job_stage stage);    // NULL for STAGE_NONE
bool job_state_final(enum job_state state);
bool job_state_held(enum job_state state);    // watching or reserved: somebody has it in hand
bool job_state_waiting(enum job_state state); // delayed or ready: in its lane, to be claimed
bool job_planned(const struct job *job);      // no attempt of it is under way, and it has not ended
bool job_is_ahead(const struct job *job);     // its schedule has planned it, and nothing of it has begun
bool job_in_hand(const struct job *job);      // held, and not by a lease: its holder has it

// The table: what follows, or JOB_STATE_COUNT when `event` cannot happen in `state`.
enum job_state job_next(enum job_state state, enum job_event event);

// Each step below asks the table, changes the record and says ERR_ILLEGAL_TRANSITION, changing nothing, when the
// table has no such step. A step that ends somebody's right to the job raises the token.

// What a step may leave behind for the record.
struct job_step {
    bool kept; // `attempt` is to be kept
    struct attempt attempt;
};

// The policy a step needs to know of its task.
struct job_policy {
    struct retry_policy retry;
    int64_t timeout_ms; // of an attempt; a lease is as long
    int64_t sla_ms;
    int64_t ttl_ms; // after its end; -1: kept for ever
    int32_t lost_max;
    bool bury_lost; // on_lost: bury
};

// How an attempt ended, as the executor says.
struct job_result {
    enum job_outcome outcome;
    int32_t status;
    int64_t retry_after_ms; // what the target asked for; 0: nothing
    int64_t completed_at;
    struct str reason, response;
    struct str result; // of a success, as JSON
    bool truncated;
    bool later; // it has not ended: the target will say so by its lease; outcome and reason say nothing, and the answer came at
                // completed_at
    bool no_retry; // another try would be in vain
};

err_check enum err job_claim(struct job *job, int64_t holder, int64_t now_ms);
err_check enum err job_start(struct job *job, const struct job_policy *policy, int64_t now_ms);

// The end of an attempt: success, another try, or none left. `dice` is a random number for the jitter.
err_check enum err job_finish(struct job *job, const struct job_policy *policy, const struct job_result *result, uint64_t dice,
                              struct job_step *ret_step);

// The target answered that it will report later how the attempt ended: it is in nobody's hand from now on. Its lease counts from
// the beginning of the attempt.
err_check enum err job_detach(struct job *job, const struct job_policy *policy, const struct job_result *answer);

// Its lease counts from now. With progress.p, what was said of how far it has come. ERR_ILLEGAL_TRANSITION: it has no lease.
err_check enum err job_extend(struct job *job, const struct job_policy *policy, int64_t now_ms, struct str progress);

// Its lease ran out: that is a timeout. ERR_ILLEGAL_TRANSITION: it has none, or it has not run out.
err_check enum err job_expire_lease(struct job *job, const struct job_policy *policy, int64_t now_ms, uint64_t dice,
                                    struct job_step *ret_step);

// How the attempt that began under the token `number` stands in the record.
enum job_standing {
    JOB_UNDER_WAY, // it is the one that runs
    JOB_NOT_YET,   // the record is behind: that it was claimed, or that it began, is still to be written
    JOB_ENDED,     // it was the latest, and has ended
    JOB_OUTDATED,  // others came after it
};
enum job_standing job_standing(const struct job *job, int64_t number);

// Given back by its holder before an attempt began. With a due_at later than now (its host is full) it is delayed until then, and
// what it waits beyond ready_at counts as the target's delay; otherwise it is ready, with the time it was due before. Never
// before ready_at.
err_check enum err job_release(struct job *job, int64_t due_at, int64_t now_ms);

// Given back by its holder before an attempt began, because others of its task run: it waits until it is let go.
err_check enum err job_block(struct job *job, int64_t now_ms);
err_check enum err job_unblock(struct job *job, int64_t now_ms); // what it waited for is done: it is due now, or at its time

// An attempt had begun and is given up by the holder itself (it is stopping): used no try, is ready at once.
err_check enum err job_interrupt(struct job *job, int64_t now_ms, struct job_step *ret_step);

// Its holder died. Before an attempt began that is free; afterwards it counts against lost_max.
err_check enum err job_lose(struct job *job, const struct job_policy *policy, int64_t now_ms, struct job_step *ret_step);

err_check enum err job_cancel(struct job *job, const struct job_policy *policy, int64_t now_ms, struct str reason,
                              struct job_step *ret_step);

// The same for a job that somebody else has in hand, who may have begun it without saying so yet: then the record says that.
err_check enum err job_cancel_elsewhere(struct job *job, const struct job_policy *policy, int64_t now_ms, struct str reason,
                                        struct job_step *ret_step);

// Brings a waiting job forward to now. What is due, in hand or running already is left as it is (ERR_OK); what is watched for a
// time to come must be given back first, and what is blocked cannot be run past what it waits for: ERR_ILLEGAL_TRANSITION, as for
// what is final.
err_check enum err job_run_now(struct job *job, int64_t now_ms);

// A waiting job is planned for another time, or the same; or its task is paused no longer, and what was due meanwhile is due now.
// ERR_ILLEGAL_TRANSITION: it does not wait.
err_check enum err job_replan(struct job *job, int64_t scheduled_at, int64_t now_ms);
err_check enum err job_resume(struct job *job, int64_t now_ms);

// Until when a job whose task is paused is left alone: looked at ever less often, for a pause may be long. Resuming does not wait
// for it.
int64_t job_paused_until(const struct job *job, int64_t now_ms);

// What keeps a job that nobody has begun from beginning. pull and dispatch decide by it, and explain says it.
enum job_wait {
    WAIT_NOTHING, // a free slot
    WAIT_TIME,    // its due_at
    WAIT_QUEUE,   // its queue is paused
    WAIT_EXPIRED, // it is too late: it will be cancelled
};
enum job_wait job_wait(const struct job *job, bool queue_paused, int64_t now_ms);

// What the record says about time. -1: not known yet. Never negative otherwise, whatever the clock did in between.
struct job_delays {
    int64_t puller, queue, target;
};
struct job_delays job_delays(const struct job *job);
// When it was last changed: added, claimed, begun, ended, tried again, lost, planned anew, reported on. A claim that was given
// back, and the passing of time, are no change.
int64_t job_updated_at(const struct job *job);

// When its latest attempt that is known to have begun did so; 0: none has. `attempts` are those kept of it, in their order.
int64_t job_last_start(const struct job *job, const struct attempt *attempts, size_t count);
// How much later than planned that was, whatever made it late: also the attempts before it. -1: none has begun. Never negative
// otherwise.
int64_t job_late_by(const struct job *job, const struct attempt *attempts, size_t count);

// Whether every attempt began within the SLA. Open until one has begun; missed for good once one began late.
enum job_sla { JOB_SLA_OPEN, JOB_SLA_MET, JOB_SLA_MISSED };
enum job_sla job_sla(const struct job *job, const struct attempt *attempts, size_t count);

enum job_stage job_slowest_stage(const struct job *job); // of an attempt that has begun: what took the largest part of its delay

// A delayed job shows as ready once its time has come, even before that is written.
enum job_state job_state_at(const struct job *job, int64_t now_ms);

// Rare events, counted: what should happen seldom but must be handled. The simulator fails when one of them never occurred, so
// no rare path goes untried; a server shows them as counters.
// Layer: base. Any thread.
#pragma once
#include <stdint.h>

#define MARKS(X)                                                                                 \
    X(STALE_WRITE, "a write with an old token was refused")                                      \
    X(CHANGE_AGAIN, "a batch of outcomes was written again after the store failed")              \
    X(CLAIM_FAILED, "a claim failed")                                                            \
    X(ADD_FAILED, "an insertion failed")                                                         \
    X(ADOPTED, "a job was held without being in hand, and was adopted")                          \
    X(CLAIMED_AGAIN, "a job was claimed again before the word of its end had come")              \
    X(DOUBLED_ORDER, "an order came twice from the broker")                                      \
    X(NEWER_ORDER, "a newer claim came while an older life still ran the job")                   \
    X(BROKER_FULL, "the broker was full")                                                        \
    X(REVOKED_EARLY, "an order came after it was called off")                                    \
    X(OLD_LIFE, "an order of an earlier life was given back")                                    \
    X(NEW_LIFE, "this process was declared dead and began a new life")                           \
    X(NOT_ALIVE, "starts were held back because the last beat was too long ago")                 \
    X(BURIED_PEER, "a silent incarnation was declared dead")                                     \
    X(MOVED_PEER, "an incarnation moved just before it was declared dead")                       \
    X(LOST_WATCHED, "a job that was waiting in a dead hand was taken back")                      \
    X(LOST_BEGUN, "a job that had begun in a dead hand was taken back")                          \
    X(CLOCK_BACK, "the wall clock was set back")                                                 \
    X(GIVEN_BACK, "a job was given back because its time was far again")                         \
    X(PAUSED, "a job in hand was given back because its queue was paused")                       \
    X(SET_ASIDE, "a job that waited for a full host was set aside")                              \
    X(UNPREPARED, "a job that waited for the address of its host was set aside")                 \
    X(PROMOTED, "jobs that were due without being claimed were marked ready")                    \
    X(EXPIRED_WAITING, "a job expired while it waited in its lane")                              \
    X(EXPIRED_IN_HAND, "a job expired in hand")                                                  \
    X(CANCELLED_WAITING, "a job was called off in the wheel")                                    \
    X(CANCELLED_RUNNING, "a running attempt was called off")                                     \
    X(CALLED_OFF, "an answer of the store brought a job whose cancel was written meanwhile")     \
    X(HELPED, "jobs were claimed that another puller was to take")                               \
    X(DIVIDED, "the buckets were divided anew")                                                  \
    X(DIVIDE_LATE, "another had divided the buckets meanwhile")                                  \
    X(PEER_ASKED, "the holder of a job was asked to cancel or hurry it")                         \
    X(PEER_REQUEST_DONE, "a job was cancelled or hurried because another node asked for it")     \
    X(CLOCK_FIT, "the clock was corrected to the store's")                                       \
    X(RECALLED, "a job in hand was called back because its task is changed")                     \
    X(TASK_PAUSED, "a claimed job was put off because its task is paused")                       \
    X(HURRIED, "a job in the wheel was hurried")                                                 \
    X(COMMAND_AGAIN, "a change by hand met a record that had moved, and began again")            \
    X(INTERRUPTED, "a running attempt was given up because the process stops")                   \
    X(DETACHED, "a target answered that it will say later how its attempt ended")                \
    X(LEASE_EXPIRED, "a lease ran out")                                                          \
    X(LEASE_SPARED, "a lease that ran out while nobody could be heard was made longer")          \
    X(LEASE_REPORT_EARLY, "a report on an attempt came before its beginning was written")        \
    X(LEASE_REPORT_IN_HAND, "an attempt was ended by its target while the call was still open")  \
    X(LEASE_REPORT_TWICE, "the same report on an attempt came again")                            \
    X(LEASE_REPORT_LATE, "a report on an attempt that was over was refused")                     \
    X(LEASE_REPORT_AGAIN, "a report on an attempt met a record that had moved, and began again") \
    X(PLAN_AGAIN, "a plan had moved, and was decided anew")                                      \
    X(PLAN_OVERDUE, "a plan had not been carried on in time, and was looked after")              \
    X(SKIPPED, "a job whose time had come was skipped by its schedule")                          \
    X(QUEUED, "a job whose time had come waits until another of its task has ended")             \
    X(OVERLAP_CANCELLED, "a job was cancelled because the next of its task begins")

enum mark {
#define X(name, text) MARK_##name,
    MARKS(X)
#undef X
        MARK_COUNT
};

void mark(enum mark what);
uint64_t mark_count(enum mark what);
const char *mark_name(enum mark what); // "STALE_WRITE"
const char *mark_text(enum mark what);

// An explanation: what a job or a schedule waits for, as JSON and in sentences. What the reasons are is found by explain (of a
// job) and explain_schedule (of a recurring task). Layer: api. HTTP thread.
#pragma once
#include "api/handlers.h"

// One thing that is waited for.
struct reason {
    const char *what;
    const char *limit;   // which limit holds it; NULL: none
    struct str id;       // of what it waits for, or empty
    struct str detail;   // a sentence
    struct str way;      // another one: how to end the waiting over HTTP, or empty
    int64_t expected_at; // when it is expected to start, if this is all; 0: nobody can tell
    bool later;          // a time to come: true beside a pause, too
};

enum { EXPLANATION_NOTES_MAX = 6 };

struct explanation {
    const char *state;
    const struct reason *reasons;
    size_t count;
    int64_t expected_at;                     // when it is expected to start; 0: nobody can tell
    struct str notes[EXPLANATION_NOTES_MAX]; // sentences behind the reasons, about what is not waited for
    size_t note_count;
};

void explanation_note(struct explanation *explanation, struct str sentence); // adds one; the text is not copied
void explanation_put(struct buf *body, const struct explanation *explanation);

// "31 ms" "5 s" "9m 58s" "2h 5m" "3d 4h"
struct str explanation_duration(struct arena *arena, int64_t ms);
// "2030-01-31T08:00:00.000Z (in 2h 5m)", or without what is in brackets when it has passed
struct str explanation_when(struct arena *arena, int64_t ms, int64_t now_ms);
// "j0cm2q574t0000 and j0cm2q574t0001": the first few, and how many more there are
struct str explanation_jobs(struct arena *arena, const int64_t *ids, size_t count);

struct reason explanation_queue_paused(struct arena *arena, struct str queue);

// Answers with what a job waits for, once there is room for another read.
void explain_job(const struct api_call *call, int64_t job_id);

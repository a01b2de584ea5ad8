// Lease reports: what a target reports later about an attempt that goes on elsewhere. It succeeded, it failed, or it goes on.
// Layer: flow. Owned by the flow thread; lease_reports_submit may be called by any thread.
#pragma once
#include "base/clock.h"
#include "flow/record.h"

enum lease_report_kind { LEASE_COMPLETE, LEASE_FAIL, LEASE_HEARTBEAT };

struct lease_report {
    struct list link;
    enum lease_report_kind kind;
    int64_t job_id;
    struct str ticket; // as it was sent in Rota-Token
    int32_t tenant;    // who asks. Whoever has a right ticket may be anybody; who has none learns only of its own jobs
    struct str result; // COMPLETE: JSON, or empty. HEARTBEAT: with .p, how far it has come
    struct str reason; // FAIL
    bool no_retry;     // FAIL: another try would be in vain
    void (*done)(struct lease_report *op); // on the flow thread, when it is durable: may only enqueue
    void *ctx;
    int32_t job_tenant; // the tenant whose job it is; 0: it was not found by a right ticket
    enum err err;       // ERR_NOT_FOUND, ERR_LEASE_LOST, ERR_ILLEGAL_TRANSITION, ERR_BUSY, ERR_STOPPING, a store error
    char why[ERR_WHY_MAX];
};

struct lease_reports;

struct lease_reports *lease_reports_new(struct node *node, struct recorder *recorder, uint64_t seed);
void lease_reports_free(struct lease_reports *reports);
int64_t lease_reports_turn(struct lease_reports *reports, struct now now); // on the wall clock: when to turn again
void lease_reports_submit(struct lease_reports *reports,
                          struct lease_report *op); // its texts stay the caller's, and live until done()
bool lease_reports_idle(const struct lease_reports *reports);

// A ticket: the text a target is sent in Rota-Token, with which it may say how its attempt ended.
// Layer: flow. Pure but for the key, which has one owner at a time.
//
// It names a tenant and the number of a claim of a job, and proves by a MAC under a secret that rota made both for this job: so
// nothing is remembered about tickets, and any node that has the secret reads them. Whose job it is stands in the ticket, so that
// a request can be led to where that tenant's jobs are before anything is looked up. A ticket is worth what its number is worth:
// see job_standing().
#pragma once
#include "base/data/digest.h"
#include "core/order.h"

enum { TICKET_TEXT_SIZE = ORDER_TICKET_SIZE };

struct ticket {
    int32_t tenant; // whose the job is; 0: a ticket of the release before, which does not say it
    int64_t number; // of the claim
};

// The tenant and the number are greater than 0: a ticket without a tenant is read, but not written any more.
void ticket_write(struct digest_key *key, int64_t job_id, struct ticket ticket, char ret_text[TICKET_TEXT_SIZE]);
bool ticket_read(struct digest_key *key, int64_t job_id, struct str text, struct ticket *ret_ticket); // false: not for this job

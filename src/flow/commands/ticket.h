// A ticket: the text a target is sent in Rota-Token, with which it may say how its attempt ended.
// Layer: flow. Pure but for the key, which has one owner at a time.
//
// It names a job and the number of a claim of it, and proves by a MAC under the store's secret that rota made it: so nothing is
// remembered about tickets, and any node that shares the store reads them. It is worth what that number is worth: see
// job_standing().
#pragma once
#include "base/data/digest.h"
#include "core/order.h"

enum { TICKET_TEXT_SIZE = ORDER_TICKET_SIZE };

void ticket_write(struct digest_key *key, int64_t job_id, int64_t number, char ret_text[TICKET_TEXT_SIZE]);
bool ticket_read(struct digest_key *key, int64_t job_id, struct str text, int64_t *ret_number); // false: not one for this job

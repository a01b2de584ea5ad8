// flow/commands/ticket: a text that is a ticket is the only text of its tenant and number, and what is written is read as the
// same. A ticket of the release before has no tenant and is not written any more. Input: what came as a token.
#include "flow/commands/ticket.h"
#include "fuzz.h"

enum { JOB_ID = 42 };

static void check_text(struct digest_key *key, struct str text)
{
    char shown[TICKET_TEXT_SIZE];
    struct ticket ticket;
    if (!ticket_read(key, JOB_ID, text, &ticket))
        return;
    must(ticket.number > 0 && ticket.tenant >= 0);
    must(text.n < TICKET_TEXT_SIZE);
    if (!ticket.tenant)
        return;
    ticket_write(key, JOB_ID, ticket, shown);
    must(str_is(text, shown));
}

static void check_ticket(struct digest_key *key, struct ticket ticket)
{
    char shown[TICKET_TEXT_SIZE];
    struct ticket again;
    ticket_write(key, JOB_ID, ticket, shown);
    must(ticket_read(key, JOB_ID, str_of(shown), &again));
    must(again.tenant == ticket.tenant && again.number == ticket.number);
    must(!ticket_read(key, JOB_ID + 1, str_of(shown), &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct digest_key *key = digest_key_new(STR("a secret"));
    struct {
        uint64_t number;
        uint32_t tenant;
    } raw = {0};
    memcpy(&raw, data, size < sizeof raw ? size : sizeof raw);
    check_text(key, fuzz_input(data, size));
    // A claim has at most 15 hexadecimal digits.
    check_ticket(key, (struct ticket){.tenant = (int32_t)(raw.tenant >> 1) | 1, .number = (int64_t)(raw.number >> 4) | 1});
    digest_key_free(key);
    return 0;
}

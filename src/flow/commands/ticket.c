// "1-3f-" and 32 hex digits: the tenant, the number, and half of their HMAC, which nobody guesses either. A ticket of the release
// before has no tenant: "3f-" and 32 hex digits. A text is read by writing what it should be and comparing all of it, so each
// form has one spelling only.
#include "flow/commands/ticket.h"

#include <assert.h>
#include <endian.h>

enum { MAC_SIZE = 16, TENANT_DIGITS_MAX = 8, NUMBER_DIGITS_MAX = 15 };

static_assert(TICKET_TEXT_SIZE > TENANT_DIGITS_MAX + 1 + NUMBER_DIGITS_MAX + 1 + 2 * MAC_SIZE, "a ticket fits into its text");

static const char digits[] = "0123456789abcdef";

static char *put_number(char *at, int64_t number)
{
    for (int shift = number ? (63 - __builtin_clzll((uint64_t)number)) & ~3 : 0; shift >= 0; shift -= 4)
        *at++ = digits[number >> shift & 15];
    *at++ = '-';
    return at;
}

static void put_bytes(uint8_t *at, int64_t value)
{
    uint64_t bytes = htobe64((uint64_t)value);
    memcpy(at, &bytes, sizeof bytes);
}

// The secret may come to be used for other things, and there are two forms: the first words of what is signed tell them apart.
static void sign(struct digest_key *key, int64_t job_id, struct ticket ticket, uint8_t ret_mac[DIGEST_SIZE])
{
    uint8_t words[40] = "rota ticket";
    put_bytes(words + 16, job_id);
    put_bytes(words + 24, ticket.number);
    if (ticket.tenant) {
        memcpy(words, "rota ticket of", sizeof "rota ticket of");
        put_bytes(words + 32, ticket.tenant);
    }
    digest_hmac(key, (struct str){(const char *)words, ticket.tenant ? 40 : 32}, ret_mac);
}

static void put_ticket(struct digest_key *key, int64_t job_id, struct ticket ticket, char ret_text[TICKET_TEXT_SIZE])
{
    uint8_t mac[DIGEST_SIZE];
    sign(key, job_id, ticket, mac);
    char *at = ticket.tenant ? put_number(ret_text, ticket.tenant) : ret_text;
    at = put_number(at, ticket.number);
    for (int i = 0; i < MAC_SIZE; i++) {
        *at++ = digits[mac[i] >> 4];
        *at++ = digits[mac[i] & 15];
    }
    *at = 0;
}

void ticket_write(struct digest_key *key, int64_t job_id, struct ticket ticket, char ret_text[TICKET_TEXT_SIZE])
{
    assert(ticket.tenant > 0 && ticket.number > 0);
    put_ticket(key, job_id, ticket, ret_text);
}

// Takes a number of at most so many digits, and the dash behind it, from the front of the text; 0 when there is none.
static int64_t take_number(struct str *text, size_t digits_max)
{
    int64_t number = 0;
    for (size_t i = 0; i < text->n && i <= digits_max; i++) {
        if (text->p[i] == '-') {
            *text = (struct str){text->p + i + 1, text->n - i - 1};
            return number;
        }
        const char *digit = text->p[i] ? strchr(digits, text->p[i]) : NULL;
        if (!digit || i == digits_max)
            return 0;
        number = number << 4 | (digit - digits);
    }
    return 0;
}

// What the text says before its MAC. Only a text with two dashes has a tenant.
static bool take_ticket(struct str text, struct ticket *ret_ticket)
{
    int64_t tenant = 0;
    if (text.n && memchr(text.p, '-', text.n) != memrchr(text.p, '-', text.n)) {
        tenant = take_number(&text, TENANT_DIGITS_MAX);
        if (tenant <= 0 || tenant > INT32_MAX)
            return false;
    }
    *ret_ticket = (struct ticket){(int32_t)tenant, take_number(&text, NUMBER_DIGITS_MAX)};
    return ret_ticket->number > 0;
}

bool ticket_read(struct digest_key *key, int64_t job_id, struct str text, struct ticket *ret_ticket)
{
    char right[TICKET_TEXT_SIZE];
    if (!take_ticket(text, ret_ticket))
        return false;
    put_ticket(key, job_id, *ret_ticket, right);
    return text.n == strlen(right) && digest_same((const uint8_t *)text.p, (const uint8_t *)right, text.n);
}

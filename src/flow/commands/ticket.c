// "3f-" and 32 hex digits: the number, and half of its HMAC, which nobody guesses either. A text is read by writing what it
// should be and comparing all of it, so there is one spelling only.
#include "flow/commands/ticket.h"

enum { MAC_SIZE = 16, NUMBER_DIGITS_MAX = 15 };

static const char digits[] = "0123456789abcdef";

static char *put_number(char *at, int64_t number)
{
    int shift = 60;
    while (shift && !(number >> shift & 15))
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        *at++ = digits[number >> shift & 15];
    return at;
}

static void put_bytes(uint8_t *at, int64_t value)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)((uint64_t)value >> (56 - 8 * i));
}

void ticket_write(struct digest_key *key, int64_t job_id, int64_t number, char ret_text[TICKET_TEXT_SIZE])
{
    uint8_t words[32] = "rota ticket", mac[DIGEST_SIZE]; // the secret may come to be used for other things: these words tell
    put_bytes(words + 16, job_id);
    put_bytes(words + 24, number);
    digest_hmac(key, (struct str){(const char *)words, sizeof words}, mac);
    char *at = put_number(ret_text, number);
    *at++ = '-';
    for (int i = 0; i < MAC_SIZE; i++) {
        *at++ = digits[mac[i] >> 4];
        *at++ = digits[mac[i] & 15];
    }
    *at = 0;
}

// The number in front of the dash; 0 when there is none that a claim could have.
static int64_t read_number(struct str text)
{
    int64_t number = 0;
    for (size_t i = 0; i < text.n && i <= NUMBER_DIGITS_MAX; i++) {
        if (text.p[i] == '-')
            return number;
        const char *digit = text.p[i] ? strchr(digits, text.p[i]) : NULL;
        if (!digit || i == NUMBER_DIGITS_MAX)
            return 0;
        number = number << 4 | (digit - digits);
    }
    return 0;
}

bool ticket_read(struct digest_key *key, int64_t job_id, struct str text, int64_t *ret_number)
{
    char right[TICKET_TEXT_SIZE];
    *ret_number = read_number(text);
    if (*ret_number <= 0)
        return false;
    ticket_write(key, job_id, *ret_number, right);
    return text.n == strlen(right) && digest_same((const uint8_t *)text.p, (const uint8_t *)right, text.n);
}

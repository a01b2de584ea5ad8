// A pattern is read field by field, and a field entry by entry. Each entry adds to sets of values, so that afterwards nobody has
// to know how it was written, but for two things: whether a day field begins with a bare `*` (then it restricts nothing), and
// whether the minute or the hour does (then a change of the clock is followed as it comes).
//
// A refusal names the field, shows the entry and says what would be right.
#include "base/data/hash.h"
#include "base/mem.h"
#include "core/schedule/cron.h"

#include <stdio.h>

enum field_id { SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY, YEAR, FIELDS };

struct field {
    const char *name;
    int min, max;
    int hash_max;             // where a plain H ends: every month has 28 days, and a week seven
    const char *const *names; // of the values from `min` on; the last is NULL
    const char *form;         // what an entry looks like
};

static const char *const month_names[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL",
                                          "AUG", "SEP", "OCT", "NOV", "DEC", NULL};
static const char *const weekday_names[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", NULL};

static const struct field fields[FIELDS] = {
    [SECOND] = {"second", 0, 59, 59, NULL, "a second is *, a number from 0 to 59, or a range such as 0-29"},
    [MINUTE] = {"minute", 0, 59, 59, NULL, "a minute is *, a number from 0 to 59, or a range such as 0-29"},
    [HOUR] = {"hour", 0, 23, 23, NULL, "an hour is *, a number from 0 to 23, or a range such as 9-17"},
    [DAY] = {"day-of-month", 1, 31, 28, NULL, "a day is *, a number from 1 to 31, a range such as 1-7, L or 15W"},
    [MONTH] = {"month", 1, 12, 12, month_names, "a month is *, 1 to 12, JAN to DEC, or a range such as JUN-AUG"},
    [WEEKDAY] = {"day-of-week", 0, 7, 6, weekday_names,
                 "a weekday is *, 0 to 7, SUN to SAT, a range such as MON-FRI, MON#1 or FRI#L"},
    [YEAR] = {"year", CRON_YEAR_MIN, CRON_YEAR_MAX, 0, NULL,
              "a year is *, a number from 1970 to 2199, or a range such as 2026-2030"},
};

static const struct {
    struct str name, pattern;
} nicknames[] = {
    {{"@yearly", 7}, {"0 0 1 1 *", 9}}, {{"@annually", 9}, {"0 0 1 1 *", 9}}, {{"@monthly", 8}, {"0 0 1 * *", 9}},
    {{"@weekly", 7}, {"0 0 * * 0", 9}}, {{"@daily", 6}, {"0 0 * * *", 9}},    {{"@midnight", 9}, {"0 0 * * *", 9}},
    {{"@hourly", 7}, {"0 * * * *", 9}},
};

// One field while it is read. `bits` are its values, bit 0 for the least one.
struct reader {
    const struct field *field;
    enum field_id id;
    struct str entry; // the one at hand, for the words of a refusal
    bool listed;      // the field has more than one entry
    uint64_t hash;
    uint64_t bits[CRON_YEAR_WORDS];
    struct cron *cron;
    char *why;
};

struct range {
    int from, to;
};

// ---- refusals

enum { SHOWN_MAX = 36 };

// What the user wrote, short and without anything that would not be plain text in an answer.
static const char *shown(char ret_text[SHOWN_MAX], struct str text)
{
    int n = text.n < SHOWN_MAX ? (int)text.n : SHOWN_MAX - 4;
    snprintf(ret_text, SHOWN_MAX, "%.*s%s", n, text.n ? text.p : "", text.n < SHOWN_MAX ? "" : "...");
    for (char *c = ret_text; *c; c++)
        *c = (char)(*c >= ' ' && *c <= '~' ? *c : '?');
    return ret_text;
}

static enum err refuse(struct reader *reader, const char *words)
{
    char text[SHOWN_MAX];
    snprintf(reader->why, ERR_WHY_MAX, "The %s field has \"%s\": %s.", reader->field->name, shown(text, reader->entry), words);
    return ERR_INVALID_FIELD;
}

// ---- the parts of an entry. Each takes what it reads off the front of *text.

static bool take_byte(struct str *text, char byte)
{
    if (!text->n || text->p[0] != byte)
        return false;
    *text = str_skip(*text, 1);
    return true;
}

// A number of any length; one that is too large for every field stays just that.
static bool take_number(struct str *text, int *ret_number)
{
    int number = 0;
    size_t n = 0;
    for (; n < text->n && str_is_digit(text->p[n]); n++)
        number = number > 9999 ? number : number * 10 + (text->p[n] - '0');
    *text = str_skip(*text, n);
    *ret_number = number;
    return n > 0;
}

static bool take_name(const struct field *field, struct str *text, int *ret_value)
{
    for (int i = 0; field->names && field->names[i]; i++)
        if (text->n >= 3 && str_eq_nocase((struct str){text->p, 3}, str_of(field->names[i]))) {
            *text = str_skip(*text, 3);
            *ret_value = field->min + i;
            return true;
        }
    return false;
}

static enum err take_value(struct reader *reader, struct str *text, int *ret_value)
{
    if (take_name(reader->field, text, ret_value))
        return ERR_OK;
    if (!take_number(text, ret_value) || *ret_value < reader->field->min || *ret_value > reader->field->max)
        return refuse(reader, reader->field->form);
    return ERR_OK;
}

static enum err refuse_falling(struct reader *reader, struct range range)
{
    char words[96];
    if (reader->entry.p[0] == 'H')
        return refuse(reader, "a range goes upwards, such as H(0-29)");
    snprintf(words, sizeof words, "a range goes upwards; write %d-%d,%d-%d", range.from, reader->field->max, reader->field->min,
             range.to);
    return refuse(reader, words);
}

// What follows the first value of a range and its dash. SUN is 0, and behind another weekday 7, so that SAT-SUN is the weekend.
static enum err take_range_end(struct reader *reader, struct str *text, struct range *range)
{
    bool named = text->n && str_is_letter(text->p[0]);
    enum err err = take_value(reader, text, &range->to);
    if (err)
        return err;
    if (reader->id == WEEKDAY && named && range->to == 0 && range->from > 0)
        range->to = 7;
    return range->from <= range->to ? ERR_OK : refuse_falling(reader, *range);
}

// "/15", or nothing, which is a step of 1. It must end the entry.
static enum err take_step(struct reader *reader, struct str *text, int *ret_step)
{
    *ret_step = 1;
    if (!text->n)
        return ERR_OK;
    if (!take_byte(text, '/'))
        return refuse(reader, reader->field->form);
    if (!take_number(text, ret_step) || text->n)
        return refuse(reader, "behind / stands a number, such as */5");
    return *ret_step > 0 ? ERR_OK : refuse(reader, "a step is 1 or more");
}

// A range without a step is added a word at a time: the years alone are 230 values, and every pick of a job parses its pattern.
static void add_range(struct reader *reader, struct range range, int step)
{
    unsigned from = (unsigned)(range.from - reader->field->min), to = (unsigned)(range.to - reader->field->min);
    for (unsigned bit = from; step > 1 && bit <= to; bit += (unsigned)step)
        reader->bits[bit / 64] |= UINT64_C(1) << (bit % 64);
    for (unsigned word = from / 64; step == 1 && word <= to / 64; word++) {
        unsigned low = word == from / 64 ? from % 64 : 0, high = word == to / 64 ? to % 64 : 63;
        reader->bits[word] |= UINT64_MAX >> (63 - high + low) << low;
    }
}

// ---- kinds of entries

// "*", "*/5", and in the day fields "?" for "*".
static enum err read_any(struct reader *reader, struct str text)
{
    int step;
    enum err err = take_step(reader, &text, &step);
    if (!err)
        add_range(reader, (struct range){reader->field->min, reader->field->max}, step);
    return err;
}

static enum err refuse_step(struct reader *reader, int value, struct str text)
{
    char words[96];
    int step;
    if (!take_byte(&text, '/') || !take_number(&text, &step))
        return refuse(reader, reader->field->form);
    snprintf(words, sizeof words, "a step follows * or a range; write %d-%d/%d", value, reader->field->max, step);
    return refuse(reader, words);
}

// "5", "1-5", "1-5/2". `text` is what stands behind the first value.
static enum err read_plain(struct reader *reader, int value, struct str text)
{
    struct range range = {value, value};
    int step = 1;
    enum err err = ERR_OK;
    if (take_byte(&text, '-')) {
        err = take_range_end(reader, &text, &range);
        if (!err && text.n && text.p[0] == 'W')
            return refuse(reader, "W belongs to a single day, such as 15W");
        if (!err)
            err = take_step(reader, &text, &step);
    } else if (text.n) {
        return refuse_step(reader, value, text);
    }
    if (!err)
        add_range(reader, range, step);
    return err;
}

// "(0-29)" or nothing, which is the whole field, but for the days that not every month has.
static enum err take_hash_range(struct reader *reader, struct str *text, struct range *ret_range)
{
    *ret_range = (struct range){reader->field->min, reader->field->hash_max};
    if (!take_byte(text, '('))
        return ERR_OK;
    enum err err = take_value(reader, text, &ret_range->from);
    if (!err && !take_byte(text, '-'))
        return refuse(reader, "H takes a range in brackets, such as H(0-29)");
    if (!err)
        err = take_range_end(reader, text, ret_range);
    if (!err && !take_byte(text, ')'))
        return refuse(reader, "the bracket behind H is not closed; write it as H(0-29)");
    return err;
}

// "H", "H(0-29)", "H/15", "H(0-29)/10": one value, or with a step the first of several, chosen by the hash. Each field
// makes a number of its own of the hash; otherwise all tasks of one minute would have the same hour, too.
static enum err read_hashed(struct reader *reader, struct str text)
{
    struct range range;
    int step;
    if (reader->id == YEAR)
        return refuse(reader, "H does not spread over years; name them, such as 2026-2030");
    enum err err = take_hash_range(reader, &text, &range);
    bool stepped = text.n > 0;
    if (!err)
        err = take_step(reader, &text, &step);
    if (err)
        return err;
    uint64_t number = hash_number((int64_t)(reader->hash + (uint64_t)reader->id * UINT64_C(0x9E3779B97F4A7C15)));
    int choices = range.to - range.from + 1;
    if (stepped && step < choices)
        choices = step;
    range.from += (int)(number % (uint64_t)choices);
    add_range(reader, stepped ? range : (struct range){range.from, range.from}, step);
    reader->cron->hashed = true;
    return ERR_OK;
}

// "L", in the day-of-month field.
static enum err read_last_day(struct reader *reader, struct str text)
{
    if (text.n)
        return refuse(reader, "L, the last day of the month, stands alone");
    reader->cron->last_day = true;
    return ERR_OK;
}

// "15W". The specification has no W in lists, so that it is always plain which day is moved.
static enum err read_nearest(struct reader *reader, int day, struct str text)
{
    if (text.n || reader->listed)
        return refuse(reader, "W belongs to a single day that is the whole field, such as 15W");
    reader->cron->nearest_day = (uint8_t)day;
    return ERR_OK;
}

// "MON#1", "FRI#L", "5L": `text` is what stands behind the weekday.
static enum err read_occurrence(struct reader *reader, int weekday, struct str text)
{
    int occurrence = CRON_LAST + 1;
    bool counted = take_byte(&text, '#'), last = take_byte(&text, 'L');
    if (counted && !last && (!take_number(&text, &occurrence) || occurrence < 1 || occurrence > CRON_OCCURRENCES))
        return refuse(reader, "behind # stands a number from 1 to 5, or L for the last one of the month, such as MON#1 or FRI#L");
    if (text.n)
        return refuse(reader, "an occurrence such as MON#1 stands alone; write MON#1,MON#3 for two");
    reader->cron->weekdays[occurrence - 1] |= (uint8_t)(1 << weekday % 7);
    return ERR_OK;
}

// ---- letters and signs that are no value

static const struct {
    char sign;
    const char *words;
} misplaced[] = {
    {'?', "? stands in the day fields only; write *"},
    {'+', "+ stands only at the front of the day-of-week field, such as +MON"},
    {'L', "L stands in the day fields only"},
    {'W', "W stands behind a day of the month, such as 15W"},
    {'l', "L is written as a capital"},
    {'w', "W is written as a capital"},
    {'h', "H is written as a capital"},
    {'#', "# stands behind a weekday, such as MON#1"},
    {'/', "a step follows * or a range, such as */5"},
    {'@', "a nickname such as @daily stands alone"},
};

static enum err refuse_start(struct reader *reader)
{
    if (!reader->entry.n)
        return refuse(reader, "an entry is missing; one comma stands between two entries, such as 1,15");
    if (reader->id == WEEKDAY && reader->entry.p[0] == 'L')
        return refuse(reader, "L needs a weekday in front, such as FRIL or FRI#L for the last Friday of the month");
    for (size_t i = 0; i < array_count(misplaced); i++)
        if (misplaced[i].sign == reader->entry.p[0])
            return refuse(reader, misplaced[i].words);
    return refuse(reader, reader->field->form);
}

// ---- entries, fields, patterns

static enum err read_value(struct reader *reader, struct str text)
{
    int value;
    enum err err = take_value(reader, &text, &value);
    if (err)
        return err;
    if (reader->id == DAY && take_byte(&text, 'W'))
        return read_nearest(reader, value, text);
    if (reader->id == WEEKDAY && text.n && (text.p[0] == '#' || text.p[0] == 'L'))
        return read_occurrence(reader, value, text);
    return read_plain(reader, value, text);
}

static bool begins_value(const struct reader *reader, struct str text)
{
    int value;
    return (text.n && str_is_digit(text.p[0])) || take_name(reader->field, &text, &value);
}

static enum err read_entry(struct reader *reader)
{
    struct str text = reader->entry;
    bool dated = reader->id == DAY || reader->id == WEEKDAY;
    if (take_byte(&text, '*') || (dated && take_byte(&text, '?')))
        return read_any(reader, text);
    if (take_byte(&text, 'H'))
        return read_hashed(reader, text);
    if (reader->id == DAY && take_byte(&text, 'L'))
        return read_last_day(reader, text);
    return begins_value(reader, text) ? read_value(reader, text) : refuse_start(reader);
}

static enum err read_field(struct reader *reader, struct str text)
{
    reader->listed = memchr(text.p, ',', text.n) != NULL;
    for (bool more = true; more;) {
        more = memchr(text.p, ',', text.n) != NULL;
        reader->entry = str_cut(&text, ',');
        enum err err = read_entry(reader);
        if (err)
            return err;
    }
    return ERR_OK;
}

// Keeps what a field has read. A weekday is plain when no occurrence is asked for: then it is all of them.
static void keep(const struct reader *reader)
{
    struct cron *cron = reader->cron;
    uint64_t bits = reader->bits[0];
    switch (reader->id) {
    case SECOND:
        cron->seconds = bits;
        break;
    case MINUTE:
        cron->minutes = bits;
        break;
    case HOUR:
        cron->hours = (uint32_t)bits;
        break;
    case DAY:
        cron->days = (uint32_t)(bits << 1);
        break;
    case MONTH:
        cron->months = (uint16_t)(bits << 1);
        break;
    case WEEKDAY:
        for (int i = 0; i < CRON_OCCURRENCES; i++)
            cron->weekdays[i] |= (uint8_t)((bits | bits >> 7) & 0x7f);
        break;
    case YEAR:
    case FIELDS:
        memcpy(cron->years, reader->bits, sizeof cron->years);
        break;
    }
}

// Whether the first entry is a bare "*", or "?" for it.
static bool is_unrestricted(struct str text)
{
    struct str first = str_cut(&text, ',');
    return str_is(first, "*") || str_is(first, "?");
}

static bool begins_with_star(struct str text)
{
    return text.n && text.p[0] == '*';
}

static enum err read_fields(const struct str texts[FIELDS], uint64_t hash, struct cron *cron, char why[ERR_WHY_MAX])
{
    struct str weekday = texts[WEEKDAY];
    bool joined = take_byte(&weekday, '+');
    for (enum field_id id = SECOND; id < FIELDS; id++) {
        struct reader reader = {.field = &fields[id], .id = id, .hash = hash, .cron = cron, .why = why};
        enum err err = read_field(&reader, id == WEEKDAY ? weekday : texts[id]);
        if (err)
            return err;
        keep(&reader);
    }
    cron->either_day = !joined && !is_unrestricted(texts[DAY]) && !is_unrestricted(weekday);
    cron->elapsed = begins_with_star(texts[MINUTE]) || begins_with_star(texts[HOUR]);
    return ERR_OK;
}

// Takes a word off the front of *text; an empty one: there is no more.
static struct str take_word(struct str *text)
{
    size_t n = 0;
    *text = str_trim(*text);
    while (n < text->n && text->p[n] != ' ' && text->p[n] != '\t')
        n++;
    struct str word = {text->p, n};
    *text = str_skip(*text, n);
    return word;
}

// The words of a pattern at the places of their fields: five begin with the minute, six and seven with the second.
static enum err split(struct str text, struct str ret_texts[FIELDS], char why[ERR_WHY_MAX])
{
    struct str words[FIELDS] = {{0}};
    int count = 0;
    for (struct str word = take_word(&text); word.n; word = take_word(&text), count++)
        if (count < FIELDS)
            words[count] = word;
    if (count < 5 || count > FIELDS) {
        snprintf(
            why, ERR_WHY_MAX,
            "A cron pattern has 5 fields (minute, hour, day of month, month, day of week), 6 with a second in front, or 7 with a "
            "year at the end, too; this one has %d.",
            count);
        return ERR_INVALID_FIELD;
    }
    ret_texts[SECOND] = count == 5 ? STR("0") : words[0];
    ret_texts[YEAR] = count == FIELDS ? words[6] : STR("*");
    memcpy(ret_texts + MINUTE, words + (count > 5), 5 * sizeof words[0]);
    return ERR_OK;
}

static enum err read_nickname(struct str *text, char why[ERR_WHY_MAX])
{
    char name[SHOWN_MAX];
    for (size_t i = 0; i < array_count(nicknames); i++)
        if (str_eq(*text, nicknames[i].name)) {
            *text = nicknames[i].pattern;
            return ERR_OK;
        }
    if (str_is(*text, "@reboot"))
        snprintf(
            why, ERR_WHY_MAX,
            "@reboot is not supported: a task belongs to no machine whose start could be meant. Give a time, such as @daily.");
    else
        snprintf(why, ERR_WHY_MAX,
                 "There is no nickname \"%s\". A nickname is @yearly, @annually, @monthly, @weekly, @daily, @midnight or "
                 "@hourly, in small letters and alone.",
                 shown(name, *text));
    return ERR_INVALID_FIELD;
}

// A line break at the end, as a file has one, would not be seen in the words about the last field.
static enum err check_line(struct str text, char why[ERR_WHY_MAX])
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < ' ' && text.p[i] != '\t') {
            snprintf(why, ERR_WHY_MAX, "A cron pattern is one line; this one has a line break or another control character.");
            return ERR_INVALID_FIELD;
        }
    return ERR_OK;
}

enum err cron_parse(struct str text, uint64_t hash, struct cron *ret_cron, char why[ERR_WHY_MAX])
{
    struct str texts[FIELDS];
    *ret_cron = (struct cron){0};
    text = str_trim(text);
    enum err err = check_line(text, why);
    if (!err && text.n && text.p[0] == '@')
        err = read_nickname(&text, why);
    if (!err)
        err = split(text, texts, why);
    if (!err)
        err = read_fields(texts, hash, ret_cron, why);
    if (!err && !cron_settle(ret_cron)) {
        snprintf(why, ERR_WHY_MAX,
                 "The pattern never fires: none of the months that it names, until the end of 2199, has such a day.");
        err = ERR_CRON_NEVER;
    }
    return err;
}

// A zone is a table of transitions, which is searched by halves, and a rule for the time after the last of them.
//
// A TZif file of version 2 or later has everything twice: first with times of 32 bits, for old readers, then with times of 64
// bits, which are the ones that are read here. The counts of a block are compared with the bytes of the file before the block is
// read, and each index with the table it points into. So a zone that was read needs no checks when it is asked.
//
// What it does not do: leap seconds. A file that counts them (the folder right/ of tzdata) is refused, because its times are not
// those of POSIX.
#include "core/schedule/zone.h"

#include "core/schedule/zone_rule.h"

#include <endian.h>

struct zone {
    size_t count;
    const int64_t *times;    // of transitions, ascending
    const uint8_t *kind_at;  // of each, the kind that begins
    struct zone_kind *kinds; // the first holds before all transitions
    struct zone_rule rule;   // from the last transition on
    bool has_rule;           // otherwise the last kind goes on for ever
};

const struct zone zone_utc = {.has_rule = true, .rule = {.standard = {.abbreviation = "UTC"}}};

// ---- asking

static size_t count_until(const struct zone *zone, int64_t utc_s) // how many transitions are at or before it
{
    size_t low = 0, high = zone->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->times[middle] <= utc_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct zone_span zone_span_at(const struct zone *zone, int64_t utc_s)
{
    size_t passed = count_until(zone, utc_s);
    int64_t from_s = passed ? zone->times[passed - 1] : INT64_MIN;
    if (passed == zone->count && zone->has_rule) {
        struct zone_span span = zone_rule_span(&zone->rule, utc_s);
        if (span.from_s < from_s)
            span.from_s = from_s;
        return span;
    }
    struct zone_span span = {.from_s = from_s, .until_s = passed < zone->count ? zone->times[passed] : INT64_MAX};
    zone_kind_put(&zone->kinds[passed ? zone->kind_at[passed - 1] : 0], &span);
    return span;
}

// The instant lies within 26 hours of the wall time, so all spans of these hours are looked at: nearly always one, sometimes two.
// When none of them shows the wall time, a transition stepped over it, and the gap ends at that transition.
struct zone_instants zone_instants(const struct zone *zone, int64_t wall_s)
{
    wall_s = wall_s < INT64_MIN / 2 ? INT64_MIN / 2 : wall_s > INT64_MAX / 2 ? INT64_MAX / 2 : wall_s;
    struct zone_instants found = {.wall = ZONE_SKIPPED};
    struct zone_span span = zone_span_at(zone, wall_s - ZONE_OFFSET_MAX_S);
    int64_t gap_end_s = INT64_MAX;
    for (;;) {
        int64_t utc_s = wall_s - span.offset_s;
        if (utc_s >= span.from_s && utc_s < span.until_s) {
            found.first_s = found.wall == ZONE_SKIPPED ? utc_s : found.first_s;
            found.last_s = utc_s;
            found.wall = found.wall == ZONE_SKIPPED ? ZONE_ONCE : ZONE_TWICE;
        }
        if (span.until_s > wall_s - ZONE_OFFSET_MIN_S)
            break;
        struct zone_span next = zone_span_at(zone, span.until_s);
        if (utc_s >= span.until_s && wall_s - next.offset_s < next.from_s && gap_end_s == INT64_MAX)
            gap_end_s = next.from_s;
        span = next;
    }
    if (found.wall == ZONE_SKIPPED)
        found.first_s = found.last_s = gap_end_s;
    return found;
}

// ---- reading

enum { HEADER_SIZE = 44, KIND_SIZE = 6, KINDS_MAX = 256 };

struct reading {
    struct str rest;
    struct arena *arena;
    struct zone *zone;
    const char **ret_why;
};

struct header {
    char version; // 0 for the first
    uint32_t isut_count, isstd_count, leap_count, time_count, kind_count, char_count;
};

static enum err refuse(const struct reading *reading, const char *why)
{
    *reading->ret_why = why;
    return ERR_INVALID_FIELD;
}

static uint32_t number32(const char *at)
{
    uint32_t number;
    memcpy(&number, at, sizeof number);
    return be32toh(number);
}

static int64_t time_at(const char *times, size_t index, size_t time_size)
{
    if (time_size == sizeof(int32_t))
        return (int32_t)number32(times + index * time_size);
    uint64_t number;
    memcpy(&number, times + index * time_size, sizeof number);
    return (int64_t)be64toh(number);
}

static bool take(struct reading *reading, size_t size, const char **ret_bytes)
{
    if (reading->rest.n < size)
        return false;
    *ret_bytes = reading->rest.p;
    reading->rest = str_skip(reading->rest, size);
    return true;
}

static enum err read_header(struct reading *reading, struct header *ret_header)
{
    const char *bytes;
    if (!take(reading, HEADER_SIZE, &bytes) || memcmp(bytes, "TZif", 4) != 0)
        return refuse(reading, "a header of TZif is missing");
    *ret_header = (struct header){.version = bytes[4],
                                  .isut_count = number32(bytes + 20),
                                  .isstd_count = number32(bytes + 24),
                                  .leap_count = number32(bytes + 28),
                                  .time_count = number32(bytes + 32),
                                  .kind_count = number32(bytes + 36),
                                  .char_count = number32(bytes + 40)};
    if (ret_header->version && (ret_header->version < '2' || ret_header->version > '4'))
        return refuse(reading, "its version is none of 1 to 4");
    return ERR_OK;
}

// Each count has 32 bits, so the sum cannot overflow 64.
static uint64_t block_size(const struct header *header, size_t time_size)
{
    return header->time_count * (uint64_t)(time_size + 1) + header->kind_count * (uint64_t)KIND_SIZE + header->char_count +
           header->leap_count * (uint64_t)(time_size + 4) + header->isstd_count + header->isut_count;
}

static enum err check_counts(const struct reading *reading, const struct header *header, size_t time_size)
{
    if (header->time_count > ZONE_TRANSITIONS_MAX) {
        *reading->ret_why = "it has more than 2000 transitions";
        return ERR_TOO_LARGE;
    }
    if (header->kind_count < 1 || header->kind_count > KINDS_MAX || header->char_count < 1)
        return refuse(reading, "it has no local time type, or too many of them");
    if ((header->isstd_count && header->isstd_count != header->kind_count) ||
        (header->isut_count && header->isut_count != header->kind_count))
        return refuse(reading, "its indicators are not as many as its local time types");
    if (header->leap_count)
        return refuse(reading, "it counts leap seconds");
    if (block_size(header, time_size) > reading->rest.n)
        return refuse(reading, "it is cut off");
    return ERR_OK;
}

static enum err read_transitions(struct reading *reading, const struct header *header, size_t time_size)
{
    size_t count = header->time_count;
    const char *times_bytes = reading->rest.p, *kind_bytes = times_bytes + count * time_size;
    int64_t *times = arena_array(reading->arena, int64_t, count);
    uint8_t *kind_at = arena_array(reading->arena, uint8_t, count);
    for (size_t i = 0; i < count; i++) {
        times[i] = time_at(times_bytes, i, time_size);
        kind_at[i] = (uint8_t)kind_bytes[i];
        if (i && times[i] <= times[i - 1])
            return refuse(reading, "its transitions are not in order");
        if (kind_at[i] >= header->kind_count)
            return refuse(reading, "a transition leads to a local time type that is not there");
    }
    reading->rest = str_skip(reading->rest, count * (time_size + 1));
    *reading->zone = (struct zone){.count = count, .times = times, .kind_at = kind_at};
    return ERR_OK;
}

static enum err read_kind(const struct reading *reading, const char *bytes, struct str chars, struct zone_kind *ret_kind)
{
    int32_t offset_s = (int32_t)number32(bytes);
    uint8_t is_dst = (uint8_t)bytes[4], at = (uint8_t)bytes[5];
    if (offset_s < ZONE_OFFSET_MIN_S || offset_s > ZONE_OFFSET_MAX_S || is_dst > 1)
        return refuse(reading,
                      "a local time type has an offset of more than a day, or is neither standard nor daylight saving time");
    const char *end = at < chars.n ? memchr(chars.p + at, 0, chars.n - at) : NULL;
    *ret_kind = (struct zone_kind){.offset_s = offset_s, .is_dst = is_dst};
    if (!end || !zone_kind_name(ret_kind, (struct str){chars.p + at, (size_t)(end - (chars.p + at))}))
        return refuse(reading, "a local time type has no abbreviation of 3 to 7 letters, digits, + and -");
    return ERR_OK;
}

static enum err read_kinds(struct reading *reading, const struct header *header)
{
    const char *bytes = reading->rest.p;
    struct str chars = {bytes + header->kind_count * (size_t)KIND_SIZE, header->char_count};
    reading->zone->kinds = arena_array(reading->arena, struct zone_kind, header->kind_count);
    for (size_t i = 0; i < header->kind_count; i++) {
        enum err err = read_kind(reading, bytes + i * KIND_SIZE, chars, &reading->zone->kinds[i]);
        if (err)
            return err;
    }
    reading->rest = str_skip(reading->rest, header->kind_count * (size_t)KIND_SIZE + header->char_count);
    return ERR_OK;
}

static enum err read_block(struct reading *reading, const struct header *header, size_t time_size)
{
    enum err err = check_counts(reading, header, time_size);
    if (!err)
        err = read_transitions(reading, header, time_size);
    if (!err)
        err = read_kinds(reading, header);
    if (!err) // the indicators tell how the rules were written down, which no lookup needs
        reading->rest = str_skip(reading->rest, (size_t)header->isstd_count + header->isut_count);
    return err;
}

// The footer is a line between two line feeds. An empty line says that there is no rule.
static enum err read_footer(struct reading *reading)
{
    struct str text = reading->rest;
    if (text.n < 2 || text.p[0] != '\n' || text.p[text.n - 1] != '\n')
        return refuse(reading, "its footer is not a line");
    text = (struct str){text.p + 1, text.n - 2};
    reading->zone->has_rule = text.n > 0;
    if (text.n && !zone_rule_read(text, &reading->zone->rule))
        return refuse(reading, "its footer is not a TZ string with all it needs");
    return ERR_OK;
}

// Skips the block with times of 32 bits and reads the one with 64.
static enum err read_second(struct reading *reading, const struct header *first)
{
    const char *skipped;
    struct header second;
    uint64_t size = block_size(first, sizeof(int32_t));
    if (size > reading->rest.n || !take(reading, (size_t)size, &skipped))
        return refuse(reading, "it is cut off");
    enum err err = read_header(reading, &second);
    if (!err && second.version != first->version)
        err = refuse(reading, "its two headers have different versions");
    if (!err)
        err = read_block(reading, &second, sizeof(int64_t));
    return err ? err : read_footer(reading);
}

enum err zone_read(struct str tzif, struct arena *arena, const struct zone **ret_zone, const char **ret_why)
{
    struct reading reading = {tzif, arena, arena_alloc(arena, sizeof(struct zone)), ret_why};
    struct header first;
    if (tzif.n > ZONE_FILE_MAX) {
        *ret_why = "it has more than 64 KiB";
        return ERR_TOO_LARGE;
    }
    enum err err = read_header(&reading, &first);
    if (!err && first.version)
        err = read_second(&reading, &first);
    else if (!err)
        err = read_block(&reading, &first, sizeof(int32_t));
    if (!err && !first.version && reading.rest.n)
        err = refuse(&reading, "it has bytes after its end");
    if (!err)
        *ret_zone = reading.zone;
    return err;
}

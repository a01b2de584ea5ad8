// The names are those of other schedulers and queues, and of earlier designs of this one. They are refused all the same: a field
// that is taken under two names can be given twice and mean two things.
#include "core/task/synonym.h"

#include "base/mem.h"

enum { NAME_MAX_BYTES = 32 };

static const struct synonym of_task[] = {
    {"url", "uri endpoint target callback callbackurl webhook webhookurl href address"},
    {"method", "verb httpmethod"},
    {"headers", "header httpheaders"},
    {"body", "payload data json content message params"},
    {"at", "runat scheduledat scheduleat startat executeat dueat when time date eta schedule"},
    {"in", "delay delayms delayseconds countdown startin runin wait"},
    {"not_after", "deadline expires expiresat expireat expiry expiration validuntil"},
    {"retry.max", "retries totalretry totalretries maxretries maxretry retrycount retrylimit retrymax attempts maxattempts tries "
                  "maxtries"},
    {"retry.delay", "retrydelay retryinterval"},
    {"retry.backoff", "backoff retrybackoff"},
    {"retry.max_delay", "maxdelay maxbackoff"},
    {"timeout", "maxexecutiontime executiontimeout timeoutms timeoutseconds maxruntime jobtimeout"},
    {"success_codes", "successstatus successstatuses statuscodes expectedstatus okcodes"},
    {"queue", "queuename topic channel lane"},
    {"key", "idempotencykey dedupekey dedupeid deduplicationid uniquekey"},
    {"ttl", "retention keepfor resultttl"},
    {"name", "title taskname jobname description"},
    {"labels", "tags tag label metadata meta annotations attributes"},
    {"tracing_id", "traceid correlationid requestid"},
    {"created_by", "owner author user userid"},
    {"cron", "cronschedule cronexpression crontab"},
    {"every", "recurrenceinterval recurrence recurring interval repeat repeatevery period rrule"},
    {"timezone", "tz zone"},
    {"misfire", "misfirepolicy catchup coalesce"},
    {"overlap", "concurrencypolicy allowoverlap nooverlap"},
    {"max_active", "maxinstances maxconcurrency maxconcurrent"},
    {"exclude", "excludes excluded holidays blackout"},
    {"starts_at", "startsat startdate notbefore"},
    {"ends_at", "endsat endat enddate until stopat"},
    {"max_runs", "maxexecutions maxoccurrences occurrences"},
    {"after", "dependson dependencies dependency parents requires"},
    {"kind", "type tasktype jobtype handler"},
    {"args", "arguments"},
    {"artifact", "binary executable program file"},
    {"on_success", "onsuccess oncomplete successcallback"},
    {"on_failure", "onfailure onerror failurecallback"},
    {"tenant", "tenant tenantid namespace project projectid account accountid",
     "A task belongs to the tenant whose request it is; this version of rota has one."},
};

static const struct synonym of_retry[] = {
    {"max", "retries count attempts maxattempts maxretries limit times total"},
    {"delay", "interval wait initialdelay mindelay delayms"},
    {"backoff", "strategy type policy"},
    {"max_delay", "maxinterval maxbackoff cap"},
    {"jitter", "randomize random"},
};

// The name in small letters, without separators. A name that is too long for the tables is in none of them.
static struct str plain(struct str name, char ret_text[NAME_MAX_BYTES])
{
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (c == '_' || c == '-')
            continue;
        if (n == NAME_MAX_BYTES)
            return (struct str){0};
        ret_text[n++] = (char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
    }
    return (struct str){ret_text, n};
}

static bool has_word(const char *words, struct str word)
{
    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        if (str_eq((struct str){words, n}, word))
            return true;
    }
    return false;
}

const struct synonym *synonym_find(const char *within, struct str name)
{
    char text[NAME_MAX_BYTES];
    struct str word = plain(name, text);
    const struct synonym *rows = within[0] ? of_retry : of_task;
    size_t count = within[0] ? array_count(of_retry) : array_count(of_task);
    for (size_t i = 0; i < count && word.n; i++)
        if (has_word(rows[i].others, word))
            return &rows[i];
    return NULL;
}

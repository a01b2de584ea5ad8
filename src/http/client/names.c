// Buckets by the hash of a name, which is compared in lower case.
#include "http/client/names.h"

#include "base/data/hash.h"
#include "base/mem.h"

enum { KEPT_MAX = 2048 }; // names with addresses, and as many without

void names_init(struct names *names)
{
    list_init(&names->good.used);
    list_init(&names->failed.used);
    lookups_init(&names->lookups);
    for (int i = 0; i < NAMES_BUCKETS; i++)
        list_init(&names->buckets[i]);
}

void names_done(struct names *names)
{
    for (int i = 0; i < NAMES_BUCKETS; i++)
        list_each (&names->buckets[i], node)
            names_drop(names, list_entry(node, struct resolve_name, bucket));
    lookups_done(&names->lookups);
}

static size_t fold(char ret_host[NAMES_HOST_MAX + 1], struct str host)
{
    for (size_t i = 0; i < host.n; i++)
        ret_host[i] = str_is_letter(host.p[i]) ? (char)(host.p[i] | 0x20) : host.p[i];
    ret_host[host.n] = 0;
    return host.n;
}

static struct list *bucket_of(struct names *names, struct str host)
{
    return &names->buckets[hash_bytes(host.p, host.n) % NAMES_BUCKETS];
}

struct resolve_name *names_find(struct names *names, struct str host)
{
    char folded[NAMES_HOST_MAX + 1];
    struct str key = {folded, fold(folded, host)};
    struct list *bucket = bucket_of(names, key);
    list_each (bucket, node) {
        struct resolve_name *name = list_entry(node, struct resolve_name, bucket);
        if (str_eq(key, (struct str){name->host, name->n}))
            return name;
    }
    return NULL;
}

void names_unkeep(struct resolve_name *name)
{
    if (!name->kept)
        return;
    list_remove(&name->used);
    name->kept->count--;
    name->kept = NULL;
}

void names_drop(struct names *names, struct resolve_name *name)
{
    names_unkeep(name);
    lookups_end(&names->lookups, &name->lookup);
    list_remove(&name->bucket);
    mem_free(name);
}

void names_use(struct resolve_name *name)
{
    list_remove(&name->used);
    list_append(&name->kept->used, &name->used);
}

void names_keep(struct names *names, struct resolve_name *name)
{
    struct names_kept *kept = name->answer.count ? &names->good : &names->failed;
    name->kept = kept;
    list_append(&kept->used, &name->used);
    kept->count++;
    while (kept->count > KEPT_MAX) {
        struct resolve_name *oldest = list_entry(kept->used.next, struct resolve_name, used);
        if (oldest->fresh.next)
            return; // its waiters are told first; the next one that is kept looks again
        names_drop(names, oldest);
    }
}

struct resolve_name *names_add(struct names *names, struct str host)
{
    struct resolve_name *name = mem_zero(sizeof *name);
    name->n = fold(name->host, host);
    list_init(&name->waiters);
    list_append(bucket_of(names, (struct str){name->host, name->n}), &name->bucket);
    return name;
}

// Zones that were read are kept in a list, the newest first, and never changed. So a caller may use its zone without a lock, also
// when a newer tzdata has come meanwhile. The list is searched one by one, because few zones are in use at a time.
//
// A server that uses every zone needs 1.6 MiB for them, and nearly as much again for each release of tzdata that comes while it
// runs. There are three or four releases a year; after REFRESHES_MAX of them the server has to be restarted to read more.
#include "flow/zones.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_FILE_MAX = 1024 * 1024, REFRESHES_MAX = 50 };

struct loaded {
    struct loaded *older;
    struct arena arena; // of the two below
    struct str name;
    const struct zone *zone;
    int release;
};

struct listing {
    struct arena arena;
    struct zone_list list;
};

// Whether a file is the one that was looked at before.
struct stamp {
    int64_t mtime_s, mtime_ns, size;
    uint64_t inode;
};

struct zones {
    char *dir;
    struct stamp seen, listed; // of tzdata.zi: at the last look, and when it was last read. Only refresh uses them
    pthread_mutex_t lock;
    struct listing *listing; // under the lock; only refresh changes it
    struct loaded *loaded;   // under the lock
    int release;             // under the lock: how many newer ones came
};

// ---- files

// False: errno says why. A file that is longer than `max` is cut off one byte after it, so that who reads the text can tell.
static bool read_file(const char *dir, struct str name, size_t max, struct buf *ret_text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" STR_FMT, dir, STR_ARG(name));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    buf_reserve(ret_text, max + 1);
    ssize_t n = 1;
    while (n > 0 && ret_text->n <= max) {
        n = read(fd, ret_text->p + ret_text->n, max + 1 - ret_text->n);
        if (n > 0)
            ret_text->n += (size_t)n;
        else if (n < 0 && errno == EINTR)
            n = 1;
    }
    int problem = errno;
    close(fd);
    errno = problem;
    return n >= 0;
}

static struct stamp look(const struct zones *zones)
{
    char path[PATH_MAX];
    struct stat what;
    snprintf(path, sizeof path, "%s/tzdata.zi", zones->dir);
    if (stat(path, &what))
        return (struct stamp){0};
    return (struct stamp){what.st_mtim.tv_sec, what.st_mtim.tv_nsec, what.st_size, what.st_ino};
}

static bool stamp_eq(struct stamp a, struct stamp b)
{
    return a.mtime_s == b.mtime_s && a.mtime_ns == b.mtime_ns && a.size == b.size && a.inode == b.inode;
}

// tzdata.zi has all names and the version; systems that do not install it have zone1970.tab. Neither: an empty list.
static struct listing *listing_new(const char *dir)
{
    struct listing *listing = mem_zero(sizeof *listing);
    buf_auto struct buf text = {0};
    arena_init(&listing->arena);
    if (read_file(dir, STR("tzdata.zi"), LIST_FILE_MAX, &text))
        listing->list = zone_list_read(buf_str(&text), &listing->arena);
    else if (read_file(dir, STR("zone1970.tab"), LIST_FILE_MAX, &text))
        listing->list = zone_list_read_tab(buf_str(&text), &listing->arena);
    return listing;
}

static void listing_free(struct listing *listing)
{
    arena_done(&listing->arena);
    mem_free(listing);
}

static void loaded_free(struct loaded *loaded)
{
    arena_done(&loaded->arena);
    mem_free(loaded);
}

// Some systems have a zone's file only under the zone's own name. A name that has no file is a link, and the file of the zone
// that it links to is read instead.
static struct loaded *load(const char *dir, const struct zone_name *listed, char why[ERR_WHY_MAX])
{
    struct loaded *loaded = mem_zero(sizeof *loaded);
    buf_auto struct buf bytes = {0};
    const char *problem = NULL;
    arena_init(&loaded->arena);
    loaded->name = arena_copy(&loaded->arena, listed->name);
    if (!read_file(dir, listed->name, ZONE_FILE_MAX, &bytes) &&
        !(listed->link.n && read_file(dir, listed->link, ZONE_FILE_MAX, &bytes)))
        problem = strerror(errno);
    if (problem || zone_read(buf_str(&bytes), &loaded->arena, &loaded->zone, &problem)) {
        snprintf(why, ERR_WHY_MAX, "The file of the time zone " STR_FMT " on the server cannot be used: %s",
                 STR_ARG(listed->name), problem);
        loaded_free(loaded);
        return NULL;
    }
    return loaded;
}

// ---- zones

struct zones *zones_new(const char *dir)
{
    struct zones *zones = mem_zero(sizeof *zones);
    if (!dir)
        dir = getenv("TZDIR");
    if (!dir || !*dir)
        dir = "/usr/share/zoneinfo";
    zones->dir = mem_copy(dir, strlen(dir));
    zones->seen = zones->listed = look(zones);
    zones->listing = listing_new(zones->dir);
    pthread_mutex_init(&zones->lock, NULL);
    return zones;
}

void zones_free(struct zones *zones)
{
    if (!zones)
        return;
    while (zones->loaded) {
        struct loaded *older = zones->loaded->older;
        loaded_free(zones->loaded);
        zones->loaded = older;
    }
    listing_free(zones->listing);
    pthread_mutex_destroy(&zones->lock);
    mem_free(zones->dir);
    mem_free(zones);
}

static struct loaded *find_loaded(const struct zones *zones, struct str name)
{
    struct loaded *loaded = zones->loaded;
    while (loaded && !str_eq(loaded->name, name))
        loaded = loaded->older;
    return loaded;
}

// Finds what is known without reading a file. When *ret_zone is NULL, *ret_listed says which file to read; it is copied into the
// arena, because the list may be replaced meanwhile. ERR_INVALID_FIELD: there is no such zone.
static enum err find_known(struct zones *zones, struct str name, struct arena *arena, const struct zone **ret_zone,
                           struct zone_name *ret_listed, char why[ERR_WHY_MAX])
{
    const struct zone_list *list = &zones->listing->list;
    const struct zone_name *listed = zone_list_find(list, name);
    struct loaded *loaded = find_loaded(zones, name);
    *ret_zone = loaded && (loaded->release == zones->release || !listed) ? loaded->zone : NULL;
    if (*ret_zone)
        return ERR_OK;
    if (listed) {
        *ret_listed = (struct zone_name){arena_copy(arena, listed->name), arena_copy(arena, listed->link)};
        return ERR_OK;
    }
    struct str guess = zone_list_guess(list, name);
    if (!list->count)
        snprintf(why, ERR_WHY_MAX, "Only UTC is known, because the package tzdata is not installed on the server.");
    else if (guess.n)
        snprintf(why, ERR_WHY_MAX, "There is no such time zone; did you mean " STR_FMT "?", STR_ARG(guess));
    else
        snprintf(why, ERR_WHY_MAX,
                 "There is no such time zone. Give a name of the IANA database, such as Europe/Berlin, or UTC.");
    return ERR_INVALID_FIELD;
}

// Keeps the zone that was read, unless another thread has read it meanwhile. `read` is NULL when the file could not be read: then
// the zone stays as it was in the last release, and its file is not tried again before the next one.
static const struct zone *keep(struct zones *zones, struct str name, struct loaded *read)
{
    struct loaded *known = find_loaded(zones, name);
    if (read && known && known->release == read->release) {
        loaded_free(read);
        return known->zone;
    }
    if (read) {
        read->older = zones->loaded;
        zones->loaded = read;
        return read->zone;
    }
    if (!known)
        return NULL;
    known->release = zones->release;
    return known->zone;
}

enum err zones_find(struct zones *zones, struct str name, const struct zone **ret_zone, char why[ERR_WHY_MAX])
{
    struct zone_name listed = {0};
    struct arena arena;
    if (str_is(name, "UTC")) {
        *ret_zone = &zone_utc;
        return ERR_OK;
    }
    arena_init(&arena);
    pthread_mutex_lock(&zones->lock);
    int release = zones->release;
    enum err err = find_known(zones, name, &arena, ret_zone, &listed, why);
    pthread_mutex_unlock(&zones->lock);
    if (!err && !*ret_zone) {
        struct loaded *read = load(zones->dir, &listed, why);
        if (read)
            read->release = release;
        pthread_mutex_lock(&zones->lock);
        *ret_zone = keep(zones, name, read);
        pthread_mutex_unlock(&zones->lock);
    }
    arena_done(&arena);
    return *ret_zone ? ERR_OK : ERR_INVALID_FIELD;
}

bool zones_schedule(struct zones *zones, const struct task *task, int64_t task_id, int64_t since_ms, struct arena *arena,
                    struct schedule *ret_schedule, struct problem *why)
{
    const struct zone *zone;
    char words[ERR_WHY_MAX];
    if (!task_recurs(task)) { // of a task with a plan: somebody else has changed its document in the database
        problem_set(why, ERR_INVALID_FIELD, "/cron", "The document has neither cron nor every.");
        return false;
    }
    enum err err = zones_find(zones, task->recurs->timezone, &zone, words);
    if (err)
        err = problem_set(why, err, "/timezone", "%s", words);
    else
        err = task_schedule(task, task_id, since_ms, zone, arena, ret_schedule, why);
    why->err = err;
    return !err;
}

enum err zones_check(struct zones *zones, const struct task *task, int64_t now_ms, struct arena *arena, struct problem *why)
{
    struct schedule schedule;
    if (!task_recurs(task))
        return ERR_OK;
    if (!zones_schedule(zones, task, 0, now_ms, arena, &schedule, why))
        return why->err;
    return recurrence_check_ahead(task, &schedule, now_ms, why);
}

bool zones_is_installed(struct zones *zones, struct str name, char why[ERR_WHY_MAX])
{
    const struct zone *zone;
    pthread_mutex_lock(&zones->lock);
    bool listed = str_is(name, "UTC") || zone_list_find(&zones->listing->list, name);
    if (!listed)
        snprintf(why, ERR_WHY_MAX, "tzdata %s does not have the time zone " STR_FMT, zones->listing->list.version, STR_ARG(name));
    pthread_mutex_unlock(&zones->lock);
    return listed && !zones_find(zones, name, &zone, why);
}

void zones_version(struct zones *zones, char ret_version[ZONE_VERSION_SIZE])
{
    pthread_mutex_lock(&zones->lock);
    memcpy(ret_version, zones->listing->list.version, ZONE_VERSION_SIZE);
    pthread_mutex_unlock(&zones->lock);
}

// A package manager replaces files one after the other. So a list that has changed is read only at the next look, when it has not
// changed again: by then the files of the zones are those of the list.
bool zones_refresh(struct zones *zones)
{
    struct stamp stamp = look(zones);
    bool settled = stamp_eq(stamp, zones->seen);
    zones->seen = stamp;
    if (!settled || stamp_eq(stamp, zones->listed) || zones->release == REFRESHES_MAX)
        return false;
    zones->listed = stamp;
    struct listing *now = listing_new(zones->dir), *before = zones->listing;
    if (!zone_list_is_newer(&now->list, &before->list)) {
        listing_free(now);
        return false;
    }
    pthread_mutex_lock(&zones->lock);
    zones->listing = now;
    zones->release++;
    pthread_mutex_unlock(&zones->lock);
    listing_free(before);
    return true;
}

// The time zones of this machine: which there are, and each one read when it is first asked for.
// Layer: flow. Any thread, one short lock that is not held over I/O; zones_refresh() one thread.
//
// They are tzdata's files, in the folder that TZDIR names or in /usr/share/zoneinfo. Without tzdata there is only UTC.
#pragma once
#include "core/schedule/zone_list.h"
#include "core/task/task.h"

struct zones;

struct zones *zones_new(const char *dir); // NULL: TZDIR, or the folder of the system
void zones_free(struct zones *zones);     // accepts NULL

// The zone lives as long as `zones`. The name is one of tzdata's, in the right case, or "UTC". ERR_INVALID_FIELD: there is no
// zone of this name, or its file cannot be used; `why` says which, and what would help.
err_check enum err zones_find(struct zones *zones, struct str name, const struct zone **ret_zone, char why[ERR_WHY_MAX]);

// The schedule of a task that recurs (task_schedule()), in its zone. False: there is no such zone, or the document is not as it
// was when it was accepted; `why` says which.
bool zones_schedule(struct zones *zones, const struct task *task, int64_t task_id, int64_t since_ms, struct arena *arena,
                    struct schedule *ret_schedule, struct problem *why);

// Refuses a task that recurs and whose schedule cannot be followed from now on: its time zone does not exist here, or no instant
// lies ahead. What can be said of a document alone, task_parse() has said.
err_check enum err zones_check(struct zones *zones, const struct task *task, int64_t now_ms, struct arena *arena,
                               struct problem *why);

// Does the tzdata that is installed now have this zone? One that was in use before it vanished is still found (zones_find()).
bool zones_is_installed(struct zones *zones, struct str name, char why[ERR_WHY_MAX]);

void zones_version(struct zones *zones, char ret_version[ZONE_VERSION_SIZE]); // of tzdata, "2025b"; empty: it is not known

// To be called every few seconds: when the list was the same at two looks, it is read. True: a newer tzdata was installed, and
// zones_find() gives its zones from now on, so a plan that was made with an older one may have to be made again. Zones that were
// handed out before stay valid. A zone that was in use and that the newer tzdata does not have, or whose new file cannot be used,
// stays as it was.
bool zones_refresh(struct zones *zones);

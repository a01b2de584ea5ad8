// What each scenario of the guard is made of: parts whose instructions are counted, and what is done outside of them.
#pragma once
#include <stddef.h>

// From part_begin() to part_end() instructions of all threads are counted, if this runs under callgrind. `count` is how many
// tasks the part was about.
void part_begin(void);
void part_end(const char *name, size_t count);

// Each takes a folder of its own to write in.
void guard_submit(const char *folder);
void guard_store(const char *folder);
void guard_life(const char *folder);
void guard_call(const char *folder);

_Noreturn void guard_die(const char *what, const char *why);

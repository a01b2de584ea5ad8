// The tasks that files declare, for `rota apply`: TOML with a [[task]] each, or JSON.
// Layer: cli. Pure but for memory.
//
// A file of JSON is an array of objects, or an object whose only member `tasks` is one. Each task has a name, and no name comes
// twice in all files together, because the name is what a task is found by.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/data/map.h"
#include "base/err.h"

#define APPLY_FILE_LABEL "rota.set"

struct apply_task {
    struct str name; // decoded
    struct str json; // its document
    const char *file;
    size_t number;  // the line of its [[task]] from 1, or its place in the array from 0
    bool from_toml; // which of the two
};

struct apply_file {
    struct arena arena;
    struct apply_task *tasks; // in the order of the files
    size_t count, room;
    struct map by_name; // for names that come twice: a task by the hash of its name
};

void apply_file_init(struct apply_file *ret_files);
void apply_file_done(struct apply_file *files);

// Adds the tasks of one file. Its name decides what it is (.toml, .json); any other name leaves it to how the text begins. Name
// and text must stay as long as the tasks do. False: `problems` has got a line for each thing that is wrong, with its place.
err_check bool apply_file_add(struct apply_file *files, const char *file, struct str text, struct buf *problems);

void apply_file_put_place(struct buf *buf, const struct apply_task *task); // "tasks.toml:12", "tasks.json[3]"

const struct apply_task *apply_file_find(const struct apply_file *files, struct str name); // NULL: no task has this name

// Its document with a label more, by which what was made under a set is found again. False: `why` says why it cannot have that.
err_check bool apply_file_put_document(struct buf *buf, const struct apply_task *task, struct str set, char why[ERR_WHY_MAX]);

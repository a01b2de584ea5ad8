// The tasks of a file, one after the other: a JSON object, an array of them, or one a line (NDJSON).
// Layer: cli. One owner at a time.
//
// Lines are read as they are wanted, however long the file is. A document that is one JSON text is read whole and checked first,
// so that nothing of it is used when its end is wrong.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/text/json.h"

#include <stdbool.h>
#include <stdint.h>

struct documents {
    int fd;
    bool lines, ended; // `ended`: all was read
    struct buf text;   // what was read and not given yet; all of it when it is not lines
    size_t at;         // how much of it was given
    size_t number;     // of the next: a line, from 1, or an item, from 0
    struct json_iter items;
    uint64_t size, given; // bytes, to say how far it has come; size 0: unknown
    int error;            // of reading, or 0
};

struct document {
    struct json json;      // an object. It is good until the next one is asked for
    size_t number;         // its line from 1, or its place in the array from 0
    enum err err;          // what is wrong with it, as the server would call it
    char why[ERR_WHY_MAX]; // words about it
};

// "-" is stdin. False: `why` says what is wrong with the file as a whole.
err_check bool documents_open(struct documents *ret_documents, const char *path, char why[ERR_WHY_MAX]);
void documents_close(struct documents *documents);

// False at the end, and when reading failed: then `error` is set.
bool documents_next(struct documents *documents, struct document *ret_document);

// The path and the query of a target: whether what is escaped in them can be read, and the query's parameters.
//
// Layer: port (http/server), private to this folder. Pure.
#pragma once
#include "base/arena.h"
#include "base/str.h"

enum { QUERY_MAX = 64 }; // parameters

// A name and its value: a parameter of a query, or a header of an answer.
struct pair {
    struct str name, value;
    struct pair *next;
};

// Reads a target, as it came, into the parameters of its query, in order. Returns what is wrong with it, or NULL.
const char *query_read(struct str path, struct str query, struct arena *arena, struct pair **ret_pairs);

// A member of an answer as text: what the lines of a task and the columns of a table are made of.
// Layer: cli. Pure.
//
// The functions that a table can name have one signature: `path` says which member of the object it is ("job.state"). Where there
// is no such member they put nothing.
#pragma once
#include "cli/show/show.h"

enum { MEMBER_TEXT_MAX = 200 }; // characters of a text; what is longer is cut

void member_put_text(struct buf *buf, const struct show *show, const struct value *object, const char *path);
void member_put_count(struct buf *buf, const struct show *show, const struct value *object, const char *path); // from 0 up
void member_put_json(struct buf *buf, const struct show *show, const struct value *object, const char *path);
void member_put_state(struct buf *buf, const struct show *show, const struct value *object, const char *path); // in its colour

// A local time and how far away it is. A time that cannot be read is put as it came.
void member_put_time(struct buf *buf, const struct show *show, const struct value *object, const char *path);
void member_put_away(struct buf *buf, const struct show *show, const struct value *object, const char *path); // or show->absolute

// These are made of members whose names they know; `path` is not looked at.
void member_put_call(struct buf *buf, const struct show *show, const struct value *task, const char *path); // "POST http://a/"
void member_put_took(struct buf *buf, const struct show *show, const struct value *job, const char *path);  // of an attempt too

// A text that may be long, cut where it says that -o json has more. False: it was cut.
bool member_put_cut(struct buf *buf, struct str text);

// How long from one time to the other. False, and nothing, unless both are known.
bool member_put_between(struct buf *buf, const struct value *object, const char *from, const char *to);

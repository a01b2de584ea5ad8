// One line an event on stderr, for people or for machines. Layers below flow do not log.
// Layer: base. Any thread.
//
// Whatever is given to it, a line is a line: control characters are written as '?', bytes that are not UTF-8 as U+FFFD, secrets
// as `***` (base/mask), and with LOG_JSON it is one JSON object with `time`, `level` and `msg`.
#pragma once
#include "base/buf.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_TEXT, LOG_JSON };

void log_set_level(enum log_level least);
void log_set_format(enum log_format format);

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull(2)));

// A message to the person who started the program: as text it has neither time nor level and is always written; as JSON it is a
// line as any other.
void log_say(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull(2)));

// What is written for `words`, with the line feed; `bare`: as log_say() writes it. Pure.
void log_put(struct buf *buf, enum log_format format, enum log_level level, int64_t time_ms, bool bare, struct str words);

#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)

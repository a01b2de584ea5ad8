// UTF-8, one character at a time.
// Layer: base. Pure.
#pragma once
#include <stdbool.h>
#include <stdint.h>

// How many bytes the character at `at` has; 0 when it is not one: too long a form, a surrogate, beyond U+10FFFF, cut off.
int utf8_length(const char *at, const char *end);

uint32_t utf8_rune(const char *at, int length);   // of a character that utf8_length() has measured
int utf8_write(char ret_bytes[4], uint32_t rune); // how many bytes were written; 0 when it is no character

// Must it not be shown as it is: a control character (also of the upper range, which terminals obey too), a line separator, or a
// mark that changes the direction of writing.
bool utf8_is_control(uint32_t rune);

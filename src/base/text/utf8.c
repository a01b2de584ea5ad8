// See utf8.h.
#include "base/text/utf8.h"

int utf8_length(const char *at, const char *end)
{
    const unsigned char *p = (const unsigned char *)at;
    int length = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;
    if (length > end - at)
        return 0;
    for (int i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return length;
}

uint32_t utf8_rune(const char *at, int length)
{
    static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07}; // the bits of the first byte that count
    uint32_t rune = (unsigned char)at[0] & first[length];
    for (int i = 1; i < length; i++)
        rune = rune << 6 | ((unsigned char)at[i] & 0x3f);
    return rune;
}

int utf8_write(char ret_bytes[4], uint32_t rune)
{
    if (rune > 0x10ffff || (rune >= 0xd800 && rune < 0xe000))
        return 0;
    if (rune < 0x80) {
        ret_bytes[0] = (char)rune;
        return 1;
    }
    int length = rune < 0x800 ? 2 : rune < 0x10000 ? 3 : 4;
    for (int i = length - 1; i > 0; i--, rune >>= 6)
        ret_bytes[i] = (char)(0x80 | (rune & 0x3f));
    static const unsigned char marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    ret_bytes[0] = (char)(marks[length] | rune);
    return length;
}

bool utf8_is_control(uint32_t rune)
{
    return rune < 0x20 || (rune >= 0x7f && rune < 0xa0) || rune == 0x061c || (rune >= 0x200e && rune <= 0x200f) ||
           (rune >= 0x2028 && rune <= 0x202e) || (rune >= 0x2066 && rune <= 0x2069);
}

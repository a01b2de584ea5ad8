#include "core/share.h"

int share_more(int total, int used, int held, int weight)
{
    // Taking x more must leave held + x <= weight * (total - used - x).
    int more = (weight * (total - used) - held) / (weight + 1);
    int free = total - used;
    if (more <= 0)
        return held == 0 && free > 0 ? 1 : 0;
    return more < free ? more : free;
}

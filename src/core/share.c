// Why a lane may hold what is free times its weight, and no list of who is active is needed:
//
// Let lanes with weights w1 … wn all want more than they get. Each takes until it holds wi * free, so
// w1*free + … + wn*free + free = total, that is free = total / (w1 + … + wn + 1) and each holds wi of those parts. The shares are
// in proportion to the weights, and one part always stays free for whoever comes next: it may take half of that (a
// larger weight more) at once, and the others, who now hold more than what is free, take no more until enough
// of theirs has ended. Nobody is made to give back what it holds, and a lane that wants less than its share leaves the rest
// to all. The price is the part that stays free: half of the pool with one lane of weight 1, less with every other one.
//
// Whole places are what this is rounded to, and a rounded share may be none. So a lane that holds nothing may take one place as
// long as there is one: with more lanes than places each gets one in turn, which is what flow/lanes takes care of.
#include "core/share.h"

#include <stdint.h>

int share_more(int total, int used, int held, int weight)
{
    int64_t free = (int64_t)total - used; // negative when jobs turned up that nobody had counted
    if (free <= 0)
        return 0;
    if (weight < 0)
        weight = 0;
    // Taking x more must leave held + x <= weight * (free - x).
    int64_t more = (weight * free - held) / ((int64_t)weight + 1);
    if (more > 0)
        return (int)(more < free ? more : free);
    return held <= 0 ? 1 : 0;
}

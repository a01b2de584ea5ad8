// Fair sharing of room: how much of a common pool one lane may hold.
// Layer: core, pure.
#pragma once

// A lane may hold as many places as are free, times its weight. So one lane alone gets half of the pool, two
// get a third each, and a newcomer finds room, without anybody counting who is active. A lane of weight 0 holds one place at a
// time. Returns how many more places the lane, which holds `held` of the `used` ones, may take now: never more than are free.
int share_more(int total, int used, int held, int weight);

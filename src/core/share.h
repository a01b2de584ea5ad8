// Fair sharing of room: how much of a common pool one lane may hold.
// Layer: core, pure.
#pragma once

// A lane may hold as many places as are free, times its weight. So one lane alone gets half of the pool, two
// get a third each, and a newcomer always finds room, without anybody counting who is active.
// Returns how many more places the lane may take now.
int share_more(int total, int used, int held, int weight);

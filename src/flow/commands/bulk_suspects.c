// A node that has just begun has seen no beat of the others yet. So a holder that it does not know is suspected first, and a row
// is taken only if that has not changed for as long as a life may act without a beat.
#include "flow/commands/bulk_suspects.h"

#include "flow/tend/beat.h"

static int64_t silent_since(const struct bulk_suspects *suspects, const struct store_bulk_row *row, struct now now)
{
    for (size_t i = 0; i < suspects->count; i++)
        if (suspects->rows[i].id == row->id && suspects->rows[i].holder == row->holder)
            return suspects->rows[i].since;
    return now.mono_ms;
}

void bulk_suspects_judge(struct bulk_suspects *suspects, struct node *node, const struct peers *peers,
                         const struct store_bulks *look, struct now now, bool ret_free[BULK_ROWS_MAX])
{
    struct bulk_suspects found = {.count = 0};
    int64_t life = atomic_load(&node->incarnation);
    for (size_t i = 0; i < look->row_count; i++) {
        const struct store_bulk_row *row = &look->rows[i];
        ret_free[i] = !row->holder || row->holder == life || peers_are_none(peers);
        if (ret_free[i] || peers_lives(peers, row->holder))
            continue;
        int64_t since = silent_since(suspects, row, now);
        ret_free[i] = now.mono_ms - since >= BEAT_ALIVE_MS;
        found.rows[found.count++] = (struct bulk_suspect){row->id, row->holder, since};
    }
    *suspects = found;
}

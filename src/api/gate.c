#include "api/gate.h"

void gate_enter(struct gate *gate, int max, struct gate_wait *wait, struct http_request *request,
                void (*next)(struct http_request *request, void *state), void *state)
{
    if (gate->inside < max) {
        gate->inside++;
        next(request, state);
        return;
    }
    *wait = (struct gate_wait){.request = request};
    http_wait(request, next, state);
    if (gate->first)
        gate->last->next = wait;
    else
        gate->first = wait;
    gate->last = wait;
}

// Whoever is next has the place of who leaves. When the store has failed, all who wait go in with its error: asked one group
// after another, the last of them would be told of it much later than the first.
void gate_leave(struct gate *gate, enum err failed)
{
    gate->inside--;
    for (struct gate_wait *wait = gate->first; wait; wait = failed ? gate->first : NULL) {
        gate->first = wait->next;
        gate->inside++;
        wait->failed = failed;
        http_resume(wait->request);
    }
}

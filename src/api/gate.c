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

// Whoever is next has the place of who leaves.
void gate_leave(struct gate *gate)
{
    struct gate_wait *wait = gate->first;
    if (!wait) {
        gate->inside--;
        return;
    }
    gate->first = wait->next;
    http_resume(wait->request);
}

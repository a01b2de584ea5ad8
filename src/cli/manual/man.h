// Manual pages as scdoc sources, made from the tables: docs/man/*.scd are the output of `rota help --scd [VERB]`.
// Layer: cli. Pure.
#pragma once
#include "base/buf.h"
#include "cli/verb.h"

void man_put_overview(struct buf *buf);                      // rota(1)
void man_put_verb(struct buf *buf, const struct verb *verb); // rota-VERB(1)

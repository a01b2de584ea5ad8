// Hides what must not be read by others in text that is to be logged or shown.
// Layer: base. Pure.
#pragma once
#include "base/buf.h"

// `text` with *** in place of secrets: passwords in URLs (of which also a part is enough), values of password=, token= and their
// like, what follows `Authorization:`, `Bearer` and `Basic`, and API keys (rota_sk_…). It goes by how they look, so it is a
// safety net for callers that should leave secrets out, and hides a little more rather than a little less.
void mask_put(struct buf *buf, struct str text);

// What the handlers that begin a bulk share.
// Layer: api. HTTP thread.
#pragma once
#include "api/handlers.h"
#include "store/journal.h"

// A new row of the caller's tenant. The document lives as long as the request.
struct store_bulk_row bulk_new_row(const struct api_call *call, struct str doc);
// Writes a new row, has it carried out, and answers with it (202).
void bulk_begin(const struct api_call *call, const struct store_bulk_row *row);

// Documents that are served as they are. Made from docs/ when rota is built (tools/documents.py).
// Layer: api.
#pragma once
#include "base/str.h"

extern const struct str document_openapi; // docs/openapi.yaml, as JSON
extern const struct str document_errors;  // docs/errors.md, as a page

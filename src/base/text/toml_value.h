// The values of a TOML file. Only toml.c knows it.
// Layer: base. Pure but for the arena.
#pragma once
#include "base/text/toml_scan.h"

// Fills the type and the value of *entry. False: the scan has a further error.
bool toml_value_read(struct toml_scan *scan, struct toml_entry *entry);

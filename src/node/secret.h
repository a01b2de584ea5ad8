// The file of secret_file, whose bytes tickets are signed with in place of the store's secret.
// Layer: node. Any thread.
#pragma once
#include "base/err.h"
#include "store/lives.h"

enum { SECRET_FILE_MIN = 32, SECRET_FILE_MAX = 4096 }; // bytes

// False: the file cannot be used; `why` says what is wrong with it and what would be right. True: it can, and `why` is empty or
// says what is worth a warning.
err_check bool secret_read(const char *path, uint8_t ret_secret[STORE_SECRET_SIZE], char why[ERR_WHY_MAX]);

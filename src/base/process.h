// What the kernel says of this process.
// Layer: base. Any thread.
#pragma once
#include <stdint.h>

struct process_info {
    double cpu_seconds;
    double start_seconds; // since 1970
    int64_t resident_bytes, virtual_bytes;
    int64_t fds, fds_max;
    int64_t threads;
};

void process_info(struct process_info *ret_info); // what cannot be read is 0

#include "base/process.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int64_t count_fds(void)
{
    int64_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return 0;
    // cppcheck-suppress readdirCalled; the directory is this thread's alone
    for (const struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count - 1; // the one this was read by
}

static double boot_seconds(void)
{
    char line[128];
    long long seconds = 0;
    FILE *file = fopen("/proc/stat", "re");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "btime %lld", &seconds) != 1)
        ;
    if (file)
        fclose(file);
    return (double)seconds;
}

// The name in brackets may hold anything, so the numbers are looked for behind the last bracket.
static void read_stat(struct process_info *info)
{
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[n] = 0;
    const char *rest = strrchr(text, ')');
    unsigned long long user, system, start, virtual_bytes;
    long long threads, pages;
    if (!rest || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %lld %*d %llu %llu %lld",
                        &user, &system, &threads, &start, &virtual_bytes, &pages) != 6)
        return;
    double ticks = (double)sysconf(_SC_CLK_TCK);
    info->cpu_seconds = (double)(user + system) / ticks;
    info->start_seconds = boot_seconds() + (double)start / ticks;
    info->virtual_bytes = (int64_t)virtual_bytes;
    info->resident_bytes = pages * sysconf(_SC_PAGESIZE);
    info->threads = threads;
}

void process_info(struct process_info *ret_info)
{
    struct rlimit limit;
    *ret_info = (struct process_info){.fds = count_fds()};
    if (!getrlimit(RLIMIT_NOFILE, &limit))
        ret_info->fds_max = (int64_t)limit.rlim_cur;
    read_stat(ret_info);
}

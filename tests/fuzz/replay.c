// Runs a fuzz target over files: replay FOLDER|FILE…. What libFuzzer is for searching, this is for keeping: a plain program of
// any compiler that runs the committed corpus, and each of its inputs cut off at every byte.
//
// The name of a file is printed before it is run, so that a death tells by whom. Each input lies in a block of exactly its size,
// so that AddressSanitizer sees the first byte read behind it.
#include "fuzz.h"

#include <dirent.h>
#include <sys/stat.h>

enum { CUT_MAX = 2048 }; // larger inputs are run as a whole only

static int count;

static void run(const char *bytes, size_t n)
{
    char *exact = malloc(n ? n : 1);
    if (!exact)
        abort();
    if (n)
        memcpy(exact, bytes, n);
    LLVMFuzzerTestOneInput((const uint8_t *)exact, n);
    free(exact);
}

static void run_file(const char *path)
{
    static char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    printf("%s\n", path);
    fflush(stdout);
    run(bytes, n);
    for (size_t cut = 0; cut < n && n <= CUT_MAX; cut++)
        run(bytes, cut);
    count++;
}

static int is_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void run_folder(const char *folder)
{
    struct dirent **entries;
    int n = scandir(folder, &entries, is_file, alphasort);
    if (n < 0) {
        perror(folder);
        exit(2);
    }
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        run_file(path);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct stat what;
        if (stat(argv[i], &what) == 0 && S_ISDIR(what.st_mode))
            run_folder(argv[i]);
        else
            run_file(argv[i]);
    }
    printf("%d passed, %d failed\n", count, count == 0);
    return count == 0;
}

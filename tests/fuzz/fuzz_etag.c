// core/etag: a list of tags. What it names, written plainly, is read as the same; space and empty places change nothing. Input:
// the value of an If-Match.
#include "base/buf.h"
#include "base/mem.h"
#include "core/etag.h"
#include "fuzz.h"

static size_t read_list(struct str list, int64_t **ret_versions)
{
    *ret_versions = mem_alloc(etag_most(list) * sizeof **ret_versions); // of its exact size, so that a sanitizer sees it overrun
    size_t count = etag_versions(list, *ret_versions);
    must(count <= etag_most(list));
    return count;
}

static void expect_same(struct str list, const int64_t *versions, size_t count)
{
    int64_t *again;
    must(read_list(list, &again) == count);
    for (size_t i = 0; i < count; i++)
        must(again[i] == versions[i]);
    mem_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str list = fuzz_input(data, size);
    buf_auto struct buf plain = {0}, spaced = {0};
    int64_t *versions;
    size_t count = read_list(list, &versions);
    for (size_t i = 0; i < count; i++) {
        must(versions[i] >= 0);
        buf_printf(&plain, "%s\"%lld\"", i ? "," : "", (long long)versions[i]);
    }
    expect_same(buf_str(&plain), versions, count);
    buf_puts(&spaced, "\t, ");
    buf_put(&spaced, list);
    buf_puts(&spaced, " ,");
    expect_same(buf_str(&spaced), versions, count);
    mem_free(versions);
    return 0;
}

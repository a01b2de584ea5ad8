// What store/jobs.h promises, tried on every backend: pages of tasks and jobs, and what they are found by.
#include "store_contract.h"

// ---- lists

static void tasks_are_listed_newest_first_with_their_jobs(void **state)
{
    struct world *world = *state;
    int64_t first = add(world, (struct sample){0}), second = add(world, (struct sample){.queue = "r"});
    add(world, (struct sample){.tenant = 8});
    struct store_list *all = list(world, (struct store_list){0});
    assert_int_equal(all->task_count, 2);
    assert_int_equal(all->tasks[0].id, second);
    assert_int_equal(all->tasks[1].id, first);
    assert_true(str_is(all->tasks[0].queue, "r") && str_is(all->tasks[1].name, "a name") && all->tasks[0].doc.n);
    assert_int_equal(all->found_count, 2);
    assert_int_equal(all->found[0].task_id, second);
    assert_false(all->more);
}

static void tasks_are_listed_without_jobs_if_none_are_asked_for(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){0});
    struct store_list *op = OP(world, store_list, STORE_LIST);
    op->tenant = TENANT;
    op->before = (struct store_cursor){INT64_MAX, INT64_MAX};
    op->max = op->look = 10;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(op->task_count, 1);
    assert_int_equal(op->tasks[0].id, id);
    assert_int_equal(op->found_count, 0);
}

// However many have ended since, what a task is follows from those that have not.
static void of_each_listed_task_those_jobs_come_first_that_have_not_ended(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.scheduled_at = NOW});
    struct job jobs[2];
    struct store_new item = {.jobs = jobs, .job_count = 2};
    for (int i = 0; i < 2; i++)
        jobs[i] =
            (struct job){.id = id + 1 + i, .task_id = id, .tenant = TENANT, .state = JOB_CANCELLED, .scheduled_at = NOW + 1 + i};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    struct store_list *all = list(world, (struct store_list){.max_jobs = 2});
    assert_int_equal(all->found_count, 2);
    assert_int_equal(all->found[0].id, id);
    assert_int_equal(all->found[1].id, id + 2);
}

static void jobs_are_listed_by_their_planned_time_newest_first(void **state)
{
    struct world *world = *state;
    int64_t early = add(world, (struct sample){.scheduled_at = NOW - 5}),
            late = add(world, (struct sample){.scheduled_at = NOW + 5});
    int64_t tie = add(world, (struct sample){.scheduled_at = NOW + 5, .state = JOB_CANCELLED});
    struct store_list *all = list(world, (struct store_list){.jobs = true, .docs = true}), *jobs = all;
    assert_int_equal(jobs->found_count, 3);
    assert_int_equal(jobs->found[0].id, tie);
    assert_int_equal(jobs->found[1].id, late);
    assert_int_equal(jobs->found[2].id, early);
    assert_int_equal(jobs->task_count, 3);
    assert_int_equal(jobs->tasks[2].id, early);
    jobs = list(world, (struct store_list){.jobs = true, .task_id = late});
    assert_int_equal(jobs->found_count, 1);
    assert_int_equal(list(world, (struct store_list){.jobs = true, .task_id = 404})->found_count, 0);
    assert_int_equal(list(world, (struct store_list){.jobs = true, .task_id = late, .tenant = 8})->found_count, 0);
}

static void a_list_shows_what_matches_all_that_is_asked(void **state)
{
    struct world *world = *state;
    int64_t ready = add(world, (struct sample){.queue = "a"});
    add(world, (struct sample){.queue = "b"});
    int64_t success = add(world, (struct sample){.queue = "a", .state = JOB_SUCCESS});
    add(world, (struct sample){.queue = "c", .state = JOB_ABORTED, .scheduled_at = NOW + 1});
    add(world, (struct sample){.queue = "c", .state = JOB_BURIED, .scheduled_at = NOW + 2});
    add(world, (struct sample){.queue = "c", .state = JOB_CANCELLED, .scheduled_at = NOW + 3});
    static const struct {
        unsigned states;
        const char *queue, *name;
        size_t count;
    } cases[] = {
        {0, "a", NULL, 2},
        {0, "none", NULL, 0},
        {1u << JOB_SUCCESS, NULL, NULL, 1},
        {1u << JOB_READY, "a", NULL, 1},
        {0, NULL, "a name", 6},
        {0, NULL, "a nam", 0},
        {1u << JOB_ABORTED, NULL, NULL, 1},
        {1u << JOB_ABORTED | 1u << JOB_BURIED, NULL, NULL, 2},
        {1u << JOB_ABORTED | 1u << JOB_BURIED, "c", NULL, 2},
        {1u << JOB_ABORTED | 1u << JOB_BURIED, "a", NULL, 0},
        {1u << JOB_ABORTED | 1u << JOB_BURIED | 1u << JOB_CANCELLED, NULL, NULL, 3},
        {1u << JOB_READY | 1u << JOB_SUCCESS, "a", "a name", 2},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct store_list want = {
            .jobs = true, .states = cases[i].states, .queue = str_of(cases[i].queue), .name = str_of(cases[i].name)};
        assert_int_equal(list(world, want)->found_count, cases[i].count);
    }
    struct store_list *failed =
        list(world, (struct store_list){.jobs = true, .states = 1u << JOB_ABORTED | 1u << JOB_BURIED, .max = 1, .look = 1});
    assert_true(failed->found_count == 1 && failed->found[0].state == JOB_BURIED && failed->more); // and looked at no other
    struct store_list *tasks = list(world, (struct store_list){.queue = STR("a")});
    assert_int_equal(tasks->task_count, 2);
    assert_true(tasks->tasks[0].id == success && tasks->tasks[1].id == ready);
}

// Every page by its own, until there is no more: each row once, in order, whatever the sizes.
static void pages_go_on_where_the_one_before_ended(void **state)
{
    enum { ROWS = 30 };
    struct world *world = *state;
    for (int i = 0; i < ROWS; i++)
        add(world, (struct sample){.queue = i % 3 ? "a" : "b", .scheduled_at = NOW + i % 4});
    for (int jobs = 0; jobs < 2; jobs++)
        for (size_t size = 1; size <= 11; size += 5) {
            struct store_cursor before = {INT64_MAX, INT64_MAX};
            size_t found = 0, pages = 0;
            for (bool more = true; more; pages++) {
                struct store_list *page = list(
                    world, (struct store_list){.jobs = jobs, .queue = STR("a"), .before = before, .max = size, .look = size + 1});
                size_t count = jobs ? page->found_count : page->task_count;
                for (size_t i = 0; i < count; i++) {
                    struct store_cursor key = {jobs ? page->found[i].scheduled_at : 0,
                                               jobs ? page->found[i].id : page->tasks[i].id};
                    assert_true(jobs && key.at != before.at ? key.at < before.at : key.id < before.id);
                    before = key;
                }
                found += count;
                assert_true(count <= size && pages <= ROWS);
                more = page->more;
                before = page->next;
            }
            assert_int_equal(found, 20);
        }
}

// The rows of a page, from `first` on, are in order, and without the last of them the page would be too small.
static size_t check_bytes(const struct store_list *page, size_t bytes_max, int64_t newest)
{
    size_t bytes = 0, last = 0;
    assert_int_equal(page->task_count, page->found_count);
    for (size_t i = 0; i < page->task_count; i++) {
        last = store_task_bytes(&page->tasks[i]) + store_job_bytes(&page->found[i]);
        bytes += last;
        assert_int_equal(page->found[i].scheduled_at, newest - (int64_t)i);
    }
    assert_true(page->task_count >= 1 && bytes - last < bytes_max);
    assert_true(!page->more || bytes >= bytes_max);
    return page->task_count;
}

// What a page may hold is counted in bytes, too: whatever they are, the pages together are the list.
static void a_page_ends_with_the_row_that_fills_its_bytes(void **state)
{
    enum { ROWS = 12, DOC = 5000 };
    struct world *world = *state;
    static char doc[DOC];
    memset(doc, 'x', DOC);
    for (int i = 0; i < ROWS; i++)
        add(world, (struct sample){.scheduled_at = NOW + i, .doc = {doc, i % 3 ? DOC : 2}});
    static const size_t bounds[] = {1, DOC, DOC + 2 * 256, DOC + 2 * 256 + 1, 1000000};
    for (int jobs = 0; jobs < 2; jobs++)
        for (size_t b = 0; b < array_count(bounds); b++) {
            struct store_list want = {.jobs = jobs, .docs = jobs, .bytes_max = bounds[b]};
            size_t found = 0;
            do {
                const struct store_list *page = list(world, want);
                found += check_bytes(page, want.bytes_max, NOW + ROWS - 1 - (int64_t)found);
                want.before = page->next;
                if (!page->more)
                    break;
            } while (found < ROWS);
            assert_int_equal(found, ROWS);
        }
}

// Its attempts count, and what was looked at and does not match does not.
static void only_what_is_given_counts_and_all_of_it(void **state)
{
    struct world *world = *state;
    join(world, 5);
    static char large[4000];
    memset(large, 'x', sizeof large);
    int64_t first = add(world, (struct sample){.queue = "a"}), tried = add(world, (struct sample){.queue = "a", .holder = 5});
    for (int i = 0; i < 4; i++)
        add(world, (struct sample){.queue = "b", .doc = {large, sizeof large}, .response = {large, sizeof large}});
    struct store_list *page = list(world, (struct store_list){.queue = STR("a"), .bytes_max = 4000});
    assert_int_equal(page->task_count, 2);
    page = list(world, (struct store_list){.jobs = true, .queue = STR("a"), .bytes_max = 4000});
    assert_int_equal(page->found_count, 2);
    for (int i = 1; i <= 20; i++) {
        struct job job = job_now(world, tried);
        int64_t token = job.token;
        struct attempt attempt = {.number = i, .reason = {large, 100}};
        job.token++;
        assert_int_equal(change(world, token, job, &attempt), ERR_OK);
    }
    for (int jobs = 0; jobs < 2; jobs++) {
        page = list(world, (struct store_list){.jobs = jobs, .queue = STR("a"), .bytes_max = 4000});
        assert_int_equal(page->found_count, 1);
        assert_int_equal(page->found[0].id, tried);
        assert_int_equal(page->attempt_count, 20);
        assert_true(page->more);
        page = list(world, (struct store_list){.jobs = jobs, .queue = STR("a"), .before = page->next, .bytes_max = 4000});
        assert_int_equal(page->found_count, 1);
        assert_int_equal(page->found[0].id, first);
    }
}

// ---- what is found by tags and keys

enum { TAG_X = 20, TAG_Y = 40, TAG_Z = 60 };

// The rows that have these tags, as tasks and as jobs, newest first; each found without looking at others. 0 ends both.
static void assert_tagged(struct world *world, const int64_t *tags, const int64_t *ids)
{
    struct store_list want = {0};
    size_t count = 0;
    while (tags[want.tag_count])
        want.tag_count++;
    memcpy(want.tags, tags, want.tag_count * sizeof *tags);
    while (ids[count])
        count++;
    for (int jobs = 0; jobs < 2; jobs++) {
        want.jobs = jobs;
        want.look = count + 1;
        const struct store_list *page = list(world, want);
        assert_int_equal(page->found_count, count);
        assert_false(page->more);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(page->found[i].id, ids[i]);
    }
}
#define TAGS(...) ((int64_t[]){__VA_ARGS__, 0})
#define ROWS(...) ((int64_t[]){__VA_ARGS__, 0})
#define NO_ROWS ((int64_t[]){0})

static void rows_are_found_by_all_their_tags(void **state)
{
    struct world *world = *state;
    int64_t both = add(world, (struct sample){.tags = {TAG_X, TAG_Y}});
    int64_t one = add(world, (struct sample){.tags = {TAG_Y}});
    for (int i = 0; i < 20; i++)
        add(world, (struct sample){.tags = {i % 2 ? TAG_Z : 0}});
    int64_t other = add(world, (struct sample){.tags = {TAG_X}, .tenant = 8});
    assert_tagged(world, TAGS(TAG_X), ROWS(both));
    assert_tagged(world, TAGS(TAG_Y), ROWS(one, both));
    assert_tagged(world, TAGS(TAG_Y, TAG_X), ROWS(both));
    assert_tagged(world, TAGS(TAG_X, TAG_Z), NO_ROWS);
    assert_tagged(world, TAGS(80), NO_ROWS);
    assert_int_equal(list(world, (struct store_list){.tenant = 8, .tags = {TAG_X}, .tag_count = 1})->tasks[0].id, other);
}

// A name that everybody has and a label that few have, in whatever order: it is enough to look at the few.
static void the_rarest_of_tags_and_states_leads(void **state)
{
    struct world *world = *state;
    int64_t rare = add(world, (struct sample){.tags = {TAG_X, TAG_Y}, .state = JOB_ABORTED});
    for (int i = 0; i < 30; i++)
        add(world, (struct sample){.tags = {TAG_X, i % 2 ? TAG_Z : 0}, .state = i % 3 ? JOB_ABORTED : JOB_READY});
    assert_tagged(world, TAGS(TAG_X, TAG_Y), ROWS(rare));
    assert_tagged(world, TAGS(TAG_Y, TAG_X), ROWS(rare));
    struct store_list want = {.jobs = true, .states = 1u << JOB_ABORTED, .tags = {TAG_X, TAG_Y}, .tag_count = 2, .look = 2};
    assert_int_equal(list(world, want)->found_count, 1);
    int64_t ended = add(world, (struct sample){.tags = {TAG_X, TAG_Z}, .state = JOB_BURIED});
    want = (struct store_list){.jobs = true, .states = 1u << JOB_BURIED, .tags = {TAG_X, TAG_Z}, .tag_count = 2, .look = 2};
    struct store_list *page = list(world, want);
    assert_int_equal(page->found_count, 1);
    assert_int_equal(page->found[0].id, ended);
    assert_false(page->more);
}

// The index has the order of the list, so a set of any size is gone through page by page.
static void pages_by_a_tag_are_the_list(void **state)
{
    enum { COUNT = 25 };
    struct world *world = *state;
    for (int i = 0; i < COUNT; i++)
        add(world, (struct sample){.tags = {TAG_X, i % 5 ? TAG_Y : 0}, .scheduled_at = NOW + i * 7 % 4});
    for (int jobs = 0; jobs < 2; jobs++) {
        struct store_list want = {.jobs = jobs, .tags = {TAG_X}, .tag_count = 1};
        const struct store_list *all = list(world, want);
        assert_int_equal(all->found_count, COUNT);
        want.max = 4;
        for (size_t found = 0; found < COUNT;) {
            const struct store_list *page = list(world, want);
            assert_true(page->found_count >= 1);
            for (size_t i = 0; i < page->found_count; i++)
                assert_int_equal(page->found[i].id, all->found[found++].id);
            assert_int_equal(page->more, found < COUNT);
            want.before = page->next;
        }
    }
}

static void tags_follow_an_amendment(void **state)
{
    struct world *world = *state;
    int64_t other = add(world, (struct sample){.tags = {TAG_X, TAG_Z}}), id = add(world, (struct sample){.tags = {TAG_X, TAG_Y}});
    struct store_amend *amend = make_amend(world, id); // and its job is planned for a second later
    amend->task.tags = TAGS(TAG_X, TAG_Z);
    amend->task.tag_count = 2;
    assert_int_equal(call(world, &amend->op), ERR_OK);
    assert_tagged(world, TAGS(TAG_Y), NO_ROWS);
    assert_tagged(world, TAGS(TAG_Z), ROWS(id, other));
    struct store_list behind = {.jobs = true, .tags = {TAG_Z}, .tag_count = 1, .before = {NOW + 1000, id}};
    assert_int_equal(list(world, behind)->found_count, 1);
    amend = make_amend(world, id);
    amend->retag = false; // a pause leaves them alone
    amend->task.paused = true;
    amend->count = 0;
    assert_int_equal(call(world, &amend->op), ERR_OK);
    assert_tagged(world, TAGS(TAG_Z, TAG_X), ROWS(id, other));
    amend = make_amend(world, id);
    amend->task.version--; // what is refused changes none
    assert_int_equal(call(world, &amend->op), ERR_MOVED_ON);
    assert_tagged(world, TAGS(TAG_Z), ROWS(id, other));
    amend = make_amend(world, id);
    assert_int_equal(call(world, &amend->op), ERR_OK);
    assert_tagged(world, TAGS(TAG_Z), ROWS(other));
    amend = make_amend(world, other);
    amend->task.tags = TAGS(TAG_Y);
    amend->task.tag_count = 1;
    assert_int_equal(call(world, &amend->op), ERR_OK);
    assert_tagged(world, TAGS(TAG_Y), ROWS(other));
}

static void a_removed_task_is_found_by_no_tag(void **state)
{
    struct world *world = *state;
    int64_t stays = add(world, (struct sample){.tags = {TAG_X}});
    int64_t ended = add(world, (struct sample){.tags = {TAG_X, TAG_Y}, .state = JOB_SUCCESS, .key = STR("k")});
    assert_tagged(world, TAGS(TAG_X), ROWS(ended, stays));
    assert_int_equal(remove_task(world, ended, true), ERR_OK);
    assert_tagged(world, TAGS(TAG_X), ROWS(stays));
    assert_tagged(world, TAGS(TAG_Y), NO_ROWS);
    assert_int_equal(list(world, (struct store_list){.key = STR("k")})->task_count, 0); // which is spent
    assert_int_equal(remove_task(world, stays, false), ERR_MOVED_ON);
    assert_tagged(world, TAGS(TAG_X), ROWS(stays));
}

static void a_job_is_found_by_the_tags_of_its_task_wherever_it_goes(void **state)
{
    struct world *world = *state;
    int64_t first = add(world, (struct sample){.tags = {TAG_X}, .scheduled_at = NOW + 50}), id = world->last_id + 1;
    struct job more = {.id = ++world->last_id, .task_id = first, .tenant = TENANT, .token = 1, .state = JOB_READY};
    more.scheduled_at = more.due_at = NOW + 10;
    struct store_new item = {.jobs = &more, .job_count = 1};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(item.err, ERR_OK);
    struct store_list want = {.jobs = true, .tags = {TAG_X}, .tag_count = 1};
    struct store_list *page = list(world, want);
    assert_int_equal(page->found_count, 2);
    assert_int_equal(page->found[1].id, id);
    struct job job = job_now(world, id); // it is to run at another time
    job.scheduled_at = NOW + 90;
    job.token++;
    assert_int_equal(change(world, job.token - 1, job, NULL), ERR_OK);
    page = list(world, want);
    assert_int_equal(page->found_count, 2);
    assert_int_equal(page->found[0].id, id);
    job.state = JOB_SUCCESS; // and ends
    job.purge_at = NOW + 1;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    assert_int_equal(list(world, want)->found[0].id, id);
    assert_int_equal(sweep(world, NOW + 2, 10), 1);
    page = list(world, want);
    assert_int_equal(page->found_count, 1);
    assert_int_equal(page->found[0].id, first);
}

static void a_swept_task_is_found_by_no_tag(void **state)
{
    struct world *world = *state;
    int64_t stays = add(world, (struct sample){.tags = {TAG_X}, .state = JOB_SUCCESS});
    add(world, (struct sample){.tags = {TAG_X, TAG_Y}, .state = JOB_SUCCESS, .purge_at = NOW});
    assert_int_equal(sweep(world, NOW + 2, 10), 1);
    assert_tagged(world, TAGS(TAG_X), ROWS(stays));
    assert_tagged(world, TAGS(TAG_Y), NO_ROWS);
}

// With tags there is more than one way to add tasks: alone, a few, many; some with and some without.
static void many_tasks_have_their_tags_however_they_are_added(void **state)
{
    enum { MOST = 70 };
    struct world *world = *state;
    struct sample samples[MOST];
    struct store_task tasks[MOST];
    struct job jobs[MOST];
    struct store_new items[MOST];
    int64_t added = 0;
    for (size_t count = 1; count <= MOST; count = count * 2 + 1) {
        for (size_t i = 0; i < count; i++) {
            samples[i] = (struct sample){.tags = {i % 3 ? TAG_X : 0, i % 3 == 2 ? TAG_Y : 0}};
            sample_fill(world, &samples[i], &tasks[i], &jobs[i], &items[i]);
            added += i % 3 != 0;
        }
        struct store_add *op = OP(world, store_add, STORE_ADD);
        op->items = items;
        op->count = count;
        assert_int_equal(call(world, &op->op), ERR_OK);
        for (int of_jobs = 0; of_jobs < 2; of_jobs++) {
            struct store_list want = {.jobs = of_jobs, .tags = {TAG_X}, .tag_count = 1, .max = 1000};
            assert_int_equal(list(world, want)->found_count, added);
        }
    }
}

static void a_task_is_found_by_its_key(void **state)
{
    struct world *world = *state;
    add(world, (struct sample){.key = STR("other")});
    int64_t id = add(world, (struct sample){.key = STR("k"), .tags = {TAG_X}, .state = JOB_SUCCESS, .purge_at = NOW});
    for (int i = 0; i < 20; i++)
        add(world, (struct sample){.tags = {TAG_X}});
    for (int jobs = 0; jobs < 2; jobs++) {
        struct store_list want = {.jobs = jobs, .key = STR("k"), .look = 1};
        struct store_list *page = list(world, want);
        assert_int_equal(page->found_count, 1);
        assert_int_equal(page->found[0].id, id);
        assert_false(page->more);
        want.tags[0] = TAG_X;
        want.tag_count = 1;
        want.queue = STR("q");
        want.name = STR("a name");
        assert_int_equal(list(world, want)->found_count, 1);
        want.tags[0] = TAG_Y;
        assert_int_equal(list(world, want)->found_count, 0);
        want = (struct store_list){.jobs = jobs, .key = STR("k"), .queue = STR("none")};
        assert_int_equal(list(world, want)->found_count, 0);
        assert_int_equal(list(world, (struct store_list){.jobs = jobs, .key = STR("kk")})->found_count, 0);
        assert_int_equal(list(world, (struct store_list){.jobs = jobs, .key = STR("k"), .tenant = 8})->found_count, 0);
    }
    assert_int_equal(sweep(world, NOW + 2, 10), 1);
    assert_int_equal(list(world, (struct store_list){.key = STR("k")})->task_count, 0);
}

// ---- what is to come

static struct store_upcoming *upcoming(struct world *world, struct store_cursor after, int64_t until_ms, size_t look)
{
    struct store_upcoming *op = OP(world, store_upcoming, STORE_UPCOMING);
    op->tenant = TENANT;
    op->after = after;
    op->until_ms = until_ms;
    op->look = look;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

static const struct store_cursor from_now = {NOW, INT64_MAX};

static void jobs_that_have_not_begun_are_listed_earliest_first(void **state)
{
    struct world *world = *state;
    int64_t late = add(world, (struct sample){.scheduled_at = NOW + 9, .state = JOB_DELAYED, .queue = "r"});
    int64_t early = add(world, (struct sample){.scheduled_at = NOW + 1, .state = JOB_DELAYED});
    int64_t held = add(world, (struct sample){.scheduled_at = NOW + 1, .state = JOB_WATCHING, .holder = A});
    add(world, (struct sample){.scheduled_at = NOW});
    add(world, (struct sample){.scheduled_at = NOW + 10, .state = JOB_DELAYED});
    add(world, (struct sample){.scheduled_at = NOW + 5, .state = JOB_DELAYED, .tenant = 8});
    struct store_upcoming *page = upcoming(world, from_now, NOW + 9, 10);
    assert_int_equal(page->job_count, 3);
    assert_int_equal(page->jobs[0].id, early);
    assert_int_equal(page->jobs[1].id, held);
    assert_int_equal(page->jobs[2].id, late);
    assert_int_equal(page->jobs[2].task_id, late);
    assert_int_equal(page->jobs[2].scheduled_at, NOW + 9);
    assert_int_equal(page->jobs[2].lane, lane_of(world, TENANT, "r"));
    assert_true(str_is(page->jobs[2].name, "a name"));
    assert_false(page->jobs[2].paused || page->more);
}

static void what_has_begun_or_ended_is_not_to_come(void **state)
{
    struct world *world = *state;
    add(world, (struct sample){.scheduled_at = NOW + 1, .state = JOB_CANCELLED});
    add(world, (struct sample){.scheduled_at = NOW + 2, .state = JOB_RESERVED, .holder = A});
    int64_t id = add(world, (struct sample){.scheduled_at = NOW + 3, .state = JOB_BLOCKED});
    struct store_upcoming *page = upcoming(world, from_now, NOW + 9, 10);
    assert_int_equal(page->job_count, 1);
    assert_int_equal(page->jobs[0].id, id);
}

static void pages_of_what_is_to_come_go_on_where_the_one_before_ended(void **state)
{
    struct world *world = *state;
    enum { COUNT = 9, LOOK = 2 };
    struct store_cursor after = from_now;
    int64_t ids[COUNT];
    size_t seen = 0;
    for (int i = 0; i < COUNT; i++) {
        ids[i] = add(world, (struct sample){.scheduled_at = NOW + 1 + i / 4, .state = JOB_DELAYED});
        add(world, (struct sample){.scheduled_at = NOW + 1 + i / 4, .state = JOB_CANCELLED});
    }
    for (bool more = true; more;) {
        struct store_upcoming *page = upcoming(world, after, NOW + 9, LOOK);
        assert_in_range(page->job_count, 0, LOOK);
        for (size_t i = 0; i < page->job_count; i++)
            assert_int_equal(page->jobs[i].id, ids[seen++]);
        after = page->next;
        more = page->more;
    }
    assert_int_equal(seen, COUNT);
}

static void what_is_to_come_of_a_paused_task_says_so(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.scheduled_at = NOW + 1, .state = JOB_DELAYED});
    struct store_amend *op = OP(world, store_amend, STORE_AMEND);
    op->task = get_task(world, id)->task;
    op->task.paused = true;
    assert_int_equal(call(world, &op->op), ERR_OK);
    struct store_upcoming *page = upcoming(world, from_now, NOW + 1, 10);
    assert_int_equal(page->job_count, 1);
    assert_true(page->jobs[0].paused);
}

int contract_lists(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(tasks_are_listed_newest_first_with_their_jobs),
        PROMISE(tasks_are_listed_without_jobs_if_none_are_asked_for),
        PROMISE(of_each_listed_task_those_jobs_come_first_that_have_not_ended),
        PROMISE(jobs_are_listed_by_their_planned_time_newest_first),
        PROMISE(a_list_shows_what_matches_all_that_is_asked),
        PROMISE(pages_go_on_where_the_one_before_ended),
        PROMISE(a_page_ends_with_the_row_that_fills_its_bytes),
        PROMISE(only_what_is_given_counts_and_all_of_it),
        PROMISE(rows_are_found_by_all_their_tags),
        PROMISE(the_rarest_of_tags_and_states_leads),
        PROMISE(pages_by_a_tag_are_the_list),
        PROMISE(tags_follow_an_amendment),
        PROMISE(a_removed_task_is_found_by_no_tag),
        PROMISE(a_job_is_found_by_the_tags_of_its_task_wherever_it_goes),
        PROMISE(a_swept_task_is_found_by_no_tag),
        PROMISE(many_tasks_have_their_tags_however_they_are_added),
        PROMISE(a_task_is_found_by_its_key),
        PROMISE(jobs_that_have_not_begun_are_listed_earliest_first),
        PROMISE(what_has_begun_or_ended_is_not_to_come),
        PROMISE(pages_of_what_is_to_come_go_on_where_the_one_before_ended),
        PROMISE(what_is_to_come_of_a_paused_task_says_so),
    };
    return cmocka_run_group_tests_name("store lists", tests, NULL, NULL);
}

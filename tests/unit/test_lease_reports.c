// Words about attempts that go on elsewhere: each counts once, for the attempt it was meant for, in whatever order it comes.
#include "support/play.h"

#include "base/mem.h"
#include "flow/commands/ticket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const char DOC[] = "{\"url\":\"http://h/\",\"timeout\":\"20s\",\"retry\":{\"max\":1,\"delay\":\"1s\",\"jitter\":false}}";

struct request {
    struct lease_report op;
    bool done;
};

static void done(struct lease_report *op)
{
    struct request *request = container_of(op, struct request, op);
    assert_false(request->done);
    request->done = true;
}

static void say(struct play *play, struct request *request, enum lease_report_kind kind, int64_t id, const char *ticket)
{
    *request =
        (struct request){.op = {.kind = kind, .tenant = PLAY_TENANT, .job_id = id, .ticket = str_of(ticket), .done = done}};
    if (kind == LEASE_FAIL)
        request->op.reason = STR("no luck");
    lease_reports_submit(play->flow->lease_reports, &request->op);
}

static enum err settle(struct play *play, enum lease_report_kind kind, int64_t id, const char *ticket, struct str result,
                       bool no_retry)
{
    struct request request;
    say(play, &request, kind, id, ticket);
    request.op.result = result;
    request.op.no_retry = no_retry;
    play_turn(play);
    assert_true(request.done);
    assert_true(lease_reports_idle(play->flow->lease_reports));
    return request.op.err;
}

static enum err complete(struct play *play, int64_t id, const char *ticket, const char *result)
{
    return settle(play, LEASE_COMPLETE, id, ticket, str_of(result), false);
}

static enum err fails(struct play *play, int64_t id, const char *ticket)
{
    return settle(play, LEASE_FAIL, id, ticket, (struct str){0}, false);
}

static enum err beat(struct play *play, int64_t id, const char *ticket)
{
    return settle(play, LEASE_HEARTBEAT, id, ticket, (struct str){0}, false);
}

static void pass_turning(struct play *play, int64_t ms)
{
    for (int64_t i = 0; i < ms; i += 100) {
        play_pass(play, 100);
        play_live(play);
        play_turn(play);
    }
}

// A job whose attempt has just begun, and what its target was sent.
static int64_t started(struct play *play, char ret_ticket[ORDER_TICKET_SIZE])
{
    int64_t id = play_add(play, (struct play_job){.doc = DOC});
    play_turn(play);
    for (int i = 0; i < 50 && !play_running(play, id); i++) // until its lane was looked at
        pass_turning(play, 100);
    assert_non_null(play_running(play, id));
    strcpy(ret_ticket, play_running(play, id)->order->ticket);
    return id;
}

static int64_t detached(struct play *play, char ret_ticket[ORDER_TICKET_SIZE])
{
    int64_t id = started(play, ret_ticket);
    play_detach(play, id);
    play_turn(play);
    return id;
}

static void an_attempt_that_was_answered_with_202_needs_no_hand(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 1});
    char ticket[ORDER_TICKET_SIZE];
    int64_t id = detached(play, ticket);
    struct job job = play_job_of(play, id);
    assert_int_equal(job.state, JOB_RESERVED);
    assert_int_equal(job.lease_until, job.started_at + 20000);
    assert_int_equal(pull_count(play->flow->pull), 0);
    assert_int_equal(lanes_held(play->lanes), 0);
    int64_t other = play_add(play, (struct play_job){0});
    pass_turning(play, 1000);
    assert_non_null(play_running(play, other)); // the only slot is free
    assert_int_equal(complete(play, id, ticket, "[1, 2]"), ERR_OK);
    assert_int_equal(play_job_of(play, id).state, JOB_SUCCESS);
    assert_int_equal(play_attempts_of(play, id), 0);
    play_end(play, other, OUTCOME_SUCCESS);
    play_turn(play);
    play_free(play);
}

static void the_same_report_again_is_fine_and_another_is_not(void **state)
{
    struct play *play = play_new((struct play_config){0});
    char ticket[ORDER_TICKET_SIZE];
    int64_t id = detached(play, ticket);
    assert_int_equal(complete(play, id, ticket, "1"), ERR_OK);
    assert_int_equal(complete(play, id, ticket, "1"), ERR_OK);
    assert_int_equal(complete(play, id, ticket, "2"), ERR_ILLEGAL_TRANSITION);
    assert_int_equal(fails(play, id, ticket), ERR_ILLEGAL_TRANSITION);
    assert_int_equal(beat(play, id, ticket), ERR_ILLEGAL_TRANSITION);
    id = detached(play, ticket);
    assert_int_equal(fails(play, id, ticket), ERR_OK);
    assert_int_equal(play_job_of(play, id).retries, 1);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING); // its next try is near
    assert_int_equal(fails(play, id, ticket), ERR_OK);           // but has not begun
    assert_int_equal(play_job_of(play, id).retries, 1);
    assert_int_equal(complete(play, id, ticket, "1"), ERR_LEASE_LOST);
    assert_int_equal(beat(play, id, ticket), ERR_LEASE_LOST);
    play_free(play);
}

static void an_old_token_is_refused_once_another_attempt_has_begun(void **state)
{
    struct play *play = play_new((struct play_config){0});
    char old[ORDER_TICKET_SIZE];
    int64_t id = detached(play, old);
    assert_int_equal(fails(play, id, old), ERR_OK);
    pass_turning(play, 1200);
    assert_non_null(play_running(play, id));
    assert_string_not_equal(play_running(play, id)->order->ticket, old);
    char ticket[ORDER_TICKET_SIZE];
    strcpy(ticket, play_running(play, id)->order->ticket);
    assert_int_equal(fails(play, id, old), ERR_LEASE_LOST);
    assert_int_equal(complete(play, id, old, "1"), ERR_LEASE_LOST);
    play_detach(play, id);
    play_turn(play);
    assert_int_equal(complete(play, id, old, "1"), ERR_LEASE_LOST);
    assert_int_equal(complete(play, id, ticket, "2"), ERR_OK);
    assert_int_equal(complete(play, id, old, "2"), ERR_LEASE_LOST);
    play_free(play);
}

static void a_failure_for_good_is_tried_no_more(void **state)
{
    struct play *play = play_new((struct play_config){0});
    char ticket[ORDER_TICKET_SIZE];
    int64_t id = detached(play, ticket);
    assert_int_equal(settle(play, LEASE_FAIL, id, ticket, (struct str){0}, true), ERR_OK);
    assert_int_equal(play_job_of(play, id).state, JOB_ABORTED);
    assert_int_equal(settle(play, LEASE_FAIL, id, ticket, (struct str){0}, true), ERR_OK); // the same again
    play_free(play);
}

// The target speaks before it answers, and waits for it.
static void a_report_while_the_call_is_open_ends_the_attempt(void **state)
{
    struct play *play = play_new((struct play_config){0});
    char ticket[ORDER_TICKET_SIZE];
    int64_t id = started(play, ticket);
    pass_turning(play, 200); // by now it is written that it began
    assert_int_equal(complete(play, id, ticket, "1"), ERR_OK);
    assert_int_equal(play_job_of(play, id).state, JOB_SUCCESS);
    play_detach(play, id); // and only now it answers
    play_turn(play);
    assert_int_equal(play_job_of(play, id).state, JOB_SUCCESS);
    assert_int_equal(play_job_of(play, id).lease_until, 0);
    assert_int_equal(pull_count(play->flow->pull), 0);
    assert_int_equal(lanes_held(play->lanes), 0);
    play_free(play);
}

static void a_report_before_the_start_is_written_waits_for_it(void **state)
{
    struct play *play = play_new((struct play_config){0});
    char ticket[ORDER_TICKET_SIZE];
    int64_t id = started(play, ticket);
    int64_t began = play->now.wall_ms;
    struct request request;
    say(play, &request, LEASE_COMPLETE, id, ticket);
    play_turn(play);
    assert_false(request.done);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    pass_turning(play, 1000);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_int_equal(play_job_of(play, id).state, JOB_SUCCESS);
    assert_int_equal(play_job_of(play, id).started_at, began); // when it really did
    play_end(play, id, OUTCOME_SUCCESS);
    play_turn(play);
    play_free(play);
}

static void a_report_that_crosses_the_answer_is_not_dropped(void **state)
{
    struct play *play = play_new((struct play_config){0});
    char ticket[ORDER_TICKET_SIZE];
    int64_t id = started(play, ticket);
    pass_turning(play, 200);
    struct request request;
    play->store.hold[STORE_CHANGE] = true;
    say(play, &request, LEASE_COMPLETE, id, ticket);
    play_turn(play);
    struct store_op *late = play_waiting(play, STORE_CHANGE); // decided while the call was open
    assert_non_null(late);
    play->store.hold[STORE_CHANGE] = false;
    play_detach(play, id);
    play_turn(play);
    assert_true(play_job_of(play, id).lease_until > 0);
    play_answer(play, late); // refused: the record has moved
    play_turn(play);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_int_equal(play_job_of(play, id).state, JOB_SUCCESS);
    play_free(play);
}

static void a_heartbeat_makes_the_lease_longer(void **state)
{
    struct play *play = play_new((struct play_config){0});
    char ticket[ORDER_TICKET_SIZE];
    int64_t id = detached(play, ticket);
    for (int i = 0; i < 5; i++) {
        pass_turning(play, 15000);
        assert_int_equal(beat(play, id, ticket), ERR_OK);
        assert_int_equal(play_job_of(play, id).lease_until, play->now.wall_ms + 20000);
    }
    assert_int_equal(play_job_of(play, id).attempts, 1);
    pass_turning(play, 21500);
    assert_int_equal(play_job_of(play, id).retries, 1);
    assert_int_equal(beat(play, id, ticket), ERR_LEASE_LOST);
    play_free(play);
}

static void a_heartbeat_wins_against_a_lapse_that_was_decided_before_it(void **state)
{
    struct play *play = play_new((struct play_config){0});
    char ticket[ORDER_TICKET_SIZE];
    pass_turning(play, 21000); // so that nothing is spared any more
    int64_t id = detached(play, ticket);
    pass_turning(play, 19000);
    play->store.hold[STORE_CHANGE] = true;
    pass_turning(play, 3000);
    struct store_op *lapse = play_waiting(play, STORE_CHANGE);
    assert_non_null(lapse);
    play->store.hold[STORE_CHANGE] = false;
    assert_int_equal(beat(play, id, ticket), ERR_OK);
    play_answer(play, lapse);
    play_turn(play);
    assert_int_equal(play_job_of(play, id).state, JOB_RESERVED);
    assert_int_equal(play_job_of(play, id).lease_until, play->now.wall_ms + 20000);
    play_free(play);
}

static void steered(struct command *op)
{
    assert_true(op->err == ERR_OK);
}

static void a_cancel_ends_it_at_once_and_later_reports_are_refused(void **state)
{
    struct play *play = play_new((struct play_config){0});
    char ticket[ORDER_TICKET_SIZE];
    int64_t id = detached(play, ticket);
    struct command cancel = {.act = COMMAND_CANCEL, .tenant = PLAY_TENANT, .job_id = id, .err = ERR_COUNT};
    cancel.done = steered;
    commands_submit(play->flow->commands, &cancel);
    play_turn(play);
    assert_int_equal(cancel.err, ERR_OK);
    assert_int_equal(play_job_of(play, id).state, JOB_CANCELLED);
    assert_int_equal(play_attempts_of(play, id), 1);
    assert_int_equal(complete(play, id, ticket, "1"), ERR_ILLEGAL_TRANSITION);
    assert_int_equal(beat(play, id, ticket), ERR_ILLEGAL_TRANSITION);
    play_free(play);
}

static void who_has_no_right_token_learns_only_of_its_own_jobs(void **state)
{
    struct play *play = play_new((struct play_config){0});
    char ticket[ORDER_TICKET_SIZE], other[ORDER_TICKET_SIZE];
    int64_t id = detached(play, ticket);
    detached(play, other);
    assert_int_equal(complete(play, id, "nonsense", "1"), ERR_LEASE_LOST);
    assert_int_equal(complete(play, id, other, "1"), ERR_LEASE_LOST);
    assert_int_equal(complete(play, id + 100, ticket, "1"), ERR_NOT_FOUND);
    struct request request;
    say(play, &request, LEASE_COMPLETE, id, "nonsense");
    request.op.tenant = PLAY_TENANT + 1;
    play_turn(play);
    assert_int_equal(request.op.err, ERR_NOT_FOUND);
    say(play, &request, LEASE_COMPLETE, id, ticket); // but the token alone is enough
    request.op.tenant = PLAY_TENANT + 1;
    play_turn(play);
    assert_int_equal(request.op.err, ERR_OK);
    play_free(play);
}

// ---- tickets of other tenants, releases and secrets

static const uint8_t FILE_SECRET[STORE_SECRET_SIZE] = "what is in the file";

static void give_file(struct play *play)
{
    memcpy(play->node->shared_secret, FILE_SECRET, sizeof FILE_SECRET);
    play->node->has_shared_secret = true;
}

static int64_t number_of(struct play *play, int64_t id)
{
    return play_job_of(play, id).token - 1; // it is leased: the claim was before
}

// A ticket for a job as another database would make it, on which the job is another tenant's.
static void write_for(struct play *play, int32_t tenant, int64_t id, char ret_ticket[ORDER_TICKET_SIZE])
{
    struct digest_key *key = node_ticket_key(play->node);
    ticket_write(key, id, (struct ticket){.tenant = tenant, .number = number_of(play, id)}, ret_ticket);
    digest_key_free(key);
}

// A ticket as the release before wrote it.
static void write_old(struct play *play, int64_t id, char ret_ticket[ORDER_TICKET_SIZE])
{
    uint8_t words[32] = "rota ticket", mac[DIGEST_SIZE];
    struct digest_key *key = node_store_key(play->node);
    int64_t number = number_of(play, id);
    for (int i = 0; i < 8; i++) {
        words[16 + i] = (uint8_t)(id >> (56 - 8 * i));
        words[24 + i] = (uint8_t)(number >> (56 - 8 * i));
    }
    digest_hmac(key, (struct str){(const char *)words, sizeof words}, mac);
    digest_key_free(key);
    int n = snprintf(ret_ticket, ORDER_TICKET_SIZE, "%llx-", (long long)number);
    for (int i = 0; i < 16; i++)
        n += snprintf(ret_ticket + n, (size_t)(ORDER_TICKET_SIZE - n), "%02x", mac[i]);
}

static enum err complete_as(struct play *play, int32_t tenant, int64_t id, const char *ticket, int32_t *ret_tenant)
{
    struct request request;
    say(play, &request, LEASE_COMPLETE, id, ticket);
    request.op.tenant = tenant;
    play_turn(play);
    assert_true(request.done);
    *ret_tenant = request.op.job_tenant;
    return request.op.err;
}

static void a_report_says_whose_the_job_is(void **state)
{
    struct play *play = play_new((struct play_config){0});
    char ticket[ORDER_TICKET_SIZE];
    int32_t whose;
    int64_t id = detached(play, ticket);
    assert_int_equal(complete_as(play, PLAY_TENANT, id, "nonsense", &whose), ERR_LEASE_LOST);
    assert_int_equal(whose, 0);
    assert_int_equal(complete_as(play, PLAY_TENANT + 1, id, ticket, &whose), ERR_OK);
    assert_int_equal(whose, PLAY_TENANT);
    play_free(play);
}

static void a_ticket_of_the_release_before_is_as_good(void **state)
{
    struct play *play = play_new((struct play_config){0});
    char ticket[ORDER_TICKET_SIZE], old[ORDER_TICKET_SIZE];
    int32_t whose;
    int64_t id = detached(play, ticket);
    write_old(play, id, old);
    assert_int_equal(beat(play, id, old), ERR_OK);
    assert_int_equal(complete_as(play, PLAY_TENANT + 1, id, old, &whose), ERR_OK);
    assert_int_equal(whose, PLAY_TENANT); // as the record says
    play_free(play);
}

static void a_ticket_of_another_tenant_is_worth_no_more_than_a_forged_one(void **state)
{
    struct play *play = play_new((struct play_config){0});
    char ticket[ORDER_TICKET_SIZE], others[ORDER_TICKET_SIZE];
    int32_t whose;
    int64_t id = detached(play, ticket);
    write_for(play, PLAY_TENANT, id, others);
    assert_string_equal(others, ticket); // but for the tenant it would be right
    write_for(play, PLAY_TENANT + 1, id, others);
    for (int32_t tenant = PLAY_TENANT; tenant <= PLAY_TENANT + 2; tenant++) {
        enum err forged = complete_as(play, tenant, id, "nonsense", &whose);
        assert_int_equal(forged, tenant == PLAY_TENANT ? ERR_LEASE_LOST : ERR_NOT_FOUND);
        assert_int_equal(complete_as(play, tenant, id, others, &whose), forged);
        assert_int_equal(whose, 0);
    }
    assert_int_equal(play_job_of(play, id).state, JOB_RESERVED);
    assert_int_equal(complete(play, id, ticket, "1"), ERR_OK);
    play_free(play);
}

static void with_a_file_its_secret_signs_and_both_are_read(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct digest_key *file = digest_key_new((struct str){(const char *)FILE_SECRET, sizeof FILE_SECRET});
    struct digest_key *store = node_store_key(play->node);
    char ticket[ORDER_TICKET_SIZE], of_store[ORDER_TICKET_SIZE], old[ORDER_TICKET_SIZE];
    struct ticket read;
    give_file(play);
    int64_t id = detached(play, ticket);
    assert_true(ticket_read(file, id, str_of(ticket), &read));
    assert_false(ticket_read(store, id, str_of(ticket), &read));
    ticket_write(store, id, (struct ticket){PLAY_TENANT, number_of(play, id)}, of_store);
    write_old(play, id, old);
    assert_int_equal(beat(play, id, old), ERR_OK);
    assert_int_equal(beat(play, id, of_store), ERR_OK);
    assert_int_equal(complete(play, id, ticket, "1"), ERR_OK);
    digest_key_free(file);
    digest_key_free(store);
    play_free(play);
}

static void a_ticket_under_a_secret_that_is_neither_is_refused(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct digest_key *file = digest_key_new((struct str){(const char *)FILE_SECRET, sizeof FILE_SECRET});
    char ticket[ORDER_TICKET_SIZE], others[ORDER_TICKET_SIZE];
    int64_t id = detached(play, ticket);
    ticket_write(file, id, (struct ticket){PLAY_TENANT, number_of(play, id)}, others);
    assert_int_equal(beat(play, id, others), ERR_LEASE_LOST); // no file was given
    digest_key_free(file);
    play_free(play);
    play = play_new((struct play_config){0});
    give_file(play);
    struct digest_key *third = digest_key_new(STR("neither of the two"));
    id = detached(play, ticket);
    ticket_write(third, id, (struct ticket){PLAY_TENANT, number_of(play, id)}, others);
    assert_int_equal(beat(play, id, others), ERR_LEASE_LOST);
    assert_int_equal(beat(play, id, ticket), ERR_OK);
    digest_key_free(third);
    play_free(play);
}

static void a_report_whose_answer_was_lost_can_be_said_again(void **state)
{
    struct play *play = play_new((struct play_config){0});
    char ticket[ORDER_TICKET_SIZE];
    int64_t id = detached(play, ticket);
    struct request request;
    play->store.hold[STORE_CHANGE] = true;
    say(play, &request, LEASE_COMPLETE, id, ticket);
    request.op.result = STR("1");
    play_turn(play);
    play->store.hold[STORE_CHANGE] = false;
    play_lose(play, play_waiting(play, STORE_CHANGE));
    play_turn(play);
    assert_int_equal(request.op.err, ERR_STORE_UNAVAILABLE);
    assert_int_equal(complete(play, id, ticket, "1"), ERR_OK);
    play_free(play);
}

static void waiting_for_what_does_not_come_ends(void **state)
{
    struct play *play = play_new((struct play_config){0});
    char ticket[ORDER_TICKET_SIZE];
    int64_t id = started(play, ticket);
    pass_turning(play, 200);
    struct request request;
    say(play, &request, LEASE_HEARTBEAT, id, ticket); // of a call that is not answered
    pass_turning(play, 9000);
    assert_false(request.done);
    pass_turning(play, 2000);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_BUSY);
    say(play, &request, LEASE_HEARTBEAT, id, ticket);
    pass_turning(play, 500);
    atomic_store(&play->node->stopping, true);
    pass_turning(play, 1000);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_STOPPING);
    play_end(play, id, OUTCOME_SUCCESS);
    play_turn(play);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attempt_that_was_answered_with_202_needs_no_hand),
        cmocka_unit_test(the_same_report_again_is_fine_and_another_is_not),
        cmocka_unit_test(an_old_token_is_refused_once_another_attempt_has_begun),
        cmocka_unit_test(a_failure_for_good_is_tried_no_more),
        cmocka_unit_test(a_report_while_the_call_is_open_ends_the_attempt),
        cmocka_unit_test(a_report_before_the_start_is_written_waits_for_it),
        cmocka_unit_test(a_report_that_crosses_the_answer_is_not_dropped),
        cmocka_unit_test(a_heartbeat_makes_the_lease_longer),
        cmocka_unit_test(a_heartbeat_wins_against_a_lapse_that_was_decided_before_it),
        cmocka_unit_test(a_cancel_ends_it_at_once_and_later_reports_are_refused),
        cmocka_unit_test(who_has_no_right_token_learns_only_of_its_own_jobs),
        cmocka_unit_test(a_report_says_whose_the_job_is),
        cmocka_unit_test(a_ticket_of_the_release_before_is_as_good),
        cmocka_unit_test(a_ticket_of_another_tenant_is_worth_no_more_than_a_forged_one),
        cmocka_unit_test(with_a_file_its_secret_signs_and_both_are_read),
        cmocka_unit_test(a_ticket_under_a_secret_that_is_neither_is_refused),
        cmocka_unit_test(a_report_whose_answer_was_lost_can_be_said_again),
        cmocka_unit_test(waiting_for_what_does_not_come_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

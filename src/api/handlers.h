// The handlers that the table in routes.c names, and what they share.
// Layer: api. HTTP thread.
#pragma once
#include "api/api.h"

// One request on its way: what every handler gets. Copied into whatever outlives the handler.
struct api_call {
    struct api *api;
    struct http_request *request;
    struct str param; // what stood in place of {id}, {queue} or {name}
    int32_t tenant;
};

// Answers for the only task of an admission, which was added; task == NULL: with nothing but its id.
void tasks_reply_created(struct http_request *request, const struct admission *admission, const struct task *task);

void tasks_submit(const struct api_call *call);
void tasks_create(const struct api_call *call);
void tasks_status(const struct api_call *call);
void tasks_show(const struct api_call *call);
void named_show(const struct api_call *call);
void named_put(const struct api_call *call);
void tasks_list(const struct api_call *call);
void tasks_jobs(const struct api_call *call);
void tasks_cancel(const struct api_call *call);
void tasks_run(const struct api_call *call);
void tasks_pause(const struct api_call *call);
void tasks_resume(const struct api_call *call);
void tasks_patch(const struct api_call *call);
void tasks_delete(const struct api_call *call);
void tasks_explain(const struct api_call *call);
void jobs_show(const struct api_call *call);
void jobs_list(const struct api_call *call);
void jobs_explain(const struct api_call *call);
void jobs_cancel(const struct api_call *call);
void jobs_retry(const struct api_call *call);
void jobs_complete(const struct api_call *call);
void jobs_fail(const struct api_call *call);
void jobs_heartbeat(const struct api_call *call);
void queues_list(const struct api_call *call);
void queues_pause(const struct api_call *call);
void queues_resume(const struct api_call *call);
void queues_delete(const struct api_call *call);
void tasks_backfill(const struct api_call *call);
void bulks_start(const struct api_call *call);
void bulks_show(const struct api_call *call);
void bulks_stop(const struct api_call *call);
void upcoming_show(const struct api_call *call);
void cron_preview(const struct api_call *call);
void ops_backup(const struct api_call *call);
void stats_show(const struct api_call *call);
void stats_series(const struct api_call *call);
void event_streams_stream(const struct api_call *call);
void metrics_show(const struct api_call *call);
void ops_health(const struct api_call *call);
void ops_ready(const struct api_call *call);
void ops_openapi(const struct api_call *call);
void ops_errors(const struct api_call *call);
void ops_root(const struct api_call *call);

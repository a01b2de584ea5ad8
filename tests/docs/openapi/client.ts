// What a program in TypeScript does with the types that openapi-typescript makes of /openapi.json. It is compiled, never run: a name
// that is missing, or a type that says less than it did, is an error here.
import type { components, operations, paths } from "./openapi";

type Schemas = components["schemas"];
type Answer<Operation extends keyof operations, Status extends keyof operations[Operation]["responses"]> =
    operations[Operation]["responses"][Status] extends { content: { "application/json": infer Body } } ? Body : never;

// Only the target is needed, and null is the same as leaving a field out.
export const smallest: Schemas["TaskDocument"] = { url: "https://hooks.example/ring" };
export const later: Schemas["TaskDocument"] = {
    ...smallest, in: "10m", name: null, body: { any: ["json"] }, headers: { "X-Kind": "bell" }, labels: { team: "billing" },
    retry: { max: 5, backoff: "fixed" }, success_codes: ["2xx", 304], priority: 9, on_lost: "bury",
};
export const body: paths["/v1/tasks"]["post"]["requestBody"]["content"]["application/json"] = [smallest, later];
export const patch: Schemas["TaskPatch"] = { priority: null, headers: { "X-Kind": null } };
export const bulk: Schemas["BulkRequest"] = { action: "cancel", filter: { queue: "mail", state: "active", "label.team": "billing" } };
export const words: [Schemas["Completion"], Schemas["Failure"], Schemas["Heartbeat"]] =
    [{ token: "t", result: [1] }, { token: "t", reason: "no" }, { token: "t" }];

// @ts-expect-error A typo is found before it is sent.
export const typo: Schemas["TaskDocument"] = { url: "https://hooks.example/ring", retires: 3 };
// @ts-expect-error A method that no task has.
export const method: Schemas["Method"] = "HEAD";

// What is shown has its defaults, and what may be absent must be asked for.
export function describe(task: Answer<"getTask", 200>): string {
    const job: Schemas["Job"] | null = task.job;
    const state: Schemas["JobState"] | undefined = job?.state;
    const outcomes: (Schemas["Outcome"] | null)[] = job?.attempts.map((attempt) => attempt.outcome) ?? [];
    return `${task.id} ${task.method} ${task.retry.max.toFixed()} ${task.key?.length} ${state} ${outcomes.join()} ${task.runs.failed}`;
}

export function isWhole(task: Answer<"submitTasks", 201>): task is Schemas["Task"] {
    return "job" in task;
}

export function summary(pages: [Answer<"listTasks", 200>, Answer<"listJobs", 200>, Answer<"listQueues", 200>]): (string | null)[] {
    const [tasks, jobs, queues] = pages;
    const waits: Schemas["Wait"][] = ([] as Schemas["Explanation"][]).flatMap((why) => why.waiting_for.map((reason) => reason.what));
    return [tasks.next, jobs.items[0].late_stage, queues.items[0].queue, ...waits];
}

export function figures(stats: Answer<"getStats", 200>, series: Answer<"getStatsSeries", 200>): number {
    return stats.rates.failed + (stats.lateness?.p99 ?? 0) + series.points[0].sla.by_stage.queue;
}

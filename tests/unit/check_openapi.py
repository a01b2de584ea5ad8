#!/usr/bin/python3
"""Keeps docs/openapi.yaml equal to the routes table, and docs/errors.md to the table of errors.

Tables in the code are the source; the documents are written for people and compared here.
"""
import pathlib
import re
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from reference import follow  # noqa: E402

METHODS = {"get", "put", "post", "delete", "patch", "head", "options"}
PROBLEMS = []


def expect(good, words):
    if not good:
        PROBLEMS.append(words)


def differ(what, in_code, in_docs):
    for item in sorted(in_code - in_docs):
        expect(False, f"{what}: {item} is in the code, not in the docs")
    for item in sorted(in_docs - in_code):
        expect(False, f"{what}: {item} is in the docs, not in the code")


def routes_in_code():
    """{(method, path): (content types, query names)} of the rows in routes.c."""
    text = (ROOT / "src/api/routes.c").read_text()
    row = re.compile(r'^ *\{"([A-Z]+)", *"(/[^"]*)", *\w+, *([A-Z_| ]+), *"([^"]*)", *\w+, *"[^"]*"(?:, true)?\},$', re.M)
    table = text[text.index("routes[] = {"):text.index("\n};")]
    filters = re.search(r'#define FILTER_NAMES "([^"]*)"', (ROOT / "src/core/filter.h").read_text()).group(1)
    table = table.replace('FILTER_NAMES "', '"' + filters)
    found = row.findall(table)
    expect(len(found) == table.count("\n"), f"{table.count(chr(10)) - len(found)} rows of routes.c do not look like the others")
    types = {"TYPE_JSON": "application/json", "TYPE_NDJSON": "application/x-ndjson", "TYPE_MERGE": "application/merge-patch+json"}
    return {(method, path): ({types[t] for t in re.findall(r"\w+", kinds) if t in types}, set(query.split()))
            for method, path, kinds, query in found}


def routes_in_docs(spec):
    routes = {}
    for path, item in spec["paths"].items():
        item = follow(spec, item)
        shared = [follow(spec, p) for p in item.get("parameters", [])]
        placeholders = set(re.findall(r"\{(\w+)\}", path))
        expect(placeholders == {p["name"] for p in shared if p["in"] == "path"}, f"openapi: {path}: its path parameters are not described")
        for method in METHODS & item.keys():
            operation = item[method]
            body = follow(spec, operation["requestBody"])["content"].keys() if "requestBody" in operation else ()
            query = {p["name"] for p in map(lambda p: follow(spec, p), operation.get("parameters", [])) if p["in"] == "query"}
            routes[(method.upper(), path)] = (set(body), query)
    return routes


def check_refs(spec, node):
    if isinstance(node, dict):
        if "$ref" in node:
            try:
                follow(spec, node)
            except KeyError:
                expect(False, f"openapi: {node['$ref']} leads nowhere")
        for value in node.values():
            check_refs(spec, value)
    elif isinstance(node, list):
        for value in node:
            check_refs(spec, value)


def x_macro(path, name):
    """The first string of each row of an X-macro list, with what follows it."""
    text = (ROOT / path).read_text()
    body = re.search(rf"#define {name}\(X\)(.*?)\n\n", text, re.S).group(1)
    return re.findall(r'X\((\w+), "([^"]*)"(?:, (\w+))?', body)


def check_states(spec):
    schemas = spec["components"]["schemas"]
    states = {text for _, text, _ in x_macro("src/core/job.h", "JOB_STATES")}
    differ("job states", states, set(schemas["JobState"]["enum"]))
    outcomes = {text for _, text, _ in x_macro("src/core/job.h", "JOB_OUTCOMES")} - {"none"}
    differ("outcomes", outcomes, set(schemas["Outcome"]["enum"]))
    events = {text for _, text, _ in x_macro("src/flow/events.h", "EVENT_TYPES")}
    differ("events", events, set(schemas["EventType"]["enum"]) - {"ready"})
    differ("events to choose", events, set(re.findall(r"\w+", schemas["EventTypes"]["pattern"])))


def field_rows(table):
    """{name: (type, {min, max, any})} of a table of fields in core/task/task_fields.c, with names of numbers as what they are."""
    sources = ("task/task_fields.c", "task/task.h", "task/target_http.h", "task/target_http.c", "task/recurrence_types.c", "schedule/plan.h", "job.h")
    text = "".join((ROOT / "src/core" / name).read_text() for name in sources)
    numbers = dict(re.findall(r"(\w+_MAX|JOB_PRIORITIES) = (\d+)", text))
    rows = re.search(rf"{table}\[\] = \{{(.*?)\n\}};", text, re.S).group(1)
    found = {}
    for name, kind, rest in re.findall(r'(?:ROW|RECURRENCE)\("(\w+)", (\w+), [\w.]+\)(.*)\}', rows):
        limits = {}
        for limit, value in re.findall(r"\.(min|max) = ([^,}]+)", rest):
            value = re.sub(r"[A-Z_]{3,}", lambda word: numbers.get(word[0], "0"), value)
            limits[limit] = eval(value)  # a sum of numbers out of our own source
        choice = re.search(r"\.any = (\w+)", rest)
        if choice:
            words = re.search(rf"{choice.group(1)}\[\] = \{{(.*?),\s+NULL\}}", text, re.S).group(1)
            limits["any"] = set(re.findall(r'"(\w+)"', words))
        found[name] = (kind, limits)
    return found


def plain(spec, schema):
    """A schema without the null beside it."""
    for part in schema.get("anyOf", []):
        if part != {"type": "null"}:
            return follow(spec, part)
    return follow(spec, schema)


def limits_in_docs(kind, schema):
    keys = {"number": ("minimum", "maximum"), "limit": ("minimum", "maximum"), "text": ("minLength", "maxLength"), "url": (None, "maxLength")}
    least, most = keys.get(kind, (None, None))
    found = {key: schema[name] for key, name in (("min", least), ("max", most)) if name in schema and schema[name]}
    return found | ({"any": set(schema["enum"])} if "enum" in schema else {})


def check_limits(spec, what, rows, schema):
    """What may be given says the same limits as the table of fields, as far as JSON Schema has words for them."""
    differ(what, set(rows), set(schema["properties"]))
    for name in rows.keys() & schema["properties"].keys():
        kind, limits = rows[name]
        if kind not in ("number", "limit", "text", "url", "word", "either", "choice"):
            continue
        limits = {key: value for key, value in limits.items() if value and not (kind == "url" and key == "min")}
        documented = limits_in_docs(kind, plain(spec, schema["properties"][name]))
        expect(documented == limits, f"{what}: {name} is limited to {limits} in the code, {documented} in the docs")


def check_task_fields(spec):
    schemas, rows, retry = spec["components"]["schemas"], field_rows("task_rows"), field_rows("retry_rows")
    expect(len(rows) > 20 and len(retry) > 4, "the rows of fields in core/task/task_fields.c do not look as they did")
    check_limits(spec, "fields of a task", rows, schemas["TaskDocument"])
    check_limits(spec, "fields of a patch", rows, schemas["TaskPatch"])
    check_limits(spec, "fields of retry", retry, schemas["Retry"])
    differ("fields that are shown", set(rows), set(rows) & set(schemas["Task"]["properties"]))
    differ("fields of retry that are shown", set(retry), set(schemas["RetryPolicy"]["properties"]))


def check_errors():
    in_code = {(code, status) for _, code, status in x_macro("src/base/err.h", "ERR_LIST") if code != "ok"}
    page = (ROOT / "docs/errors.md").read_text()
    rows = re.findall(r'^\| <a id="(\w+)"></a>`(\w+)` \| (\d+) \| \S.*? \| \S.*? \|$', page, re.M)
    expect(all(anchor == code for anchor, code, _ in rows), "errors.md: an anchor is not its code")
    differ("errors", in_code, {(code, status) for _, code, status in rows})


def check_filters(spec):
    """What a list can be asked for, a bulk can be, too."""
    names = set(re.search(r'#define FILTER_NAMES "([^"]*)"', (ROOT / "src/core/filter.h").read_text()).group(1).split()) - {"label.*"} | {"recurring"}
    schema = spec["components"]["schemas"]["BulkFilter"]
    differ("filters of a bulk", names, set(schema["properties"]))
    differ("names of a bulk's filters", names, set(re.findall(r"\w+", schema["propertyNames"]["pattern"])) - {"label"})


class Strict(yaml.SafeLoader):
    """PyYAML lets the last of two equal keys win; here the second is a difference."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        for key in sorted({key for key in keys if keys.count(key) > 1}):
            expect(False, f"openapi: {key} stands there twice, line {node.start_mark.line + 1} and on")
        return super().construct_mapping(node, deep)


def main():
    spec = yaml.load((ROOT / "docs/openapi.yaml").read_text(), Strict)
    code, docs = routes_in_code(), routes_in_docs(spec)
    differ("routes", set(code), set(docs))
    for route in code.keys() & docs.keys():
        differ(f"{route} content types", code[route][0], docs[route][0])
        differ(f"{route} query parameters", code[route][1], docs[route][1])
    operations = [item[m]["operationId"] for item in spec["paths"].values() for m in METHODS & item.keys()]
    expect(len(operations) == len(set(operations)), "openapi: an operationId is used twice")
    check_refs(spec, spec)
    check_states(spec)
    check_task_fields(spec)
    check_filters(spec)
    check_errors()
    for words in PROBLEMS:
        print(words)
    print(f"{len(code)} routes, {len(PROBLEMS)} differences")
    return 1 if PROBLEMS else 0


if __name__ == "__main__":
    sys.exit(main())

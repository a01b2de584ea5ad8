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
    differ("outcomes", outcomes, set(schemas["Attempt"]["properties"]["outcome"]["enum"]) - {None})


def check_task_fields(spec):
    text = (ROOT / "src/core/task.c").read_text()
    rows = re.search(r"task_rows\[\] = \{(.*?)\n\};", text, re.S).group(1)
    differ("task fields", set(re.findall(r'ROW\("(\w+)"', rows)), set(spec["components"]["schemas"]["TaskFields"]["properties"]))


def check_errors():
    in_code = {(code, status) for _, code, status in x_macro("src/base/err.h", "ERR_LIST") if code != "ok"}
    page = (ROOT / "docs/errors.md").read_text()
    rows = re.findall(r'^\| <a id="(\w+)"></a>`(\w+)` \| (\d+) \| \S.*? \| \S.*? \|$', page, re.M)
    expect(all(anchor == code for anchor, code, _ in rows), "errors.md: an anchor is not its code")
    differ("errors", in_code, {(code, status) for _, code, status in rows})


def main():
    spec = yaml.safe_load((ROOT / "docs/openapi.yaml").read_text())
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
    check_errors()
    for words in PROBLEMS:
        print(words)
    print(f"{len(code)} routes, {len(PROBLEMS)} differences")
    return 1 if PROBLEMS else 0


if __name__ == "__main__":
    sys.exit(main())

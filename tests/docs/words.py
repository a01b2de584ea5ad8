"""docs/words.md has rota's own names as code, and those of others in italics. Each of rota's must be one: a route with its query
parameters, a verb with its options, a setting, a field with its value, a member or a value of the API, a state."""

import re

import yaml

SPAN = re.compile(r"`([^`]+)`")
ROUTE = re.compile(r"(GET|POST|PUT|PATCH|DELETE) (/[^? ]*)(?:\?(\w+)=(\w+))?")
WRONG = ["resevred", "failed_at", "retry.maximum", "on_lost: burry", "retry: 3", "POST /v1/task", "PUT /v1/tasks/{id}", "GET /v1/jobs?stat=ready",
         "GET /v1/jobs?state=dead", "rota kick", "rota retry --tube", "--tube", "jobs.in_hands", "pending.max"]


class Known:
    def __init__(self, docs):
        self.api = yaml.safe_load((docs / "openapi.yaml").read_text())
        self.schemas = self.api["components"]["schemas"]
        self.settings = set(re.findall(r"^\| `([a-z_.]+)` \|", (docs / "config.md").read_text(), re.M))
        self.verbs = {name: set(re.findall(r"--[a-z-]+", text)) for name, text in
                      re.findall(r"^## rota (\w+)\n(.*?)(?=^## )", (docs / "cli.md").read_text(), re.M | re.S)}
        self.states = set(re.findall(r"\w+", re.search(r"^\| event \| (.* \|)$", (docs / "states.md").read_text().partition("## What follows")[2],
                                                       re.M)[1]))
        self.members, self.values = {}, set()
        for schema in self.schemas.values():
            for name, member in schema.get("properties", {}).items():
                self.members.setdefault(name, []).append(member)
            self.values.update(value for value in schema.get("enum", []) if isinstance(value, str))

    def plain(self, schema):
        """Without references, and of alternatives all."""
        while "$ref" in schema:
            node = self.api
            for step in schema["$ref"].removeprefix("#/").split("/"):
                node = node[step]
            schema = node
        return [part for one in schema["anyOf"] for part in self.plain(one)] if "anyOf" in schema else [schema]

    def takes(self, schema, value):
        return any(value in part.get("enum", []) or value in ("true", "false") and "boolean" in part.get("type", []) for part in self.plain(schema))

    def route(self, method, path, parameter, value):
        operation = self.api["paths"].get(path, {}).get(method.lower())
        if not operation or not parameter:
            return bool(operation)
        found = [one for given in operation.get("parameters", []) for one in self.plain(given) if one["name"] == parameter]
        return bool(found) and self.takes(found[0]["schema"], value)

    def command(self, verb, *words):
        options = {word for word in words if word.startswith("--")}
        return verb in self.verbs and options <= self.verbs[verb]

    def member(self, path):
        """A member of anything, or of what is in a member of anything: retry.max."""
        name, _, rest = path.partition(".")
        if not rest:
            return name in self.members
        return any(rest in part.get("properties", {}) for member in self.members.get(name, []) for part in self.plain(member))

    def knows(self, span):
        if route := ROUTE.fullmatch(span):
            return self.route(*route.groups())
        if span.startswith("rota "):
            return self.command(*span.split()[1:])
        if span.startswith("--"):
            return any(span in options for options in self.verbs.values())
        if ": " in span:
            name, value = span.split(": ")
            return any(self.takes(member, value) for member in self.members.get(name, []))
        if span in self.schemas["JobState"]["enum"]:
            return span in self.states
        return span in self.settings or span in self.values or self.member(span)


def check(docs):
    known = Known(docs)
    spans = sorted(set(SPAN.findall((docs / "words.md").read_text())) - {"this type"})
    yield len(spans) > 50, "docs/words.md has hardly any name of rota"
    for span in spans:
        yield known.knows(span), f"docs/words.md says that rota has `{span}`, which it has not"
    for span in WRONG:
        yield not known.knows(span), f"the check of docs/words.md would let `{span}` pass"

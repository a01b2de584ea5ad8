"""Writes docs/reference.md from docs/openapi.yaml: reference.py OPENAPI.yaml > docs/reference.md

One section for each route, in the order of the document; schemas behind them, so that every name can be followed.
"""

import pathlib
import sys

import yaml

METHODS = ["get", "post", "put", "patch", "delete"]
HEAD = """# API reference

Every route, its parameters, bodies and answers. Made from [openapi.yaml](openapi.yaml) by `tools/reference.py`, which a running server
also shows at `/openapi.json`; [api.md](api.md) explains, and [errors.md](errors.md) has the codes of refusals.
"""


def follow(spec, node):
    """What a $ref leads to; what is none is itself."""
    while "$ref" in node:
        target = spec
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        node = target
    return node


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def one_of(parts):
    return " or ".join(dict.fromkeys(parts))


def kind(schema):
    """A schema in a few words; one with a name is a link to it."""
    if not isinstance(schema, dict) or not schema:
        return "any JSON"
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema:
        return one_of("null" if value is None else f"`{value}`" for value in schema["enum"])
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return one_of(kind(part) for part in schema[key])
    types = schema.get("type", "any JSON")
    types = types if isinstance(types, list) else [types]
    words = [f"array of {kind(schema.get('items', {}))}" if name == "array" else name for name in types]
    text = one_of(words)
    for least, most, unit in (("minimum", "maximum", ""), ("minLength", "maxLength", " bytes"), ("minItems", "maxItems", " items")):
        if most in schema:
            text += f", {schema[least]} to {schema[most]}{unit}" if least in schema else f", up to {schema[most]}{unit}"
    if "default" in schema:
        text += f" ({schema['default']})"
    return text


def members(schema):
    required = schema.get("required", [])
    yield "| member | type | |"
    yield "|---|---|---|"
    for name, part in schema.get("properties", {}).items():
        words = cell(part.get("description", "")) if isinstance(part, dict) else ""
        yield f"| `{name}`{'' if name in required or not required else ' (optional)'} | {cell(kind(part))} | {words} |"


def content(spec, body):
    for media, described in body.get("content", {}).items():
        schema = described.get("schema", {})
        if "properties" in schema:
            yield f"`{media}`:"
            yield ""
            yield from members(schema)
            yield ""
        else:
            yield f"`{media}`: {kind(schema)}"
            yield ""


def operation(spec, path, item, method):
    found = item[method]
    yield f"## {method.upper()} {path}"
    yield ""
    yield f"{found['summary'].rstrip('.')}."
    yield ""
    if "description" in found:
        yield " ".join(found["description"].split())
        yield ""
    parameters = [follow(spec, p) for p in item.get("parameters", []) + found.get("parameters", [])]
    if parameters:
        yield "| parameter | in | type | |"
        yield "|---|---|---|---|"
        for p in parameters:
            yield f"| `{p['name']}` | {p['in']} | {cell(kind(p['schema']))} | {cell(p.get('description', ''))} |"
        yield ""
    if "requestBody" in found:
        body = follow(spec, found["requestBody"])
        yield f"**Body**{'' if body.get('required') else ' (may be left out)'}" + (f": {body['description']}" if "description" in body else "")
        yield ""
        yield from content(spec, body)
    for status, response in found["responses"].items():
        response = follow(spec, response)
        yield f"**{'Otherwise' if status == 'default' else status}**: {response['description'].rstrip('.')}."
        yield ""
        yield from content(spec, response)


def schemas(spec):
    yield "# Schemas"
    yield ""
    for name, schema in spec["components"]["schemas"].items():
        yield f"## {name}"
        yield ""
        if "description" in schema:
            yield f"{schema['description'].rstrip('.')}."
            yield ""
        for part in schema.get("allOf", []):
            yield f"All of {kind(part)}, and"
            yield ""
        if "properties" in schema:
            yield from members(schema)
        elif "pattern" in schema:
            yield f"A {schema['type']} that matches `{schema['pattern']}`."
        else:
            yield kind(schema)
        yield ""


def main(path):
    spec = yaml.safe_load(pathlib.Path(path).read_text())
    lines = [HEAD]
    for route, item in spec["paths"].items():
        for method in METHODS:
            if method in item:
                lines += operation(spec, route, item, method)
    print("\n".join(lines + list(schemas(spec))).rstrip())


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Makes C of the documents that rota serves: documents.py OPENAPI.yaml ERRORS.md OUT.c

/openapi.json is docs/openapi.yaml as JSON; /docs/errors is the table of docs/errors.md as a page, with an anchor for each code, so
that the `type` of a problem leads somewhere.
"""

import html
import json
import pathlib
import re
import sys

import yaml

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>rota: errors</title>
<style>body{{font:16px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}}td,th{{text-align:left;vertical-align:top;padding:.3em .8em .3em 0}}
tr:target{{background:#ffefb0}}code{{background:#eee;padding:0 .2em}}</style></head>
<body><h1>Errors</h1><table><tr><th>code</th><th>status</th><th>meaning</th><th>what to do</th></tr>
{rows}</table></body></html>
"""


def inline(text):
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text, quote=False))


def errors_page(markdown):
    rows = re.findall(r'^\| <a id="(\w+)"></a>`\w+` \| (\d+) \| (.*?) \| (.*?) \|$', markdown, re.M)
    assert rows, "errors.md has no table"
    return PAGE.format(rows="".join(
        f'<tr id="{code}"><td><code>{code}</code></td><td>{status}</td><td>{inline(meaning)}</td><td>{inline(remedy)}</td></tr>\n'
        for code, status, meaning, remedy in rows))


def c_string(name, text):
    data = text.encode()
    lines = [", ".join(str(byte) for byte in data[at:at + 32]) for at in range(0, len(data), 32)]
    return (f"static const unsigned char {name}_bytes[] = {{\n    " + ",\n    ".join(lines) + "};\n"
            f"const struct str {name} = {{(const char *){name}_bytes, sizeof {name}_bytes}};\n")


def main(openapi, errors, out):
    spec = yaml.safe_load(pathlib.Path(openapi).read_text())
    pathlib.Path(out).write_text(
        "// Made by tools/documents.py.\n#include \"api/documents.h\"\n\n"
        + c_string("document_openapi", json.dumps(spec, ensure_ascii=False, separators=(",", ":")) + "\n")
        + c_string("document_errors", errors_page(pathlib.Path(errors).read_text())))


main(*sys.argv[1:])

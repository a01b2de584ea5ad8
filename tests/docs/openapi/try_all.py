"""Lets schemathesis make requests of all that /openapi.json allows, and of what it does not: try_all.py SCHEMATHESIS [EXAMPLES]

What the document allows has to be taken, what it does not to be refused, and every answer has to be as it says. The server and
schemathesis run in a network of their own that has only a loopback, so that whatever targets are made up, nobody is called.

schemathesis is no Debian package, so this is no suite: `./dev openapi` installs it beside what is built. It also loads this file for
the check below.
"""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys

EXAMPLES = "100"
ALONE = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]

# No string in JSON holds NUL. 207 says of each task of a bulk why it was refused; 412 comes before a patch is looked at.
SETTINGS = """
[generation]
allow-x00 = false
[checks.negative_data_rejection]
expected-statuses = [207, 400, 401, 403, 404, 405, 406, 409, 412, 413, 415, 422, "5xx"]
"""

# What is refused though JSON Schema has no words for why, by what the refusal says.
INTENDED = re.compile("|".join((
    "This is no cursor of this list|cursor is a whole number",  # they are sealed; those of queues are limited
    "That would be [0-9]+ points|from is a time before to|step is a duration of whole minutes",
    "must be a duration from",  # a range of durations
    "with a zone|This is a time as",  # a range of times
    "at most 10 years ahead|not_after lies before the planned time",
    "At most one of at and in|max_delay must not be shorter than delay",
    "not an IPv6 address|The URL's bracket|A numeric host must be|Each part of the URL's host|The URL's port must|has no host",
    "This header is set by rota|This header is given twice|names and values of all headers",
    "bytes",  # JSON Schema counts characters
    "must have the W3C form",  # no id in it is all zeros
    "header Idempotency-Key is not taken here|Idempotency-Key .* differ|`key`",
    "The state of a (job|task) is",  # which of them, the action says
    "key of a task cannot be changed|Give a field once",
    "There is no such field|A field's name must not be empty",  # /task/create takes all fields, by two names more
    "another version by now|If-Match names versions",  # of the latter schemathesis makes 0, whatever its pattern says
)))


def accepts_what_it_documents(ctx, response, case):
    """Instead of schemathesis' own positive_data_acceptance, which does not look at why something was refused."""
    made_to_fit = case.meta is not None and case.meta.generation.mode.value == "positive"
    if not made_to_fit or response.status_code < 400 or response.status_code in (404, 409, 503):
        return
    detail = response.json().get("detail", "")
    assert INTENDED.search(detail), f"{response.status_code}, though the document allows it: {detail}"


def lines(ctx, value):
    return (value if isinstance(value, str) else json.dumps(value)).encode(errors="replace")


def run(program, examples):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
    from support.rota import Rota

    there = pathlib.Path(program).parents[1]
    (there / "schemathesis.toml").write_text(SETTINGS)
    with contextlib.closing(Rota()) as rota:
        rota.start()
        command = [program, "run", f"{rota.url}/openapi.json", "--exclude-path", "/v1/events", "--exclude-checks",
                   "positive_data_acceptance", "--max-examples", examples, "--phases", "examples,coverage,fuzzing",
                   "--continue-on-failure", "--request-timeout", "30", "--suppress-health-check", "all", "--warnings", "off"]
        return subprocess.run(command, cwd=there, env=dict(os.environ, SCHEMATHESIS_HOOKS=__file__)).returncode


if __name__ == "__main__":
    if os.environ.get("ROTA_ALONE"):
        sys.exit(run(*sys.argv[1:3], *([] if len(sys.argv) > 2 else [EXAMPLES])))
    os.environ["ROTA_ALONE"] = "1"
    os.execvp(ALONE[0], [*ALONE, sys.executable, __file__, *sys.argv[1:]])
else:
    import schemathesis

    schemathesis.check(accepts_what_it_documents)
    schemathesis.serializer("application/x-ndjson")(lines)

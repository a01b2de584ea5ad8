"""What a refusal looks like: application/problem+json with all its members."""


def assert_problem(answer, status, code=None, field=None, words=()):
    """`status` and `code` may be several; `field` is the beginning of the JSON pointer; `words` are in the detail."""
    statuses = status if isinstance(status, tuple) else (status,)
    assert answer.status in statuses, answer
    assert answer.type == "application/problem+json", answer.headers.items()
    problem = answer.json
    assert problem["status"] == answer.status
    for name in ("type", "title", "detail", "code"):
        assert isinstance(problem[name], str) and problem[name], name
    assert problem["request_id"]
    if code:
        assert problem["code"] in (code if isinstance(code, tuple) else (code,)), problem
    if field:
        assert problem["field"].startswith(field), problem
    for word in [words] if isinstance(words, str) else words:
        assert word in problem["detail"], problem
    return problem


def stored(api):
    """How many jobs there are, in whatever state."""
    return sum(api.read("/v1/stats")["states"].values())

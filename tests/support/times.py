"""RFC 3339 in and out, in milliseconds, as the API writes it."""

import datetime
import re

SHAPE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def to_ms(text):
    """None stays None: the API says null for what has not happened."""
    if text is None:
        return None
    assert SHAPE.match(text), f"{text!r} is not RFC 3339 in UTC with milliseconds"
    moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (moment - EPOCH) // datetime.timedelta(milliseconds=1)


def to_text(ms):
    moment = EPOCH + datetime.timedelta(milliseconds=ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"

"""Waiting for a condition. No test sleeps: it says what it waits for, and fails with those words."""

import time

# Sanitizer builds are ten times slower and the machine may be busy. Nothing is asserted about how long a wait took.
PATIENCE_S = 90.0


class NeverHappened(AssertionError):
    pass


def wait_until(condition, what="the condition holds", timeout=PATIENCE_S, interval=0.01):
    """Calls `condition` until it returns something true, and returns that."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            raise NeverHappened(f"waited {timeout:g} s, but it never happened that {what}")
        time.sleep(interval)


def pass_time(seconds):
    """For the rare fault whose very nature is a duration, such as a process that stays frozen for so long."""
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() >= end, f"{seconds} s pass", timeout=seconds + 60, interval=0.05)


def now_ms():
    return time.time_ns() // 1_000_000

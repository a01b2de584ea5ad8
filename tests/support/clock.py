"""Servers whose clock is wrong, played by libfaketime."""

import glob
import os

from support.rota import Rota, binary


def with_clock(place, shift):
    """`shift`: "+45s", "-2h". ASan wants to be loaded first, which a library that is loaded before everything prevents."""
    (library,) = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
    asan = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    fake = [f"LD_PRELOAD={library}", f"FAKETIME={shift}", "FAKETIME_DONT_FAKE_MONOTONIC=1", f"ASAN_OPTIONS={asan}"]
    return Rota(**place, command=["env", *fake, binary()])

"""A module of the package runs its code when something of it is used first."""

import subprocess
import sys

import pytest

LATE = """
import sys
from skillvault.page import html
from skillvault.page import html
assert "jinja2" not in sys.modules
html.html_of
assert "jinja2" in sys.modules
"""
THREADS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
sys.setswitchinterval(1e-6)
from skillvault.learning.effect import detect
start = Barrier(8)
def use(_):
    start.wait()
    return detect.detect_all
with ThreadPoolExecutor(8) as pool:
    assert len(set(pool.map(use, range(8)))) == 1
"""
FAILS = """
import sys
from skillvault.page import html
sys.modules["jinja2"] = None
for _ in range(2):
    try:
        html.html_of
    except ImportError:
        continue
    raise SystemExit("it was found")
del sys.modules["jinja2"]
html.html_of
"""


@pytest.mark.parametrize("code", [LATE, THREADS, FAILS], ids=["late", "threads", "fails"])
def test_a_module_is_loaded_once_it_is_used(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)

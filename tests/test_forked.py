"""Processes forked from one that has used a knowledge base: one clear line, never a hang."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.small import make

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

START = """
import multiprocessing, os, subprocess, sys, graphkb
from graphkb.errors import GraphkbError
root = sys.argv[1]
kb = graphkb.open(root, ["embed.when=off"])

def said(ask):
    try:
        return repr(ask())
    except GraphkbError as error:
        return str(error)

def forked(ask):
    child = os.fork()
    if not child:
        print(said(ask), flush=True)
        os._exit(0)
    os.waitpid(child, 0)

def ask(question):
    return graphkb.open(root, ["embed.when=off"]).search(question)[0].path
"""
REFUSED = "this process was forked from one (pid"


def run(root: Path, program: str) -> list[str]:
    """What a program prints that goes on with a knowledge base opened."""
    command = [sys.executable, "-W", "ignore", "-c", START + program, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("small")
    make(root)
    return root


def test_a_fork_after_the_first_question_is_refused_at_once_whatever_it_asks(root: Path) -> None:
    said = run(
        root,
        """
kb.search("Ada Lin")
forked(lambda: kb.search("Ada Lin"))
forked(lambda: kb.search("陈明", method="graph"))
forked(lambda: kb.query("谁是青石公司的工程师？"))
forked(lambda: kb.table("entities"))
forked(lambda: kb.status())
forked(lambda: kb.index())
forked(lambda: kb.chunks(root + "/input/osprey.md"))
forked(lambda: ask("Ada Lin"))
""",
    )
    assert len(said) == 8
    assert all(line.startswith(REFUSED) and "spawn or forkserver" in line for line in said), said


@pytest.mark.parametrize(
    "first", ["kb.table('entities')", "kb.chunks(root + '/input/osprey.md')", "kb.preview()"]
)
def test_so_is_a_fork_after_anything_else_that_began_threads(root: Path, first: str) -> None:
    (line,) = run(root, f"{first}\nforked(lambda: kb.search('Ada Lin'))")
    assert line.startswith(REFUSED)


def test_the_pool_of_a_parent_hears_it_too_and_the_parent_goes_on(root: Path) -> None:
    program = """
ask("Ada Lin")
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(said(lambda: pool.map_async(ask, ["Ada Lin"]).get(30)))
print(ask("陈明"))
"""
    refused, answered = run(root, program)
    assert refused.startswith(REFUSED)
    assert answered == "公司.md"


def test_a_fork_before_the_first_question_works(root: Path) -> None:
    program = """
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.map_async(ask, ["Ada Lin", "陈明"]).get(30))
forked(lambda: ask("Ada Lin"))
print(ask("Ada Lin"))
"""
    assert run(root, program) == ["['osprey.md', '公司.md']", "'osprey.md'", "osprey.md"]


def test_children_that_use_nothing_of_it_or_begin_anew_are_not_disturbed(root: Path) -> None:
    program = """
ask("Ada Lin")
forked(lambda: (sum(range(10)), repr(kb) != ""))
if not (child := os.fork()):
    kb.close()
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
again = "import graphkb, sys; print(graphkb.open(sys.argv[1]).search('陈明')[0].path)"
subprocess.run([sys.executable, "-c", again, root])
"""
    assert run(root, program) == ["(45, True)", "7", "公司.md"]

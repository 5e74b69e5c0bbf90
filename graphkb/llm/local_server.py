"""The process behind :class:`graphkb.llm.local.LocalServer`: llama.cpp serving one GGUF file.

Reads its options as one line of JSON, says ``{"url": …}`` or ``{"error": …}`` in one line, and
serves until its input ends, which it also does when whoever started it was killed. A process of
its own: loading a model holds Python's lock for seconds, and a crash in it must harm nobody.
Imports nothing of graphkb, so that it starts at once.
"""

from __future__ import annotations

import json
import signal
import sys


def main() -> None:
    """Serve until standard input ends."""
    # Ctrl-C reaches the whole group; the one who asks decides when this ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    options = json.loads(sys.stdin.readline())
    from xllamacpp import CommonParams, Server

    params = CommonParams()
    params.model.path = options["path"]
    params.n_ctx = options["context_tokens"] * options["slots"]
    params.n_parallel = options["slots"]
    params.cpuparams.n_threads = options["threads"]
    params.api_keys = [options["key"]]
    params.hostnames = ["127.0.0.1"]
    params.verbosity = 1
    params.ui = False
    params.endpoint_slots = False
    try:
        server = Server(params)
    except RuntimeError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    print(json.dumps({"url": f"{server.listening_address}/v1"}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

"""The part that all oracles share: a corpus behind a server on loopback, for a client library to read."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

KINDS = {".sse": "text/event-stream", ".jsonl": "application/x-ndjson", ".json": "application/json"}


class Corpus:
    """The recorded replies of one wire. While it is entered, `POST /NAME/…` at `port` is answered with the file NAME."""

    def __init__(self, wire):
        self.folder = Path(__file__).parent.parent / "corpus" / wire
        self.names = sorted(path.name for path in self.folder.iterdir() if path.suffix in KINDS)

    def __enter__(self):
        folder = self.folder

        class Recorded(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length", 0)))
                file = folder / self.path.split("/")[1]
                body = file.read_bytes()
                self.send_response(200)
                self.send_header("content-type", KINDS[file.suffix])
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Recorded)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

"""A link between a browser and a server that can stall and be slow. What is not forwarded stays at the server, in the kernel's send queue, as
on a real network: the receive buffer here is small, which Node cannot set. Needs nothing but Python 3.

    link.py PORT SERVER_PORT [KBITS]      SIGUSR1: stall; SIGUSR2: go on. It ends by itself after an hour.
"""

import signal
import socket
import sys
import threading
import time

RECEIVE_BYTES = 1024
PIECE_BYTES = 1400
port, server_port = int(sys.argv[1]), int(sys.argv[2])
bytes_per_second = int(sys.argv[3]) * 125 if len(sys.argv) > 3 else None
flows = threading.Event()
flows.set()


def forward(source, to, per_second, is_down):
    try:
        due = time.monotonic()
        while True:
            if is_down:
                flows.wait()
            piece = source.recv(PIECE_BYTES)
            if not piece:
                break
            if is_down:
                flows.wait()
            if per_second is not None:
                due = max(due, time.monotonic()) + len(piece) / per_second
                time.sleep(max(0, due - time.monotonic()))
            to.sendall(piece)
    except OSError:
        pass
    for each in (source, to):
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(client):
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    server.connect(("127.0.0.1", server_port))
    for each in (client, server):
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=forward, args=(client, server, None, False), daemon=True).start()
    forward(server, client, bytes_per_second, True)


def accept(listening):
    while True:
        client, _ = listening.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()


signal.signal(signal.SIGUSR1, lambda *_: flows.clear())
signal.signal(signal.SIGUSR2, lambda *_: flows.set())
signal.alarm(3600)
listening = socket.create_server(("127.0.0.1", port))
threading.Thread(target=accept, args=(listening,), daemon=True).start()
print("ready", flush=True)
while True:
    signal.pause()

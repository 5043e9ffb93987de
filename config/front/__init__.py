"""The web process: granian's event loop takes requests, and threads answer them with Django.

The loop reads each body to its end before a thread is taken, decides who is answered at all, and answers `/healthz` itself.
Nothing that a client does slowly (send its headers, send its body, read the answer) holds a thread.
"""

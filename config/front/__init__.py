"""Web process: granian's event loop receives requests, and threads answer them with Django.

The loop reads each body completely before it takes a thread, decides which requests are refused, and answers
`/healthz` itself. Nothing that a client does slowly (send its headers, send its body, read the answer) occupies a
thread.
"""

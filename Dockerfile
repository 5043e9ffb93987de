# Berth for production: one image for web, relay, worker and beat; `--target agent` is the host agent's.
#
#   docker build -t berth/app:1 .
#   docker build -t berth/agent:1 --target agent .
#
# The base is plain Debian 12, whose Python is 3.11; Node comes from a Python wheel and stays in the build stage.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS python
ENV DEBIAN_FRONTEND=noninteractive PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates python3 \
 && rm -rf /var/lib/apt/lists/*

FROM python AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv
# Certificates (PEM) that a network with TLS inspection needs while building; the image itself does not trust them:
#   --build-arg BUILD_CA="$(cat /usr/local/share/ca-certificates/*.crt)"
ARG BUILD_CA=
RUN { cat /etc/ssl/certs/ca-certificates.crt && printf '%s\n' "$BUILD_CA"; } >/tmp/build-ca.pem
ENV PIP_CERT=/tmp/build-ca.pem SSL_CERT_FILE=/tmp/build-ca.pem NODE_EXTRA_CA_CERTS=/tmp/build-ca.pem
WORKDIR /srv/berth
COPY requirements requirements
RUN python3 -m venv /srv/tools && /srv/tools/bin/pip install --quiet --require-hashes -r requirements/bootstrap.txt \
 && python3 -m venv --without-pip /srv/venv \
 && /srv/tools/bin/uv pip install --python /srv/venv/bin/python --compile-bytecode --require-hashes -r requirements/base.txt \
 && cp -a /srv/venv /srv/venv-build \
 && /srv/tools/bin/uv pip install --python /srv/venv-build/bin/python --require-hashes -r requirements/build.txt
COPY . .
# Nothing here is secret: the settings insist on values, and collecting static files uses none of them.
RUN export SECRET_KEY=build RELAY_SECRET=build DATABASE_URL=postgresql:///none REDIS_URL=redis://none MAIL_FROM=none MAIL_HOST=none \
 && export LEDGER_SIGNING_KEY=0000000000000000000000000000000000000000000000000000000000000000 \
 && export DJANGO_SETTINGS_MODULE=config.settings.prod PATH=/srv/venv-build/bin:$PATH \
 && python -m devserver.node ci --silent \
 && python -m config.frontend \
 && python -m config.translations \
 && python manage.py collectstatic --no-input --verbosity 0 \
 && rm -rf node_modules devserver

FROM python AS agent-build
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv
ARG BUILD_CA=
RUN { cat /etc/ssl/certs/ca-certificates.crt && printf '%s\n' "$BUILD_CA"; } >/tmp/build-ca.pem
ENV PIP_CERT=/tmp/build-ca.pem
COPY requirements /tmp/requirements
COPY agents /tmp/agents
RUN python3 -m venv /srv/agent \
 && /srv/agent/bin/pip install --quiet --no-cache-dir --require-hashes -r /tmp/requirements/agent.txt \
 && /srv/agent/bin/pip install --quiet --no-cache-dir --no-deps /tmp/agents

# Runs as root: it mounts data disks and drives the host's container engine.
FROM python AS agent
RUN apt-get update \
 && apt-get install -y --no-install-recommends e2fsprogs iptables mount util-linux \
 && rm -rf /var/lib/apt/lists/*
COPY --from=agent-build /srv/agent /srv/agent
ENV PATH=/srv/agent/bin:$PATH
VOLUME /var/lib/berth-agent
ENTRYPOINT ["berth-agent"]
CMD ["run", "--state-dir", "/var/lib/berth-agent"]

FROM python AS app
RUN useradd --system --uid 10001 --home-dir /srv/berth --shell /usr/sbin/nologin berth \
 && install -d -o berth /anchors
COPY --from=build /srv/venv /srv/venv
COPY --from=build /srv/berth /srv/berth
WORKDIR /srv/berth
ENV PATH=/srv/venv/bin:$PATH DJANGO_SETTINGS_MODULE=config.settings.prod BEAT_SCHEDULE=/tmp/celerybeat-schedule
USER berth
EXPOSE 8000 8001
CMD ["granian", "--host", "0.0.0.0", "--port", "8000", "--workers", "4", \
     "--interface", "rsgi", "--http", "1", "--backlog", "4096", "--backpressure", "4096", \
     "--http1-header-read-timeout", "15000", "--respawn-failed-workers", "--no-ws", "--no-access-log", "config.rsgi:application"]

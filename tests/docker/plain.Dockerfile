ARG BASE
FROM ${BASE} AS plain
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update \
 && apt-get install -y --no-install-recommends vim-tiny busybox-static \
 && rm -rf /var/lib/apt/lists/* /usr/sbin/sshd
ENTRYPOINT []
CMD ["sleep", "infinity"]

FROM scratch AS small
COPY --from=plain /usr/bin/busybox /bin/busybox
RUN ["/bin/busybox", "--install", "-s", "/bin"]
CMD ["sleep", "100000"]

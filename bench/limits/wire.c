/* Measures the minimal work of messages and asks between two processes over loopback TCP: framing,
 * table, mailbox and handler. There is no membership, no route and no reference. The receiver runs
 * on processor 0, the sender on 1. See limits.h. */
#define _GNU_SOURCE
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BODY_SIZE 100
#define BUFFER_SIZE (1 << 18)
#define FLUSH_SIZE 32768
#define SPIN_NS 50000
#define SAMPLES_MAX 100000

struct head {
    uint32_t size; /* bytes after this field */
    uint16_t shard;
    uint8_t kind; /* 1: the sender wants an answer */
    uint8_t id_size;
    uint32_t tag;
};

static int listener;
static struct sockaddr_in address;
static char answers[1 << 20];
static size_t answers_size;

static uint64_t now_ns(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static void pin(int processor)
{
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    CPU_SET(processor, &cpus);
    (void)sched_setaffinity(0, sizeof cpus, &cpus);
}

static void must(int condition)
{
    if (!condition) {
        perror("limit");
        exit(1);
    }
}

static void start_listening(void)
{
    socklen_t size = sizeof address;

    address = (struct sockaddr_in){.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    must(bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    must(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    must(listen(listener, 8) == 0);
}

/* Sets TCP_NODELAY, and makes the socket nonblocking. */
static int prepare(int fd)
{
    int one = 1;

    must(fd >= 0);
    must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) == 0);
    must(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    return fd;
}

static int connected(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    must(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    return prepare(fd);
}

static int watch(int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(0);

    must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
    return epoll;
}

static void write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t written = write(fd, bytes, size);

        if (written < 0) {
            must(errno == EAGAIN || errno == EINTR);
            continue;
        }
        bytes += written;
        size -= (size_t)written;
    }
}

/* Reads at least one byte. If `spin`, polls for 50 us first. Returns 0 at the end of the
 * connection. */
static size_t read_some(int fd, int epoll, int spin, char *bytes, size_t size)
{
    for (;;) {
        uint64_t until = spin ? now_ns() + SPIN_NS : 0;
        ssize_t got = read(fd, bytes, size);
        struct epoll_event event;

        while (got < 0 && spin && now_ns() < until) {
            got = read(fd, bytes, size);
            __builtin_ia32_pause();
        }
        if (got >= 0)
            return (size_t)got;
        epoll_wait(epoll, &event, 1, -1);
    }
}

static void answer(uint16_t kind, uint32_t tag, const uint8_t *body,
                   uint16_t size)
{
    struct head head = {.size = sizeof head - 4 + size, .tag = tag};

    if (kind != 1)
        return;
    memcpy(answers + answers_size, &head, sizeof head);
    memcpy(answers + answers_size + sizeof head, body, size);
    answers_size += sizeof head + size;
}

static void serve(uint32_t entities, int spin)
{
    static char bytes[BUFFER_SIZE];
    size_t have = 0;
    int fd, epoll;

    pin(0);
    limit_entities_open(entities, answer);
    fd = prepare(accept(listener, NULL, NULL));
    epoll = watch(fd);
    for (;;) {
        size_t got =
            read_some(fd, epoll, spin, bytes + have, sizeof bytes - have);
        size_t at = 0;

        if (got == 0)
            _exit(0);
        have += got;
        while (have - at >= sizeof(struct head)) {
            struct head head;
            const char *id = bytes + at + sizeof head;

            memcpy(&head, bytes + at, sizeof head);
            if (have - at < head.size + 4)
                break;
            limit_entities_tell(
                id, head.id_size, (const uint8_t *)id + head.id_size,
                (uint16_t)(head.size + 4 - sizeof head - head.id_size),
                head.kind, head.tag);
            at += head.size + 4;
        }
        memmove(bytes, bytes + at, have - at);
        have -= at;
        limit_entities_run();
        write_all(fd, answers, answers_size);
        answers_size = 0;
    }
}

/* Sends all bytes back: only the kernel's part of an ask. */
static void echo(int spin)
{
    char bytes[4096];
    int fd, epoll;

    pin(0);
    fd = prepare(accept(listener, NULL, NULL));
    epoll = watch(fd);
    for (;;) {
        size_t got = read_some(fd, epoll, spin, bytes, sizeof bytes);

        if (got == 0)
            _exit(0);
        write_all(fd, bytes, got);
    }
}

static size_t put(char *bytes, uint32_t number, uint8_t kind, uint32_t tag)
{
    char *id = bytes + sizeof(struct head);
    int id_size = limit_id_put(id, number);
    struct head head = {.size = (uint32_t)(sizeof head - 4 + BODY_SIZE) +
                                (uint32_t)id_size,
                        .shard = (uint16_t)(limit_hash(id, id_size) % 100),
                        .kind = kind,
                        .id_size = (uint8_t)id_size,
                        .tag = tag};

    memcpy(bytes, &head, sizeof head);
    memset(id + id_size, 7, BODY_SIZE);
    return head.size + 4;
}

/* The receiver, as the sender sees it. */
struct peer {
    pid_t process;
    int fd, epoll, spin;
    char bytes[65536];
    size_t have;
};

static void open_peer(struct peer *peer, uint32_t entities, int spin)
{
    start_listening();
    peer->process = fork();
    if (peer->process == 0 && entities)
        serve(entities, spin);
    if (peer->process == 0)
        echo(spin);
    pin(1);
    peer->fd = connected();
    peer->epoll = watch(peer->fd);
    peer->spin = spin;
    peer->have = 0;
}

static void close_peer(struct peer *peer)
{
    close(peer->fd);
    close(peer->epoll);
    close(listener);
    waitpid(peer->process, NULL, 0);
}

/* Waits for answers. Returns their number. */
static uint32_t take_answers(struct peer *peer)
{
    uint32_t count = 0;
    size_t at = 0;

    while (count == 0) {
        peer->have += read_some(peer->fd, peer->epoll, peer->spin,
                                peer->bytes + peer->have,
                                sizeof peer->bytes - peer->have);
        for (at = 0; peer->have - at >= 4; count++) {
            uint32_t size;

            memcpy(&size, peer->bytes + at, 4);
            if (peer->have - at < size + 4)
                break;
            at += size + 4;
        }
    }
    memmove(peer->bytes, peer->bytes + at, peer->have - at);
    peer->have -= at;
    return count;
}

double limit_wire_tell(uint32_t entities, uint32_t window, uint64_t messages)
{
    static char bytes[1 << 20];
    static struct peer peer;
    uint64_t random = 777;
    uint64_t began_at;
    uint32_t credit = 2;
    size_t size;

    open_peer(&peer, entities, 1);
    write_all(peer.fd, bytes, put(bytes, 1, 1, 0));
    (void)take_answers(&peer); /* now the table is full */
    began_at = now_ns();
    for (uint64_t sent = 0; sent < messages; credit--) {
        if (credit == 0)
            credit += take_answers(&peer);
        size = 0;
        for (uint32_t i = 0; i < window / 2; i++, sent++) {
            uint32_t number =
                1 + (uint32_t)((bench_random(&random) >> 11) % entities);

            size +=
                put(bytes + size, number, i + 1 == window / 2, (uint32_t)sent);
            if (size > FLUSH_SIZE) {
                write_all(peer.fd, bytes, size);
                size = 0;
            }
        }
        write_all(peer.fd, bytes, size);
    }
    while (credit < 2)
        credit += take_answers(&peer);
    began_at = now_ns() - began_at;
    close_peer(&peer);
    return (double)messages / (double)began_at * 1e3;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

void limit_wire_ask(int spin, uint32_t asks, double *p50, double *p99)
{
    static double micros[SAMPLES_MAX];
    static struct peer peer;
    char bytes[104] = {100};
    uint32_t warm = asks / 10;

    must(asks <= SAMPLES_MAX);
    open_peer(&peer, 0, spin);
    for (uint32_t i = 0; i < asks + warm; i++) {
        uint64_t asked_at = now_ns();

        write_all(peer.fd, bytes, sizeof bytes);
        (void)take_answers(&peer); /* one ask is underway */
        if (i >= warm)
            micros[i - warm] = (double)(now_ns() - asked_at) / 1e3;
    }
    close_peer(&peer);
    qsort(micros, asks, sizeof micros[0], compare);
    *p50 = micros[asks / 2];
    *p99 = micros[asks / 100 * 99];
}

double limit_wire_burst(uint32_t trips)
{
    static char bytes[104 * 4096];
    static struct peer peer;
    uint64_t began_at = 0;

    must(trips <= sizeof bytes / 104);
    for (uint32_t i = 0; i < trips; i++)
        bytes[104 * i] = 100; /* the size of the rest of the frame */
    open_peer(&peer, 0, 1);
    for (int warm = 1; warm >= 0; warm--) {
        began_at = now_ns();
        for (uint32_t sent = 0, back = 0; back < trips;) {
            uint32_t count = trips - sent < 128 ? trips - sent : 128;

            write_all(peer.fd, bytes, 104ul * count);
            sent += count;
            /* More would fill the sockets' buffers, and both ends would wait for space. */
            while (back < trips && (sent == trips || sent - back > 512))
                back += take_answers(&peer);
        }
    }
    began_at = now_ns() - began_at;
    close_peer(&peer);
    return (double)began_at / 1e6;
}

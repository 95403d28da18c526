/* Runs a real etcd as a process, and a scripted server between it and its client, both on loopback.
 * For etcd_test.c. */
#ifndef SHERD_TESTS_ETCD_SERVER_H
#define SHERD_TESTS_ETCD_SERVER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <uv.h>

struct etcd_server {
    char directory[64];
    int port;
    int peer_port;
    bool tls; /* with server.crt and server.key of the directory */
    bool signs; /* signed tokens, with token.key and token.pub of the directory */
    pid_t pid; /* 0: not running */
};

extern const char *etcd_program;

int free_port(void);
void etcd_server_init(struct etcd_server *server); /* creates the directory */
void etcd_server_start(struct etcd_server *server); /* returns at once */
void etcd_server_kill(struct etcd_server *server);  /* kill -9; a restart keeps its data */
void etcd_server_fini(struct etcd_server *server);

enum fake_way {
    FAKE_PASS,     /* forwards to the etcd and returns its answer */
    FAKE_TEXT,     /* 200 with text */
    FAKE_FAULT,    /* 500 */
    FAKE_HUGE,     /* 200 with an endless body */
    FAKE_CUT,      /* closes inside the body */
    FAKE_HANG_UP,  /* closes without an answer */
    FAKE_SILENT,   /* accepts the request, never answers */
    FAKE_LOSE_TXN, /* like PASS, but drops replies of writes */
    FAKE_LOSE_PUT, /* only replies of transactions that put keys */
    FAKE_LOSE_ALL_AFTER_TXN /* and all replies after one */
};

struct fake {
    int listener;
    int port;
    int behind; /* port of the etcd */
    const char *text;
    _Atomic int way;
    _Atomic int asked; /* requests */
    _Atomic int wrote; /* of these, transactions */
    _Atomic bool ends;
    uv_thread_t thread;
};

void fake_start(struct fake *fake, enum fake_way way, int behind);
void fake_end(struct fake *fake);

#endif

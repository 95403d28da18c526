/* A real etcd of the machine as a process of its own, and a server between it and who asks, which answers what a test
 * wants.
 * Both on loopback only. For etcd_test.c. */
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
    bool signs; /* tokens are signed, with token.key and token.pub of the directory */
    pid_t pid; /* 0: it does not run */
};

extern const char *etcd_program;

int free_port(void);
void etcd_server_init(struct etcd_server *server); /* makes the directory */
void etcd_server_start(struct etcd_server *server); /* returns at once */
void etcd_server_kill(struct etcd_server *server);  /* kill -9; a further start goes on with its data */
void etcd_server_fini(struct etcd_server *server);

enum fake_way {
    FAKE_PASS,     /* asks the etcd behind it, and passes the answer on */
    FAKE_TEXT,     /* 200 with text */
    FAKE_FAULT,    /* 500 */
    FAKE_HUGE,     /* 200 with a body that never ends */
    FAKE_CUT,      /* the connection ends in the midst of the body */
    FAKE_HANG_UP,  /* the connection ends without an answer */
    FAKE_SILENT,   /* takes the question, and says nothing */
    FAKE_LOSE_TXN, /* as PASS, but whoever wrote hears nothing */
    FAKE_LOSE_ALL_AFTER_TXN /* and nothing from then on */
};

struct fake {
    int listener;
    int port;
    int behind; /* the port of the etcd */
    const char *text;
    _Atomic int way;
    _Atomic int asked; /* questions that came */
    _Atomic int wrote; /* of them transactions */
    _Atomic bool ends;
    uv_thread_t thread;
};

void fake_start(struct fake *fake, enum fake_way way, int behind);
void fake_end(struct fake *fake);

#endif

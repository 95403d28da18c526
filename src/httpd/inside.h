/* Declares the module's state, which its files share.
 *
 * The HTTP thread owns everything that has no other note. Workers call what waits for the node; lanes
 * put events into streams. Both wake the HTTP thread. */
#ifndef SHERD_HTTPD_INSIDE_H
#define SHERD_HTTPD_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <openssl/ssl.h>

#include <sherd/http.h>
#include <sherd/manage.h>
#include <sherd/sharding.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/vec.h"
#include "mgmt/akka.h"
#include "mgmt/api.h"
#include "mgmt/events.h"
#include "mgmt/metrics.h"
#include "mgmt/route.h"
#include "mgmt/wrong.h"

struct httpd;

#define HOSTS_MAX 66 /* names of a server: its own two, and 64 allowed ones */

/* ---- settings ---- */

enum tls_mode { TLS_MODE_OFF, TLS_MODE_NODES, TLS_MODE_OWN };

struct httpd_settings {
    struct mgmt_settings mgmt;
    char *base_path;
    bool has_tcp;
    const char *host, *bind_host; /* without brackets */
    uint16_t port, bind_port;
    enum tls_mode tls;
    const char *certificate, *key, *client_ca, *client_crl; /* null: none */
    const char *tokens_file;                   /* null: none */
    const char *socket;                        /* a path, "auto" or "off" */
    bool open_read;
    uint32_t connections, streams;
    uint32_t ready_statuses; /* bits 1 << status */
    uint32_t checks;         /* bits of enum sherd_unready that make the node not ready */
};

/* settings.c: 0, or a logged error. */
int httpd_read_settings(struct httpd *httpd);
void httpd_settings_fini(struct httpd_settings *settings);

/* ---- files that are read again ---- */

/* Differs between two contents of a file. */
struct file_stamp {
    dev_t device;
    ino_t file;
    off_t size;
    struct timespec changed;
};

bool file_stamp_read(const char *path, struct file_stamp *stamp);
bool file_stamp_same(const struct file_stamp *left, const struct file_stamp *right);

/* ---- doors ---- */

#define TLS_FILES 4

/* A door: accepts connections of one kind. */
struct door {
    struct httpd *httpd;
    struct evhttp *http; /* null: the door is closed */
    bool is_socket;
    uint16_t port;
    SSL_CTX *tls; /* null: plain */
    struct file_stamp stamps[TLS_FILES];
    uint64_t looked_at; /* at its files */
    bool has_logged;    /* a fault of the files */
};

/* door_socket.c: opens the Unix socket; failure is logged. */
void door_open_socket(struct httpd *httpd);
void door_close_socket(struct httpd *httpd);
/* door_tcp.c: 0, or a logged error. */
int door_open_tcp(struct httpd *httpd);
/* door_tls.c: 0, or a logged error. */
int door_open_tls(struct httpd *httpd, struct door *door);
/* Reads changed files again, at most once a second. */
void door_look(struct door *door, uint64_t now);
/* Writes `CN=name,O=...` of a verified peer. False: it has no certificate. */
bool door_subject(struct bufferevent *bev, char *subject, size_t size);

/* ---- connections ---- */

enum phase {
    PHASE_NEW,    /* no byte of the first request came */
    PHASE_IDLE,   /* kept open */
    PHASE_HEAD,   /* a request's first bytes came */
    PHASE_BODY,
    PHASE_ANSWER, /* the request was given to the library */
    PHASE_LINGER  /* refused, and answered: what the peer still sends is thrown away */
};

struct connection {
    struct connection *next, *before;
    struct door *door;
    struct bufferevent *bev;
    struct evhttp_connection *http; /* null until it began */
    struct event *begin, *again;
    bufferevent_data_cb read; /* the library's */
    char peer[64], local[64]; /* addresses; "" on the socket */
    bool is_loopback;
    uid_t uid;                /* of the socket's peer */
    enum phase phase;
    uint64_t since;    /* the phase began; a body keeps its head's */
    uint64_t taken_at; /* the peer took bytes */
    unsigned refused;  /* the status for the request at hand; 0: none */

    struct evhttp_request *request; /* until its answer is given to the library */
    bool is_head, takes_gzip, takes_lines;
    struct decision decision;
    char caller[160]; /* for the audit */
    enum right right;
    struct job *job;       /* a worker has it */
    struct stream *stream; /* of events */
    struct look_job *looks; /* a native route waits for it */
    struct event *wait;    /* for the view or the figures */
    enum metrics_format metrics;
    bool waits;
};

/* gate.c: the library calls it for a new connection of a door. */
struct bufferevent *gate_new(struct event_base *base, void *door);
struct connection *gate_find(struct httpd *httpd, struct bufferevent *bev);
void gate_end(struct connection *connection); /* closes it at once */
/* The answer of a request has left. */
void gate_answered(struct evhttp_request *request, void *connection);
void gate_tick(struct httpd *httpd, uint64_t now);
void gate_fini(struct httpd *httpd); /* the library has freed its connections */

/* ---- requests ---- */

/* request.c: the library's callback. */
void request_come(struct evhttp_request *request, void *door);
/* The view or the figures are there, or take too long. */
void request_go_on(struct connection *connection);
/* act.c: carries out what changes something at the node, and writes the audit. Returns 0 or an error of the
 * node's call. accepted: the status of the answer if it is 0. */
int act(struct connection *connection, const char *address, unsigned accepted);
void audit(struct connection *connection, const char *result, unsigned status);
/* Sets the level of the log, for a while if ms is not 0. */
void act_level(struct connection *connection, int level, uint64_t ms);
const char *level_text(int level);
int level_named(struct slice name); /* in any case of letters; less than 0: none */
/* answer.c: text/plain if it is Akka's text, JSON else. */
enum body_kind { BODY_JSON, BODY_TEXT, BODY_METRICS, BODY_PAGE };
void answer_send(struct connection *connection, unsigned status, enum body_kind kind, const struct buf *body);
void answer_text(struct connection *connection, unsigned status, const char *text);
void answer_error(struct connection *connection, enum mgmt_error error);
void answer_hint(struct connection *connection, enum mgmt_error error, const char *hint);
/* Headers of every answer. cache: the value of Cache-Control. */
void answer_headers(struct connection *connection, const char *cache);
void answer_header(struct connection *connection, const char *name, const char *value);
/* pages.c: answers with a file of the dashboard. */
void page_answer(struct connection *connection);
const char *page_content_type(const struct connection *connection);

/* ---- metrics ---- */

/* metrics.c: answers with the figures at hand. */
void answer_metrics(struct connection *connection);
/* process.c: any thread. */
void process_look(struct process_figures *process);

/* ---- callers ---- */

/* caller.c: reads the tokens file. 0, or a logged error. */
int caller_open(struct httpd *httpd);
void caller_close(struct httpd *httpd);
/* Finds the right of a request's sender. An error: it is refused. */
enum mgmt_error caller_find(struct connection *connection, struct mgmt_request *request);

/* ---- calls to the node ---- */

enum job_kind { JOB_VIEW, JOB_SHARDS, JOB_STATS, JOB_FIGURES };

struct job {
    enum job_kind kind;
    struct connection *connection; /* null: it is gone, or nobody's job alone */
    char *type;
    int result;
    struct sherd_regions regions;
    struct sherd_cluster_view view;
    struct sherd_figures *figures;
    struct process_figures process;
};

/* work.c */
int work_start(struct httpd *httpd);
void work_stop(struct httpd *httpd);
/* False: too many wait. */
bool work_ask(struct httpd *httpd, enum job_kind kind, struct connection *connection);
/* Asks for a new view, unless a worker does. */
void work_ask_view(struct httpd *httpd);
void work_ask_figures(struct httpd *httpd); /* likewise */
void work_done(struct httpd *httpd); /* takes the results, on the HTTP thread */
void work_job_free(struct httpd *httpd, struct job *job);

/* ---- native routes ---- */

/* native.c */
/* False: it waits for the view; then native_go_on goes on. */
bool native_carry_out(struct connection *connection);
void native_go_on(struct connection *connection);
/* The body of a request with only these fields; null: it was refused. */
struct body *native_take_body(struct connection *connection, const char *fields);
/* operate.c */
void operate_carry_out(struct connection *connection); /* starts an operation, or shows the one of its id */
void operate_show(struct connection *connection);
void operate_fini(struct httpd *httpd); /* the node has ended all operations */
/* health.c */
void health_answer(struct connection *connection);
void health_answer_native(struct connection *connection);

/* native_looks.c: False: too many. */
struct look_job;
bool native_looks_ask(struct connection *connection);
void native_looks_forget(struct connection *connection); /* it is gone */
void native_looks_step(struct httpd *httpd, uint64_t now);
void native_looks_fini(struct httpd *httpd); /* the node has ended all looks */

/* ---- streams ---- */

struct stream;
/* stream.c: False: too many. */
bool stream_open(struct connection *connection);
void stream_close(struct stream *stream); /* its connection is gone */
void streams_step(struct httpd *httpd, uint64_t now);
void streams_fini(struct httpd *httpd);

/* ---- the whole ---- */

struct httpd {
    const struct sherd_node_access *access;
    struct httpd_settings settings;
    struct akka_names names;
    char self[280];
    struct event_base *base;
    struct event *wake_event, *tick;
    int wake; /* an eventfd: any thread writes */
    pthread_t thread;
    bool has_thread;
    _Atomic bool stopping;
    struct door socket_door, tcp_door;
    char socket[108], url[160];
    struct connection *connections;
    uint32_t connection_count;
    _Atomic uint64_t counters[SHERD_HTTP_COUNTER_COUNT];

    struct tokens tokens;
    struct file_stamp tokens_stamp;
    uint64_t tokens_looked_at;
    bool tokens_logged;
    struct wrong_tokens wrong;

    struct sherd_cluster_view view; /* the last one */
    bool has_view, view_is_asked;
    struct operation *operations; /* the newest first */
    struct look_job *looks, *status_job; /* the second one is among the first, or null */
    uint32_t look_count;
    struct buf status; /* the last answer */
    uint64_t status_at;
    struct event *level_timer; /* until the level of the log falls back; null: it never did */
    int level_before;
    uint64_t level_until; /* 0: it stays */
    struct sherd_figures *figures; /* the last ones, or null */
    struct process_figures process;
    bool figures_are_asked;
    uint64_t answers[METRICS_CODES];

    pthread_mutex_t mutex; /* for the rest, and for streams */
    pthread_cond_t work_came;
    pthread_t workers[HTTPD_WORKERS_MAX];
    uint32_t worker_count;
    VEC(struct job *) work, done;
    struct stream *streams;
    uint32_t stream_count;
};

/* The module's state on its HTTP thread: the library's functions do not name it. */
extern _Thread_local struct httpd *httpd_here;

uint64_t httpd_now(void); /* ms, monotonic */
void httpd_wake(struct httpd *httpd); /* any thread */
void httpd_log(struct httpd *httpd, enum sherd_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void httpd_count(struct httpd *httpd, enum sherd_http_counter counter);

#endif

/* Reads certificates, key and rules at the start, and again when the files change. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <uv.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/line.h"
#include "base/timers.h"
#include "base/vec.h"
#include "host/file.h"
#include "host/file_watch.h"
#include "host/tls_inside.h"

#define FILES 6
#define ERROR_MAX 512
#define MISSED 2 /* looks without a file until it counts as deleted */

/* Differs between two contents of a file. */
struct stamp {
    dev_t device;
    ino_t file;
    off_t size;
    struct timespec changed;
};

/* Made from the files. Zero is empty. */
struct content {
    SSL_CTX *context;
    struct tls_secrets secrets;
    struct tls_pins pins;
    bool is_revoked; /* own certificate */
    bool is_open;    /* others on the host may read the key */
};

/* All that reading needs: it may outlive the rest. */
struct reading {
    struct tls_options options; /* owns texts */
    VEC(const char *) algorithms;
    VEC(const char *) pins;
    struct stamp stamps[FILES]; /* of the last reading, successful or not */
    _Atomic bool is_due; /* changed files are read */
    uint32_t missed; /* looks in a row that missed a file */
    bool is_changed; /* the last look read files, with this result */
    bool is_right; /* of the last reading */
    struct content content; /* until handed over */
    char error[ERROR_MAX];
};

struct tls {
    struct tls_options options; /* lends the reading's texts */
    struct file_watch *file_watch;        /* its subject is the reading */
    uv_mutex_t mutex;
    _Atomic uint64_t revoked;   /* connections */
    _Atomic bool is_usable;     /* the node could start with the files */
    struct reading *reading;    /* lent by the watch; only is_due */
    struct content content;     /* under the mutex, as all below */
    uint64_t version;           /* of content */
    uint64_t looked_at;
    uint64_t due_at;            /* changed files are read from then on */
};

static void content_fini(struct content *content)
{
    SSL_CTX_free(content->context);
    tls_secrets_wipe(&content->secrets);
    tls_pins_fini(&content->pins);
    *content = (struct content){ .context = NULL };
}

static const char *first_reason(void)
{
    unsigned long error = ERR_peek_error();
    const char *text = error ? ERR_reason_error_string(error) : NULL;

    return text ? text : "unknown";
}

/* ---- cipher suites ---- */

/* OpenSSL names TLS 1.3's suites alike, but sets them separately. */
static bool is_of_1_3(const char *name)
{
    return strncmp(name, "TLS_AES_", 8) == 0 ||
           strncmp(name, "TLS_CHACHA20_POLY1305_SHA256", 28) == 0;
}

static bool set_algorithms(const struct tls_options *options, SSL_CTX *context,
                           char *error)
{
    struct buf of_1_3 = { 0 }, older = { 0 };
    bool right = true;

    for (uint32_t i = 0; right && i < options->algorithm_count; i++) {
        const char *name = options->algorithms[i];
        struct buf *list = is_of_1_3(name) ? &of_1_3 : &older;
        const char *own = is_of_1_3(name) ? name : OPENSSL_cipher_name(name);

        right = strcmp(own, "(NONE)") != 0;
        if (!right)
            (void)snprintf(error, ERROR_MAX,
                           "the cipher suite \"%.64s\" is not known", name);
        if (list->size)
            buf_put_u8(list, ':');
        buf_put_text(list, own);
    }
    buf_put_u8(&of_1_3, 0);
    buf_put_u8(&older, 0);
    if (right && of_1_3.size > 1)
        right = SSL_CTX_set_ciphersuites(context,
                                         (const char *)of_1_3.data) == 1;
    if (right && (older.size > 1 || options->allows_1_2))
        right = SSL_CTX_set_cipher_list(context,
                                        (const char *)older.data) == 1;
    if (!right && !error[0])
        (void)snprintf(error, ERROR_MAX,
                       "no cipher suite that can be used is named");
    buf_fini(&of_1_3);
    buf_fini(&older);
    return right;
}

/* ---- files ---- */

/* Refuses keys with a password, as no person can enter it. */
static int no_password(char *password, int size, int writes, void *user)
{
    (void)password;
    (void)size;
    (void)writes;
    (void)user;
    return -1;
}

/* OpenSSL opens the path again, and holds the whole file in memory. */
static bool is_readable(const char *what, const char *path, char *error)
{
    const char *wrong = "no file is named";
    FILE *file = path[0] ? file_open(path, &wrong) : NULL;
    struct stat about;

    if (file) {
        if (fstat(fileno(file), &about) != 0)
            wrong = strerror(errno);
        else if (about.st_size > TLS_FILE_MAX)
            wrong = "it is too large";
        (void)fclose(file); /* only read */
    }
    if (!wrong)
        return true;
    (void)snprintf(error, ERROR_MAX, "%s \"%.256s\": %s", what, path, wrong);
    return false;
}

static bool fault(char *error, const char *path, const char *why)
{
    (void)snprintf(error, ERROR_MAX, "%.256s: %s", path, why);
    return false;
}

/* ---- revoked certificates ---- */

static const char *take_list(X509_STORE *store, X509_CRL *list)
{
    const ASN1_TIME *next = X509_CRL_get0_nextUpdate(list);

    if (X509_cmp_current_time(X509_CRL_get0_lastUpdate(list)) > 0)
        return "is not valid yet";
    if (next && X509_cmp_current_time(next) < 0)
        return "has expired";
    return X509_STORE_add_crl(store, list) == 1 ? NULL : first_reason();
}

static bool take_lists(X509_STORE *store, BIO *file, const char *path,
                       char *error)
{
    uint32_t count = 0;
    X509_CRL *list;

    ERR_clear_error();
    while ((list = PEM_read_bio_X509_CRL(file, NULL, NULL, NULL)) != NULL) {
        const char *wrong = take_list(store, list);
        char issuer[128], why[224];

        if (wrong) {
            X509_NAME_oneline(X509_CRL_get_issuer(list), issuer,
                              sizeof issuer);
            (void)snprintf(why, sizeof why, "the revocation list of %s %s",
                           issuer, wrong);
        }
        X509_CRL_free(list);
        if (wrong)
            return fault(error, path, why);
        count++;
    }
    /* The end of the file. */
    if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
        return fault(error, path, first_reason());
    return count || fault(error, path, "the file contains no revocation list");
}

/* From now on each CA of a chain needs a list, as an unknown state is refused. */
static bool read_lists(const struct tls_options *options, SSL_CTX *context,
                       char *error)
{
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    bool right;
    BIO *file;

    if (!options->crl)
        return true;
    if (!is_readable("crl", options->crl, error))
        return false;
    file = BIO_new_file(options->crl, "r");
    if (!file)
        return fault(error, options->crl, first_reason());
    right = take_lists(store, file, options->crl, error);
    BIO_free(file);
    return right &&
           X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK |
                                           X509_V_FLAG_CRL_CHECK_ALL) == 1;
}

/* ---- this node's certificate ---- */

/* A peer with the same files judges like this; both sides show the certificate. */
static int judge_own(const struct content *content, int purpose, bool *pinned)
{
    X509_STORE_CTX *judge = X509_STORE_CTX_new();
    SSL_CTX *context = content->context;
    STACK_OF(X509) *chain = NULL;
    int verdict;

    SSL_CTX_get0_chain_certs(context, &chain);
    check(judge &&
          X509_STORE_CTX_init(judge, SSL_CTX_get_cert_store(context),
                              SSL_CTX_get0_certificate(context), chain) == 1 &&
          X509_STORE_CTX_set_purpose(judge, purpose) == 1);
    X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(judge),
                                     SSL_CTX_get_security_level(context));
    (void)X509_verify_cert(judge); /* the verdict says it */
    verdict = X509_STORE_CTX_get_error(judge);
    *pinned = tls_pins_accept(&content->pins,
                              X509_STORE_CTX_get0_chain(judge));
    X509_STORE_CTX_free(judge);
    return verdict;
}

/* Refuses at once, and with a clear text, what others would refuse. A revoked but otherwise good
 * certificate is reported separately, as its list must be used. */
static bool check_own(const struct tls_options *options,
                      struct content *content, char *error)
{
    X509 *own = SSL_CTX_get0_certificate(content->context);
    bool pinned;
    int verdict = judge_own(content, X509_PURPOSE_SSL_SERVER, &pinned);
    char why[200];

    if (verdict == X509_V_OK)
        verdict = judge_own(content, X509_PURPOSE_SSL_CLIENT, &pinned);
    if (X509_cmp_current_time(X509_get0_notBefore(own)) > 0)
        return fault(error, options->certificate,
                     "the certificate is not valid yet");
    if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0)
        return fault(error, options->certificate,
                     "the certificate has expired");
    if (options->host && !tls_certificate_covers(own, options->host)) {
        (void)snprintf(why, sizeof why,
                       "the certificate has no alternative name for this "
                       "node's host %.128s",
                       options->host);
        return fault(error, options->certificate, why);
    }
    content->is_revoked = verdict == X509_V_ERR_CERT_REVOKED;
    if (verdict == X509_V_OK && !pinned)
        return fault(error, options->certificate,
                     "neither its key nor one of its CAs' is pinned");
    if (verdict == X509_V_OK || content->is_revoked)
        return true;
    (void)snprintf(why, sizeof why, "other nodes refuse the certificate: %s",
                   X509_verify_cert_error_string(verdict));
    return fault(error, options->certificate, why);
}

/* A user who can change key or CAs can run a node. */
static bool check_modes(const struct tls_options *options,
                        struct content *content, char *error)
{
    struct stat key, ca;

    if (stat(options->key, &key) != 0)
        return fault(error, options->key, strerror(errno));
    if (stat(options->ca, &ca) != 0)
        return fault(error, options->ca, strerror(errno));
    if (key.st_mode & (S_IWGRP | S_IWOTH))
        return fault(error, options->key,
                     "users other than its owner can write it");
    if (ca.st_mode & S_IWOTH)
        return fault(error, options->ca,
                     "every user of this machine can write it");
    content->is_open = key.st_mode & S_IROTH;
    return true;
}

static bool read_files(const struct tls_options *options,
                       struct content *content, char *error)
{
    SSL_CTX *context = content->context;
    STACK_OF(X509_NAME) *names;

    if (!is_readable("certificate", options->certificate, error) ||
        !is_readable("key", options->key, error) ||
        !is_readable("ca", options->ca, error) ||
        !check_modes(options, content, error))
        return false;
    if (SSL_CTX_use_certificate_chain_file(context, options->certificate) != 1)
        return fault(error, options->certificate, first_reason());
    if (SSL_CTX_use_PrivateKey_file(context, options->key, SSL_FILETYPE_PEM) !=
            1 ||
        SSL_CTX_check_private_key(context) != 1)
        return fault(error, options->key, first_reason());
    if (SSL_CTX_load_verify_file(context, options->ca) != 1)
        return fault(error, options->ca, first_reason());
    /* A JVM selects its certificate by these names. */
    names = SSL_load_client_CA_file(options->ca);
    if (!names)
        return fault(error, options->ca, first_reason());
    SSL_CTX_set_client_CA_list(context, names); /* given */
    return read_lists(options, context, error) &&
           check_own(options, content, error);
}

/* TLS 1.2 may export equal bytes on two connections (RFC 7627). It exists for JVMs, which have no
 * secret. */
static bool read_secrets(const struct tls_options *options,
                         struct tls_secrets *secrets, char *error)
{
    if (!options->secret)
        return true;
    if (options->allows_1_2)
        return fault(error, options->secret,
                     "a cluster with a secret has TLS 1.3 only");
    return tls_secrets_read(secrets, options->secret, error, ERROR_MAX);
}

static void set_rules(const struct tls_options *options, SSL_CTX *context)
{
    bool right;

    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_NO_COMPRESSION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    /* There are many idle connections: frees their record buffers. */
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_max_cert_list(context, options->handshake_bytes_max);
    SSL_CTX_set_verify(
        context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_default_passwd_cb(context, no_password);
    right = SSL_CTX_set_num_tickets(context, 0) == 1 &&
            SSL_CTX_set_recv_max_early_data(context, 0) == 1 &&
            SSL_CTX_set_dh_auto(context, 1) == 1 &&
            SSL_CTX_set_max_send_fragment(context,
                                          TLS_HANDSHAKE_FRAGMENT_SIZE) == 1 &&
            SSL_CTX_set_min_proto_version(context, options->allows_1_2
                                                       ? TLS1_2_VERSION
                                                       : TLS1_3_VERSION) == 1;
    check(right);
}

/* After a failure there is nothing to free. */
static bool content_init(struct content *content,
                         const struct tls_options *options, char *error)
{
    bool right;

    *content = (struct content){ .context = SSL_CTX_new(TLS_method()) };
    check(content->context); /* out of memory */
    error[0] = 0;
    ERR_clear_error();
    set_rules(options, content->context);
    right = tls_pins_read(&content->pins, options, error, ERROR_MAX) &&
            set_algorithms(options, content->context, error) &&
            read_files(options, content, error) &&
            read_secrets(options, &content->secrets, error);
    ERR_clear_error();
    if (!right)
        content_fini(content);
    return right;
}

/* Logs what is used from now on. */
static void report(const struct tls *tls)
{
    if (tls->content.is_open)
        tls->options.log(tls->options.owner, TRACE_WARNING,
                         "every user of this machine can read this node's key, "
                         "and be this node hint=\"chmod o-r the key file\"");
}

/* ---- reading again ---- */

/* False: a file is missing. */
static bool take_stamps(const struct tls_options *options,
                        struct stamp stamps[FILES])
{
    const char *const paths[FILES] = { options->certificate, options->key,
                                       options->ca, options->crl,
                                       options->secret, options->pins_file };
    bool is_whole = true;

    memset(stamps, 0, FILES * sizeof *stamps);
    for (int i = 0; i < FILES; i++) {
        struct stat at;

        if (!paths[i])
            continue;
        if (stat(paths[i], &at) != 0) {
            is_whole = false;
            continue; /* zero: differs from every file's */
        }
        stamps[i].device = at.st_dev;
        stamps[i].file = at.st_ino;
        stamps[i].size = at.st_size;
        stamps[i].changed = at.st_ctim; /* also for a changed mode */
    }
    return is_whole;
}

static bool are_same(const struct stamp left[FILES],
                     const struct stamp right[FILES])
{
    bool same = true;

    for (int i = 0; i < FILES; i++)
        same = same && left[i].device == right[i].device &&
               left[i].file == right[i].file &&
               left[i].size == right[i].size &&
               left[i].changed.tv_sec == right[i].changed.tv_sec &&
               left[i].changed.tv_nsec == right[i].changed.tv_nsec;
    return same;
}

/* Stamps come first: a file that changes during the reading is read again. A missing file, and files
 * that cannot be used, are not left until they are due. */
static void read_again(void *subject)
{
    struct reading *reading = subject;
    struct stamp stamps[FILES];
    bool is_whole = take_stamps(&reading->options, stamps);
    bool is_due = atomic_exchange(&reading->is_due, false);

    reading->missed = is_whole ? 0 : reading->missed + 1;
    is_due = is_due || reading->missed >= MISSED || !reading->is_right;
    reading->is_changed = is_due && !are_same(stamps, reading->stamps);
    if (!reading->is_changed)
        return;
    memcpy(reading->stamps, stamps, sizeof stamps);
    reading->is_right = content_init(&reading->content, &reading->options,
                                     reading->error);
}

/* Puts the new content into use. */
static void take_content(struct tls *tls, struct reading *reading)
{
    struct content before;

    uv_mutex_lock(&tls->mutex);
    before = tls->content;
    tls->content = reading->content;
    tls->version++;
    uv_mutex_unlock(&tls->mutex);
    content_fini(&before); /* open connections keep their context */
    OPENSSL_cleanse(&reading->content, sizeof reading->content); /* handed over */
}

static void on_read(void *context, void *subject)
{
    struct tls *tls = context;
    struct reading *reading = subject;
    char text[ERROR_MAX + 160];
    bool is_revoked = reading->content.is_revoked;

    if (!reading->is_changed)
        return;
    atomic_store(&tls->is_usable, reading->is_right);
    if (!reading->is_right) {
        line_format(text, sizeof text,
                    "changed TLS files rejected, old ones stay in use "
                    "why=\"%s\" hint=\"correct the files; they are read again\"",
                    reading->error);
        tls_log(tls, TRACE_ERROR, text);
        return;
    }
    take_content(tls, reading);
    tls_log(tls, is_revoked ? TRACE_ERROR : TRACE_INFO,
            is_revoked ? "changed TLS files are in use, and this node's "
                         "certificate is revoked: others refuse it "
                         "hint=\"install a new certificate\""
                       : "changed TLS files are in use");
    report(tls);
}

static void set_due(struct tls *tls, uint64_t now)
{
    uint64_t after = tls->options.reload_after;

    tls->due_at = after < NEVER - now ? now + after : NEVER;
}

/* Under the mutex. Does not wait for files, which may not answer. */
static void look_again(struct tls *tls, uint64_t now)
{
    if (file_watch_are_late(tls->file_watch))
        tls_log(tls, TRACE_ERROR,
                "TLS files not read in time: the former ones stay in use "
                "hint=\"check the file system of these files\"");
    if (now >= tls->due_at) {
        set_due(tls, now);
        atomic_store(&tls->reading->is_due, true);
    } else if (now - tls->looked_at < TLS_LOOK_MS * MS) {
        return;
    }
    tls->looked_at = now;
    file_watch_ask(tls->file_watch);
}

SSL *tls_new_ssl(struct tls *tls, uint64_t now)
{
    SSL *ssl;

    uv_mutex_lock(&tls->mutex);
    look_again(tls, now);
    ssl = SSL_new(tls->content.context);
    uv_mutex_unlock(&tls->mutex);
    return ssl;
}

uint64_t tls_look(struct tls *tls, uint64_t now)
{
    uint64_t version;

    uv_mutex_lock(&tls->mutex);
    look_again(tls, now);
    version = tls->version;
    uv_mutex_unlock(&tls->mutex);
    return version;
}

bool tls_is_usable(const struct tls *tls)
{
    return atomic_load(&tls->is_usable);
}

bool tls_revokes(struct tls *tls, const struct tls_end *end)
{
    SSL_CTX *context;
    bool revoked;

    if (!tls->options.crl)
        return false;
    uv_mutex_lock(&tls->mutex);
    context = tls->content.context;
    check(SSL_CTX_up_ref(context) == 1);
    uv_mutex_unlock(&tls->mutex);
    revoked = tls_chain_is_revoked(SSL_CTX_get_cert_store(context),
                                   tls_end_chain(end));
    SSL_CTX_free(context);
    tls->revoked += revoked;
    return revoked;
}

uint64_t tls_revoked(const struct tls *tls)
{
    return tls->revoked;
}

int64_t tls_expires_at(struct tls *tls)
{
    struct tm end = { .tm_sec = 0 };
    int is_known;

    uv_mutex_lock(&tls->mutex);
    is_known = ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(tls->content.context)), &end);
    uv_mutex_unlock(&tls->mutex);
    return is_known ? timegm(&end) : 0;
}

void tls_log(const struct tls *tls, enum trace_level level, const char *text)
{
    tls->options.log(tls->options.owner, level, text);
}

/* ---- opening ---- */

static const char *text_or_null(const char *text)
{
    return text ? mem_text(text) : NULL;
}

static struct reading *reading_new(const struct tls_options *options)
{
    struct reading *reading = mem_alloc(sizeof *reading);
    struct tls_options *own = &reading->options;

    *own = *options;
    if (!options->handshake_bytes_max)
        own->handshake_bytes_max = TLS_HANDSHAKE_BYTES_MAX;
    own->certificate = mem_text(options->certificate);
    own->key = mem_text(options->key);
    own->ca = mem_text(options->ca);
    own->crl = text_or_null(options->crl);
    own->secret = text_or_null(options->secret);
    own->pins_file = text_or_null(options->pins_file);
    own->host = text_or_null(options->host);
    for (uint32_t i = 0; i < options->algorithm_count; i++)
        vec_push(&reading->algorithms, mem_text(options->algorithms[i]));
    own->algorithms = reading->algorithms.items;
    for (uint32_t i = 0; i < options->pin_count; i++)
        vec_push(&reading->pins, mem_text(options->pins[i]));
    own->pins = reading->pins.items;
    return reading;
}

static void reading_free(void *subject)
{
    struct reading *reading = subject;

    content_fini(&reading->content);
    for (uint32_t i = 0; i < reading->algorithms.count; i++)
        mem_free((void *)(uintptr_t)reading->algorithms.items[i]);
    vec_fini(&reading->algorithms);
    for (uint32_t i = 0; i < reading->pins.count; i++)
        mem_free((void *)(uintptr_t)reading->pins.items[i]);
    vec_fini(&reading->pins);
    mem_free((void *)(uintptr_t)reading->options.certificate);
    mem_free((void *)(uintptr_t)reading->options.key);
    mem_free((void *)(uintptr_t)reading->options.ca);
    mem_free((void *)(uintptr_t)reading->options.crl);
    mem_free((void *)(uintptr_t)reading->options.secret);
    mem_free((void *)(uintptr_t)reading->options.pins_file);
    mem_free((void *)(uintptr_t)reading->options.host);
    mem_free(reading);
}

/* The reading is given. False: no thread. */
static bool start_looks(struct tls *tls, struct reading *reading)
{
    const struct file_watch_options options = { .name = "tls",
                                           .run = read_again,
                                           .done = on_read,
                                           .release = reading_free,
                                           .context = tls };

    reading->is_right = true;
    tls->reading = reading;
    tls->file_watch = file_watch_open(&options, reading);
    return tls->file_watch != NULL;
}

int tls_open(struct tls **tls, const struct tls_options *options, uint64_t now,
             char *error, size_t size)
{
    struct tls *opened = mem_alloc(sizeof *opened);
    struct reading *reading = reading_new(options);
    char *why = reading->error;
    bool right;

    *tls = NULL;
    opened->options = reading->options;
    check(uv_mutex_init(&opened->mutex) == 0);
    opened->looked_at = now;
    set_due(opened, now);
    atomic_store(&opened->is_usable, true);
    (void)take_stamps(&reading->options, reading->stamps);
    right = content_init(&reading->content, &reading->options, why);
    if (right && reading->content.is_revoked)
        right = fault(why, options->certificate, "the certificate is revoked");
    if (!right) {
        (void)snprintf(error, size, "TLS: %s", why);
        reading_free(reading);
        tls_close(opened);
        return -1;
    }
    take_content(opened, reading);
    if (!start_looks(opened, reading)) {
        (void)snprintf(error, size, "TLS: thread cannot start: %s",
                       strerror(errno));
        tls_close(opened);
        return -1;
    }
    report(opened);
    *tls = opened;
    return 0;
}

void tls_close(struct tls *tls)
{
    if (!tls)
        return;
    if (file_watch_close(tls->file_watch))
        tls_log(tls, TRACE_WARNING,
                "TLS files not read in time: the reading thread is left behind "
                "hint=\"check the file system of these files\"");
    content_fini(&tls->content);
    uv_mutex_destroy(&tls->mutex);
    mem_free(tls);
}

void tls_wait(struct tls *tls)
{
    file_watch_wait(tls->file_watch);
}

uint32_t tls_handshake_bytes_max(const struct tls *tls)
{
    return tls->options.handshake_bytes_max;
}

bool tls_verifies_names(const struct tls *tls)
{
    return tls->options.host != NULL;
}

bool tls_is_pinned(struct tls *tls, STACK_OF(X509) *chain)
{
    bool pinned;

    uv_mutex_lock(&tls->mutex);
    pinned = tls_pins_accept(&tls->content.pins, chain);
    uv_mutex_unlock(&tls->mutex);
    return pinned;
}

bool tls_has_secrets(const struct tls *tls)
{
    return tls->options.secret != NULL;
}

void tls_prove(struct tls *tls, SSL *ssl, uint8_t proof[TLS_PROOF_SIZE])
{
    uv_mutex_lock(&tls->mutex);
    tls_secrets_prove(&tls->content.secrets, ssl, proof);
    uv_mutex_unlock(&tls->mutex);
}

bool tls_accepts_proof(struct tls *tls, SSL *ssl,
                       const uint8_t proof[TLS_PROOF_SIZE])
{
    bool right;

    uv_mutex_lock(&tls->mutex);
    right = tls_secrets_accept(&tls->content.secrets, ssl, proof);
    uv_mutex_unlock(&tls->mutex);
    return right;
}

/* Opens the Unix socket: mode 0600, in a folder of this user alone. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/listener.h>

#include "httpd/inside.h"

#define BACKLOG 128
#define HINT "hint=\"set management.socket to a path, or to off\""

static void warn(struct httpd *httpd, const char *path, const char *reason)
{
    httpd_log(httpd, SHERD_LOG_WARNING, "no Unix socket for the management path=\"%s\" reason=\"%s\" " HINT, path,
              reason);
}

/* The first of several, as systemd writes them. */
static bool folder_of_runtime(char *folder, size_t size)
{
    const char *runtime = getenv("RUNTIME_DIRECTORY");
    const char *user = getenv("XDG_RUNTIME_DIR");
    int length;

    if (runtime && *runtime)
        length = snprintf(folder, size, "%.*s", (int)strcspn(runtime, ":"), runtime);
    else if (user && *user)
        length = snprintf(folder, size, "%s/sherd", user);
    else
        length = snprintf(folder, size, "/tmp/sherd-%u", (unsigned)geteuid());
    return length > 0 && (size_t)length < size;
}

static bool is_good_folder(struct httpd *httpd, const char *folder)
{
    struct stat status;

    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        warn(httpd, folder, strerror(errno));
        return false;
    }
    if (lstat(folder, &status) != 0) {
        warn(httpd, folder, strerror(errno));
        return false;
    }
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 07777) != 0700) {
        warn(httpd, folder, "it is no folder of this user with mode 0700");
        return false;
    }
    return true;
}

/* A name is PORT.PID.sock. */
static bool is_dead(const char *name)
{
    const char *dot = strchr(name, '.');
    char *end;
    long pid;

    if (!dot)
        return false;
    pid = strtol(dot + 1, &end, 10);
    return pid > 0 && strcmp(end, ".sock") == 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static void remove_dead(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (is_dead(entry->d_name))
            (void)unlinkat(dirfd(dir), entry->d_name, 0); /* another process may have done it */
    if (dir)
        (void)closedir(dir);
}

/* Removes a socket at a given path that nobody listens on. */
static bool remove_stale(const struct sockaddr_un *address)
{
    struct stat status;
    int probe;
    bool is_stale;

    if (lstat(address->sun_path, &status) != 0)
        return errno == ENOENT;
    if (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid())
        return false;
    probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return false;
    is_stale = connect(probe, (const struct sockaddr *)address, sizeof *address) != 0 && errno == ECONNREFUSED;
    (void)close(probe);
    return is_stale && unlink(address->sun_path) == 0;
}

static bool find_path(struct httpd *httpd, char *path, size_t size)
{
    const char *wanted = httpd->settings.socket;
    char folder[128];

    if (strcmp(wanted, "auto") != 0) {
        if (strlen(wanted) >= size) {
            warn(httpd, wanted, "the path is longer than 107 bytes");
            return false;
        }
        (void)snprintf(path, size, "%s", wanted); /* fits */
        return true;
    }
    if (!folder_of_runtime(folder, sizeof folder)) {
        warn(httpd, "", "the path of the runtime folder is too long");
        return false;
    }
    if (!is_good_folder(httpd, folder))
        return false;
    remove_dead(folder);
    if ((size_t)snprintf(path, size, "%s/%u.%ld.sock", folder, (unsigned)sherd_port(httpd->access->system),
                         (long)getpid()) < size)
        return true;
    warn(httpd, folder, "the path is longer than 107 bytes");
    return false;
}

static int listen_at(const struct sockaddr_un *address)
{
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    /* On Linux a socket's file gets the mode that the socket had. */
    if (file >= 0 && fchmod(file, 0600) == 0 &&
        bind(file, (const struct sockaddr *)address, sizeof *address) == 0 && listen(file, BACKLOG) == 0)
        return file;
    if (file >= 0) {
        int error = errno;

        (void)close(file);
        errno = error;
    }
    return -1;
}

void door_open_socket(struct httpd *httpd)
{
    struct door *door = &httpd->socket_door;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int file;

    if (strcmp(httpd->settings.socket, "off") == 0 ||
        !find_path(httpd, address.sun_path, sizeof address.sun_path))
        return;
    if (!remove_stale(&address)) {
        warn(httpd, address.sun_path, "something else is at the path");
        return;
    }
    file = listen_at(&address);
    if (file < 0) {
        warn(httpd, address.sun_path, strerror(errno));
        return;
    }
    door->http = evhttp_new(httpd->base);
    check(door->http && evhttp_accept_socket(door->http, file) == 0);
    memcpy(httpd->socket, address.sun_path, sizeof httpd->socket);
}

void door_close_socket(struct httpd *httpd)
{
    if (httpd->socket[0])
        (void)unlink(httpd->socket); /* somebody may have removed it */
    httpd->socket[0] = '\0';
}

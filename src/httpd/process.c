/* Reads what the operating system says of the process. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "httpd/inside.h"

#define STAT_SIZE 1024
#define STAT_START 20 /* the field of the start in ticks, counted behind the name */
#define STAT_PAGES 22 /* the field of the resident pages, likewise */

/* Returns the nth field behind the process's name, which may have spaces; null: there is none. */
static const char *field(const char *text, int number)
{
    const char *at = strrchr(text, ')');

    for (int i = 0; at && i < number; i++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at;
}

static double seconds(clockid_t clock)
{
    struct timespec now;

    return clock_gettime(clock, &now) == 0 ? (double)now.tv_sec + (double)now.tv_nsec / 1e9 : 0;
}

static void take_stat(struct process_figures *process, const char *text)
{
    const char *start = field(text, STAT_START), *pages = field(text, STAT_PAGES);
    double up;

    if (!start || !pages)
        return;
    up = seconds(CLOCK_BOOTTIME) - strtod(start, NULL) / (double)sysconf(_SC_CLK_TCK);
    process->start_seconds = (double)(int64_t)(seconds(CLOCK_REALTIME) - up);
    process->memory = strtoull(pages, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
    process->has_start = process->has_memory = true;
}

static void count_files(struct process_figures *process)
{
    DIR *folder = opendir("/proc/self/fd");

    if (!folder)
        return;
    while (readdir(folder))
        process->fds++;
    process->fds -= 3; /* the folder's own, and the names . and .. */
    process->has_fds = true;
    (void)closedir(folder); /* nothing was written */
}

void process_look(struct process_figures *process)
{
    FILE *file = fopen("/proc/self/stat", "re");
    char text[STAT_SIZE] = "";
    struct rusage usage;
    struct rlimit limit;

    *process = (struct process_figures){ .has_cpu = false };
    if (file) {
        if (fgets(text, sizeof text, file))
            take_stat(process, text);
        (void)fclose(file); /* nothing was written */
    }
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        process->has_cpu = true;
        process->cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                               (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    }
    count_files(process);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        process->has_fds_max = true;
        process->fds_max = limit.rlim_cur;
    }
}

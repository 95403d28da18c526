/* Calls the node on threads of their own, because a busy lane makes such calls wait. */
#define _GNU_SOURCE
#include <string.h>

#include "httpd/inside.h"

#define VIEW_MS 5000
#define SHARDS_MS 3000 /* the region itself reports late lanes after as long */

static void run(struct httpd *httpd, struct job *job)
{
    const struct sherd_node_access *access = httpd->access;

    switch (job->kind) {
    case JOB_VIEW:
        job->result = access->view(access->node, VIEW_MS, &job->view);
        break;
    case JOB_SHARDS:
        job->result = sherd_get_region_stats(access->system, job->type, SHARDS_MS, &job->regions);
        break;
    case JOB_STATS:
        job->result = sherd_get_cluster_stats(access->system, job->type, SHARDS_MS, &job->regions);
        break;
    case JOB_FIGURES:
        process_look(&job->process);
        job->result = access->figures(access->node, HTTPD_FIGURES_MS, &job->figures);
        break;
    }
}

static void *work(void *of)
{
    struct httpd *httpd = of;

    check(pthread_mutex_lock(&httpd->mutex) == 0);
    while (!atomic_load(&httpd->stopping)) {
        struct job *job;

        if (!httpd->work.count) {
            check(pthread_cond_wait(&httpd->work_came, &httpd->mutex) == 0);
            continue;
        }
        job = httpd->work.items[0];
        vec_remove(&httpd->work, 0);
        check(pthread_mutex_unlock(&httpd->mutex) == 0);
        run(httpd, job);
        check(pthread_mutex_lock(&httpd->mutex) == 0);
        vec_push(&httpd->done, job);
        httpd_wake(httpd);
    }
    check(pthread_mutex_unlock(&httpd->mutex) == 0);
    return NULL;
}

int work_start(struct httpd *httpd)
{
    while (httpd->worker_count < HTTPD_WORKERS_MAX) {
        if (pthread_create(&httpd->workers[httpd->worker_count], NULL, work, httpd) != 0)
            return SHERD_ESYSTEM;
        httpd->worker_count++;
    }
    return 0;
}

void work_job_free(struct httpd *httpd, struct job *job)
{
    sherd_regions_free(&job->regions);
    httpd->access->view_free(&job->view);
    httpd->access->figures_free(job->figures);
    mem_free(job->type);
    mem_free(job);
}

void work_stop(struct httpd *httpd)
{
    check(pthread_mutex_lock(&httpd->mutex) == 0);
    check(pthread_cond_broadcast(&httpd->work_came) == 0);
    check(pthread_mutex_unlock(&httpd->mutex) == 0);
    for (uint32_t i = 0; i < httpd->worker_count; i++)
        check(pthread_join(httpd->workers[i], NULL) == 0);
    httpd->worker_count = 0;
    for (uint32_t i = 0; i < httpd->work.count; i++)
        work_job_free(httpd, httpd->work.items[i]);
    for (uint32_t i = 0; i < httpd->done.count; i++)
        work_job_free(httpd, httpd->done.items[i]);
    vec_fini(&httpd->work);
    vec_fini(&httpd->done);
}

bool work_ask(struct httpd *httpd, enum job_kind kind, struct connection *connection)
{
    struct job *job;
    bool has_room;

    check(pthread_mutex_lock(&httpd->mutex) == 0);
    has_room = httpd->work.count < HTTPD_WORK_MAX;
    if (has_room) {
        job = mem_alloc(sizeof *job);
        job->kind = kind;
        job->connection = connection;
        if (connection) {
            job->type = mem_text((const char *)connection->decision.name.data);
            connection->job = job;
        }
        vec_push(&httpd->work, job);
        check(pthread_cond_signal(&httpd->work_came) == 0);
    }
    check(pthread_mutex_unlock(&httpd->mutex) == 0);
    if (!has_room)
        httpd_count(httpd, SHERD_HTTP_BUSY);
    return has_room;
}

void work_ask_view(struct httpd *httpd)
{
    if (!httpd->view_is_asked)
        httpd->view_is_asked = work_ask(httpd, JOB_VIEW, NULL);
}

void work_ask_figures(struct httpd *httpd)
{
    if (!httpd->figures_are_asked)
        httpd->figures_are_asked = work_ask(httpd, JOB_FIGURES, NULL);
}

/* ---- results ---- */

static void go_on(struct httpd *httpd, bool with_metrics)
{
    struct connection *next;

    for (struct connection *at = httpd->connections; at; at = next) {
        next = at->next;
        if (at->waits && (at->decision.route == ROUTE_METRICS) == with_metrics)
            request_go_on(at);
    }
}

static void take_figures(struct httpd *httpd, struct job *job)
{
    httpd->figures_are_asked = false;
    if (httpd->process.has_start) /* two readings differ by the clocks' rounding */
        job->process.start_seconds = httpd->process.start_seconds;
    httpd->process = job->process;
    if (job->result == 0) {
        httpd->access->figures_free(httpd->figures);
        httpd->figures = job->figures;
        job->figures = NULL;
    }
    go_on(httpd, true);
}

static void take_view(struct httpd *httpd, struct job *job)
{
    httpd->view_is_asked = false;
    if (job->result == 0) {
        if (httpd->has_view)
            httpd->access->view_free(&httpd->view);
        httpd->view = job->view;
        httpd->has_view = true;
        job->view = (struct sherd_cluster_view){ .member_count = 0 };
    }
    go_on(httpd, false);
}

static void answer_type(struct connection *connection, unsigned status, const char *before,
                        const char *after)
{
    struct buf text = { 0 }, body = { 0 };

    buf_put_text(&text, before);
    buf_put_text(&text, (const char *)connection->decision.name.data);
    buf_put_text(&text, after);
    buf_put_u8(&text, 0);
    akka_message(&body, (const char *)text.data);
    answer_send(connection, status, BODY_JSON, &body);
    buf_fini(&text);
    buf_fini(&body);
}

static void take_shards(struct httpd *httpd, struct job *job)
{
    struct connection *connection = job->connection;
    struct buf body = { 0 };

    if (!connection)
        return;
    connection->job = NULL;
    if (job->result == SHERD_ENOTYPE || job->result == SHERD_EINVAL) {
        answer_type(connection, 404, "Shard Region ", " is not started");
    } else if (job->result == SHERD_ETIME && job->kind == JOB_STATS) {
        answer_type(connection, 504, "Cluster-wide stats for ", " timed out");
    } else if (job->result == SHERD_ETIME) {
        answer_type(connection, 504, "Shard Region ", " not responding, may have been terminated");
    } else if (job->result != 0) {
        answer_error(connection, ERROR_BUSY);
    } else {
        if (job->kind == JOB_SHARDS)
            akka_shards(&body, &job->regions);
        else
            akka_shard_stats(&body, &httpd->names, &job->regions);
        answer_send(connection, 200, BODY_JSON, &body);
        buf_fini(&body);
    }
}

void work_done(struct httpd *httpd)
{
    for (;;) {
        struct job *job = NULL;

        check(pthread_mutex_lock(&httpd->mutex) == 0);
        if (httpd->done.count) {
            job = httpd->done.items[0];
            vec_remove(&httpd->done, 0);
        }
        check(pthread_mutex_unlock(&httpd->mutex) == 0);
        if (!job)
            return;
        if (job->kind == JOB_VIEW)
            take_view(httpd, job);
        else if (job->kind == JOB_FIGURES)
            take_figures(httpd, job);
        else
            take_shards(httpd, job);
        work_job_free(httpd, job);
    }
}

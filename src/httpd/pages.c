/* Serves the files of the dashboard, which are parts of the program (pages/). They hold no data of the
 * cluster: the page reads those with the rights of its user. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "httpd/inside.h"

struct page {
    const char *name, *tag;
    const unsigned char *data;
    size_t size;
};

#include "httpd/page_files.h"

#define FIRST_PAGE "index.html"
/* Only files of this server run in the page, and it is in no frame. */
#define POLICY \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " \
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

static const struct page *find(const struct connection *connection)
{
    const char *name = (const char *)connection->decision.name.data;

    if (!*name)
        name = FIRST_PAGE;
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++)
        if (strcmp(pages[i].name, name) == 0)
            return &pages[i];
    return NULL;
}

const char *page_content_type(const struct connection *connection)
{
    const struct page *page = find(connection);
    const char *end = page ? strrchr(page->name, '.') : ".html";

    if (strcmp(end, ".js") == 0)
        return "text/javascript; charset=utf-8";
    if (strcmp(end, ".css") == 0)
        return "text/css; charset=utf-8";
    return strcmp(end, ".svg") == 0 ? "image/svg+xml" : "text/html; charset=utf-8";
}

static void lead_to_page(struct connection *connection)
{
    const char *base = connection->door->httpd->settings.mgmt.base_path;
    struct buf path = { 0 };

    buf_put_text(&path, *base ? "/" : "");
    buf_put_text(&path, base);
    buf_put_text(&path, "/ui/");
    buf_put_u8(&path, 0);
    answer_header(connection, "Location", (const char *)path.data);
    answer_text(connection, 302, "");
    buf_fini(&path);
}

void page_answer(struct connection *connection)
{
    const struct page *page = find(connection);
    struct buf body = { 0 };
    const char *known;

    if (strcmp((const char *)connection->decision.name.data, "/") == 0) {
        lead_to_page(connection);
        return;
    }
    if (!page) {
        answer_error(connection, ERROR_NOT_FOUND);
        return;
    }
    known = evhttp_find_header(evhttp_request_get_input_headers(connection->request), "If-None-Match");
    answer_header(connection, "ETag", page->tag);
    answer_header(connection, "Content-Security-Policy", POLICY);
    if (known && strcmp(known, page->tag) == 0) {
        answer_send(connection, 304, BODY_PAGE, &body);
        return;
    }
    buf_put(&body, page->data, page->size);
    answer_send(connection, 200, BODY_PAGE, &body);
    buf_fini(&body);
}

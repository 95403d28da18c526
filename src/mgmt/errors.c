/* Implements errors.h. */
#include "mgmt/errors.h"

#include "mgmt/json.h"

struct error_row {
    unsigned status;
    const char *code, *message;
};

static const struct error_row rows[ERROR_COUNT] = {
#define X(name, status, code, text) [name] = { status, code, text },
    MGMT_ERRORS(X)
#undef X
};

unsigned error_status(enum mgmt_error error)
{
    return rows[error].status;
}

enum mgmt_error error_of_status(unsigned status)
{
    for (int i = 0; i < ERROR_COUNT; i++)
        if (rows[i].status == status)
            return (enum mgmt_error)i;
    return ERROR_INTERNAL;
}

void error_put(struct buf *body, enum mgmt_error error)
{
    error_put_hint(body, error, NULL);
}

void error_put_hint(struct buf *body, enum mgmt_error error, const char *hint)
{
    buf_put_text(body, "{\"error\":{");
    json_field(body, "code", rows[error].code);
    json_field(body, "message", rows[error].message);
    if (hint)
        json_field(body, "hint", hint);
    buf_put_text(body, "}}");
}

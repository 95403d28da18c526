/* Decides the class of an error in one table of SQLSTATE and phase. */
#include "postgres/error_class.h"

#include <stddef.h>
#include <string.h>

/* The longest matching prefix counts. An empty prefix matches every state, also an unknown one. */
static const struct {
    const char *prefix;
    enum pg_class not_sent, answered, cut_off;
} table[] = {
    { "", PG_TRANSIENT, PG_UNKNOWN, PG_UNKNOWN },
    { "08", PG_TRANSIENT, PG_UNKNOWN, PG_UNKNOWN },     /* connection */
    { "0A000", PG_STALE, PG_STALE, PG_UNKNOWN },        /* "cached plan must not change" */
    { "22", PG_REFUSED, PG_REFUSED, PG_UNKNOWN },       /* a value that the server cannot take */
    { "22021", PG_CORRUPT, PG_CORRUPT, PG_UNKNOWN },
    { "23", PG_REFUSED, PG_REFUSED, PG_UNKNOWN },       /* another constraint */
    { "23505", PG_CONFLICT, PG_CONFLICT, PG_UNKNOWN },
    { "25", PG_TRANSIENT, PG_TRANSIENT, PG_UNKNOWN },   /* state of a transaction */
    { "25006", PG_READ_ONLY, PG_READ_ONLY, PG_UNKNOWN },
    { "25P03", PG_TRANSIENT, PG_TRANSIENT, PG_TRANSIENT }, /* idle: it did not commit */
    { "26000", PG_STALE, PG_STALE, PG_UNKNOWN },        /* a pooler forgot the statement */
    { "28", PG_REFUSED, PG_REFUSED, PG_REFUSED },       /* authorisation */
    { "3D000", PG_REFUSED, PG_REFUSED, PG_REFUSED },    /* no such database */
    { "3F000", PG_REFUSED, PG_REFUSED, PG_UNKNOWN },    /* no such schema */
    { "40", PG_TRANSIENT, PG_TRANSIENT, PG_UNKNOWN },   /* rolled back */
    { "40003", PG_UNKNOWN, PG_UNKNOWN, PG_UNKNOWN },    /* completion unknown */
    { "42", PG_REFUSED, PG_REFUSED, PG_UNKNOWN },       /* rights, missing tables */
    { "42P05", PG_STALE, PG_STALE, PG_UNKNOWN },        /* prepared before */
    { "53100", PG_FULL, PG_FULL, PG_UNKNOWN },          /* disk */
    { "53200", PG_FULL, PG_FULL, PG_UNKNOWN },          /* memory */
    { "53300", PG_TRANSIENT, PG_TRANSIENT, PG_UNKNOWN }, /* connections */
    { "54000", PG_FULL, PG_FULL, PG_UNKNOWN },
    { "55P03", PG_TRANSIENT, PG_TRANSIENT, PG_UNKNOWN }, /* waited for a lock */
    { "57014", PG_TRANSIENT, PG_TRANSIENT, PG_UNKNOWN }, /* cancelled */
    { "57P01", PG_TRANSIENT, PG_UNKNOWN, PG_UNKNOWN },  /* terminated, maybe at its commit */
    { "57P02", PG_TRANSIENT, PG_UNKNOWN, PG_UNKNOWN },  /* crash of another process */
    { "57P03", PG_TRANSIENT, PG_TRANSIENT, PG_UNKNOWN }, /* the server starts or stops */
    { "57P04", PG_REFUSED, PG_REFUSED, PG_UNKNOWN },    /* database dropped */
    { "57P05", PG_TRANSIENT, PG_TRANSIENT, PG_TRANSIENT }, /* idle session */
    { "58", PG_FULL, PG_FULL, PG_UNKNOWN },             /* an error of the disk */
    { "XX001", PG_CORRUPT, PG_CORRUPT, PG_UNKNOWN },
    { "XX002", PG_CORRUPT, PG_CORRUPT, PG_UNKNOWN },
};

enum pg_class pg_classify(const char *sqlstate, enum pg_phase phase)
{
    size_t best = 0;

    if (!sqlstate)
        sqlstate = "";
    /* A commit that stopped waiting for a synchronous standby: stored here, maybe only here. */
    if (phase == PG_WARNED)
        return strcmp(sqlstate, "01000") == 0 || strncmp(sqlstate, "57P0", 4) == 0
                   ? PG_UNKNOWN
                   : PG_NONE;
    for (size_t i = 1; i < sizeof table / sizeof *table; i++)
        if (strncmp(sqlstate, table[i].prefix, strlen(table[i].prefix)) == 0 &&
            strlen(table[i].prefix) > strlen(table[best].prefix))
            best = i;
    if (phase == PG_NOT_SENT)
        return table[best].not_sent;
    return phase == PG_ANSWERED ? table[best].answered : table[best].cut_off;
}

const char *pg_class_text(enum pg_class class)
{
    static const char *const texts[] = {
        [PG_NONE] = "none",           [PG_TRANSIENT] = "transient",
        [PG_UNKNOWN] = "unknown",     [PG_CONFLICT] = "conflict",
        [PG_FULL] = "full",           [PG_READ_ONLY] = "read-only",
        [PG_STALE] = "stale",         [PG_CORRUPT] = "corrupt",
        [PG_REFUSED] = "refused",
    };

    return texts[class];
}

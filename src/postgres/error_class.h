/* Classifies errors of PostgreSQL by SQLSTATE and by what was sent before. */
#ifndef SHERD_POSTGRES_ERROR_CLASS_H
#define SHERD_POSTGRES_ERROR_CLASS_H

/* The state of the statement at the error. */
enum pg_phase {
    PG_NOT_SENT, /* the server got no byte of it */
    PG_ANSWERED, /* the server answered it with the error */
    PG_CUT_OFF,  /* at least one byte was sent, and the connection broke */
    PG_WARNED,   /* a warning came with the answer that a commit succeeded */
};

enum pg_class {
    PG_NONE,      /* no error: another warning */
    PG_TRANSIENT, /* certainly not written; it may succeed when repeated */
    PG_UNKNOWN,   /* possibly written */
    PG_CONFLICT,  /* certainly not written: a unique key is taken */
    PG_FULL,      /* certainly not written: no room */
    PG_READ_ONLY, /* certainly not written: this server accepts no writes */
    PG_STALE,     /* certainly not written: prepare the statement again */
    PG_CORRUPT,   /* the server found damaged data */
    PG_REFUSED,   /* certainly not written, nor later: rights, schema, database */
};

/* sqlstate: five characters, or null or "" if the server did not say. */
enum pg_class pg_classify(const char *sqlstate, enum pg_phase phase);

/* Its name in messages. */
const char *pg_class_text(enum pg_class class);

#endif

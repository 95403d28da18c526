/* Sherd: cluster sharding for C. Includes everything that is public. */
#ifndef SHERD_H
#define SHERD_H

#include <sherd/actor.h>
#include <sherd/cluster.h>
#include <sherd/ddata.h>
#include <sherd/error.h>
#include <sherd/job.h>
#include <sherd/shutdown.h>
#include <sherd/store.h>
#include <sherd/system.h>

#endif

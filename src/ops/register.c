/* libinferometer_ops.so: what ONNX Runtime calls when a program registers the library. */
#include "ops.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

OrtStatus *ORT_API_CALL RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base);

/* Domains live as long as the process, since sessions refer to them: one for each runtime that there is in it. The library
 * is never unloaded (-z nodelete). */
typedef struct Registered
{
    struct Registered *next;
    const OrtApi *api;
    IfmOps *ops;
    char max_isa[16];
} Registered;
static Registered *all;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static Registered *add(const OrtApi *api, OrtStatus **status)
{
    const char *max_isa = ifm_blocked_max_isa();
    Registered *row = calloc(1, sizeof(*row));
    IfmOpsOptions options = { 0 };
    if (row != NULL && max_isa != NULL)
    {
        snprintf(row->max_isa, sizeof(row->max_isa), "%s", max_isa);
        options.max_isa = row->max_isa;
    }
    if (row == NULL || (row->ops = ifm_ops_new(api, &options, status)) == NULL)
    {
        free(row);
        return NULL;
    }
    row->api = api;
    row->next = all;
    return all = row;
}

static Registered *find(const OrtApi *api, OrtStatus **status)
{
    pthread_mutex_lock(&mutex);
    Registered *row = all;
    while (row != NULL && row->api != api)
        row = row->next;
    if (row == NULL)
        row = add(api, status);
    pthread_mutex_unlock(&mutex);
    return row;
}

__attribute__((visibility("default"))) OrtStatus *ORT_API_CALL RegisterCustomOps(OrtSessionOptions *options,
                                                                                 const OrtApiBase *base)
{
    const OrtApi *api = base->GetApi(IFM_OPS_API_VERSION), *oldest = api != NULL ? api : base->GetApi(1);
    OrtStatus *status = NULL;
    if (oldest == NULL)
        return NULL; /* no status can be made: the runtime will say that it does not know the domain */
    if (api == NULL)
        return oldest->CreateStatus(ORT_NOT_IMPLEMENTED, "inferometer's operators need ONNX Runtime 1.17 or newer");
    Registered *row = find(api, &status);
    if (row != NULL)
        return api->AddCustomOpDomain(options, ifm_ops_domain(row->ops));
    return status != NULL ? status : api->CreateStatus(ORT_FAIL, "no memory for inferometer's operators");
}

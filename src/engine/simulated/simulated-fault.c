#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulated-private.h"

/* These functions find the described fault that applies to a run and let it act; a file keeps the loss of a simulated
 * device. */

/* --- state of a device ------------------------------------------------------------------------------------------------ */

static const char *const health_names[] = {
    [UNIT_WELL] = "well",
    [UNIT_LOST_SILENT] = "silent",
    [UNIT_LOST_REPORTED] = "reported",
};

UnitState *unit_state_new(const char *machine, const char *unit, const char *state_dir)
{
    UnitState *state = g_new0(UnitState, 1);
    if (state_dir != NULL && *state_dir != '\0')
    {
        g_autofree char *name = g_strdup_printf("%s-%s.lost", machine, unit);
        state->file = g_build_filename(state_dir, g_strdelimit(name, "/", '-'), NULL);
    }
    unit_state_refresh(state);
    return state;
}

void unit_state_free(UnitState *state)
{
    g_free(state->file);
    g_free(state);
}

UnitHealth unit_state_health(const UnitState *state)
{
    return (UnitHealth)atomic_load(&state->health);
}

/* The file has one line: how the lost device behaves, and how many probes recover it. */
UnitHealth unit_state_refresh(UnitState *state)
{
    g_autofree char *text = NULL;
    if (state->file == NULL)
        return unit_state_health(state);
    UnitHealth health = UNIT_WELL;
    gint64 probes = 0;
    if (g_file_get_contents(state->file, &text, NULL, NULL))
    {
        char *space = strchr(text, ' ');
        health = g_str_has_prefix(text, health_names[UNIT_LOST_SILENT]) ? UNIT_LOST_SILENT : UNIT_LOST_REPORTED;
        probes = space != NULL ? g_ascii_strtoll(space, NULL, 10) : 0;
    }
    atomic_store(&state->probes_left, probes);
    atomic_store(&state->health, (int)health);
    return health;
}

static void write_state(const UnitState *state)
{
    if (state->file == NULL)
        return;
    if (unit_state_health(state) == UNIT_WELL)
    {
        g_unlink(state->file);
        return;
    }
    g_autofree char *text = g_strdup_printf("%s %" G_GINT64_FORMAT "\n", health_names[unit_state_health(state)],
                                            atomic_load(&state->probes_left));
    g_autoptr(GError) error = NULL;
    if (!g_file_set_contents(state->file, text, -1, &error))
        g_warning("the loss of a simulated device is forgotten with this process: %s", error->message);
}

void unit_state_lose(UnitState *state, UnitHealth health, gint64 probes)
{
    atomic_store(&state->probes_left, probes);
    atomic_store(&state->health, (int)health);
    write_state(state);
}

gboolean unit_state_probe(UnitState *state)
{
    if (unit_state_refresh(state) == UNIT_WELL)
        return TRUE;
    gint64 left = atomic_load(&state->probes_left);
    if (left == 0)
        return FALSE;
    atomic_store(&state->probes_left, left - 1);
    if (left == 1)
        atomic_store(&state->health, UNIT_WELL);
    write_state(state);
    return left == 1;
}

gboolean unit_state_take(UnitState *state, gint64 bytes, gint64 limit_bytes)
{
    gint64 taken = atomic_fetch_add(&state->taken_bytes, bytes) + bytes, peak = atomic_load(&state->peak_bytes);
    if (bytes > 0 && limit_bytes > 0 && taken > limit_bytes)
    {
        atomic_fetch_sub(&state->taken_bytes, bytes);
        return FALSE;
    }
    while (taken > peak && !atomic_compare_exchange_weak(&state->peak_bytes, &peak, taken))
        continue;
    return TRUE;
}

/* --- conditions of faults --------------------------------------------------------------------------------------------- */

/* An unknown size meets no condition. */
static gboolean sizes_meet(const FaultCondition *when, const SimulatedSizes *sizes)
{
    for (gsize i = 0; i < when->min->len; i++)
    {
        const IfmScalar *min = g_ptr_array_index(when->min, i);
        if (!(simulated_size(sizes, min->place.name) >= min->number))
            return FALSE;
    }
    for (gsize i = 0; i < when->max->len; i++)
    {
        const IfmScalar *max = g_ptr_array_index(when->max, i);
        if (!(simulated_size(sizes, max->place.name) <= max->number))
            return FALSE;
    }
    return TRUE;
}

static gboolean stage_meets(const FaultCondition *when, const char *stage)
{
    for (gsize i = 0; i < when->stages->len; i++)
        if (simulated_range_has(stage, g_ptr_array_index(when->stages, i)))
            return TRUE;
    return when->stages->len == 0;
}

static gboolean applies(const FaultDescription *fault, gint64 run, const char *stage, const SimulatedSizes *sizes)
{
    const FaultCondition *when = fault->when;
    if (when == NULL) /* without a condition a refusal applies to compiling, other faults to running */
        return (fault->what == FAULT_REFUSE) == (run == 0);
    if (when->at_compile != (run == 0) || (when->run != 0 && run != when->run) || run < when->from_run)
        return FALSE;
    return stage_meets(when, stage) && sizes_meet(when, sizes);
}

const FaultDescription *fault_find(const UnitDescription *unit, gint64 run, const char *stage, const SimulatedSizes *sizes)
{
    for (gsize i = 0; i < unit->faults->len; i++)
    {
        const FaultDescription *fault = g_ptr_array_index(unit->faults, i);
        if (applies(fault, run, stage, sizes))
            return fault;
    }
    return NULL;
}

/* --- effects of faults ------------------------------------------------------------------------------------------------ */

#define STEP_BYTES (64 << 20)

/* Takes memory in steps, slowly enough for a limit to act on it, and touches each page. At @limit_bytes it stops and
 * frees the memory. */
static void take_memory(gint64 limit_bytes)
{
    g_autoptr(GPtrArray) taken = g_ptr_array_new_with_free_func(free);
    for (gint64 bytes = 0; bytes < limit_bytes; bytes += STEP_BYTES)
    {
        gsize step = (gsize)MIN(limit_bytes - bytes, STEP_BYTES);
        char *block = malloc(step);
        if (block == NULL)
            return;
        memset(block, 0x5a, step);
        g_ptr_array_add(taken, block);
        g_usleep(20000);
    }
}

static void crash(FaultMode mode)
{
    int number = mode == MODE_SEGV ? SIGSEGV : SIGABRT;
    signal(number, SIG_DFL); /* crashes as vendor code would, without handlers of this process */
    raise(number);
    _exit(128 + number);
}

void fault_set_lost(const UnitState *state, const char *where, const char *reason, GError **error)
{
    gint64 probes = atomic_load(&state->probes_left);
    g_autofree char *back =
        probes > 0 ? g_strdup_printf(" (probe %" G_GINT64_FORMAT " brings it back)", probes) : g_strdup("");
    ifm_error_set(error, IFM_ERROR_LOST, "%s: %s%s", where, reason != NULL ? reason : "device lost", back);
}

static FaultEffect lose(const FaultDescription *fault, UnitState *state, const char *where, GError **error)
{
    unit_state_lose(state, fault->mode == MODE_REPORTED ? UNIT_LOST_REPORTED : UNIT_LOST_SILENT, fault->recover_after);
    if (fault->mode == MODE_SILENT)
        return FAULT_EFFECT_NONSENSE;
    fault_set_lost(state, where, fault->reason, error);
    return FAULT_EFFECT_ERROR;
}

/* Returns once it is cancelled, where it can be. */
static void hang(IfmCondition *condition, const gboolean *cancelled)
{
    ifm_condition_lock(condition);
    while (cancelled == NULL || !*cancelled)
        ifm_condition_wait_until(condition, IFM_CLOCK_NEVER);
    ifm_condition_unlock(condition);
}

FaultEffect fault_strike(const FaultDescription *fault, UnitState *state, const char *where, IfmCondition *condition,
                         const gboolean *cancelled, GError **error)
{
    IfmErrorCode code = IFM_ERROR_FAILED;
    const char *says = "the device failed";
    switch ((FaultKind)fault->what)
    {
    case FAULT_WRONG:
        return FAULT_EFFECT_WRONG;
    case FAULT_NAN:
        return FAULT_EFFECT_NAN;
    case FAULT_LOSE:
        return lose(fault, state, where, error);
    case FAULT_CRASH:
        crash((FaultMode)fault->mode);
        break;
    case FAULT_HANG:
        hang(condition, fault->mode == MODE_CANCELLABLE ? cancelled : NULL);
        code = IFM_ERROR_CANCELLED;
        says = "cancelled while it hung";
        break;
    case FAULT_REFUSE:
        code = IFM_ERROR_UNSUPPORTED;
        says = "the device does not support this model";
        break;
    case FAULT_MEMORY:
        if (fault->mode == MODE_ALLOCATE)
            take_memory(fault->limit_bytes);
        code = IFM_ERROR_MEMORY;
        says = "the device is out of memory";
        break;
    case FAULT_FAIL:
        break;
    }
    ifm_error_set(error, code, "%s: %s", where, fault->reason != NULL ? fault->reason : says);
    return FAULT_EFFECT_ERROR;
}

/* Machines and their units: descriptions read once, and the state of each unit. */
#include <string.h>

#include "simulated-private.h"

const MachineDescription *simulated_machine(SimulatedEngine *engine, const char *name, GError **error)
{
    MachineDescription *machine = g_hash_table_lookup(engine->machines, name);
    if (machine != NULL)
        return machine;
    g_autofree char *path = machine_path(name, error);
    machine = path != NULL ? machine_read(path, error) : NULL;
    if (machine != NULL)
        g_hash_table_insert(engine->machines, g_strdup(name), machine);
    return machine;
}

static const UnitDescription *find_unit(const MachineDescription *machine, const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (gsize i = 0; i < machine->units->len; i++)
    {
        const UnitDescription *unit = g_ptr_array_index(machine->units, i);
        g_ptr_array_add(names, unit->place.name);
        if (g_str_equal(unit->place.name, name))
            return unit;
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *all = g_strjoinv(", ", (char **)names->pdata);
    ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s has no unit \"%s\"; it has %s", machine->place.file, name, all);
    return NULL;
}

static UnitState *find_state(SimulatedEngine *engine, const char *machine, const char *unit)
{
    g_autofree char *key = g_strdup_printf("%s/%s", machine, unit);
    UnitState *state = g_hash_table_lookup(engine->states, key);
    if (state == NULL)
    {
        state = unit_state_new(machine, unit, engine->state_dir);
        g_hash_table_insert(engine->states, g_steal_pointer(&key), state);
    }
    return state;
}

gboolean simulated_unit(SimulatedEngine *engine, const IfmDeviceSpec *spec, const UnitDescription **unit, UnitState **state,
                        GError **error)
{
    const char *slash = strrchr(spec->unit, '/');
    if (slash == NULL || spec->index > 0)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: a simulated device is simulated:MACHINE/UNIT", spec->text);
    g_autofree char *name = g_strndup(spec->unit, (gsize)(slash - spec->unit));
    pthread_mutex_lock(&engine->mutex);
    const MachineDescription *machine = simulated_machine(engine, name, error);
    *unit = machine != NULL ? find_unit(machine, slash + 1, error) : NULL;
    *state = *unit != NULL ? find_state(engine, name, slash + 1) : NULL;
    pthread_mutex_unlock(&engine->mutex);
    return *unit != NULL;
}

Contention *simulated_contention(SimulatedEngine *engine, const IfmDeviceSpec *spec)
{
    g_autofree char *name = g_strndup(spec->unit, (gsize)(strrchr(spec->unit, '/') - spec->unit));
    Contention *contention = NULL;
    pthread_mutex_lock(&engine->mutex);
    MachineDescription *machine = g_hash_table_lookup(engine->machines, name);
    if (machine->contends)
        contention = g_hash_table_lookup(engine->contended, machine);
    if (machine->contends && contention == NULL)
    {
        contention = contention_new(engine->base.clock);
        g_hash_table_insert(engine->contended, machine, contention);
    }
    pthread_mutex_unlock(&engine->mutex);
    return contention;
}

#pragma once
#include <base/fields.h>
#include <measure/kinds.h>

#include "runner-fixture.h"

/* What the tests of plans as subjects share. */

#define PLAN_MAX_GRAPHS 4

/* A case and what it borrows. */
typedef struct
{
    IfmPlanCase plan_case;
    json_t *plans[PLAN_MAX_GRAPHS];
    IfmPlanGraph graphs[PLAN_MAX_GRAPHS];
} PlanText;

static inline void plan_text_clear(PlanText *text)
{
    for (gsize i = 0; i < text->plan_case.n_graphs; i++)
        json_decref(text->plans[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PlanText, plan_text_clear)

/* @plan: JSON, with ' for " */
static inline void plan_text_add(PlanText *text, const char *plan, gint64 nodes, gint64 edges)
{
    g_autoptr(GError) error = NULL;
    gsize i = text->plan_case.n_graphs++;
    g_autofree char *quoted = g_strdelimit(g_strdup(plan), "'", '"');
    g_assert_cmpuint(i, <, PLAN_MAX_GRAPHS);
    text->plans[i] = ifm_json_parse(quoted, strlen(quoted), "plan", &error);
    g_assert_no_error(error);
    text->graphs[i] = (IfmPlanGraph){ .kind = "uniform", .nodes = nodes, .edges = edges, .seed = (guint32)i + 1 };
}

static inline void plan_text_init(PlanText *text, const char *plan, gint64 nodes, gint64 edges)
{
    *text = (PlanText){ .plan_case = { .plans = (const json_t *const *)text->plans,
                                       .graphs = text->graphs,
                                       .sizes = { .features = 8, .hidden = 4 },
                                       .n_batches = 20,
                                       .verify = TRUE,
                                       .seed = 3,
                                       .repetitions = 3 } };
    plan_text_add(text, plan, nodes, edges);
}

static inline IfmMeasurement *measure_plan(Fixture *fixture, const IfmPlanCase *plan_case)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture->runner, &ifm_kind_pipeline, plan_case, &error);
    g_assert_no_error(error);
    IfmMeasurement *measurement = ifm_runner_measure(fixture->runner, &ifm_kind_pipeline, plan_case, sealed, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(measurement->case_key, ==, sealed->key);
    return measurement;
}

static inline const json_t *plan_of(const IfmMeasurement *measurement)
{
    return ifm_measurement_result(measurement, NULL);
}

/* A member of a member, "a.b.0.c". */
static inline const json_t *member(const json_t *json, const char *path)
{
    g_auto(GStrv) words = g_strsplit(path, ".", 0);
    for (gsize i = 0; words[i] != NULL && json != NULL; i++)
        json = json_is_array(json) ? json_array_get(json, (gsize)atoi(words[i])) : json_object_get(json, words[i]);
    return json;
}

static inline double number(const json_t *json, const char *path)
{
    const json_t *value = member(json, path);
    if (!json_is_number(value))
        g_error("no number at %s", path);
    return json_number_value(value);
}

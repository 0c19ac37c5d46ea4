#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <onnx/onnx.h>

#include "set-double.h"

/*
 * Small graphs as text, statements divided by ";":
 *     x : [2,N]             an input, numbers in [-1, 1)          x : [2,3] 0.5 2     … in [0.5, 2)
 *     w ! [3,4]             a parameter, its numbers drawn alike
 *     i # [2] 0 -1          i64 numbers, as they are; i # [] 3: a scalar
 *     i ? [2] 0 3           an input of i64 numbers in [0, 3)
 *     e % [2] 0.5 -1        floating-point numbers, as they are: no parameter
 *     y z = Split(x, i) axis=1 name=[1,2] mode=text alpha=0.5
 *     -> y [2,4]            the output that a loss is of
 */
typedef struct
{
    IfmModelBuilder *builder;
    IfmDtype dtype;         /* of all floating-point tensors */
    gboolean no_parameters; /* parameters are inputs */
    guint32 seed;
} GraphText;

/* text_dims: of "[2,N]". Returns: the rank. @rest: (out) what is behind it */
static inline int text_dims(const char *text, gint64 *dims, char **names, const char **rest)
{
    const char *open = strchr(text, '['), *end = strchr(text, ']');
    g_assert_true(open != NULL && end != NULL);
    g_autofree char *inner = g_strndup(open + 1, (gsize)(end - open - 1));
    g_auto(GStrv) parts = g_strsplit(inner, ",", -1);
    int rank = 0;
    for (; parts[rank] != NULL; rank++)
    {
        char *number_end;
        g_strstrip(parts[rank]);
        dims[rank] = g_ascii_strtoll(parts[rank], &number_end, 10);
        names[rank] = NULL;
        if (number_end == parts[rank])
        {
            dims[rank] = -1;
            names[rank] = g_strdup(parts[rank]);
        }
    }
    *rest = end + 1;
    return rank;
}

static inline void text_free_names(char **names, int rank)
{
    for (int i = 0; i < rank; i++)
        g_free(names[i]);
}

/* text_draw: The same numbers whatever their type: f64 ones are such as f32 has, too. */
static inline void text_draw(IfmTensor *tensor, const char *name, double low, double high, guint32 seed)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(seed ^ g_str_hash(name));
    for (gint64 i = 0; i < ifm_tensor_n_elements(tensor); i++)
    {
        float value = (float)g_rand_double_range(random, low, high);
        set_double(tensor, i, (double)value);
    }
}

static inline void text_port(GraphText *graph, const char *name, char kind, const char *text)
{
    g_autoptr(GError) error = NULL;
    gint64 dims[IFM_MAX_RANK];
    char *names[IFM_MAX_RANK];
    const char *rest;
    int rank = text_dims(text, dims, names, &rest);
    double low = -1, high = 1;
    sscanf(rest, "%lf %lf", &low, &high);
    g_autofree char *key = g_strdup_printf("inferometer.range.%s", name), *range = g_strdup_printf("%g %g", low, high);
    if (kind == ':' || kind == '?' || (kind == '!' && graph->no_parameters))
    {
        ifm_model_builder_input(graph->builder, name, kind == '?' ? IFM_DTYPE_I64 : graph->dtype, rank, dims,
                                (const char *const *)names);
        ifm_model_builder_metadata(graph->builder, key, range);
    }
    else
    {
        g_auto(IfmTensor) tensor = IFM_TENSOR_INIT;
        g_assert_true(ifm_tensor_init(&tensor, kind == '#' ? IFM_DTYPE_I64 : graph->dtype, rank, dims, &error));
        char *at = (char *)rest;
        for (gint64 i = 0; kind == '#' && i < ifm_tensor_n_elements(&tensor); i++)
            ((gint64 *)tensor.data)[i] = g_ascii_strtoll(at, &at, 10);
        for (gint64 i = 0; kind == '%' && i < ifm_tensor_n_elements(&tensor); i++)
            set_double(&tensor, i, g_ascii_strtod(at, &at));
        if (kind == '!')
            text_draw(&tensor, name, low, high, graph->seed);
        ifm_model_builder_weight(graph->builder, name, &tensor);
    }
    text_free_names(names, rank);
}

static inline void text_attribute(GraphText *graph, gsize node, const char *attribute)
{
    g_auto(GStrv) sides = g_strsplit(attribute, "=", 2);
    g_assert_cmpuint(g_strv_length(sides), ==, 2);
    const char *value = sides[1];
    if (*value == '[')
    {
        gint64 values[IFM_MAX_RANK];
        char *names[IFM_MAX_RANK];
        const char *rest;
        int n = text_dims(value, values, names, &rest);
        ifm_model_builder_ints(graph->builder, node, sides[0], values, (gsize)n);
        text_free_names(names, n);
    }
    else if (g_ascii_isalpha(*value) || g_str_equal(sides[0], "equation"))
        ifm_model_builder_string(graph->builder, node, sides[0], value);
    else if (strchr(value, '.') != NULL)
        ifm_model_builder_float(graph->builder, node, sides[0], g_ascii_strtod(value, NULL));
    else
        ifm_model_builder_int(graph->builder, node, sides[0], g_ascii_strtoll(value, NULL, 10));
}

/* text_names: "a, b" or "a b" apart; "" for one left out ("a,,b"). */
static inline char **text_names(const char *text, const char *divider)
{
    char **names = g_strsplit(text, divider, -1);
    for (gsize i = 0; names[i] != NULL; i++)
        g_strstrip(names[i]);
    return names;
}

static inline void text_node(GraphText *graph, const char *outputs_text, const char *call)
{
    const char *open = strchr(call, '('), *end = strchr(call, ')');
    g_assert_true(open != NULL && end != NULL);
    g_autofree char *op_type = g_strndup(call, (gsize)(open - call));
    g_autofree char *inner = g_strndup(open + 1, (gsize)(end - open - 1));
    g_auto(GStrv) inputs = text_names(inner, ","), outputs = text_names(outputs_text, " ");
    g_auto(GStrv) attributes = g_strsplit(end + 1, " ", -1);
    gsize node = ifm_model_builder_node(graph->builder, g_strstrip(op_type), outputs[0], (const char *const *)inputs,
                                        (const char *const *)outputs);
    for (gsize i = 0; attributes[i] != NULL; i++)
        if (*g_strstrip(attributes[i]) != '\0')
            text_attribute(graph, node, attributes[i]);
}

static inline void text_statement(GraphText *graph, char *statement)
{
    g_strstrip(statement);
    const char *space = strchr(statement, ' '), *is = strstr(statement, " = ");
    g_assert_true(space != NULL);
    g_autofree char *name = g_strndup(statement, (gsize)(space - statement));
    if (g_str_equal(name, "->"))
    {
        gint64 dims[IFM_MAX_RANK];
        char *names[IFM_MAX_RANK];
        const char *rest;
        g_auto(GStrv) words = g_strsplit(space + 1, " ", 2);
        int rank = text_dims(statement, dims, names, &rest);
        ifm_model_builder_output(graph->builder, words[0], graph->dtype, rank, dims, (const char *const *)names);
        text_free_names(names, rank);
    }
    else if (is != NULL)
    {
        g_autofree char *outputs = g_strndup(statement, (gsize)(is - statement));
        text_node(graph, outputs, is + 3);
    }
    else
        text_port(graph, name, space[1], space + 2);
}

/* text_model: Returns: (transfer full) */
static inline IfmModel *text_model(const char *text, IfmDtype dtype, gboolean no_parameters, gint64 opset)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("test", opset);
    GraphText graph = { builder, dtype, no_parameters, 7 };
    g_auto(GStrv) statements = g_strsplit(text, ";", -1);
    for (gsize i = 0; statements[i] != NULL; i++)
        if (*g_strstrip(statements[i]) != '\0')
            text_statement(&graph, statements[i]);
    IfmModel *model = ifm_model_builder_finish(builder, &error);
    if (model == NULL)
        g_error("%s: %s", text, error->message);
    return model;
}

/* text_parameters: Returns: (transfer full) the names behind which there is a "!". */
static inline char **text_parameters(const char *text)
{
    g_autoptr(GStrvBuilder) names = g_strv_builder_new();
    g_auto(GStrv) statements = g_strsplit(text, ";", -1);
    for (gsize i = 0; statements[i] != NULL; i++)
    {
        g_auto(GStrv) words = g_strsplit(g_strstrip(statements[i]), " ", 3);
        if (g_strv_length(words) == 3 && g_str_equal(words[1], "!"))
            g_strv_builder_add(names, words[0]);
    }
    return g_strv_builder_end(names);
}

/*
 * What benches in Python call beside the public library: bench_function() gives the address of a function that it does not
 * export. bench/peers.py opens this library instead of libinferometer.so; it has all of that inside.
 */
#include <dataset/dataset.h>
#include <engine/engine.h>
#include <gradient/gradient.h>
#include <inferometer/inferometer.h>
#include <zoo/zoo.h>

IFM_BEGIN_DECLS
/** bench_function: NULL where there is none of that name here. */
void *bench_function(const char *name);
IFM_END_DECLS

#define ROW(function)                                                                                                      \
    {                                                                                                                      \
#function, (void *)(function)                                                                                      \
    }
static const struct
{
    const char *name;
    void *function;
} functions[] = {
    ROW(ifm_analysis_free),
    ROW(ifm_analysis_node_cost),
    ROW(ifm_analysis_total),
    ROW(ifm_clock_new_real),
    ROW(ifm_compiled_request),
    ROW(ifm_device_spec_parse),
    ROW(ifm_encoding_free),
    ROW(ifm_encoding_laplacian),
    ROW(ifm_encoding_random_walk),
    ROW(ifm_engine_compile),
    ROW(ifm_engine_open),
    ROW(ifm_gradient_backward),
    ROW(ifm_gradient_state),
    ROW(ifm_gradient_training_step),
    ROW(ifm_graph_read),
    ROW(ifm_graph_synthetic),
    ROW(ifm_model_analyse),
    ROW(ifm_model_initializer),
    ROW(ifm_model_initializer_name),
    ROW(ifm_model_input),
    ROW(ifm_model_n_initializers),
    ROW(ifm_model_n_inputs),
    ROW(ifm_model_n_nodes),
    ROW(ifm_model_n_outputs),
    ROW(ifm_model_n_parameters),
    ROW(ifm_model_node),
    ROW(ifm_model_open),
    ROW(ifm_model_output),
    ROW(ifm_model_unref),
    ROW(ifm_request_set_input),
    ROW(ifm_request_set_output),
    ROW(ifm_request_start),
    ROW(ifm_request_wait),
    ROW(ifm_tensor_file_n),
    ROW(ifm_tensor_file_name),
    ROW(ifm_tensor_file_open),
    ROW(ifm_tensor_file_tensor),
    ROW(ifm_tensor_wrap),
    ROW(ifm_transformer_build),
    ROW(ifm_transformer_for_graph),
    ROW(ifm_transformer_inputs),
    ROW(ifm_zoo_build),
};

void *bench_function(const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(functions); i++)
        if (g_str_equal(functions[i].name, name))
            return functions[i].function;
    return NULL;
}

/*
 * Says which of two models is faster, and how sure that is:
 *
 *     compare old.onnx new.onnx openvino:CPU
 *
 * prints the JSON of
 *
 *     inferometer compare old.onnx new.onnx -d openvino:CPU --max-pairs 40 --rounds 4 --json -
 */
#include <stdio.h>

#include <inferometer/compare.h>

int main(int argc, char **argv)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmComparison) comparison = { 0 };
    if (argc < 3)
    {
        fprintf(stderr, "usage: compare A B [DEVICE]\n");
        return 2;
    }

    IfmCompareOptions options;
    ifm_compare_options_init(&options);
    options.models[0] = argv[1];
    options.models[1] = argv[2];
    options.max_pairs = 40;
    options.rounds = 4;
    if (argc > 3)
        options.device = argv[3];

    if (!ifm_compare_models(&options, NULL, &comparison, &error))
    {
        fprintf(stderr, "compare: %s\n", error->message);
        return ifm_error_exit_status(error);
    }
    fprintf(stderr, "%s: %" G_GSIZE_FORMAT " pairs of processes\n", ifm_verdict_name(comparison.verdict),
            comparison.n_pairs);
    json_auto_t *json = ifm_comparison_records_json(&comparison);
    return ifm_output_write_json("-", json, &error) ? 0 : ifm_error_exit_status(error);
}

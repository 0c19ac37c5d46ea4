/*
 * Profiles a model with its training step: forward, forward and backward in one, and the step with the optimiser's
 * update.
 *
 *     profile-training resnet18,batch=8 onnxruntime:CPU openvino:CPU
 *
 * prints the JSON of
 *
 *     inferometer profile resnet18,batch=8 -d onnxruntime:CPU -d openvino:CPU --mode train --optimiser adam --runs 10
 * --json -
 */
#include <stdio.h>

#include <inferometer/profile.h>

static int fail(const GError *error)
{
    fprintf(stderr, "profile-training: %s\n", error->message);
    return ifm_error_exit_status(error);
}

static void on_note(const char *message, void *user)
{
    fprintf(stderr, "profile-training: %s\n", message);
}

int main(int argc, char **argv)
{
    const IfmProfileWatch watch = { .note = on_note };
    g_autoptr(GError) error = NULL;
    if (argc < 2)
    {
        fprintf(stderr, "usage: profile-training MODEL [DEVICE...]\n");
        return 2;
    }

    IfmProfileOptions options;
    ifm_profile_options_init(&options);
    options.model = argv[1];
    options.devices = argc > 2 ? (const char *const *)argv + 2 : NULL;
    options.mode = IFM_PASS_STEP;
    options.optimiser = IFM_OPTIMISER_ADAM;
    options.protocol.runs = 10;
    options.watch = &watch;

    /* The models of the three passes are made; nothing runs yet. */
    g_autoptr(IfmProfile) profile = ifm_profile_new(&options, &error);
    if (profile == NULL || !ifm_profile_measure(profile, NULL, &error))
        return fail(error);
    json_auto_t *json = ifm_profile_to_json(ifm_profile_report(profile));
    if (!ifm_output_write_json("-", json, &error))
        return fail(error);

    int code;
    g_auto(GStrv) failures = ifm_profile_failures(profile, &code);
    for (char **line = failures; *line != NULL; line++)
        fprintf(stderr, "profile-training: %s\n", *line);
    return code != 0;
}

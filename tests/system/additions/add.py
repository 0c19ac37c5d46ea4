#!/usr/bin/env python3
"""add.py SOURCE: adds an operator, a case kind, a study kind, a model, a sensor and a verb to a copy of the sources, as the
add-a-... pages of docs/ say: each a file beside this one, its name in the room's meson.build, and its rows."""
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILES = {"nap.c": "src/measure/kinds", "kind-naps.c": "src/study", "zoo-ramp.c": "src/zoo", "pid-max.c": "src/sensor", "verb-nap.c": "src/cli"}
# FILE, what stands there, what is put before it
ROWS = (
    ("src/onnx/operators.c", '    { "Gelu"', '    { "Ramp", 1, ifm_shape_same, ifm_cost_per_output, 3, IFM_FAMILY_ACTIVATION },\n'),
    ("src/measure/kinds.h", "G_END_DECLS", """/** IfmNapCase: a nap of so many microseconds. */
typedef struct
{
    gint64 length_us;
    IfmProtocol protocol;
} IfmNapCase;
extern const IfmCaseKind ifm_kind_nap;

"""),
    ("src/study/study-kinds.c", "NULL };", "&study_kind_naps, "),
    ("src/study/study-kind.h", "/* study_kind_find:", "extern const StudyKind study_kind_naps;\n"),
    ("src/zoo/zoo.c", '    { "resnet152"', '    { "ramp", "y = Ramp(x)", ifm_zoo_ramp_parameters, 0, ifm_zoo_ramp_build },\n'),
    ("src/zoo/zoo-private.h", "G_END_DECLS", "extern const IfmZooParameter ifm_zoo_ramp_parameters[];\nIfmZooBuild ifm_zoo_ramp_build;\n\n"),
    ("src/sensor/sensor-private.h", "G_END_DECLS", "json_t *ifm_sensor_pid_max(const char *root);\n\n"),
    ("src/sensor/machine.c", '    json_object_set_new(machine, "id", identity(machine));',
     '    json_object_set_new(machine, "pid_max", ifm_sensor_pid_max(root));\n'),
    ("src/cli/cli.h", "extern const Verb ", "extern const Verb verb_nap;\n"),
    ("src/cli/main.c", "    &verb_zoo_list,", "    &verb_nap,\n"),
    ("src/measure/meson.build", "  'loop.c',", "  'kinds/nap.c',\n"),
    ("src/study/meson.build", "  'kind-profile.c',", "  'kind-naps.c',\n"),
    ("src/zoo/meson.build", "'zoo-resnet.c'", "'zoo-ramp.c', "),
    ("src/sensor/meson.build", "'prometheus.c'", "'pid-max.c', "),
    ("src/cli/meson.build", "  'verb-plan.c',", "  'verb-nap.c',\n"),
)


def main():
    source = pathlib.Path(sys.argv[1])
    for name, folder in FILES.items():
        shutil.copy(HERE / name, source / folder / name)
    for path, before, row in ROWS:
        text = (source / path).read_text(encoding="utf-8")
        at = text.find(before)
        if at < 0:
            sys.exit(f"{path}: has no {before!r}")
        (source / path).write_text(text[:at] + row + text[at:], encoding="utf-8")


if __name__ == "__main__":
    main()

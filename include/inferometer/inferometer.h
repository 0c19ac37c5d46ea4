#pragma once
/** inferometer.h: The whole library. */
#include <inferometer/common.h>
#include <inferometer/compare.h>
#include <inferometer/document.h>
#include <inferometer/engine.h>
#include <inferometer/kernels.h>
#include <inferometer/measure.h>
#include <inferometer/model.h>
#include <inferometer/options.h>
#include <inferometer/plan.h>
#include <inferometer/predict.h>
#include <inferometer/profile.h>
#include <inferometer/store.h>
#include <inferometer/study.h>
#include <inferometer/trace.h>

"use strict";
/* The page's script. Tables: sort, filter, CSV. Figures: drawn with Plotly when they come into view, from the JSON next to
 * each. Everything is there without it, too: this only adds. */
(() => {
  /* --- files --------------------------------------------------------------------------------------------------------- */

  function save(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function button(text, label, act) {
    const one = document.createElement("button");
    one.type = "button";
    one.textContent = text;
    one.setAttribute("aria-label", label);
    one.addEventListener("click", act);
    return one;
  }

  /* --- tables -------------------------------------------------------------------------------------------------------- */

  const value_of = (cell) => (cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent);

  function compare(a, b) {
    const x = value_of(a), y = value_of(b), numbers = typeof x === "number" && typeof y === "number";
    if (numbers) return x - y;
    if (typeof x !== typeof y) return typeof x === "number" ? -1 : 1; /* what has no value is last */
    return x.localeCompare(y, "en", { numeric: true });
  }

  function sort(table, column) {
    const body = table.tBodies[0], heads = table.tHead.rows[0].cells, head = heads[column];
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const rows = [...body.rows].sort((a, b) => compare(a.cells[column], b.cells[column]));
    body.append(...(down ? rows.reverse() : rows));
  }

  function filter(table, words, count) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = wanted.length ? `${shown} of ${table.tBodies[0].rows.length} rows` : "";
  }

  function begin_table(block) {
    const table = block.querySelector("table"), tools = document.createElement("div");
    const csv = JSON.parse(block.querySelector("script.csv").textContent);
    tools.className = "tools";
    if (table.tBodies[0].rows.length > 6) {
      const input = document.createElement("input"), count = document.createElement("span");
      input.type = "search";
      input.placeholder = "Filter rows";
      input.setAttribute("aria-label", "Filter the rows of the table " + block.dataset.key);
      count.setAttribute("role", "status");
      input.addEventListener("input", () => filter(table, input.value, count));
      tools.append(input, count);
    }
    tools.append(button("CSV", "Save the table " + block.dataset.key + " as CSV", () => save(block.dataset.key + ".csv", csv)));
    block.prepend(tools);
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const text = head.textContent;
      head.textContent = "";
      head.append(button(text, "Sort by " + text, () => sort(table, column)));
    });
  }

  /* --- figures: data ------------------------------------------------------------------------------------------------- */

  const members = ["x", "x_end", "y", "lower", "upper", "min", "max", "id"];

  /* Columns to arrays with a value a point; a timeline's x and x_end are steps. */
  function unpack(figure) {
    for (const series of figure.series) {
      series.text = series.label ? series.label.map((i) => (i < 0 ? "" : series.labels[i])) : null;
      if (figure.figure !== "timeline" || !series.x) continue;
      let from = 0;
      for (let i = 0; i < series.x.length; i++) {
        if (series.x[i] === null) continue;
        from += series.x[i];
        series.x[i] = from;
        series.x_end[i] += from;
        from = series.x[i] ;
      }
    }
    return figure;
  }

  function csv_of(figure) {
    const quote = (text) => (/[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text);
    const lines = ["group,series,label," + members.join(",")];
    for (const series of figure.series)
      for (let i = 0; i < series.n; i++)
        lines.push([quote(series.group), quote(series.name), quote(series.text ? series.text[i] : ""),
          ...members.map((name) => (series[name] && series[name][i] !== null ? String(series[name][i]) : ""))].join(","));
    return lines.join("\r\n") + "\r\n";
  }

  /* --- figures: units ------------------------------------------------------------------------------------------------ */

  const units = {
    duration: [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]],
    bytes: [[1073741824, "GiB"], [1048576, "MiB"], [1024, "KiB"], [1, "B"]],
    rate: [[1048576, "MB/s"]],
    ratio: [[0.01, "%"]],
  };

  /* What values of an axis are divided by, and its title. */
  function scale_of(axis, values) {
    const largest = values.reduce((most, value) => Math.max(most, Math.abs(value || 0)), 0);
    const found = (units[axis.kind] || []).find(([size]) => largest >= size) || (units[axis.kind] || []).at(-1);
    const size = found ? found[0] : 1, unit = found ? found[1] : axis.unit;
    const title = axis.title + (unit ? ` [${unit}]` : "");
    return { size, unit, title, of: (list) => list && list.map((value) => (value === null ? null : value / size)) };
  }

  /* The ends of a logarithmic axis; false for a plain one. */
  function range_of(axis, values) {
    const above = values.filter((value) => value > 0);
    return axis.log && above.length > 0 && [above.reduce((a, b) => Math.min(a, b)), above.reduce((a, b) => Math.max(a, b))];
  }

  const all_of = (figure, names) => {
    const out = [];
    for (const series of figure.series)
      for (const name of names) for (const value of series[name] || []) if (value !== null) out.push(value);
    return out;
  };

  /* --- figures: drawing ---------------------------------------------------------------------------------------------- */

  const colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7f7f7f", "#8c564b"];
  const tones = { plain: "#0072b2", good: "#009e73", warn: "#e69f00", bad: "#d55e00", dim: "#7f7f7f" };
  const symbols = ["circle", "square", "triangle-up", "diamond", "triangle-down", "line-ew-open"];
  const dark = window.matchMedia("(prefers-color-scheme: dark)");

  function layout_of(figure, x, y, height) {
    const style = getComputedStyle(document.body), ink = style.color;
    const line = dark.matches ? "#343c45" : "#e2e6ea", narrow = window.innerWidth < 560;
    /* Decades alone where there are several: between them stand lines without numbers. Else 1, 2, 5, spelt in full. */
    const ticks_of = ([low, high], size) => {
      if (high / low > 30) return { dtick: 1, minor: { dtick: "D1", showgrid: false } };
      const tickvals = [];
      for (let power = 10 ** Math.floor(Math.log10(low / size)) / 10; power <= (10 * high) / size; power *= 10)
        tickvals.push(power, 2 * power, 5 * power);
      return { tickmode: "array", tickvals, ticktext: tickvals.map((value) => String(Number(value.toPrecision(3)))) };
    };
    const axis = (title, log, size) => ({ title: { text: title, standoff: 8 }, type: log ? "log" : "linear", gridcolor: line,
      zerolinecolor: line, automargin: true, exponentformat: "SI", ...(log ? ticks_of(log, size) : {}) });
    return { title: { text: figure.title, x: 0, xref: "paper", font: { size: 15 } }, height, paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, size: narrow ? 10 : 12 }, hovermode: "closest",
      margin: { l: narrow ? 40 : 60, r: 16, t: 44, b: 48 }, xaxis: axis(x.title, x.log, x.size || 1), yaxis: axis(y.title, y.log, y.size || 1),
      legend: { orientation: "h", y: -0.25 }, showlegend: figure.series.length > 1,
      modebar: { bgcolor: "rgba(0,0,0,0)", color: "#8a949e", activecolor: ink } };
  }

  function error_of(series, unit, name) {
    const value = series[name];
    if (!series.lower || !series.upper) return undefined;
    return { type: "data", symmetric: false, thickness: 1.2, width: 3,
      array: value.map((v, i) => (series.upper[i] === null || v === null ? 0 : (series.upper[i] - v) / unit.size)),
      arrayminus: value.map((v, i) => (series.lower[i] === null || v === null ? 0 : (v - series.lower[i]) / unit.size)) };
  }

  const MANY = 2000, COLUMNS = 800;

  /* Of many points between two x, the least and the largest of each column. */
  function thin(series, from, to) {
    const columns = new Map(), out = { x: [], y: [] };
    let n = 0;
    for (let i = 0; i < series.n; i++) {
      if (series.x[i] === null || series.y[i] === null || series.x[i] < from || series.x[i] > to) continue;
      const column = Math.floor(((series.x[i] - from) / (to - from || 1)) * COLUMNS), ends = columns.get(column);
      n++;
      if (!ends) columns.set(column, [i, i]);
      else if (series.y[i] < series.y[ends[0]]) ends[0] = i;
      else if (series.y[i] > series.y[ends[1]]) ends[1] = i;
    }
    for (const [least, largest] of columns.values())
      for (const i of [Math.min(least, largest), Math.max(least, largest)].slice(least === largest ? 1 : 0)) {
        out.x.push(series.x[i]);
        out.y.push(series.y[i]);
      }
    return { ...out, thinned: n > out.x.length };
  }

  function points(figure) {
    const x = scale_of(figure.x, all_of(figure, ["x"])), y = scale_of(figure.y, all_of(figure, ["y", "upper"]));
    if (figure.series.some((series) => series.n > MANY)) return many_points(figure, x, y);
    const traces = figure.series.map((series, s) => ({ type: "scatter", name: series.name,
      mode: figure.figure === "lines" ? "lines+markers" : series.joined ? (series.n > 60 ? "lines" : "lines+markers") : "markers",
      x: x.of(series.x), y: y.of(series.y), text: series.text, error_y: error_of(series, y, "y"),
      hovertemplate: "%{text}<br>%{x:.4~g} " + x.unit + "<br>%{y:.4~g} " + y.unit + "<extra>%{fullData.name}</extra>",
      marker: { color: colours[s % 8], symbol: symbols[s % 6], size: 7 }, line: { color: colours[s % 8], width: 1.8 } }));
    const layout = layout_of(figure, { ...x, log: range_of(figure.x, all_of(figure, ["x"])) },
      { ...y, log: range_of(figure.y, all_of(figure, ["y"])) }, 420);
    return { traces, layout };
  }

  /* As many as can be told apart; the columns are narrower the nearer one zooms. */
  function many_points(figure, x, y) {
    const all = all_of(figure, ["x"]), whole = [all.reduce((a, b) => Math.min(a, b)), all.reduce((a, b) => Math.max(a, b))];
    const traces_for = (from, to) => figure.series.map((series, s) => {
      const seen = thin(series, from, to);
      return { type: "scatter", name: series.name, mode: seen.thinned ? "lines" : "markers", x: x.of(seen.x), y: y.of(seen.y),
        hovertemplate: "%{x:.6~g} " + x.unit + "<br>%{y:.4~g} " + y.unit + "<extra>%{fullData.name}</extra>",
        marker: { color: colours[s % 8], size: 4 }, line: { color: colours[s % 8], width: 1 } };
    });
    const layout = layout_of(figure, x, { ...y, log: range_of(figure.y, all_of(figure, ["y"])) }, 420);
    layout.xaxis.range = whole.map((v) => v / x.size);
    return { traces: traces_for(...whole), layout, zoomed: (range) => traces_for(range[0] * x.size, range[1] * x.size) };
  }

  const shorten = (text, most) => (text.length <= most ? text : text.slice(0, most / 2 - 1) + "…" + text.slice(1 - most / 2));

  /* Names of rows are made distinct by what no reader sees: Plotly joins categories of one name. */
  const row_axis = (layout, names) => Object.assign(layout.yaxis, { range: [names.length - 0.5, -0.5], tickmode: "array",
    tickvals: names.map((_, i) => i), ticktext: names.map((name) => shorten(name, window.innerWidth < 560 ? 18 : 40)), zeroline: false, showgrid: false });

  function labels_of(figure) {
    const labels = [], rows = new Map();
    for (const series of figure.series)
      for (let i = 0; i < series.n; i++) {
        const label = series.text && series.text[i] ? series.text[i] : series.name;
        if (rows.has(label)) continue;
        rows.set(label, labels.length);
        labels.push(label);
      }
    return { labels, rows, of: (series) => Array.from({ length: series.n }, (_, i) =>
      rows.get(series.text && series.text[i] ? series.text[i] : series.name)) };
  }

  function bars(figure) {
    const y = scale_of(figure.y, all_of(figure, ["y", "upper"])), rows = labels_of(figure);
    const traces = figure.series.map((series, s) => ({ type: "bar", orientation: "h", name: series.name, x: y.of(series.y),
      y: rows.of(series), error_x: error_of(series, y, "y"), marker: { color: colours[s % 8] },
      hovertemplate: "%{text}<br>%{x:.4~g} " + y.unit + "<extra>%{fullData.name}</extra>",
      text: rows.of(series).map((row) => rows.labels[row]), textposition: "none" }));
    const layout = layout_of(figure, { title: y.title, log: range_of(figure.y, all_of(figure, ["y"])) }, { title: "", log: false },
      120 + Math.max(1, rows.labels.length) * Math.max(20, 14 * figure.series.length));
    row_axis(layout, rows.labels);
    return { traces, layout: Object.assign(layout, { barmode: "group" }) };
  }

  /* The interval as a box, all values as whiskers. */
  function strips(figure) {
    const y = scale_of(figure.y, all_of(figure, ["y", "max"])), rows = labels_of(figure);
    const or = (list, other) => list ? list.map((v, i) => (v === null ? other[i] : v)) : other;
    const traces = figure.series.map((series, s) => ({ type: "box", orientation: "h", name: series.name, y: rows.of(series),
      q1: y.of(or(series.lower, series.y)), median: y.of(series.y), q3: y.of(or(series.upper, series.y)),
      lowerfence: y.of(or(series.min, series.y)), upperfence: y.of(or(series.max, series.y)),
      marker: { color: colours[s % 8] }, line: { width: 1.5 } }));
    const layout = layout_of(figure, { title: y.title, log: range_of(figure.y, all_of(figure, ["y"])) }, { title: "", log: false },
      120 + Math.max(1, rows.labels.length) * 34);
    row_axis(layout, rows.labels);
    return { traces, layout };
  }

  function matrix(figure) {
    const columns = labels_of(figure).labels, values = all_of(figure, ["y"]), y = scale_of(figure.y, values);
    const low = Math.min(...values), decades = !figure.y.categories && low > 0 && Math.max(...values) / low > 20;
    const cells = figure.series.map((series) => columns.map((label) => {
      const i = series.text ? series.text.indexOf(label) : -1;
      return i < 0 || !series.y || series.y[i] === null ? null : series.y[i] / y.size;
    }));
    const names = figure.y.categories, grey = "#7f7f7f"; /* the last category is that nothing is chosen */
    const spelt = (v) => (v === null ? "" : names ? names[v] : Number(v.toPrecision(3)).toString());
    const steps = names && names.flatMap((_, i) => [[i / names.length, i + 1 < names.length ? colours[i % 8] : grey],
      [(i + 1) / names.length, i + 1 < names.length ? colours[i % 8] : grey]]);
    const traces = [{ type: "heatmap", z: cells.map((row) => row.map((v) => (v !== null && decades ? Math.log10(v) : v))),
      x: columns.map((_, i) => i), y: figure.series.map((_, i) => i), text: cells.map((row) => row.map(spelt)),
      customdata: cells.map((row, s) => row.map((v, c) => figure.series[s].name + ", " + columns[c])),
      texttemplate: columns.length * figure.series.length <= 600 ? "%{text}" : "", showscale: false,
      ...(names ? { zmin: -0.5, zmax: names.length - 0.5 } : {}),
      colorscale: steps || [[0, "#edf8e9"], [0.25, "#bae4b3"], [0.5, "#74c476"], [0.75, "#318280"], [1, "#143c6e"]], xgap: 1, ygap: 1,
      hovertemplate: "%{customdata}<br>%{text} " + y.unit + "<extra></extra>" }];
    const layout = layout_of(figure, { title: "", log: false }, { title: "", log: false }, 110 + figure.series.length * 26);
    layout.title.text = figure.title + (y.unit ? ` [${y.unit}]` : "");
    layout.showlegend = false;
    row_axis(layout, figure.series.map((series) => series.name));
    Object.assign(layout.xaxis, { side: "top", tickmode: "array", tickvals: columns.map((_, i) => i), showgrid: false,
      ticktext: columns.map((label) => shorten(label, 24)), tickangle: columns.some((label) => label.length > 12) ? -35 : 0 });
    if (layout.xaxis.tickangle) layout.margin.t = 130;
    return { traces, layout };
  }

  /* Kinds of events: what works is strong, why it does not is pale. */
  const event_colours = ["#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#b8860b", "#0072b2", "#9aa5b1", "#f2cf8f", "#f4b59a",
    "#d9c7a3", "#e59a94", "#b7c4d6", "#d5dade", "#f2cf8f", "#d9c7a3", "#d5dade"];

  /* Spans in view; what is nearer to the one before of its kind than a few pixels is drawn as one with it.
   * @out: kind -> bars. @followed: an id, or null for all */
  function spans_in(series, row, view, out, followed) {
    const { from, to, size } = view, least = series.n > view.most ? view.least : 0;
    let begin = null, end = 0, text = "", n = 0, kind = null;
    const push = () => {
      if (begin === null) return;
      const bars = (out[kind] ||= { base: [], x: [], y: [], text: [], width: [] });
      bars.base.push(begin / size);
      bars.x.push(Math.max(end - begin, least / 4) / size);
      bars.y.push(row);
      bars.width.push(view.names && view.names[kind].startsWith("idle") ? 0.35 : 0.8);
      bars.text.push(n > 1 ? `${n} events` : text);
    };
    for (let i = 0; i < series.n; i++) {
      const start = series.x[i], stop = series.x_end[i], id = series.id ? series.id[i] : null;
      if (start === null || stop < from || start > to) continue;
      if (followed !== null && id !== followed) continue;
      const next = view.names && series.y ? series.y[i] : series.tone;
      if (begin !== null && next === kind && start < end + least && start >= begin) {
        end = Math.max(end, stop);
        n++;
        continue;
      }
      push();
      begin = start;
      end = stop;
      kind = next;
      n = 1;
      text = series.text && series.text[i] ? series.text[i] : id !== null ? String(id) : "";
    }
    push();
  }

  const EVENTS_DRAWN = 6000;

  /* Rows of series; one with the name and group of the one before it is in its row. */
  function rows_of(figure) {
    const names = [], places = [];
    let before = null;
    for (const series of figure.series) {
      if (!before || series.name === "" || before.name !== series.name || before.group !== series.group)
        names.push(series.name || series.group);
      places.push(names.length - 1);
      before = series;
    }
    return { names, places };
  }

  function timeline(figure, followed) {
    const x = scale_of(figure.x, all_of(figure, ["x_end"])), rows = rows_of(figure), names = figure.y.categories;
    const whole = [0, all_of(figure, ["x_end"]).reduce((a, b) => Math.max(a, b), 0)];
    const most = EVENTS_DRAWN / Math.max(1, figure.series.length);
    const bars_of = (from, to, only) => {
      const out = {};
      figure.series.forEach((series, s) => {
        if (series.x) spans_in(series, rows.places[s], { from, to, size: x.size, names, most, least: (to - from) / most }, out, only);
      });
      return Object.entries(out).map(([kind, bars]) => ({ type: "bar", orientation: "h", ...bars,
        name: names ? names[kind] : kind, marker: { color: names ? event_colours[kind] : tones[kind], line: { width: 0 } },
        textposition: "inside", insidetextanchor: "middle", textangle: 0,
        hovertemplate: "%{text} %{fullData.name}<br>from %{base:.6~g} " + x.unit + "<br>for %{x:.4~g} " + x.unit + "<extra></extra>" }));
    };
    const traces_for = (from, to) => {
      if (followed === undefined || followed === null) return bars_of(from, to, null);
      const all = bars_of(from, to, null).map((trace) => ({ ...trace, opacity: 0.2, showlegend: false }));
      return all.concat(bars_of(from, to, followed));
    };
    const layout = layout_of(figure, { title: x.title, log: false }, { title: "", log: false }, 150 + rows.names.length * 26);
    row_axis(layout, rows.names);
    Object.assign(layout, { showlegend: Boolean(names), barmode: "overlay", dragmode: "zoom" });
    layout.xaxis.range = whole.map((v) => v / x.size);
    layout.yaxis.fixedrange = true;
    return { traces: traces_for(...whole), layout, zoomed: (range) => traces_for(range[0] * x.size, range[1] * x.size) };
  }

  /* What has a number, such as a batch, followed through its rows: the rest is dimmed. */
  function begin_follow(block) {
    const label = document.createElement("label"), input = document.createElement("input");
    input.type = "number";
    input.min = "0";
    input.addEventListener("change", async () => {
      await draw(block);
      const place = block.querySelector(".plot"), range = place.layout.xaxis.range;
      block.ifm.made = make(block.ifm.figure, input.value === "" ? null : Number(input.value));
      await window.Plotly.react(place, block.ifm.made.zoomed(range), place.layout);
    });
    label.append("follow batch ", input);
    return label;
  }

  const kinds = { bars, strips, scatter: points, lines: points, timeline, matrix };

  /* Plotly reads tags and entities in all that it writes. Names and labels are text as it is: all of them go through here. */
  const literal = (value) => typeof value === "string" ? value.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;")
    : Array.isArray(value) ? value.map(literal) : value;
  const literal_members = (object, names) => Object.assign({ ...object }, ...names.filter((name) => object[name] !== undefined)
    .map((name) => ({ [name]: literal(object[name]) })));
  const literal_axis = (axis) => ({ ...literal_members(axis, ["ticktext"]), title: literal_members(axis.title, ["text"]) });
  const literal_traces = (traces) => traces.map((trace) => literal_members(trace, ["name", "text", "customdata"]));

  function make(figure, followed) {
    const { traces, layout, zoomed } = kinds[figure.figure](figure, followed);
    return { traces: literal_traces(traces), zoomed: zoomed && ((range) => literal_traces(zoomed(range))),
      layout: { ...layout, title: literal_members(layout.title, ["text"]), xaxis: literal_axis(layout.xaxis), yaxis: literal_axis(layout.yaxis) } };
  }

  /* --- figures: when ------------------------------------------------------------------------------------------------- */

  let library = null;

  /* The packed library as a script of this page. */
  function load_library() {
    library ||= (async () => {
      const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      const script = document.createElement("script");
      script.textContent = await new Response(stream).text();
      document.head.append(script);
      return window.Plotly;
    })();
    return library;
  }

  async function draw_now(block) {
    const plotly = await load_library(), figure = block.ifm.figure, place = block.querySelector(".plot");
    const made = (block.ifm.made = make(figure));
    block.classList.add("drawn");
    await plotly.newPlot(place, made.traces, made.layout, { responsive: true, displaylogo: false, showSendToCloud: false,
      modeBarButtonsToRemove: ["lasso2d", "select2d"] });
    if (made.zoomed) {
      let waiting = false;
      place.on("plotly_relayout", (change) => {
        if (waiting || !Object.keys(change).some((key) => key.startsWith("xaxis"))) return;
        waiting = true;
        requestAnimationFrame(async () => {
          await plotly.react(place, block.ifm.made.zoomed(place.layout.xaxis.range), place.layout);
          waiting = false;
        });
      });
    }
  }

  /* Once, however often it is asked for. */
  const draw = (block) => (block.ifm.drawn ||= draw_now(block));

  function begin_figure(block) {
    const figure = unpack(JSON.parse(block.querySelector("script.data").textContent)), tools = document.createElement("div");
    block.ifm = { figure, drawn: null };
    tools.className = "tools";
    tools.append(button("CSV", "Save the data of the figure " + figure.title + " as CSV", () => save(block.dataset.key + ".csv", csv_of(figure))));
    if (figure.figure === "timeline" && figure.series.some((series) => series.id)) tools.append(begin_follow(block));
    block.append(tools);
  }

  /* Variants of a figure: one at a time, chosen by its title. */
  function begin_group(group) {
    const label = document.createElement("label"), choice = document.createElement("select");
    group.forEach((block, i) => choice.add(new Option(block.ifm.figure.title, i)));
    const show = async () => {
      group.forEach((block, i) => (block.hidden = i !== Number(choice.value)));
      const block = group[Number(choice.value)];
      await draw(block);
      window.Plotly.Plots.resize(block.querySelector(".plot"));
    };
    label.className = "tools variants";
    label.append(group[0].dataset.group, " ", choice);
    group[0].before(label);
    group.forEach((block, i) => (block.hidden = i > 0));
    choice.addEventListener("change", show);
  }

  document.querySelectorAll(".table").forEach(begin_table);
  const figures = [...document.querySelectorAll("figure")];
  figures.forEach(begin_figure);
  for (let i = 0, n; i < figures.length; i += n) {
    const name = figures[i].dataset.group;
    for (n = 1; name && i + n < figures.length && figures[i + n].dataset.group === name; ) n++;
    if (n > 1) begin_group(figures.slice(i, i + n));
  }
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => entry.isIntersecting && draw(entry.target)),
    { rootMargin: "400px" });
  if (typeof DecompressionStream === "function") figures.forEach((figure) => seen.observe(figure));

  async function draw_all() {
    for (const figure of figures) await draw(figure);
  }
  dark.addEventListener("change", async () => {
    for (const figure of figures)
      if (figure.ifm.drawn) await (figure.ifm.drawn = draw_now(figure));
  });
  window.inferometer = { draw_all, figures, csv_of };
})();

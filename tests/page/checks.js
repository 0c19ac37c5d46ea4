"use strict";
/* What a page must be, as functions that look at it in the browser and return what is wrong, a sentence each. looks.py puts them
 * into the page; they change nothing in it, but for those of the part "used". */
globalThis.looks = (() => {
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
  const short = (text) => (text = text.trim().replace(/\s+/g, " ")).length > 40 ? text.slice(0, 30) + "…" + text.slice(-8) : text;
  const is_seen = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
  const key_of = (element) => {
    const figure = element.closest(".fig[data-key]"), table = element.closest("table[data-name]"), part = element.closest("[class]");
    return figure ? "figure " + figure.dataset.key : table ? "table " + table.dataset.name : part ? "." + (part.getAttribute("class") || "") : "page";
  };

  /* --- geometry: texts and what cuts them --- */

  const overflow_of = new Map();
  const cuts = (element) => {
    if (!overflow_of.has(element)) {
      const style = getComputedStyle(element);
      overflow_of.set(element, [style.overflowX, style.overflowY]);
    }
    return overflow_of.get(element);
  };
  const within = (box, other) => ({ left: Math.max(box.left, other.left), right: Math.min(box.right, other.right),
    top: Math.max(box.top, other.top), bottom: Math.min(box.bottom, other.bottom) });

  /* The lines of all texts that are seen: where they would be (whole), and what of that is seen (box). */
  const lines = () => {
    const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
    overflow_of.clear();
    for (let node; (node = walker.nextNode());) {
      const element = node.parentElement;
      if (!node.data.trim() || element.closest("script, style, title, .skip, #tip") || !is_seen(element)) continue;
      range.selectNodeContents(node);
      for (const whole of range.getClientRects()) {
        if (whole.width < 1) continue;
        let box = whole, clipped = null;
        for (let above = element; above && above !== document.body; above = above.parentElement) {
          const [x, y] = cuts(above);
          if (x === "visible" && y === "visible") continue;
          const room = above.getBoundingClientRect();
          const out = (mode, before, after) => mode !== "visible" && mode !== "auto" && mode !== "scroll" && Math.max(before, after) > 1.5;
          if (out(x, room.left - box.left, box.right - room.right) || out(y, room.top - box.top - 2, box.bottom - room.bottom - 2)) clipped = above;
          box = within(box, room);
        }
        found.push({ element, text: node.data, whole, box, clipped });
      }
    }
    return found;
  };

  const overlaps = (list) => {
    const faults = [];
    /* The letters, not the room above and below them. */
    const boxes = list.map((line) => {
      const height = line.box.bottom - line.box.top;
      return { line, left: line.box.left + 1, right: line.box.right - 1, top: line.box.top + 0.22 * height, bottom: line.box.bottom - 0.22 * height };
    }).filter((box) => box.right > box.left && box.bottom > box.top).sort((a, b) => a.top - b.top);
    let open = [];
    for (const box of boxes) {
      open = open.filter((other) => other.bottom > box.top);
      for (const other of open)
        if (box.left < other.right && other.left < box.right && box.line.text !== other.line.text)
          faults.push(`"${short(other.line.text)}" and "${short(box.line.text)}" overlap (${key_of(box.line.element)})`);
        else if (box.left < other.right && other.left < box.right && box.line.element !== other.line.element)
          faults.push(`"${short(box.line.text)}" stands twice in one place (${key_of(box.line.element)})`);
      open.push(box);
    }
    return faults;
  };

  const clipped = (list) => list.filter((line) => line.clipped || line.whole.left < -1)
    .map((line) => `"${short(line.text)}" is cut off (${key_of(line.element)})`);

  const wide = () => {
    const faults = [];
    if (document.documentElement.scrollWidth <= innerWidth) return faults;
    for (const element of all("body *")) {
      const box = element.getBoundingClientRect();
      if (box.right <= innerWidth + 1 || box.width === 0 || !is_seen(element)) continue;
      let above = element.parentElement;
      while (above && cuts(above)[0] === "visible") above = above.parentElement;
      if (!above) faults.push(`${element.tagName.toLowerCase()} (${key_of(element)}) is ${Math.round(box.right - innerWidth)} px wider than the window`);
    }
    return faults.length ? faults : [`the page is ${document.documentElement.scrollWidth - innerWidth} px wider than the window`];
  };

  /* Each figure shows one of its drawings, none of which is too low to be read. */
  const LEAST = 60;
  const plots = () => all(".fig[data-key]").flatMap((figure) => {
    if (!is_seen(figure)) return [];
    const shown = all("svg.fig", figure).filter(is_seen), faults = [];
    if (shown.length !== 1) faults.push(`${shown.length} drawings of figure ${figure.dataset.key} are shown`);
    for (const svg of shown) {
      const box = svg.getBoundingClientRect();
      if (box.height < LEAST || box.width < LEAST) faults.push(`figure ${figure.dataset.key} is ${Math.round(box.width)} x ${Math.round(box.height)} px`);
      if (Math.abs(box.width - svg.width.baseVal.value) > 0.6) faults.push(`figure ${figure.dataset.key} is scaled`);
      all("g.plot[data-y]", svg).forEach((plot) => {
        const [, , from, to] = plot.dataset.y.split(" ").map(Number);
        if (Math.abs(from - to) < LEAST) faults.push(`a plane of figure ${figure.dataset.key} is ${Math.round(Math.abs(from - to))} px high`);
      });
    }
    return faults;
  });

  /* --- contrast (WCAG 2) --- */

  const colour_of = (text) => {
    const numbers = (text.match(/[\d.]+(e-?\d+)?/g) || []).map(Number);
    if (text.startsWith("color(srgb")) return [numbers[0] * 255, numbers[1] * 255, numbers[2] * 255, numbers[3] ?? 1];
    return text.startsWith("rgb") ? [numbers[0], numbers[1], numbers[2], numbers[3] ?? 1] : null;
  };
  const over = (above, below) => [0, 1, 2].map((i) => above[i] * above[3] + below[i] * (1 - above[3])).concat(1);
  const luminance = (colour) => {
    const [r, g, b] = colour.map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast_of = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);
  const opacity_of = (element) => {
    let product = 1;
    for (; element; element = element.parentElement) product *= Number(getComputedStyle(element).opacity);
    return product;
  };
  const ground_of = (element) => {
    const layers = [];
    for (; element; element = element.parentElement) {
      const colour = colour_of(getComputedStyle(element).backgroundColor);
      if (colour && colour[3] > 0) layers.push(colour);
      if (colour && colour[3] === 1) break;
    }
    return layers.reduceRight((below, above) => over(above, below), [255, 255, 255, 1]);
  };
  const fills_of = (svg) => all("rect, path, circle", svg).map((shape) => {
    const style = getComputedStyle(shape), colour = colour_of(style.fill);
    if (!colour) return null;
    colour[3] *= Number(style.fillOpacity) * Number(style.opacity);
    return colour[3] > 0 ? { shape, colour, box: shape.getBoundingClientRect() } : null;
  }).filter((fill) => fill);
  const covers = (fill, x, y) => {
    if (x < fill.box.left || x > fill.box.right || y < fill.box.top || y > fill.box.bottom) return false;
    return fill.shape.isPointInFill(new DOMPoint(x, y).matrixTransform(fill.shape.getScreenCTM().inverse()));
  };
  const grounds_below = (svg, element, box, ground, fills) => {
    const y = (box.top + box.bottom) / 2;
    return [box.left + 1, (box.left + box.right) / 2, box.right - 1].map((x) => fills
      .filter((fill) => fill.shape.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING && covers(fill, x, y))
      .reduce((below, fill) => over(fill.colour, below), ground));
  };

  const READABLE = 4.5;
  const contrast = (list) => {
    const faults = [], known = new Map(), drawings = new Map();
    for (const { element, text, box } of list) {
      const style = getComputedStyle(element), svg = element.closest("svg");
      const colour = colour_of(svg ? style.fill : style.color);
      if (!colour) continue;
      if (!known.has(element.parentElement)) known.set(element.parentElement, { ground: ground_of(element.parentElement), opacity: opacity_of(element.parentElement) });
      let { ground, opacity } = known.get(element.parentElement), grounds;
      const own = colour_of(style.backgroundColor);
      if (own && own[3] > 0) ground = over(own, ground);
      colour[3] *= opacity * Number(style.opacity) * (svg ? Number(style.fillOpacity) : 1);
      if (svg) {
        if (!drawings.has(svg)) drawings.set(svg, fills_of(svg));
        grounds = grounds_below(svg, element, box, ground, drawings.get(svg));
        const halo = style.paintOrder.startsWith("stroke") && parseFloat(style.strokeWidth) >= 2 ? colour_of(style.stroke) : null;
        if (halo) grounds = [over(halo, ground)];
      } else grounds = [ground];
      const least = Math.min(...grounds.map((one) => contrast_of(over(colour, one), one)));
      if (least < READABLE - 0.005) faults.push(`"${short(text)}" has a contrast of ${least.toFixed(2)} (${key_of(element)}, ${svg ? element.getAttribute("class") : style.color})`);
    }
    return faults;
  };

  /* --- marks and cells against the document --- */

  const is_number = (value) => typeof value === "number" && Number.isFinite(value);
  const scale_of = (text) => {
    if (!text) return null;
    const [low, high, from, to, log] = text.split(" ").map(Number);
    const has = (value) => is_number(value) && (!log || value > 0);
    const place = (value) => from + (to - from) * (log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
    return { low, high, from, to, log, has, place };
  };
  const shift_of = (mark) => mark.tagName === "circle" ? [number(mark, "cx"), number(mark, "cy")] : (mark.getAttribute("transform") || "").match(/-?[\d.]+/g)?.map(Number);
  const number = (mark, name) => Number(mark.getAttribute(name));
  const NEAR = 0.11; /* pixels: positions are written with one decimal */
  const ROWS = 300, MARKS = 1000, SINGLE = 2, EVENTS = 400; /* more rows are not drawn, more marks are one path, narrower events are joined */

  /* What stands before each segment of a stack. */
  const stacked = (figure) => {
    const sums = new Map(), before = new Map();
    figure.series.forEach((series, s) => series.points.forEach((point, i) => {
      const label = point.label ?? series.name ?? "", sum = sums.get(label) || 0;
      before.set(s + " " + i, sum);
      sums.set(label, sum + (point.y > 0 ? point.y : 0));
    }));
    return before;
  };
  /* [name, expected, found] of a mark's position. */
  const places_of = (figure, series, point, mark, x, y, before) => {
    const shift = shift_of(mark);
    switch (figure.figure) {
      case "bars": {
        const zero = x.place(x.log ? x.low : 0), at = x.place(point.y);
        return [["x", Math.min(zero, at), number(mark, "x")], ["width", Math.abs(at - zero), number(mark, "width")]];
      }
      case "strips": return [["x", x.place(point.y), shift[0]]];
      case "scatter": case "lines": return [["x", x.place(point.x), shift[0]], ["y", y.place(point.y), shift[1]]];
      case "timeline": case "icicle":
        return [["x", x.place(point.x), number(mark, "x")], ["width", Math.max(x.place(point.x_end) - x.place(point.x), 0), number(mark, "width")]];
      case "stacked": return [["x", x.place(before), number(mark, "x")], ["width", x.place(before + point.y) - x.place(before), number(mark, "width")]];
      default: return [];
    }
  };
  /* The width from which on events have a mark each: of so many at most. */
  const single_of = (figure, x) => {
    const widths = figure.series.flatMap((series) => series.points.map((point) => x.place(point.x_end) - x.place(point.x)));
    let single = SINGLE;
    while (widths.filter((width) => width >= single).length > EVENTS) single *= 2;
    return single;
  };
  const drawn = (figure, series, point, x, y, single) => {
    switch (figure.figure) {
      case "scatter": case "lines": return x.has(point.x) && y.has(point.y);
      case "timeline": return x.has(point.x) && x.has(point.x_end) && x.place(point.x_end) - x.place(point.x) >= single;
      case "icicle": return x.has(point.x) && x.place(point.x_end) - x.place(point.x) >= SINGLE;
      case "stacked": return point.y > 0;
      case "matrix": return is_number(point.y) && point.label !== undefined;
      default: return x.has(point.y);
    }
  };
  /* The number of the colour that a device has all over a page; 0: it has none. */
  let devices = [];
  const MOST_COLOURS = 6;
  const colour_of_device = (name) => devices.length <= MOST_COLOURS ? devices.indexOf(name) + 1 : 0;
  const RAMP = { s0: 0, s1: 1, s2: 2, s3: 3, s4: 4, neg2: 0, neg1: 1, zero: 2, pos1: 3, pos2: 4 };
  const matrix = (figure, marks) => {
    const faults = [], columns = new Map(), rows = new Map(), cells = [];
    for (const [s, i, mark] of marks) {
      const point = figure.series[s].points[i], fill = mark.getAttribute("class");
      for (const [places, name, at] of [[columns, point.label, number(mark, "x")], [rows, s, number(mark, "y")]]) {
        if (!places.has(name)) places.set(name, at);
        if (Math.abs(places.get(name) - at) > NEAR) faults.push(`cell ${s}, ${i} is not in its row and column`);
      }
      if (figure.y.categories) {
        const n = figure.y.categories.length, colour = colour_of_device(figure.y.categories[point.y]) || Math.min(point.y + 1, MOST_COLOURS);
        const fills = point.y === n - 1 || point.mark === "unknown" ? ["hatch"] : ["c", "p"].map((kind) => kind + colour);
        if (!fills.includes(fill)) faults.push(`cell ${s}, ${i} is "${fill}", which is not category ${point.y}`);
      } else if (point.mark === "unknown") {
        if (fill !== "hatch") faults.push(`cell ${s}, ${i} is "${fill}"; nothing is known of it`);
      } else cells.push([point.y, RAMP[fill]]);
    }
    cells.sort((a, b) => a[0] - b[0]);
    if (cells.some(([value, step], k) => step === undefined || (k > 0 && value > cells[k - 1][0] && step < cells[k - 1][1])))
      faults.push("a larger value has a lower step of the ramp");
    for (const places of [columns, rows]) if (new Set(places.values()).size !== places.size) faults.push("two rows or columns are in one place");
    return faults;
  };
  const UNITS = { s: 1e9, ms: 1e6, "µs": 1e3, ns: 1, GiB: 2 ** 30, MiB: 2 ** 20, KiB: 2 ** 10, B: 1, "MB/s": 2 ** 20, "%": 0.01 };
  const THOUSANDS = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };
  /* Whether a tip says a value, with three digits, in some unit. */
  const says = (tip, value) => {
    for (const [, sign, digits, letter, unit] of tip.matchAll(/([−-]?)([\d.]+(?:e[+-]?\d+)?)([kMGT]?)(?:\u00a0(\S+?))?(?=[\s·\]]|$)/g))
      for (const factor of [UNITS[unit], 1])
        if (factor && Math.abs((sign ? -1 : 1) * Number(digits) * THOUSANDS[letter] * factor - value) <= 0.0051 * Math.abs(value) + 1e-12) return true;
    return false;
  };
  const drawing = (figure, svg, tips) => {
    const faults = [], plots = all("g.plot", svg), before = stacked(figure), found = new Map(), listed = [];
    for (const mark of all("[data-s]", svg)) {
      const s = Number(mark.dataset.s), i = Number(mark.dataset.i), point = figure.series[s]?.points[i], plot = mark.closest("g.plot");
      if (!point) { faults.push(`mark ${s}, ${i} is of no point`); continue; }
      if (found.has(s + " " + i)) faults.push(`point ${s}, ${i} has two marks`);
      found.set(s + " " + i, mark);
      listed.push([s, i, mark]);
      const x = scale_of(plot?.dataset.x), y = scale_of(plot?.dataset.y);
      if (figure.figure !== "matrix" && !x) { faults.push("marks outside a plot"); break; }
      for (const [name, expected, at] of places_of(figure, figure.series[s], point, mark, x, y, before.get(s + " " + i)))
        if (!(Math.abs(expected - at) <= NEAR)) faults.push(`mark ${s}, ${i} has ${name} ${at}; the document has it at ${expected.toFixed(1)}`);
      const tip = tips[mark.dataset.t], value = ["timeline", "icicle"].includes(figure.figure) ? point.x_end - point.x : point.y;
      if (typeof tip !== "string" || !tip) faults.push(`mark ${s}, ${i} has no tip`);
      else if (!figure.y.categories && value !== 0 && !says(tip, value)) faults.push(`the tip "${short(tip)}" of mark ${s}, ${i} does not say ${value}`);
    }
    if (figure.figure === "matrix") faults.push(...matrix(figure, listed));
    const x = scale_of(plots[0]?.dataset.x), y = scale_of(plots[0]?.dataset.y);
    const single = figure.figure === "timeline" && x ? single_of(figure, x) : SINGLE;
    let rows = 0, n = 0;
    figure.series.forEach((series, s) => {
      const expected = series.points.filter((point) => drawn(figure, series, point, x, y, single)).length;
      const marks = series.points.filter((_, i) => found.has(s + " " + i)).length;
      rows += ["bars", "strips"].includes(figure.figure) ? series.points.length : 1;
      n += marks;
      const is_line = marks === 0 && (series.points.length > MARKS || svg.querySelector("path.ax, path.ln, path.dots"));
      if (marks !== expected && rows <= ROWS && !is_line) faults.push(`series ${s} has ${marks} marks of ${expected} points`);
    });
    if (n === 0 && !svg.querySelector("g.plot path[d]:not([d=''])")) faults.push("it is empty");
    return faults;
  };
  /* A device has one colour: in figures, tables and tiles. */
  const classes_of = (mark) => mark.getAttribute("class").split(" ").filter((name) => /^[clpo]\d$/.test(name));
  const colours = (doc) => {
    const faults = [], wrong = (mark, colour) => classes_of(mark).filter((name) => name.slice(1) !== String(colour));
    devices = doc.devices;
    const blocks = blocks_of(doc, "figure").filter((block) => block.series.some((series) => series.points.length));
    all(".fig[data-key]").forEach((figure, k) => {
      if (["matrix", "timeline"].includes(blocks[k].figure)) return;
      const names = new Set(blocks[k].series.map((series) => series.name));
      for (const mark of all("[data-s]", figure)) {
        const name = blocks[k].series[mark.dataset.s]?.name, own = colour_of_device(name);
        if (own && names.size <= MOST_COLOURS && wrong(mark, own).length) faults.push(`figure ${figure.dataset.key}: a mark of ${name} is "${mark.getAttribute("class")}", not colour ${own}`);
        if (!own && classes_of(mark).some((one) => Array.from(names).some((other) => colour_of_device(other) === Number(one.slice(1)))))
          faults.push(`figure ${figure.dataset.key}: ${name} has the colour of a device beside it`);
      }
    });
    for (const row of all("table[data-name] tbody tr")) {
      const name = Array.from(row.cells, (cell) => cell.textContent.replace(/=.*| \*$/, "")).find(colour_of_device), own = colour_of_device(name) || 1;
      for (const mark of all("svg [class]", row))
        if (wrong(mark, own).length) faults.push(`table ${row.closest("table").dataset.name}: a row of ${name} is drawn as "${mark.getAttribute("class")}", not in colour ${own}`);
    }
    const tiles = all(".tile");
    (doc.summary?.tiles || []).forEach((tile, i) => {
      for (const mark of tiles[i] ? all("svg rect:not(.pn)", tiles[i]) : [])
        if (wrong(mark, colour_of_device(tile.device) || 1).length) faults.push(`the tile "${tile.label}" is not in the colour of ${tile.device}`);
    });
    return faults;
  };
  const blocks_of = (doc, kind) => doc.sections.flatMap((section) => section.blocks).filter((block) => block.kind === kind);
  const marks = (doc) => {
    const faults = colours(doc), figures = all(".fig[data-key]"), blocks = blocks_of(doc, "figure").filter((block) => block.series.some((series) => series.points.length));
    const keys = figures.map((figure) => figure.dataset.key).join(), expected = blocks.map((block) => block.key).join();
    if (keys !== expected) return [`the page has the figures ${keys}, the document ${expected}`];
    figures.forEach((figure, k) => {
      const tips = JSON.parse(figure.dataset.tips || "[]"), heading = figure.querySelector("h3");
      if (blocks[k].title && heading?.textContent !== blocks[k].title && !/[\u0000-\u001f\u202a-\u202e\u2066-\u2069]/.test(blocks[k].title))
        faults.push(`figure ${figure.dataset.key}: its title is not the document's`);
      const drawings = all("svg.fig", figure);
      if (!drawings.length) faults.push(`figure ${figure.dataset.key}: no drawing`);
      drawings.forEach((svg) => drawing(blocks[k], svg, tips).forEach((fault) => faults.push(`figure ${figure.dataset.key} at ${svg.width.baseVal.value}: ${fault}`)));
    });
    return faults;
  };
  /* The data of a figure: as many rows as points, and the values of each. */
  const data = (doc) => {
    const faults = [], blocks = blocks_of(doc, "figure").filter((block) => block.series.some((series) => series.points.length));
    all(".fig[data-key]").forEach((figure, k) => {
      const points = blocks[k]?.series.flatMap((series) => series.points) || [], fault = (text) => faults.push(`figure ${figure.dataset.key}: ${text}`);
      const table = figure.querySelector("table"), pre = figure.querySelector("pre[data-name]");
      if (!table && !pre && points.length <= (blocks[k]?.figure === "timeline" ? 600 : 1000)) fault("its data are not there");
      const rows = table ? Array.from(table.tBodies[0].rows, (row) => Array.from(row.cells, (cell) => cell.dataset.v ?? cell.textContent))
        : pre ? pre.textContent.trimEnd().split("\n").slice(1).map((line) => line.split(",")) : [];
      if (!rows.length) return;
      if (rows.length !== points.length) { fault(`${rows.length} rows of ${points.length} points`); return; }
      points.forEach((point, i) => ["x", "y", "lower", "upper"].forEach((name) => {
        if (is_number(point[name]) && !rows[i].some((value) => value !== "" && Math.abs(Number(value) - point[name]) <= 1e-9 * Math.abs(point[name])))
          if (pre || name === "y") fault(`row ${i} lacks ${name} ${point[name]}`);
      }));
    });
    return faults;
  };
  /* The exact value beside each number is the document's. */
  const cells = (doc) => {
    const faults = [], tables = all("table[data-name]");
    for (const block of blocks_of(doc, "table")) {
      const table = tables.find((one) => one.dataset.name === block.key && !one.ifm_seen);
      if (!table) continue; /* shown in another way, or not at all */
      table.ifm_seen = true;
      const heads = Array.from(table.tHead.rows[0].cells, (cell) => cell.textContent), rows = Array.from(table.tBodies[0].rows);
      const cut = table.closest(".table").nextElementSibling?.matches(".left-out") ? Number.parseInt(table.closest(".table").nextElementSibling.textContent, 10) : 0;
      if (rows.length + cut !== block.rows.length) { faults.push(`table ${block.key}: ${rows.length} rows of ${block.rows.length}`); continue; }
      for (const column of block.columns) {
        const at = heads.indexOf(column.title ?? column.key);
        if (at < 0 || heads.lastIndexOf(column.title ?? column.key) !== at || block.columns.filter((one) => one.title === column.title).length > 1 ||
            !table.tHead.rows[0].cells[at].classList.contains("n")) continue; /* a text that says it in words */
        rows.forEach((row, r) => {
          const value = block.rows[r][column.key], cell = row.cells[at].dataset.v;
          if (is_number(value) && cell !== undefined && !(Math.abs(Number(cell) - value) <= 1e-9 * Math.abs(value)))
            faults.push(`table ${block.key}: row ${r}, ${column.title}: ${cell}; the document has ${value}`);
          if ((is_number(value) || value === null) && is_number(value) !== (cell !== undefined))
            faults.push(`table ${block.key}: row ${r}, ${column.title}: ${cell === undefined ? "nothing" : cell}; the document has ${value}`);
        });
      }
    }
    tables.forEach((table) => delete table.ifm_seen);
    return faults.concat(data(doc));
  };
  /* The first screen says the document's summary. */
  const summary = (doc) => {
    const faults = [], found = doc.summary, text = document.querySelector("main").textContent, clean = (words) => words.replace(/\s+/g, " ");
    if (document.querySelectorAll("h1").length !== 1) faults.push("there is not one h1");
    if (!found) return faults;
    const first = document.querySelector("h1");
    if (first.getBoundingClientRect().bottom > innerHeight) faults.push("the verdict is not on the first screen");
    const spelt = /[\u0000-\u001f\u202a-\u202e\u2066-\u2069]/.test(found.verdict); /* on the page */
    if (!spelt && !clean(first.textContent).includes(clean(found.verdict).replace(/[.]$/, ""))) faults.push("the verdict of the page is not the document's");
    const parts = [found.detail, found.trust?.why, ...(found.trust?.checks || []).map((check) => check.text), ...(found.next || []).map((next) => next.text ?? next.action),
      ...(found.tiles || []).flatMap((tile) => [tile.label, tile.value, tile.range]), found.provenance?.command, ...Object.values(found.provenance?.facts || {})];
    for (const part of parts)
      if (typeof part === "string" && !/[\u0000-\u001f\u202a-\u202e]/.test(part) && !clean(text).includes(clean(part))) faults.push(`the first screen lacks "${short(part)}"`);
    return faults;
  };

  /* --- markup --- */

  const markup = () => {
    const faults = all("[style]").filter((one) => one.id !== "tip").map((one) => `a style attribute (${key_of(one)})`);
    for (const element of all("*"))
      for (const { name } of element.attributes) if (name.startsWith("on")) faults.push(`an attribute ${name}`);
    if (globalThis.hostile) faults.push("a name ran as script");
    for (const selector of ["b", "iframe", "img", "object", "script[src]", "link[rel=stylesheet]"])
      all(selector).forEach((one) => faults.push(`an element ${one.tagName.toLowerCase()}`));
    all("thead th").forEach((head) => { if (head.scope !== "col") faults.push("a head without scope"); });
    all("svg.fig").forEach((svg) => { if (svg.getAttribute("role") !== "img" || !svg.getAttribute("aria-label")) faults.push(`figure ${key_of(svg)} is not described`); });
    const ids = all("[id]").map((one) => one.id);
    if (new Set(ids).size !== ids.length) faults.push("an id stands twice");
    all("nav a").forEach((link) => { if (!document.getElementById(link.hash.slice(1))) faults.push(`a link to nothing: ${link.hash}`); });
    /* The text around a right-to-left name keeps its order. */
    if (/[\u202a-\u202e\u2066-\u2069]/.test(document.body.textContent)) faults.push("a character that overrides directions");
    return faults;
  };

  /* --- used: as by a reader; what the script does --- */

  const tip = () => document.getElementById("tip");
  const tell = (figure, key) => figure.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  /* The arrows go through all marks that are shown, each with its tip, which is a polite live region; Escape ends it. */
  const arrows = () => all(".fig[data-key]").filter(is_seen).flatMap((figure) => {
    const faults = [], marks = all("[data-t]", figure).filter((mark) => mark.getClientRects().length), tips = JSON.parse(figure.dataset.tips || "[]");
    if (!marks.length) return faults;
    if (figure.tabIndex !== 0) faults.push(`figure ${figure.dataset.key} cannot have the focus`);
    figure.focus({ preventScroll: true });
    const seen = [];
    for (let i = 0; i < Math.min(marks.length, 60); i++) {
      tell(figure, "ArrowRight");
      if (!tip().classList.contains("on") || tip().textContent !== tips[marks[i].dataset.t]) faults.push(`figure ${figure.dataset.key}: mark ${i} is not said`);
      seen.push(tip().textContent);
    }
    tell(figure, "ArrowLeft");
    if (marks.length > 1 && tip().textContent !== seen.at(-2)) faults.push(`figure ${figure.dataset.key}: there is no way back`);
    tell(figure, "Escape");
    if (tip().classList.contains("on")) faults.push(`figure ${figure.dataset.key}: Escape does not hide the tip`);
    figure.blur();
    return faults;
  }).concat(tip().getAttribute("aria-live") === "polite" ? [] : ["the tip is not a polite live region"]);

  const key_of_cell = (cell) => cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent;
  const sorts = () => all("table[data-name]").flatMap((table) => {
    const faults = [], body = table.tBodies[0], before = Array.from(body.rows), fault = (text) => faults.push(`table ${table.dataset.name}: ${text}`);
    Array.from(table.tHead.rows[0].cells).forEach((head, at) => {
      for (const [order, sign] of [["ascending", 1], ["descending", -1]]) {
        head.querySelector("button").click();
        if (head.getAttribute("aria-sort") !== order) fault(`aria-sort is ${head.getAttribute("aria-sort")}, not ${order}`);
        const cells = Array.from(body.rows, (row) => row.cells[at]), there = cells.filter((cell) => cell.textContent !== "–").map(key_of_cell);
        if (cells.slice(there.length).some((cell) => cell.textContent !== "–")) fault("what is missing is not last");
        if (there.every((value) => typeof value === "number") && there.some((value, i) => i > 0 && sign * (there[i - 1] - value) > 0)) fault(`column ${at} is not ${order}`);
      }
      if (all("th[aria-sort]", table).length !== 1) fault("two columns say that they are sorted");
      head.removeAttribute("aria-sort");
    });
    before.forEach((row) => body.append(row));
    return faults;
  });
  const filters = () => all("table[data-name]").flatMap((table) => {
    const faults = [], rows = Array.from(table.tBodies[0].rows), field = table.closest(".table").querySelector("input[type=search]");
    if (!field) return rows.length > 40 ? [`table ${table.dataset.name} of ${rows.length} rows has no filter`] : faults;
    const word = rows.at(-1).cells[0].textContent.trim().split(/\s+/)[0].toLowerCase();
    const type = (text) => { field.value = text; field.dispatchEvent(new Event("input", { bubbles: true })); };
    type(word);
    if (rows.some((row) => row.hidden === row.textContent.toLowerCase().includes(word))) faults.push(`table ${table.dataset.name}: the filter "${short(word)}" is wrong`);
    if (rows.some((row) => row.hidden && is_seen(row))) faults.push(`table ${table.dataset.name}: a hidden row is seen`);
    type("");
    if (rows.some((row) => row.hidden)) faults.push(`table ${table.dataset.name}: rows stay hidden`);
    return faults;
  });
  const parse = (text) => {
    const lines = [[]];
    for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n"]*))(,|\r\n|$)/g)) {
      lines.at(-1).push(quoted !== undefined ? quoted.replaceAll('""', '"') : plain);
      if (end === "\r\n") lines.push([]);
      if (end === "") break;
    }
    return lines.slice(0, -1);
  };
  /* What the button saves is the table, exact, and holds no formula. */
  const saves = async () => {
    const faults = [], saved = [], make = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
    URL.createObjectURL = (blob) => { saved.push(blob); return make.call(URL, blob); };
    HTMLAnchorElement.prototype.click = function () { saved.push(this.download); };
    for (const pre of all("pre[data-name]")) {
      const button = pre.nextElementSibling?.querySelector("button.csv");
      button?.click();
      const name = saved.pop(), blob = saved.pop(), lines = blob ? parse(await blob.text()) : [];
      if (name !== pre.dataset.name + ".csv" || lines.length !== pre.textContent.trimEnd().split("\n").length) faults.push(`the lines of ${pre.dataset.name} are not saved`);
      if (lines.flat().some((cell) => /^[=+@\t\r-]/.test(cell) && Number.isNaN(Number(cell)))) faults.push(`the lines of ${pre.dataset.name} have a formula`);
    }
    for (const table of all("table[data-name]")) {
      const fault = (text) => faults.push(`table ${table.dataset.name}: ${text}`), button = table.closest(".table").querySelector("button.csv");
      if (!button) { fault("no button saves it"); continue; }
      button.click();
      const name = saved.pop(), blob = saved.pop();
      if (!blob || name !== table.dataset.name + ".csv") { fault("nothing is saved"); continue; }
      const lines = parse(await blob.text()), rows = Array.from(table.rows);
      if (lines.length !== rows.length) { fault(`${lines.length} lines of ${rows.length}`); continue; }
      rows.forEach((row, r) => Array.from(row.cells).forEach((cell, c) => {
        const expected = cell.textContent === "–" ? "" : cell.dataset.v ?? cell.textContent, found = lines[r][c];
        if (found !== expected && found !== "'" + expected) fault(`row ${r}, column ${c}: "${short(found || "")}"; the page has "${short(expected)}"`);
        if (/^[=+@\t\r-]/.test(found) && Number.isNaN(Number(found))) fault(`"${short(found)}" is a formula`);
      }));
    }
    URL.createObjectURL = make;
    HTMLAnchorElement.prototype.click = click;
    return faults;
  };
  const copies = async () => {
    const faults = [], texts = [], before = navigator.clipboard;
    Object.defineProperty(navigator, "clipboard", { value: { writeText: (text) => { texts.push(text); return Promise.resolve(); } }, configurable: true });
    for (const button of all("button.copy")) {
      button.click();
      await Promise.resolve();
      if (texts.pop() !== button.parentNode.querySelector("code").textContent) faults.push("a command is not copied");
    }
    Object.defineProperty(navigator, "clipboard", { value: before, configurable: true });
    return faults;
  };
  const themes = () => {
    const ground = () => luminance(ground_of(document.body)), first = ground(), button = document.querySelector("button.theme");
    button.click();
    const second = ground();
    button.click();
    return first > 0.5 === second > 0.5 || ground() !== first ? ["the theme does not switch"] : [];
  };
  const used = async () => once([...arrows(), ...sorts(), ...filters(), ...await saves(), ...await copies(), ...themes()]);

  /* On paper: light, and without what can be pressed. */
  const printed = () => {
    const faults = contrast(lines());
    if (luminance(ground_of(document.body)) < 0.9) faults.push("paper is dark");
    all("nav, button.theme, button.copy, button.csv, input").filter(is_seen).forEach((one) => faults.push(`paper shows ${one.tagName.toLowerCase()} (${key_of(one)})`));
    return once(faults);
  };

  const once = (faults) => Array.from(new Set(faults));
  const unfold = (open) => all("details").forEach((one) => { one.open = open; });
  return { all, is_seen, key_of, unfold, once, LEAST,
    geometry: () => { const list = lines(); return once([...overlaps(list), ...clipped(list), ...wide(), ...plots()]); },
    contrast: () => once(contrast(lines())), marks: (doc) => once(marks(doc)), cells: (doc) => once(cells(doc)), summary, used, printed, wide: () => once(wide()), markup };
})();

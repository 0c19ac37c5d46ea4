// What a page does besides being read: tips, arrow keys, sorting, filtering, CSV, variants of a figure, zoom of a timeline.
"use strict";
(() => {
  const root = document.documentElement, tip = document.getElementById("tip");
  const all = (selector, within = document) => Array.from(within.querySelectorAll(selector));
  const make = (tag, text, name) => Object.assign(document.createElement(tag), { textContent: text, className: name || "" });

  /* --- tips --- */

  const tipOf = (mark) => {
    if (mark.tip) return mark.tip;
    const figure = mark.closest("figure");
    figure.tips = figure.tips || JSON.parse(figure.dataset.tips || "[]");
    return figure.tips[mark.dataset.t];
  };
  const say = (text, x, y) => {
    tip.textContent = text;
    tip.classList.add("on");
    const above = y - tip.offsetHeight - 12;
    tip.style.setProperty("left", Math.max(4, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + "px");
    tip.style.setProperty("top", (above < 4 ? y + 16 : above) + "px");
  };
  const hush = () => tip.classList.remove("on");
  const cool = () => all(".hot").forEach((mark) => mark.classList.remove("hot"));

  document.addEventListener("pointermove", (event) => {
    const mark = event.target.closest && event.target.closest("[data-t]");
    if (mark) say(tipOf(mark), event.clientX, event.clientY);
    else hush();
  });
  document.addEventListener("focusout", () => { cool(); hush(); });
  document.addEventListener("keydown", (event) => {
    const figure = document.activeElement;
    if (event.key === "Escape") hush();
    if (!figure || !figure.classList.contains("fig")) return;
    if (figure.zoom && "+-0".includes(event.key)) {
      figure.zoom(event.key);
      event.preventDefault();
      return;
    }
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const marks = step ? all("[data-t]", figure).filter((mark) => mark.getClientRects().length) : [];
    if (!marks.length) return;
    event.preventDefault();
    const at = marks.findIndex((mark) => mark.classList.contains("hot"));
    const next = marks[at < 0 ? (step > 0 ? 0 : marks.length - 1) : (at + step + marks.length) % marks.length];
    cool();
    next.classList.add("hot");
    const place = next.getBoundingClientRect();
    say(tipOf(next), place.left, place.top);
  });

  /* --- tables --- */

  const keyOf = (cell) => cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent;
  const sort = (head) => {
    const row = head.parentNode, at = all("th", row).indexOf(head), body = head.closest("table").tBodies[0];
    const up = head.getAttribute("aria-sort") !== "ascending" ? 1 : -1;
    all("th", row).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up > 0 ? "ascending" : "descending");
    Array.from(body.rows).sort((a, b) => {
      const x = keyOf(a.cells[at]), y = keyOf(b.cells[at]), difference = Number(x) - Number(y);
      if (x === "–" || y === "–") return (x === "–") - (y === "–"); // what is missing stands last, either way
      return (Number.isNaN(difference) ? x.localeCompare(y) : difference) * up;
    }).forEach((line) => body.appendChild(line));
  };
  // A text that a spreadsheet would take for a formula begins with an apostrophe.
  const quote = (text) => '"' + (/^[=+@\t\r-]/.test(text) && Number.isNaN(Number(text)) ? "'" : "") + text.replaceAll('"', '""') + '"';
  const csvOf = (table) => Array.from(table.rows, (row) => Array.from(row.cells, (cell) => quote(cell.textContent === "–" ? "" : keyOf(cell))).join(",") + "\r\n").join("");
  const linesOf = (pre) => pre.textContent.replace(/(^|[,\n]"?)(?=[=+@\t]|-(?![\d.]))/g, "$1'").replaceAll("\n", "\r\n");
  const addSave = (control, data, text) => {
    const button = Object.assign(make("button", "CSV", "csv"), { type: "button" });
    control.append(button);
    button.addEventListener("click", () => {
      const link = make("a", "");
      link.href = URL.createObjectURL(new Blob([text(data)], { type: "text/csv" }));
      link.download = data.dataset.name + ".csv";
      link.click();
      URL.revokeObjectURL(link.href);
    });
  };
  all("pre[data-name]").forEach((pre) => {
    const control = make("div", "", "control");
    addSave(control, pre, linesOf);
    pre.after(control);
  });
  all(".tw table").forEach((table) => {
    const control = make("div", "", "control"), rows = Array.from(table.tBodies[0].rows);
    if (rows.length > 12) {
      const field = Object.assign(make("input", ""), { type: "search", placeholder: "filter" });
      const count = make("span", "");
      field.setAttribute("aria-label", "filter rows");
      field.addEventListener("input", () => {
        const words = field.value.toLowerCase().split(/\s+/);
        rows.forEach((row) => { row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word)); });
        count.textContent = rows.filter((row) => !row.hidden).length + " of " + rows.length;
      });
      control.append(field, count);
    }
    addSave(control, table, csvOf);
    table.closest(".tw").after(control);
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button"), head = button && button.closest("thead th");
    if (head) sort(head);
    if (button && button.classList.contains("theme")) {
      const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
    }
    if (button && button.classList.contains("copy"))
      navigator.clipboard.writeText(button.parentNode.querySelector("code").textContent).then(() => { button.textContent = "Copied"; });
  });

  /* --- variants: of figures of one group next to each other one is shown --- */

  const firstOf = (figure) => {
    const before = figure.previousElementSibling;
    return before && before.dataset.group === figure.dataset.group ? firstOf(before) : figure;
  };
  all(".fig[data-group]").forEach((figure) => {
    const first = firstOf(figure);
    first.variants = (first.variants || []).concat(figure);
  });
  all(".fig[data-group]").filter((figure) => figure.variants && figure.variants.length > 1).forEach((first) => {
    const select = make("select", ""), control = make("div", "", "control");
    first.variants.forEach((figure) => select.append(make("option", figure.querySelector("h3").textContent)));
    select.setAttribute("aria-label", "which figure");
    select.addEventListener("change", () => first.variants.forEach((figure, i) => { figure.hidden = i !== select.selectedIndex; }));
    first.variants.forEach((figure, i) => { figure.hidden = i > 0; });
    control.append(select);
    first.before(control);
  });

  /* --- timelines: zoom, search and the way of one batch, drawn from data that are finer than a pixel --- */

  const shape = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => element.setAttribute(key, value));
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const duration = (ns) => {
    const [size, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([size]) => ns >= size) || [1, "ns"];
    return Number((ns / size).toPrecision(3)) + "\u00a0" + unit;
  };
  const ROW = 22, SINGLE = 2, PIECE = 3; // as svg-timeline.c has them
  all(".fig > script").forEach((source) => {
    const figure = source.parentNode, data = JSON.parse(source.textContent);
    const rows = data.rows.map((flat) => {
      const spans = [];
      for (let i = 0, at = 0, id = 0; i < flat.length; i += 3) {
        const from = at + flat[i], key = flat[i + 2] >> 1;
        at = from + flat[i + 1];
        if (flat[i + 2] & 1) id += flat[i++ + 3];
        spans.push({ from, to: at, at: key, key: data.keys[key], batch: id - 1 });
      }
      return spans;
    });
    let low = 0, high = data.end, words = "", batch = -1, next = -1;
    const found = data.keys.map(() => false);
    const isFound = (span) => batch >= 0 ? span.batch === batch : found[span.at];
    const drawRow = (row, spans, x, way) => {
      const top = Number(row.dataset.y) + 2, open = {}, paths = {};
      row.replaceChildren();
      spans.filter((span) => span.to >= low && span.from <= high).forEach((span) => {
        const from = x(span.from), width = x(span.to) - from, kind = span.key[0] + (words && !isFound(span) ? " off" : "");
        if (words && batch >= 0 && isFound(span)) way.push([from, from + width, top + 9]);
        if (width < SINGLE) {
          const last = open[kind];
          if (!/^c|good|warn|bad/.test(kind)) return; // why a device was idle so shortly
          if (last && from <= last.to + 0.5 && from + width - last.from < PIECE) {
            last.to = Math.max(last.to, from + width);
            last.busy += width;
          } else (paths[kind] = paths[kind] || []).push(open[kind] = { from, to: from + width, busy: width });
          return;
        }
        const mark = shape("rect", { class: "edge " + kind, x: from, y: top, width, height: ROW - 4, "data-t": "" });
        const name = [span.key[2], span.key[3], span.batch < 0 ? "" : "batch " + span.batch].filter((text) => text);
        mark.tip = name.join(" · ") + " · " + duration((span.to - span.from) * data.step);
        mark.batch = span.batch;
        row.append(mark);
        if (span.key[3] && span.key[3].length * 7 + 6 < width)
          row.append(shape("text", { class: span.key[1], x: from + width / 2, y: top + 13, "text-anchor": "middle" }, span.key[3]));
      });
      Object.entries(paths).forEach(([kind, list]) => row.append(shape("path", { class: kind, d: list.map((one) => {
        const width = Math.max(one.to - one.from, 1), height = Math.min(Math.max(Math.ceil((ROW - 4) * one.busy / width), 4), ROW - 4);
        return `M${one.from.toFixed(1)},${top + ROW - 4}h${width.toFixed(1)}v-${height}h-${width.toFixed(1)}z`;
      }).join("") })));
    };
    const drawAxis = (axis, x, from, to) => {
      const [top, bottom] = axis.dataset.y.split(" ").map(Number), unit = data.step / data.axis;
      const least = (high - low) * unit / Math.max((to - from) / 90, 2), power = 10 ** Math.floor(Math.log10(least));
      const step = power * ([1, 2, 5].find((digit) => digit * power >= least) || 10), first = data.low / data.axis;
      axis.replaceChildren();
      for (let k = Math.ceil((low * unit + first) / step); (k * step - first) / unit <= high; k++) {
        const place = x((k * step - first) / unit);
        axis.append(shape("path", { class: "gr", d: `M${place},${top}V${bottom}` }),
          shape("text", { class: "tk", x: place, y: bottom + 15, "text-anchor": "middle" }, String(Number((k * step).toPrecision(12)))));
      }
    };
    const draw = () => all("svg.fig", figure).forEach((svg) => {
      const plot = svg.querySelector(".plot"), [, , from, to] = plot.dataset.x.split(" ").map(Number), way = [];
      const x = (time) => from + (Math.min(Math.max(time, low), high) - low) / (high - low) * (to - from);
      drawAxis(plot.querySelector(".axis"), x, from, to);
      plot.querySelectorAll(":scope > .way").forEach((old) => old.remove());
      const join = () => {
        way.sort((a, b) => a[0] - b[0]);
        const line = way.slice(1).map((to, i) => `M${way[i][1]},${way[i][2]}L${to[0]},${to[2]}`).join("");
        if (line) plot.append(shape("path", { class: "way", d: line }));
        way.length = 0;
      };
      all(".row", plot).forEach((row, i) => {
        if (!rows[i].length) join(); // the head of a trace
        drawRow(row, rows[i], x, way);
      });
      join();
    });
    const show = (from, length) => {
      length = Math.min(Math.max(length, 20), data.end);
      low = Math.min(Math.max(from, 0), data.end - length);
      high = low + length;
      draw();
    };
    const zoom = (factor, center = (low + high) / 2) => show(center - (center - low) * factor, (high - low) * factor);
    figure.zoom = (key) => key === "0" ? show(0, data.end) : zoom(key === "+" ? 0.5 : 2);

    const field = Object.assign(make("input", ""), { type: "search", size: 28, placeholder: "find an event, or batch 12" });
    const count = make("span", ""), control = make("div", "", "control");
    const find = () => {
      words = field.value.trim().toLowerCase();
      batch = Number((/^batch (\d+)$/.exec(words) || [0, -1])[1]);
      next = -1;
      data.keys.forEach((key, i) => { found[i] = (key[2] + " " + key[3]).toLowerCase().includes(words); });
      const n = words ? rows.flat().filter(isFound).length : 0;
      count.textContent = words ? n + " found" + (n ? "; Enter goes to the next" : "") : "";
      draw();
    };
    field.setAttribute("aria-label", "find events of the timeline");
    field.addEventListener("input", find);
    field.addEventListener("keydown", (event) => {
      const all = event.key === "Enter" && words ? rows.flat().filter(isFound).sort((a, b) => a.from - b.from) : [];
      if (!all.length) return;
      next = (next + 1) % all.length;
      const span = all[next], length = Math.min(high - low, Math.max((span.to - span.from) * 20, data.end / 2000));
      show((span.from + span.to - length) / 2, length);
    });
    [["Zoom in", () => zoom(0.5)], ["Zoom out", () => zoom(2)], ["←", () => show(low - (high - low) / 2, high - low)],
      ["→", () => show(low + (high - low) / 2, high - low)], ["All", () => show(0, data.end)]].forEach(([name, act]) => {
      const button = Object.assign(make("button", name), { type: "button" });
      button.addEventListener("click", act);
      control.append(button);
    });
    control.append(make("span", "or Ctrl and wheel, keys + − 0; times are kept to " + duration(data.step)), field, count);
    figure.querySelector(".plots").before(control);
    figure.addEventListener("wheel", (event) => {
      const svg = event.target.closest("svg.fig");
      if (!event.ctrlKey || !svg) return;
      event.preventDefault();
      const box = svg.getBoundingClientRect(), [, , from, to] = svg.querySelector(".plot").dataset.x.split(" ").map(Number);
      const share = (event.clientX - box.left - from) / (to - from);
      zoom(event.deltaY < 0 ? 0.8 : 1.25, low + Math.min(Math.max(share, 0), 1) * (high - low));
    }, { passive: false });
    figure.addEventListener("click", (event) => {
      if (!(event.target.batch >= 0)) return;
      field.value = "batch " + event.target.batch;
      find();
    });
    figure.addEventListener("pointerenter", draw, { once: true }); // what is narrow gets tips where there is room
  });

  /* --- which section is being read --- */

  const links = new Map(all("nav a").map((link) => [link.hash.slice(1), link]));
  const watch = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
    links.forEach((link) => link.removeAttribute("aria-current"));
    links.get(entry.target.id).setAttribute("aria-current", "true");
  }), { rootMargin: "-20% 0px -70% 0px" });
  links.forEach((_, id) => watch.observe(document.getElementById(id)));
})();

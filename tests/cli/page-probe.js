"use strict";
/* Put into a page by test-page.c: uses it as a reader would and leaves what it saw as JSON in an element of its own. */
(async () => {
  const seen = { figures: [], tables: [], violations: 0, error: null };
  document.addEventListener("securitypolicyviolation", () => seen.violations++);
  const saved = [], make = URL.createObjectURL;
  URL.createObjectURL = (blob) => { saved.push(blob); return make.call(URL, blob); };
  HTMLAnchorElement.prototype.click = function () { seen.last_file = this.download; };
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const save_by = async (place) => {
    [...place.querySelectorAll(".tools button")].find((button) => button.textContent === "CSV").click();
    return saved.pop().text();
  };
  const drawable = (figure) => {
    const has = (axis, value) => value !== undefined && value !== null && (!axis.log || value > 0);
    let n = 0;
    for (const series of figure.series)
      for (let i = 0; i < series.n; i++)
        if (figure.figure === "timeline") n += series.x[i] !== null;
        else if (figure.figure === "scatter" || figure.figure === "lines")
          n += has(figure.x, series.x && series.x[i]) && has(figure.y, series.y && series.y[i]);
        else n += has(figure.y, series.y && series.y[i]);
    return n;
  };
  const marks_of = (block, figure) => {
    const plot = block.querySelector(".plot"), count = (selector) => plot.querySelectorAll(selector).length;
    switch (figure.figure) {
      case "bars": return plot.calcdata.reduce((n, trace) => n + trace.filter((one) => Number.isFinite(one.s)).length, 0);
      case "strips": return count(".boxlayer path.box");
      case "matrix": return plot.calcdata[0][0].z.flat().filter((value) => value !== null && Number.isFinite(value)).length;
      case "timeline": return count(".barlayer .point");
      default: return plot.calcdata.reduce((n, trace) => n + trace.filter((one) => one.x !== undefined && Number.isFinite(one.x) && Number.isFinite(one.y)).length, 0);
    }
  };
  try {
    await window.inferometer.draw_all();
    for (const block of window.inferometer.figures) {
      block.hidden = false; /* a variant that is not chosen */
      const figure = block.ifm.figure, plot = block.querySelector(".plot");
      const one = { key: block.dataset.key, kind: figure.figure, points: drawable(figure), dense: figure.series.some((series) => series.n > 2000), marks: marks_of(block, figure),
        shapes: plot.querySelectorAll("svg path, svg image, canvas").length, height: plot.clientHeight,
        words: [...plot.querySelectorAll("svg text")].slice(0, 200).map((one) => one.textContent), csv: await save_by(block) };
      if (figure.figure === "timeline") {
        const [from, to] = plot.layout.xaxis.range;
        await window.Plotly.relayout(plot, { "xaxis.range": [from, from + (to - from) / 50] });
        for (let i = 0; i < 100 && (one.zoomed = marks_of(block, figure)) === one.marks && one.marks > 100; i++) await wait(50);
        one.zoomed_range = plot.layout.xaxis.range;
      }
      seen.figures.push(one);
    }
    for (const block of document.querySelectorAll(".table")) {
      const table = block.querySelector("table"), body = table.tBodies[0], n = body.rows.length;
      const one = { key: block.dataset.key, rows: n, csv: await save_by(block), sorted: true, filtered: -1 };
      const column = [...table.tHead.rows[0].cells].findIndex((cell) => cell.classList.contains("number"));
      if (column >= 0) {
        table.tHead.rows[0].cells[column].querySelector("button").click();
        const values = [...body.rows].map((row) => row.cells[column].dataset.v).filter((v) => v !== undefined).map(Number);
        one.sorted = values.every((value, i) => i === 0 || values[i - 1] <= value);
      }
      const input = block.querySelector("input");
      if (input) {
        input.value = body.rows[0].cells[0].textContent;
        input.dispatchEvent(new Event("input"));
        one.filtered = [...body.rows].filter((row) => !row.hidden).length;
        one.filter_right = [...body.rows].every((row) => row.hidden !== row.textContent.toLowerCase().includes(input.value.toLowerCase().trim().split(/\s+/)[0]) || row.hidden);
      }
      seen.tables.push(one);
    }
  } catch (error) {
    seen.error = String(error) + " " + error.stack;
  }
  seen.requests = performance.getEntriesByType("resource").map((entry) => entry.name).filter((name) => !name.startsWith("data:") && !name.startsWith("blob:"));
  seen.too_wide = document.documentElement.scrollWidth - window.innerWidth;
  seen.scripts_run = window.hostile || 0;
  const place = document.createElement("pre");
  place.id = "probe";
  place.textContent = JSON.stringify(seen);
  document.body.append(place);
})();

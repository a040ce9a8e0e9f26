// Draws the charts of a report from the data that the page carries. Everything
// that the page says without this script stays: tables, figures, notes.
"use strict";

(function () {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const colours = 8;
  let drawn = [];

  function colour(name) {
    return getComputedStyle(document.documentElement)
      .getPropertyValue("--" + name).trim();
  }

  // 12345.678 as "12,346", 0.01234 as "0.0123".
  function text(value) {
    if (value === null || value === undefined) return "–";
    const digits = Math.abs(value) >= 1000 ? { maximumFractionDigits: 0 }
      : { maximumSignificantDigits: 4 };
    return value.toLocaleString("en-US", digits);
  }

  function withUnit(value, axis) {
    if (axis.percent && value !== null && value !== undefined) {
      return text(value * 100) + " %";
    }
    return text(value) + (axis.unit && value !== null ? " " + axis.unit : "");
  }

  // What the legend says of a place; nothing while the pointer is nowhere.
  function read(place, value, axis) {
    return place === null || place === undefined ? "" : withUnit(value, axis);
  }

  // Texts at ticks; those that would run into the one before stay away.
  function textsOf(plot, axis, scale, splits) {
    let end = -Infinity;
    return splits.map((value) => {
      if (value === null) return "";
      const told = axis.percent ? text(value * 100) + "%" : text(value);
      if (scale !== "x") return told;
      const half = told.length * 3.5, at = plot.valToPos(value, scale);
      if (at - half < end + 4) return "";
      end = at + half;
      return told;
    });
  }

  // Room for the texts of an axis of heights.
  function widthOf(_, texts) {
    const longest = Math.max(0, ...(texts || []).map((one) => one.length));
    return Math.max(58, 7 * longest + 20);
  }

  // Between ticks where there is nothing between whole numbers: 1, 2, 5, 10, ...
  const wholeSteps = [];
  for (let power = 1; power < 1e15; power *= 10) wholeSteps.push(power, 2 * power, 5 * power);

  function axisOf(axis, size, scale) {
    return {
      label: axis.label + (axis.unit ? " (" + axis.unit + ")" : ""),
      labelSize: 18,
      size: size,
      stroke: colour("soft"),
      grid: { stroke: colour("line"), width: 1 },
      ticks: { stroke: colour("line"), width: 1 },
      splits: axis.log ? logSplits : undefined,
      incrs: axis.whole ? wholeSteps : undefined,
      filter: axis.log ? (_, splits) => splits : undefined,
      values: (plot, splits) => textsOf(plot, axis, scale, splits),
    };
  }

  // Ticks of a logarithmic axis: powers of ten, and some between when there are few of them.
  function logSplits(_, __, low, high) {
    const at = (digits) => {
      const splits = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
        for (const digit of digits) {
          const value = Number((digit * Math.pow(10, power)).toPrecision(1));
          if (value >= low && value <= high) splits.push(value);
        }
      }
      return splits;
    };
    const splits = [at([1]), at([1, 2, 5]), at([1, 2, 3, 4, 5, 7])]
      .find((list) => list.length >= 4);
    return splits || evenSplits(low, high);
  }

  // Round numbers at equal distances, where the ends of a logarithmic axis are close.
  function evenSplits(low, high) {
    const power = Math.pow(10, Math.floor(Math.log10((high - low) / 4)));
    const step = [1, 2, 2.5, 5, 10].find((digit) => digit * power >= (high - low) / 4) * power;
    const splits = [];
    for (let i = Math.ceil(low / step); i * step <= high; i++) {
      splits.push(Number((i * step).toPrecision(12)));
    }
    return splits;
  }

  // A target that is not far above the values is shown, so that the reader sees the distance.
  function withLimits(high, limits) {
    return limits.reduce((top, one) => (one.at > top && one.at < 3 * top ? one.at : top), high);
  }

  function rangeOf(axis, limits) {
    return function (_, low, high) {
      if (axis.range) return axis.range;
      if (low === null || high === null) return [0, 1];
      high = withLimits(high, limits);
      if (axis.log) return [low, high <= low ? low * 10 : high];
      const bottom = axis.from_zero ? Math.min(0, low) : low;
      const room = 0.04 * (high > bottom ? high - bottom : 1);
      return [axis.from_zero || axis.is_filled ? bottom : bottom - room,
        axis.is_filled ? high : high + room];
    };
  }

  function seriesOf(chart, one, i) {
    const number = one.colour === undefined ? i : one.colour;
    const stroke = colour("c" + (number % colours)), isPoints = chart.marks || one.is_points;
    return {
      label: one.label,
      stroke: stroke,
      width: one.is_thin ? 0.5 : 1.5,
      dash: (one.dashes || []).map((length) => length * devicePixelRatio),
      points: isPoints ? { show: true, size: 7, stroke: stroke, fill: stroke } : { show: false },
      paths: isPoints ? () => null : chart.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
      value: (_, value, __, place) => read(place, value, chart.y),
    };
  }

  // What a series is drawn with, for the legend: a piece of its line, or a point.
  function sampleOf(series, one) {
    const make = (tag, attributes) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
      Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
      return element;
    };
    const isPoints = series.points.show, width = isPoints ? 10 : 26;
    const svg = make("svg", { width: width, height: 10, "aria-hidden": true });
    svg.append(isPoints ? make("circle", { cx: 5, cy: 5, r: 3.5, fill: series.stroke })
      : make("line", { x2: width, y1: 5, y2: 5, stroke: series.stroke, "stroke-width": 2,
        "stroke-dasharray": (one.dashes || []).join(" ") }));
    return svg;
  }

  // Vertical lines at events of the run, with their letters, and targets across an axis.
  function drawMarks(plot, chart) {
    const context = plot.ctx, box = plot.bbox;
    const line = (x0, y0, x1, y1, stroke, dash) => {
      context.strokeStyle = stroke;
      context.setLineDash(dash.map((length) => length * devicePixelRatio));
      context.beginPath();
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
      context.stroke();
    };
    const write = (text, x, y, align) => {
      context.textAlign = align;
      context.fillText(text, x, y);
    };
    context.save();
    context.lineWidth = devicePixelRatio;
    context.font = 11 * devicePixelRatio + "px sans-serif";
    context.textBaseline = "top";
    (chart.happenings || []).forEach((one) => {
      const x = plot.valToPos(one.at, "x", true);
      if (x < box.left || x > box.left + box.width) return;
      line(x, box.top, x, box.top + box.height, colour(one.mark ? "bad" : "line"), [4, 3]);
      context.fillStyle = colour("bad");
      if (one.mark) write(one.mark, x + 3 * devicePixelRatio, box.top, "left");
    });
    (chart.limits || []).forEach((one) => {
      const at = plot.valToPos(one.at, one.axis, true);
      const isX = one.axis === "x";
      const from = isX ? box.left : box.top, to = from + (isX ? box.width : box.height);
      if (at < from || at > to) return;
      context.fillStyle = colour("bad");
      if (isX) {
        line(at, box.top, at, box.top + box.height, colour("bad"), [2, 2]);
        const gap = 4 * devicePixelRatio, height = box.top + box.height * 0.6;
        const isLeft = at - context.measureText(one.text).width - gap > box.left;
        write(one.text, isLeft ? at - gap : at + gap, height, isLeft ? "right" : "left");
      } else {
        line(box.left, at, box.left + box.width, at, colour("bad"), [2, 2]);
        write(one.text, box.left + box.width, at + 2 * devicePixelRatio, "right");
      }
    });
    context.restore();
  }

  // All charts over the time of the run share the place of the pointer and the zoom.
  const clock = uPlot.sync("time");

  function cursorOf(chart) {
    const cursor = { drag: { x: true, y: false } };
    if (chart.is_time) {
      cursor.sync = { key: clock.key, scales: ["x", null], setSeries: false };
    }
    return cursor;
  }

  function hooksOf(chart) {
    const hooks = { draw: [(plot) => drawMarks(plot, chart)] };
    if (!chart.is_time) return hooks;
    hooks.setScale = [(plot, name) => {
      if (name === "x") zoomHeats(plot.scales.x.min, plot.scales.x.max);
    }];
    hooks.setCursor = [(plot) => {
      const left = plot.cursor.left;
      pointHeats(left === undefined || left < 0 ? null : plot.posToVal(left, "x"));
    }];
    return hooks;
  }

  function drawLines(place, chart) {
    const limits = (name) => (chart.limits || []).filter((one) => one.axis === name);
    const scale = (axis, name) => ({
      time: false, distr: axis.log ? 3 : 1, log: 10, range: rangeOf(axis, limits(name)),
    });
    chart.x.is_filled = !chart.marks;
    const series = chart.series.map((one, i) => seriesOf(chart, one, i));
    const options = {
      width: Math.max(place.clientWidth, 200),
      height: 230,
      scales: { x: scale(chart.x, "x"), y: scale(chart.y, "y") },
      axes: [axisOf(chart.x, 34, "x"), axisOf(chart.y, widthOf, "y")],
      series: [{ label: chart.x.label, value: (_, value, __, place) => read(place, value, chart.x) }]
        .concat(series),
      bands: (chart.bands || []).map((band) => ({
        series: band.series, fill: colour("c" + (band.colour % colours)) + "33",
      })),
      legend: { live: true, markers: { width: 0, fill: () => "" } },
      cursor: cursorOf(chart),
      hooks: hooksOf(chart),
    };
    const plot = new uPlot(options, chart.data, place);
    const legend = place.querySelectorAll(".u-legend .u-series");
    chart.series.forEach((one, i) => {
      legend[i + 1].hidden = Boolean(one.is_thin);
      legend[i + 1].querySelector(".u-marker").append(sampleOf(series[i], one));
    });
    drawn.push({ plot: plot, place: place });
  }

  const element = (tag, name, text) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  // Heat maps over time, which follow the cursor and the zoom of the other charts.
  let heats = [];

  // Where a time is among the visible ones, from 0 to 1.
  const shareOf = (heat, time) => (time - heat.from) / (heat.to - heat.from);

  function lineAt(heat, name, time, text) {
    const line = element("span", name, text), share = shareOf(heat, time);
    line.style.left = 100 * share + "%";
    line.hidden = !(share >= 0 && share <= 1);
    return line;
  }

  // Draws the cells of the visible times, the events of the run, and the axis.
  function paint(heat) {
    const chart = heat.chart, rows = chart.rows.length, rgb = colour("heat");
    const most = Math.max(chart.most, 1e-12);
    heat.columns = chart.times.map((_, k) => k)
      .filter((k) => chart.times[k] >= heat.from && chart.times[k] <= heat.to);
    heat.canvas.width = Math.max(heat.columns.length, 1);
    heat.canvas.height = rows;
    const context = heat.canvas.getContext("2d");
    chart.data.forEach((row, y) => heat.columns.forEach((k, x) => {
      if (row[k] === null) return;
      context.fillStyle = "rgba(" + rgb + "," + (row[k] / most).toFixed(3) + ")";
      context.fillRect(x, y, 1, 1);
    }));
    heat.marks.replaceChildren(...(chart.happenings || [])
      .map((one) => lineAt(heat, one.mark ? "mark" : "mark thin", one.at, one.mark || "")));
    heat.axis.replaceChildren(...[0, 0.25, 0.5, 0.75, 1].map((share) => {
      const time = heat.from + share * (heat.to - heat.from);
      return element("span", "", withUnit(Number(time.toPrecision(3)), chart.x));
    }));
  }

  function zoomHeats(from, to) {
    heats.forEach((heat) => {
      heat.from = Math.max(from, 0);
      heat.to = Math.min(to, heat.end);
      if (heat.to > heat.from) paint(heat);
    });
  }

  function pointHeats(time) {
    heats.forEach((heat) => {
      heat.pointer.replaceChildren(...(time === null ? [] : [lineAt(heat, "pointer", time, "")]));
    });
  }

  // Names the cell under the pointer.
  function tellCell(heat, told, event) {
    const chart = heat.chart, box = heat.canvas.getBoundingClientRect(), rows = chart.rows.length;
    const x = Math.floor((event.clientX - box.left) / box.width * heat.columns.length);
    const y = Math.floor((event.clientY - box.top) / box.height * rows);
    const k = heat.columns[Math.min(x, heat.columns.length - 1)];
    if (k === undefined || y < 0 || y >= rows) return;
    told.textContent = chart.rows[y] + " at " + withUnit(chart.times[k], chart.x) + ": "
      + withUnit(chart.data[y][k], chart.y);
  }

  // Rows of cells, the stronger the more, with the names of rows, the times, and a scale. The
  // legend names the cell under the pointer. Empty cells have no value.
  function drawHeat(place, chart) {
    const rows = chart.rows.length, isFew = rows <= 24, canvas = element("canvas", "heat");
    canvas.style.height = (isFew ? Math.max(150, rows * 17)
      : Math.max(120, Math.min(480, rows * 8))) + "px";
    const step = chart.times.length > 1 ? chart.times[1] - chart.times[0] : 1;
    const end = chart.times[chart.times.length - 1] + step / 2;
    const heat = { chart: chart, canvas: canvas, from: 0, to: end, end: end,
      marks: element("div", "marks"), pointer: element("div", "marks"),
      axis: element("div", "times") };
    const names = element("div", isFew ? "rows few" : "rows"), told = element("p", "soft", "");
    (isFew ? chart.rows : [chart.rows[0], chart.rows[rows - 1]]).forEach((name) => {
      names.append(element("span", "", name));
    });
    const scale = element("p", "scale soft");
    scale.append(element("span", "", "0"), element("span", "ramp"),
      element("span", "", withUnit(chart.most, chart.y)), element("span", "", chart.y.label));
    canvas.addEventListener("mousemove", (event) => tellCell(heat, told, event));
    canvas.addEventListener("mouseleave", () => { told.textContent = ""; });
    const cells = element("div", "cells"), frame = element("div", "frame");
    cells.append(canvas, heat.marks, heat.pointer);
    frame.append(names, cells, element("span"), heat.axis);
    place.append(frame, scale, told);
    paint(heat);
    if (chart.is_time) heats.push(heat);
  }

  function draw() {
    drawn.forEach((one) => one.plot.destroy());
    drawn = [];
    heats = [];
    document.querySelectorAll("[data-chart]").forEach((place) => {
      const chart = charts[Number(place.dataset.chart)];
      place.replaceChildren();
      (chart.kind === "heat" ? drawHeat : drawLines)(place, chart);
    });
  }

  function resize() {
    drawn.forEach((one) => one.plot.setSize({
      width: Math.max(one.place.clientWidth, 200), height: 230,
    }));
  }

  // The figures of the page as JSON, shown only to who asks.
  document.querySelectorAll("details[data-json]").forEach((details) => {
    details.addEventListener("toggle", () => {
      const pre = details.querySelector("pre");
      if (details.open && pre.textContent === "") {
        pre.textContent = document.getElementById(details.dataset.json).textContent;
      }
    });
  });

  // What is folded up is on paper, too; the JSON only if somebody has opened it.
  let unfolded = [];

  function unfold() {
    const folded = [...document.querySelectorAll("details:not([data-json], [open])")];
    folded.forEach((details) => { details.open = true; });
    unfolded = unfolded.concat(folded);
    draw();
  }

  function fold() {
    unfolded.forEach((details) => { details.open = false; });
    unfolded = [];
    draw();
  }

  // A click on the head of a column sorts a table by it, a second one in the other direction.
  const numberOf = (cell) => {
    const text = (cell ? cell.textContent : "").replace(/,/g, "");
    const found = text.match(/^-?[\d.]+(e[-+]?\d+)?/);
    return found ? Number(found[0]) : null;
  };

  function sortBy(table, column, isDown) {
    const body = table.tBodies[0];
    const keyed = [...body.rows].map((row) => {
      const cell = row.cells[column];
      return { row: row, number: numberOf(cell), text: cell ? cell.textContent : "" };
    });
    keyed.sort((a, b) => {
      const order = a.number !== null && b.number !== null ? a.number - b.number
        : a.text.localeCompare(b.text, "en", { numeric: true });
      return isDown ? -order : order;
    });
    body.append(...keyed.map((one) => one.row));
    [...table.tHead.rows[0].cells].forEach((head, i) => {
      head.setAttribute("aria-sort", i !== column ? "none" : isDown ? "descending" : "ascending");
    });
  }

  document.querySelectorAll("table.sortable").forEach((table) => {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        sortBy(table, column, head.getAttribute("aria-sort") === "ascending");
      });
    });
  });

  window.addEventListener("resize", resize);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  window.addEventListener("beforeprint", unfold);
  window.addEventListener("afterprint", fold);
  draw();
  document.documentElement.dataset.ready = "true";
})();

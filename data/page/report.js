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

  function rangeOf(axis) {
    return function (_, low, high) {
      if (axis.range) return axis.range;
      if (low === null || high === null) return [0, 1];
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

  function drawLines(place, chart) {
    const scale = (axis) => ({
      time: false, distr: axis.log ? 3 : 1, log: 10, range: rangeOf(axis),
    });
    chart.x.is_filled = !chart.marks;
    const series = chart.series.map((one, i) => seriesOf(chart, one, i));
    const options = {
      width: Math.max(place.clientWidth, 200),
      height: 230,
      scales: { x: scale(chart.x), y: scale(chart.y) },
      axes: [axisOf(chart.x, 34, "x"), axisOf(chart.y, widthOf, "y")],
      series: [{ label: chart.x.label, value: (_, value, __, place) => read(place, value, chart.x) }]
        .concat(series),
      bands: (chart.bands || []).map((band) => ({
        series: band.series, fill: colour("c" + (band.colour % colours)) + "33",
      })),
      legend: { live: true, markers: { width: 0, fill: () => "" } },
      cursor: { drag: { x: true, y: false } },
    };
    const plot = new uPlot(options, chart.data, place);
    const legend = place.querySelectorAll(".u-legend .u-series");
    chart.series.forEach((one, i) => {
      legend[i + 1].hidden = Boolean(one.is_thin);
      legend[i + 1].querySelector(".u-marker").append(sampleOf(series[i], one));
    });
    drawn.push({ plot: plot, place: place });
  }

  // Rows of cells, the stronger the more; names what the pointer is over.
  function drawHeat(place, chart) {
    const rows = chart.rows.length, columns = chart.data[0].length;
    const canvas = document.createElement("canvas");
    const most = Math.max(chart.most, 1e-12), rgb = colour("heat");
    canvas.className = "heat";
    canvas.width = columns;
    canvas.height = rows;
    canvas.style.height = Math.max(120, Math.min(480, rows * 8)) + "px";
    const context = canvas.getContext("2d");
    chart.data.forEach((row, y) => row.forEach((value, x) => {
      if (value === null) return;
      context.fillStyle = "rgba(" + rgb + "," + (value / most).toFixed(3) + ")";
      context.fillRect(x, y, 1, 1);
    }));
    const told = document.createElement("p");
    told.className = "soft";
    const resting = "faintest 0, strongest " + withUnit(chart.most, chart.y)
      + "; time from left to right, 0 to "
      + withUnit(chart.times[columns - 1], chart.x) + ", " + chart.rows[0] + " on top, " + chart.rows[rows - 1]
      + " at the bottom";
    told.textContent = resting;
    canvas.addEventListener("mousemove", (event) => {
      const box = canvas.getBoundingClientRect();
      const x = Math.min(columns - 1, Math.floor((event.clientX - box.left) / box.width * columns));
      const y = Math.min(rows - 1, Math.floor((event.clientY - box.top) / box.height * rows));
      if (x < 0 || y < 0) return;
      told.textContent = chart.rows[y] + " at " + withUnit(chart.times[x], chart.x) + ": "
        + withUnit(chart.data[y][x], chart.y);
    });
    canvas.addEventListener("mouseleave", () => { told.textContent = resting; });
    place.append(canvas, told);
  }

  function draw() {
    drawn.forEach((one) => one.plot.destroy());
    drawn = [];
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

  window.addEventListener("resize", resize);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  window.addEventListener("beforeprint", unfold);
  window.addEventListener("afterprint", fold);
  draw();
  document.documentElement.dataset.ready = "true";
})();

"use strict";
// Draws the charts of a q2c report at load, in the colours of the page's scheme.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  let figures = {};
  const charts = [...document.querySelectorAll("[data-chart]")];
  const shownView = new Map();

  // The style sheet's colours, resolved for the scheme in force.
  const probe = document.body.appendChild(document.createElement("span"));
  probe.hidden = true;
  function colour(name) {
    const degrees = name.match(/^hue(\d+)$/)?.[1];
    probe.style.color = degrees ? `light-dark(hsl(${degrees} 65% 38%), hsl(${degrees} 70% 68%))` : `var(--${name})`;
    return getComputedStyle(probe).color;
  }

  // From pale to the full colour; the steps are nearly logarithmic, so that 1 can be told from 10.
  const RAMP = [[0, 0.25], [0.01, 0.35], [0.03, 0.45], [0.1, 0.6], [0.3, 0.8], [1, 1]];
  function ramp(name) {
    const [from, to] = [colour("paper"), colour(name)].map((text) => text.match(/[\d.]+/g).map(Number));
    const mixed = (share) => from.slice(0, 3).map((part, i) => Math.round(part + (to[i] - part) * share));
    return RAMP.map(([at, share]) => [at, `rgb(${mixed(share)})`]);
  }

  // Only these keys hold names of colours: a text from outside that starts with `@` stays a text.
  function inColour(value, key) {
    if (Array.isArray(value)) return value.map((item) => inColour(item, key));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, inColour(v, k)]));
    }
    if (typeof value === "string" && value.startsWith("@")) {
      if (key === "color") return colour(value.slice(1));
      if (key === "colorscale") return value.startsWith("@ramp-") ? ramp(value.slice(6)) : "Viridis";
    }
    return value;
  }

  // Below this width a chart is on a phone, or one of three beside each other. Its legend is then a
  // list of the page, whose lines wrap.
  const NARROW = 520;
  const narrow = (plot) => plot.clientWidth < NARROW;
  const unescaped = (text) => text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");

  function inLegend(view) {
    const named = view.data.filter((trace) => trace.name && trace.type !== "heatmap" && trace.showlegend !== false);
    const asked = view.layout.showlegend ?? (named.length > 1 || named.some((trace) => trace.showlegend));
    return asked ? named : [];
  }

  function addKey(plot, view) {
    plot.parentElement.querySelector(".key")?.remove();
    const traces = narrow(plot) ? inLegend(view) : [];
    if (!traces.length) return;
    const key = document.createElement("ul");
    key.className = "key";
    for (const trace of traces.map((trace) => inColour(trace))) {
      const item = key.appendChild(document.createElement("li"));
      const stroke = item.appendChild(document.createElement("span"));
      const line = trace.mode ? trace.mode.includes("lines") : trace.type !== "bar";
      const colour = [line ? trace.line?.color : trace.marker?.color, trace.marker?.color, trace.line?.color, trace.fillcolor]
        .find((found) => typeof found === "string");
      stroke.className = line ? `stroke ${trace.line?.dash ?? ""}` : "dot";
      stroke.style.color = colour ?? "inherit";
      item.append(unescaped(trace.name));
    }
    plot.after(key);
  }

  // What labels of a narrow axis would overlap: categories are turned, and of round numbers those
  // nearer to the begin go.
  function thinned(axis, view, plot) {
    const room = plot.clientWidth - 90, letter = 6.5;
    const { tickvals: at, ticktext: texts } = axis;
    const values = view.data.flatMap((trace) => trace.x ?? []);
    if (!narrow(plot)) return axis;
    if (values.some((value) => typeof value === "string") && !texts) {
      const letters = [...new Set(values)].join("  ").length;
      const [from, to] = axis.domain ?? [0, 1];
      return letters * letter > room * (to - from) ? { tickangle: -90, ...axis } : axis;
    }
    if (!at || !texts) return axis;
    const scale = axis.type === "log" ? Math.log10 : (value) => value;
    const numbers = values.filter((value) => Number.isFinite(value) && (axis.type !== "log" || value > 0)).map(scale);
    const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
    const kept = [];
    let free = Infinity;
    for (let i = at.length - 1; i >= 0; i -= 1) {
      const middle = (scale(at[i]) - least) / (most - least || 1) * room;
      const half = texts[i].length * letter / 2 + 4;
      if (middle > room * 1.05 || middle < -room * 0.05 || middle + half > free) continue;
      kept.unshift(i);
      free = middle - half;
    }
    // With few labels left, the axis makes its own.
    if (kept.length < 2) return { ...axis, tickvals: undefined, ticktext: undefined };
    return { ...axis, tickvals: kept.map((i) => at[i]), ticktext: kept.map((i) => texts[i]) };
  }

  function layoutOf(view, wide, plot) {
    const layout = inColour(view.layout);
    for (const key of Object.keys(layout).filter((name) => /^xaxis/.test(name))) layout[key] = thinned(layout[key], view, plot);
    const [ink, muted, grid, paper] = ["ink", "muted", "grid", "paper"].map(colour);
    for (const key of Object.keys(layout).filter((name) => /^[xy]axis/.test(name))) {
      layout[key] = {
        gridcolor: grid, linecolor: grid, zerolinecolor: grid, tickcolor: grid,
        automargin: true, tickfont: { color: muted }, ...layout[key],
      };
      layout[key].title = { standoff: 8, font: { size: 12, color: muted }, ...layout[key].title };
    }
    return {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: ink },
      margin: { l: 56, r: 16, t: wide ? 24 : 12, b: 44 },
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 11.5 } },
      hoverlabel: { bgcolor: paper, bordercolor: grid, font: { color: ink, size: 12 }, namelength: -1 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: grid, activecolor: muted },
      hovermode: "closest",
      ...layout,
      ...(narrow(plot) ? { showlegend: false } : {}),
    };
  }

  // The text of an element whose content is packed.
  async function unpack(id) {
    if (!window.DecompressionStream) {
      throw new Error("this browser is too old to unpack the page's charts; one of 2023 or later can");
    }
    const text = document.getElementById(id).textContent;
    const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  // A script of exactly the library's text is the only one that the page's policy admits from here.
  async function start() {
    const script = document.createElement("script");
    script.textContent = await unpack("library");
    document.head.append(script);
    script.remove();
  }
  let started;

  // Charts of a section over the same time zoom together. What is shown of the time is kept by
  // section; a section without an entry shows all of it.
  const shownTime = new Map();
  const sectionOf = (chart) => chart.closest("section, details.fact") ?? document.body;
  const viewOf = (chart) => figures[chart.dataset.chart][shownView.get(chart.dataset.chart) ?? 0];
  const overTime = (chart) => viewOf(chart).layout.xaxis?.linked === true;
  const rangeOf = (plot) => (plot.layout.xaxis.autorange ? undefined : plot.layout.xaxis.range?.map(Number));
  const same = (one, other) => String(one) === String(other);

  function showTime(chart, range) {
    const plot = chart.querySelector(".plot");
    if (same(rangeOf(plot), range)) return undefined;
    return Plotly.relayout(plot, range ? { "xaxis.range": [...range] } : { "xaxis.autorange": true });
  }

  // What one chart shows, the others of its section show as well.
  function follow(chart) {
    if (chart.dataset.follows) return;
    chart.dataset.follows = "yes";
    const plot = chart.querySelector(".plot");
    const section = sectionOf(chart);
    plot.on("plotly_relayout", () => {
      const range = rangeOf(plot);
      if (!overTime(chart) || same(shownTime.get(section), range)) return;
      if (range) shownTime.set(section, range);
      else shownTime.delete(section);
      for (const other of charts) {
        const drawn = other !== chart && other.dataset.state === "drawn";
        if (drawn && sectionOf(other) === section && overTime(other)) showTime(other, range);
      }
    });
  }

  async function draw(chart) {
    const id = chart.dataset.chart;
    const plot = chart.querySelector(".plot");
    const wide = chart.classList.contains("wide");
    try {
      started ??= start();
      await started;
      const view = viewOf(chart);
      await Plotly.react(plot, view.data.map((trace) => inColour(trace)), layoutOf(view, wide, plot), {
        responsive: true, displaylogo: false, displayModeBar: wide && !narrow(plot) ? "hover" : false,
        modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
      });
      follow(chart);
      if (overTime(chart)) await showTime(chart, shownTime.get(sectionOf(chart)));
      addKey(plot, view);
      chart.dataset.narrow = narrow(plot);
      chart.dataset.state = "drawn";
    } catch (error) {
      chart.dataset.state = "failed";
      plot.className = "plot failed";
      plot.textContent = `This chart could not be drawn: ${error.message}`;
      throw error;
    }
  }

  // The buttons that switch between a chart's views.
  function addViews(chart) {
    const id = chart.dataset.chart;
    const views = figures[id];
    if (views.length < 2) return;
    const group = chart.querySelector(".views");
    views.forEach((view, index) => {
      const button = group.appendChild(document.createElement("button"));
      button.type = "button";
      button.textContent = view.label;
      button.setAttribute("aria-pressed", index === 0);
      button.addEventListener("click", () => {
        shownView.set(id, index);
        for (const other of group.children) other.setAttribute("aria-pressed", other === button);
        draw(chart);
      });
    });
  }

  const ready = unpack("figures").then((text) => {
    figures = JSON.parse(text);
    charts.forEach(addViews);
  });
  // A folded chart has no width to be drawn in: it is drawn when it is opened.
  const isShown = (chart) => chart.offsetParent !== null;
  async function drawShown() {
    await ready;
    const waiting = charts.filter((chart) => !chart.dataset.state && isShown(chart));
    for (const chart of waiting) chart.dataset.state = "drawing";
    // One that fails says so in its place, and leaves the others alone.
    for (const chart of waiting) await draw(chart).catch(console.error);
  }
  for (const details of document.querySelectorAll("details")) details.addEventListener("toggle", drawShown);

  function redraw() {
    for (const chart of charts.filter((chart) => chart.dataset.state === "drawn")) draw(chart);
  }

  // Everything, with what is folded: for paper.
  async function drawAll() {
    for (const details of document.querySelectorAll("details")) details.open = true;
    await drawShown();
  }

  // A table that is wider than its place says so.
  const widths = new ResizeObserver((entries) => {
    for (const { target } of entries) target.classList.toggle("clipped", target.scrollWidth > target.clientWidth + 1);
  });
  for (const place of document.querySelectorAll(".scroll")) widths.observe(place);

  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      const text = button.parentElement.querySelector("code").textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "copied";
      } catch {
        getSelection().selectAllChildren(button.parentElement.querySelector("code"));
        button.textContent = "selected";
      }
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
  }

  // Legends and labels depend on the width.
  window.addEventListener("resize", () => {
    for (const chart of charts.filter((chart) => chart.dataset.state === "drawn")) {
      const was = chart.dataset.narrow === "true";
      if (was !== narrow(chart.querySelector(".plot"))) draw(chart);
    }
  });

  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", redraw);
  document.getElementById("scheme").addEventListener("click", () => {
    const now = root.style.colorScheme || (dark.matches ? "dark" : "light");
    root.style.colorScheme = now === "dark" ? "light" : "dark";
    redraw();
  });

  function fail(error) {
    for (const chart of charts) {
      chart.dataset.state = "failed";
      chart.querySelector(".plot").textContent = `This chart could not be drawn: ${error.message}`;
    }
    throw error;
  }

  ready.then(() => {
    window.addEventListener("beforeprint", drawAll);
    return location.hash === "#everything" ? drawAll() : drawShown();
  }).catch(fail);
})();

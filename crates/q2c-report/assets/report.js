"use strict";
// Draws the charts of a q2c report: each when it comes into view, in the colours of the page's scheme.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const charts = [...document.querySelectorAll("[data-chart]")];
  const shownView = new Map();

  // The style sheet's colours, resolved for the scheme in force.
  const probe = document.body.appendChild(document.createElement("span"));
  probe.hidden = true;
  function colour(name) {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  }

  // Only these keys hold names of colours: a text from outside that starts with `@` stays a text.
  function inColour(value, key) {
    if (Array.isArray(value)) return value.map((item) => inColour(item, key));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, inColour(v, k)]));
    }
    if (typeof value === "string" && value.startsWith("@")) {
      if (key === "color") return colour(value.slice(1));
      if (key === "colorscale") return "Viridis";
    }
    return value;
  }

  function layoutOf(view, wide) {
    const layout = inColour(view.layout);
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
      legend: { orientation: "h", x: 0, y: -0.16, yanchor: "top", font: { size: 11.5 } },
      hoverlabel: { bgcolor: paper, bordercolor: grid, font: { color: ink, size: 12 }, namelength: -1 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: grid, activecolor: muted },
      hovermode: "closest",
      ...layout,
    };
  }

  async function draw(chart) {
    const id = chart.dataset.chart;
    const view = figures[id][shownView.get(id) ?? 0];
    const plot = chart.querySelector(".plot");
    const wide = chart.classList.contains("wide");
    try {
      await Plotly.react(plot, view.data.map((trace) => inColour(trace)), layoutOf(view, wide), {
        responsive: true, displaylogo: false, displayModeBar: wide ? "hover" : false,
        modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
      });
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

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((entry) => entry.isIntersecting)) {
      seen.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "300px" });

  function redraw() {
    for (const chart of charts.filter((chart) => chart.dataset.state === "drawn")) draw(chart);
  }

  // Everything at once, block sizes below each other: for paper.
  async function drawAll() {
    document.body.classList.add("everything");
    for (const chart of charts) {
      seen.unobserve(chart);
      await draw(chart);
    }
  }

  const tabs = [...document.querySelectorAll("[role=tab]")];
  for (const tab of tabs) {
    tab.addEventListener("click", () => {
      for (const other of tabs) {
        other.setAttribute("aria-selected", other === tab);
        document.getElementById(other.getAttribute("aria-controls")).classList.toggle("shown", other === tab);
      }
      window.dispatchEvent(new Event("resize"));
    });
  }

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

  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", redraw);
  document.getElementById("scheme").addEventListener("click", () => {
    const now = root.style.colorScheme || (dark.matches ? "dark" : "light");
    root.style.colorScheme = now === "dark" ? "light" : "dark";
    redraw();
  });

  charts.forEach(addViews);
  charts.forEach((chart) => seen.observe(chart));
  window.addEventListener("beforeprint", drawAll);
  if (location.hash === "#everything") drawAll();
})();

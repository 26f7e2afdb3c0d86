//! A report that is open in a browser, and what tests ask about it.

use crate::chromium::Chromium;
use crate::devtools::DevTools;
use base64::Engine as _;
use q2c_report::Reported;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A script that counts the content of a chart: requested traces, drawn groups and marks, paths
/// with NaN, titles.
const CENSUS: &str = "(id) => {
  const plot = document.querySelector(`[data-chart='${id}'] .plot`);
  const count = (selector) => plot.querySelectorAll(selector).length;
  const filled = (selector, key) =>
    [...plot.querySelectorAll(selector)].filter((e) => (e.getAttribute(key) ?? '').length > 4).length;
  return {
    traces: plot.data.length,
    bars: plot.data.filter((trace) => trace.type === 'bar').length,
    groups: count('.scatterlayer > .trace') + count('.heatmaplayer > .hm'),
    marks: filled('.scatterlayer path.js-line', 'd') + filled('.scatterlayer path.point', 'd')
      + filled('.heatmaplayer image', 'href'),
    broken: [...plot.querySelectorAll('path')].filter((p) => /NaN|undefined/.test(p.getAttribute('d'))).length,
    y: plot.layout.yaxis.title?.text,
    colour: plot.layout.coloraxis?.colorbar.title.text,
  };
}";

/// An open report. Dropping it stops the browser. If the test has not read the complaints, dropping
/// it also asserts that the page loaded only itself and that the browser reported no error.
pub(crate) struct BrowserPage {
    tools: DevTools,
    url: String,
    has_read_complaints: bool,
    _browser: Chromium,
}

impl BrowserPage {
    /// Opens the report of a result; `None` if there is no browser.
    pub(crate) fn open(result: &impl Reported) -> Option<Self> {
        Self::open_html(&result.document().page().expect("make the report"))
    }

    /// Opens a page; `None` if there is no browser.
    pub(crate) fn open_html(html: &str) -> Option<Self> {
        let browser = Chromium::start()?;
        let file = browser.folder().join("report.html");
        std::fs::write(&file, html).expect("write the report");
        let url = format!("file://{}", file.display());
        let mut tools = DevTools::connect(browser.socket());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            tools.call(&format!("{domain}.enable"), &json!({}));
        }
        tools.call("Page.navigate", &json!({"url": url}));
        tools.wait_for("Page.loadEventFired");
        Some(BrowserPage {
            tools,
            url,
            has_read_complaints: false,
            _browser: browser,
        })
    }

    /// The value of an expression in the page; promises are waited for.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut answer = self.tools.call("Runtime.evaluate", &params);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].take()
    }

    /// Evaluates an expression again and again until its value is `expected`.
    pub(crate) fn wait_for_value(&mut self, expression: &str, expected: &Value) {
        // Many browsers start at once on few CPUs, so the limit is long.
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            let value = self.evaluate(expression);
            if value == *expected {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{expression}: {value} instead of {expected}"
            );
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// The value of an expression in which `p` is the plot of a chart.
    pub(crate) fn of_plot(&mut self, chart: &str, expression: &str) -> Value {
        let plot = format!("document.querySelector('[data-chart={chart}] .plot')");
        self.evaluate(&format!(
            "(() => {{ const p = {plot}; return {expression}; }})()"
        ))
    }

    /// Brings a chart into view, and returns the value of an expression on its plot `p`.
    pub(crate) fn plotted(&mut self, chart: &str, expression: &str) -> Value {
        self.scroll_to(chart);
        self.of_plot(chart, expression)
    }

    /// Asserts that a chart is drawn with this number of traces. `view` is the index of a view, or
    /// `None` for a chart with one view, which has no buttons.
    pub(crate) fn assert_drawn(&mut self, chart: &str, view: Option<usize>, traces: u64) -> Value {
        let plot = match view {
            Some(view) => self.show_view(chart, view),
            None => self.scroll_to(chart),
        };
        assert_eq!(plot["traces"], json!(traces), "{chart} {view:?}: {plot}");
        assert_eq!(
            plot["groups"],
            json!(traces - plot["bars"].as_u64().expect("a count")),
            "{chart} {view:?}: {plot}"
        );
        assert_eq!(plot["broken"], json!(0), "{chart} {view:?}: {plot}");
        plot
    }

    /// Asserts the number of traces of each chart and view.
    pub(crate) fn assert_charts(&mut self, charts: &[(&str, Option<usize>, u64)]) {
        for &(chart, view, traces) in charts {
            self.assert_drawn(chart, view, traces);
        }
    }

    /// Asserts that a chart has views with these y axes, each with its number of traces.
    pub(crate) fn assert_views(&mut self, chart: &str, views: &[(&str, u64)]) {
        for (view, (title, traces)) in views.iter().enumerate() {
            let plot = self.assert_drawn(chart, Some(view), *traces);
            assert_eq!(plot["y"], json!(title), "{chart}: {plot}");
        }
    }

    /// Asserts that the page contains these texts, also in folded parts, and that no text acts as
    /// markup.
    pub(crate) fn assert_says(&mut self, words: &[&str]) {
        let text = self.evaluate(
            "document.querySelectorAll('.warnings').forEach((of) => { of.open = true; }), document.body.innerText",
        );
        let text = text.as_str().expect("the page's text");
        for sentence in words {
            assert!(text.contains(sentence), "{sentence}: {text}");
        }
        assert_eq!(self.evaluate("window.ran === undefined"), json!(true));
        assert_eq!(self.evaluate("document.scripts.length"), json!(3));
    }

    /// Opens all folded parts.
    pub(crate) fn unfold(&mut self) {
        self.evaluate("document.querySelectorAll('details').forEach((of) => { of.open = true; })");
    }

    /// Clicks the element that a selector finds.
    pub(crate) fn click(&mut self, selector: &str) {
        self.evaluate(&format!("document.querySelector('{selector}').click()"));
    }

    /// The number of charts that are drawn so far.
    pub(crate) fn count_drawn(&mut self) -> usize {
        let drawn = self.evaluate("document.querySelectorAll('[data-state=drawn]').length");
        usize::try_from(drawn.as_u64().expect("a count")).expect("a small count")
    }

    /// Brings a chart into view, waits until it is drawn, and returns its [`CENSUS`].
    pub(crate) fn scroll_to(&mut self, chart: &str) -> Value {
        let figure = format!("document.querySelector(\"[data-chart='{chart}']\")");
        self.evaluate(&format!("{figure}.scrollIntoView()"));
        self.wait_for_value(&format!("{figure}.dataset.state"), &json!("drawn"));
        self.evaluate(&format!("({CENSUS})('{chart}')"))
    }

    /// Switches a chart to one of its views, and returns its [`CENSUS`] there.
    pub(crate) fn show_view(&mut self, chart: &str, index: usize) -> Value {
        self.scroll_to(chart);
        let button =
            format!("document.querySelectorAll(\"[data-chart='{chart}'] .views button\")[{index}]");
        self.evaluate(&format!("{button}.click()"));
        self.evaluate("new Promise((done) => setTimeout(done, 150))");
        let pressed = self.evaluate(&format!("{button}.getAttribute('aria-pressed')"));
        assert_eq!(pressed, json!("true"));
        self.evaluate(&format!("({CENSUS})('{chart}')"))
    }

    /// Sets the colour scheme, `light` or `dark`, that the browser reports as the reader's choice.
    pub(crate) fn prefer_scheme(&mut self, scheme: &str) {
        let feature = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.tools.call("Emulation.setEmulatedMedia", &feature);
    }

    /// Sets the size of the window, in CSS pixels.
    pub(crate) fn set_screen(&mut self, width: u32, height: u32) {
        let screen = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.tools
            .call("Emulation.setDeviceMetricsOverride", &screen);
        self.evaluate("new Promise((done) => setTimeout(done, 300))");
    }

    /// Writes a picture of the whole page where the variable `Q2C_SCREENSHOTS` names a folder.
    pub(crate) fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("Q2C_SCREENSHOTS") else {
            return;
        };
        let params = json!({"format": "png", "captureBeyondViewport": true});
        let picture = self.tools.call("Page.captureScreenshot", &params);
        let data = picture["data"].as_str().expect("a picture");
        let bytes = base64::engine::general_purpose::STANDARD.decode(data);
        let path = std::path::Path::new(&folder).join(format!("{name}.png"));
        std::fs::write(path, bytes.expect("base64")).expect("write the picture");
    }

    /// Everything that the browser has reported so far: exceptions, dialogs, and errors and
    /// warnings of console and log.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        self.has_read_complaints = true;
        // One more round trip, so that late events arrive.
        self.evaluate("new Promise((done) => setTimeout(done, 100))");
        let events = self.tools.events.iter().filter(|event| is_complaint(event));
        events.map(Value::to_string).collect()
    }
}

impl Drop for BrowserPage {
    fn drop(&mut self) {
        if std::thread::panicking() || self.has_read_complaints {
            return;
        }
        let complaints = self.complaints();
        assert!(complaints.is_empty(), "{complaints:#?}");
        let events = self.tools.events.iter();
        let requests = events.filter(|e| e["method"] == "Network.requestWillBeSent");
        let urls = requests.filter_map(|e| e["params"]["request"]["url"].as_str());
        // The browser reports a picture inside the page like a request, but sends none.
        let urls: Vec<&str> = urls.filter(|url| !url.starts_with("data:image/")).collect();
        assert_eq!(urls, [self.url.as_str()], "requests");
    }
}

fn is_complaint(event: &Value) -> bool {
    let loud = |level: &Value| level == "error" || level == "warning" || level == "assert";
    match event["method"].as_str() {
        Some("Runtime.exceptionThrown" | "Page.javascriptDialogOpening") => true,
        Some("Runtime.consoleAPICalled") => loud(&event["params"]["type"]),
        Some("Log.entryAdded") => loud(&event["params"]["entry"]["level"]),
        _ => false,
    }
}

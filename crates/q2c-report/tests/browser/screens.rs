//! Every page on a desktop and on a phone, light and dark: nothing is clipped, nothing overlaps.
//!
//! With the variable `Q2C_SCREENSHOTS` set to a folder, a picture of each page is written there.

use crate::page::BrowserPage;
use crate::tune_jobs::tune_jobs_fixture;
use crate::{bench, fixture};
use q2c_report::Reported;
use q2c_result::kernel_watch::KernelInterval;
use serde_json::json;

/// Width and height of the window on a desktop and on a phone, in CSS pixels.
const SCREENS: [(u32, u32); 2] = [(1280, 900), (400, 800)];
/// The page of `q2c tune` is at most this high on a phone, in CSS pixels.
const MAX_TUNE_HEIGHT: u64 = 8_000;

/// Lists what a reader cannot read: parts outside the page, text that is cut off or broken within a
/// badge or a word, chart labels that overlap, and tables that are cut off without a hint.
const UNREADABLE: &str = "(() => {
  const found = [];
  const name = (e) => `${e.tagName}.${e.getAttribute('class') ?? ''} ${(e.textContent ?? '').trim().slice(0, 40)}`;
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const e of document.querySelectorAll('main *, header *, footer *')) {
    const box = e.getBoundingClientRect();
    if (!box.width || !e.checkVisibility() || e.closest('.plot')) continue;
    if (!e.closest('.scroll') && (box.right > width + 1 || box.left < -1)) found.push(`outside: ${name(e)}`);
    const style = getComputedStyle(e);
    const cuts = style.overflowX === 'hidden' || style.overflowX === 'clip';
    if (cuts && e.scrollWidth > e.clientWidth + 1) found.push(`cut off: ${name(e)}`);
    if (e.matches('.badge') && e.getClientRects().length > 1) found.push(`broken: ${name(e)}`);
    if (e.matches('dt')) {
      const text = document.createRange();
      text.selectNodeContents(e);
      const lines = new Set([...text.getClientRects()].map((line) => Math.round(line.top))).size;
      if (lines > e.textContent.trim().split(/\\s+/).length) found.push(`broken: ${name(e)}`);
    }
    if (e.matches('.scroll') && e.scrollWidth > e.clientWidth + 1 && !e.classList.contains('clipped')) found.push(`no hint: ${name(e)}`);
  }
  for (const plot of document.querySelectorAll('[data-state=drawn] .plot')) {
    const id = plot.closest('[data-chart]').dataset.chart;
    const frame = plot.getBoundingClientRect();
    const labels = [...plot.querySelectorAll('.legendtext, .xtick text, .ytick text, .y2tick text, .xtitle, .ytitle, .y2title, .annotation-text, .cbaxis text, .cbtitle')]
      .map((e) => [e, e.getBoundingClientRect()]).filter(([, b]) => b.width && b.height);
    for (const [at, [e, a]] of labels.entries()) {
      if (a.right > frame.right + 2 || a.left < frame.left - 2 || a.bottom > frame.bottom + 2) found.push(`${id}: outside: ${e.textContent}`);
      for (const [other, b] of labels.slice(at + 1)) {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (across > 2 && down > 3) found.push(`${id}: ${e.textContent} over ${other.textContent}`);
      }
    }
  }
  return [...new Set(found)];
})()";

/// The share of the first section's chart that lies above the end of the first screen, 0 to 1; 1
/// if that section has no chart.
const FIRST_CHART: &str = "(() => {
  window.scrollTo(0, 0);
  const first = document.querySelector('main > section, main > details')?.querySelector('.chart');
  if (!first) return 1;
  const box = first.getBoundingClientRect();
  return Math.min(1, (window.innerHeight - box.top) / box.height);
})()";
/// The smallest share of that chart that the first screen of a desktop must show.
const MIN_FIRST_CHART_SHARE: f64 = 0.25;

/// Draws every chart of every tab, as for paper.
const EVERYTHING: &str = "(async () => {
  for (const chart of document.querySelectorAll('[data-chart]')) {
    chart.scrollIntoView();
    for (let i = 0; i < 600 && !['drawn', 'failed'].includes(chart.dataset.state) && chart.offsetParent; i++)
      await new Promise((done) => setTimeout(done, 50));
  }
  window.scrollTo(0, 0);
  await new Promise((done) => setTimeout(done, 200));
})()";

/// Opens a page on each screen in each colour scheme, and asserts that all of it can be read.
fn assert_readable(name: &str, result: &impl Reported) {
    let html = result.document().page().expect("make the page");
    assert!(html.len() < 1_200_000, "{name}: {} bytes", html.len());
    let Some(mut page) = BrowserPage::open_html(&html) else {
        return;
    };
    let mut faults = Vec::new();
    for (width, height) in SCREENS {
        page.set_screen(width, height);
        for scheme in ["light", "dark"] {
            page.prefer_scheme(scheme);
            page.evaluate(EVERYTHING);
            let unreadable = page.evaluate(UNREADABLE);
            if unreadable != json!([]) {
                faults.push(format!("{width} {scheme}: {unreadable:#}"));
            }
            page.picture(&format!("{name}-{width}-{scheme}"));
        }
        let seen = page.evaluate(FIRST_CHART).as_f64();
        if (width, height) == SCREENS[0] && seen.is_none_or(|seen| seen < MIN_FIRST_CHART_SHARE) {
            faults.push(format!("the first screen has {seen:?} of the first chart"));
        }
        let tall = page.evaluate("document.documentElement.scrollHeight");
        if name == "tune" && tall.as_u64() > Some(MAX_TUNE_HEIGHT) {
            faults.push(format!(
                "{width}: {tall} tall, at most {MAX_TUNE_HEIGHT} are allowed"
            ));
        }
    }
    assert!(faults.is_empty(), "{name}: {}", faults.join("\n"));
}

/// Defines tests, each of which asserts that some pages are readable: their names and results.
macro_rules! readable {
    ($($test:ident: $($name:literal $result:expr),+;)+) => {
        $(
            #[test]
            fn $test() {
                $(assert_readable($name, &$result);)+
            }
        )+
    };
}

readable! {
    a_tune_is_readable: "tune" fixture::tune();
    a_tune_over_jobs_is_readable: "tune-jobs" tune_jobs_fixture::over_jobs(&fixture::tune());
    a_benchmark_is_readable: "bench" fixture::bench(), "bench-phases" fixture::bench_phases(),
        "bench-stages" fixture::bench_stages(),
        "bench-one-job" bench::one_job(fixture::bench_stages()),
        "bench-lines" bench::many_lines(fixture::bench());
    a_sweep_is_readable: "sweep" fixture::sweep(), "sweep-rules" fixture::sweep_rules();
    an_analysis_is_readable: "analyze" fixture::analyze(), "analyze-few" fixture::analyze_few();
    replays_are_readable: "replay" fixture::replay(), "compare" fixture::compare(),
        "published" fixture::compare_published();
    experiments_are_readable: "reproduce" fixture::reproduce(),
        "reproduce-all" fixture::reproduce_all();
    placements_are_readable: "place-sim" fixture::place_sim(), "place-run" fixture::place_run(),
        "place-watch" fixture::place_watch(), "place-calibrate" fixture::place_calibrate();
    a_prediction_and_file_systems_are_readable: "scale" fixture::scale(), "fs" fixture::fs();
}

#[test]
fn studies_of_polling_are_readable() {
    assert_readable("poll-study", &fixture::poll_study());
    assert_readable("poll-search", &fixture::poll_search());
    let mut kernel = fixture::kernel_tune();
    let page = kernel.document().page().expect("make the page");
    assert!(!page.contains("kernel-over-time"));
    for method in &mut kernel.methods {
        let first = method.series[0].clone();
        method.series.extend((2..=10).map(|n| KernelInterval {
            end_s: 0.2 * f64::from(n),
            ..first.clone()
        }));
    }
    assert_readable("tune-kernel", &kernel);
}

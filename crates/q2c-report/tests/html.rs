//! The page as a text: what must hold whatever a browser makes of it.

mod fixture;

fn page(result: &q2c_result::tune::TuneResult) -> String {
    q2c_report::html::tune(result).expect("make the report")
}

#[test]
fn the_chart_library_is_in_it_once() {
    let page = page(&fixture::realistic());
    assert_eq!(page.matches("* plotly.js v").count(), 1);
    assert!(page.len() < 6_000_000, "{} bytes", page.len());
}

#[test]
fn no_element_loads_anything() {
    let page = page(&fixture::realistic());
    for element in [
        "<link",
        "<img",
        "<iframe",
        "<script src",
        "@import",
        "<object",
        "<base",
    ] {
        // The chart library's own text names some of these in its code.
        let ours = page.split("* plotly.js v").next().expect("a first part");
        assert!(!ours.contains(element), "{element}");
    }
}

#[test]
fn hostile_strings_never_reach_the_markup() {
    let page = page(&fixture::hostile());
    for text in [
        fixture::hostile::SCRIPT,
        fixture::hostile::BREAKOUT,
        "<img src=x",
    ] {
        assert!(!page.contains(text), "{text:?}");
    }
    let blocks = page.matches("</script>").count();
    assert_eq!(blocks, 3, "the data, the library, the page's own");
}

#[test]
fn the_warnings_and_the_lines_to_apply_are_there() {
    let page = page(&fixture::realistic());
    for text in [
        "1.00 device interrupts per polled I/O",
        "set nvme.poll_queues and reboot for true polling",
        "q2c bench /dev/nvme0n1 --bs 4096 --method hybrid:min:ratio=85%,period=10ms",
        "options nvme poll_queues=4",
        "use min 80 % 10 ms",
        "Not available: hybrid-kernel.</strong> Linux 6.18.0 has none",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn numbers_that_are_none_and_ragged_series_are_gaps() {
    let mut result = fixture::realistic();
    for cell in &mut result.cells {
        cell.measured.iops.median = f64::NAN;
        cell.measured.kiops_per_core.median = f64::INFINITY;
        cell.series.iops.truncate(3);
        cell.series.t_s.push(f64::NAN);
        cell.latency_quantiles = vec![(1.0, f64::INFINITY)];
    }
    result.sweeps[0].pareto = vec![usize::MAX];
    result.sweeps[0].best = Some(usize::MAX);
    result.calibration[0].cost.wake_hit.z.clear();
    result.recommendation.clear();
    let page = page(&result);
    let (_, figures) = page.split_once("id=\"figures\">").expect("the figures");
    let (figures, _) = figures.split_once("</script>").expect("their end");
    let figures: serde_json::Value = serde_json::from_str(figures).expect("JSON");
    assert_eq!(
        figures["latency-4096"][0]["data"][0]["x"],
        serde_json::json!([null])
    );
}

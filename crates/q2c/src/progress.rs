//! The progress of work other than trials: a line on the terminal that is rewritten and removed at
//! the end. Nothing is written if stderr is not a terminal. The trials of a run have their own
//! display, [`q2c_run::runner::progress`].

use crate::output::{fit_terminal, is_answers_alone};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use q2c_model::Bytes;
use q2c_run::runner::{self, Progress, time_text};
use std::fmt::Write;
use std::fs::metadata;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The present line of progress, so that messages are written above it.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);
/// Time between two updates of the line.
const UPDATE_INTERVAL: Duration = Duration::from_millis(250);
/// Work that ends sooner shows no line.
const MIN_SHOWN_LENGTH: Duration = Duration::from_secs(1);

/// A line of progress. Dropping it removes the line.
pub(crate) struct Line(ProgressBar);

impl Line {
    /// A line that says what is done. It is drawn once, since a drawing thread would disturb work
    /// that measures.
    pub(crate) fn with_message(what: &str) -> Self {
        let line = Line::new(ProgressBar::no_length(), "{wide_msg}");
        line.0.set_message(what.to_owned());
        line.0.tick();
        line
    }

    /// A line that says what is done, and for how long so far.
    pub(crate) fn with_elapsed(what: &str) -> Self {
        let begun = Instant::now();
        let what = what.to_owned();
        let took = move || time_text(begun.elapsed().as_secs_f64());
        Line::with_text(move || format!("{what}, {} so far", took()))
    }

    /// A line that says how much of the files has been read. A path that is no file has size 0.
    pub(crate) fn reading<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Self {
        let (mut names, mut size) = (Vec::new(), 0);
        for path in paths {
            names.push(path.display().to_string().escape_debug().to_string());
            size += metadata(path).map_or(0, |file| if file.is_file() { file.len() } else { 0 });
        }
        let what = match names.as_slice() {
            [one] => format!("reading {one}"),
            several => format!("reading {} files", several.len()),
        };
        let (begun, bytes_before) = (Instant::now(), q2c_trace::bytes_read());
        Line::with_text(move || {
            let read = q2c_trace::bytes_read().saturating_sub(bytes_before);
            reading_text(&what, read, size, begun.elapsed())
        })
    }

    /// A line with a bar for `count` items of `unit`, which [`Line::set`] advances.
    pub(crate) fn counting(count: u64, unit: &str) -> Self {
        let style = format!("{{wide_bar}} {{pos}} of {{len}} {unit}, {{eta}} left");
        Line::new(ProgressBar::new(count), &style)
    }

    /// A line with a bar for `size` bytes, which [`Line::set`] advances.
    pub(crate) fn counting_bytes(what: &str, size: Bytes) -> Self {
        let style =
            format!("{{wide_bar}} {{binary_bytes}} of {{binary_total_bytes}} {what}, {{eta}} left");
        Line::new(ProgressBar::new(size.0), &style)
    }

    /// Shows the line while `work` runs.
    pub(crate) fn during<T>(self, work: impl FnOnce() -> T) -> T {
        work()
    }

    pub(crate) fn set(&self, done: u64) {
        self.0.set_position(done);
    }

    /// Changes the text of a [`Line::with_message`] line.
    pub(crate) fn say(&self, what: String) {
        self.0.set_message(what);
        self.0.tick();
    }

    /// A line whose text is recomputed by `text` on each tick.
    fn with_text(text: impl Fn() -> String + Clone + Send + Sync + 'static) -> Self {
        let line = Line::new(ProgressBar::no_length(), "{line}");
        let begun = Instant::now();
        let key = move |_: &ProgressState, into: &mut dyn Write| {
            if begun.elapsed() >= MIN_SHOWN_LENGTH {
                let _ = into.write_str(&text());
            }
        };
        let style = line.0.style().with_key("line", key);
        line.0.set_style(style);
        // Without a terminal nothing is drawn, and no thread is needed.
        if !line.0.is_hidden() {
            line.0.enable_steady_tick(UPDATE_INTERVAL);
        }
        line
    }

    fn new(bar: ProgressBar, template: &str) -> Self {
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
        // The default style is never used: a test below builds all templates.
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        if let Ok(mut shown) = SHOWN.lock() {
            *shown = Some(bar.clone());
        }
        Line(bar)
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.0.finish_and_clear();
        if let Ok(mut shown) = SHOWN.lock() {
            *shown = None;
        }
    }
}

/// The progress of trials on stderr, with lines that fit the terminal.
pub(crate) fn trial_progress() -> Box<dyn Progress> {
    if is_answers_alone() {
        return Box::new(runner::progress::SilentProgress);
    }
    runner::progress::on_stderr(fit_terminal)
}

/// Calls `write`, which writes to the terminal, while the line is hidden. A signal may call this at
/// any time, so it never waits.
pub(crate) fn write_above_line(write: impl FnOnce()) {
    let shown = SHOWN.try_lock().ok().and_then(|shown| shown.clone());
    match shown {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// The text of how much has been read, with the time left at the present speed. There is no time
/// left if `size` is unknown (0 for a stream) or too small: blktrace has files that nobody names.
fn reading_text(what: &str, read: u64, size: u64, took: Duration) -> String {
    let done = Bytes(read >> 20 << 20);
    if read == 0 || size == 0 || read > size {
        return format!("{what}: {done}, {} so far", time_text(took.as_secs_f64()));
    }
    let share = read as f64 / size as f64;
    let left = took.as_secs_f64() * (1.0 - share) / share;
    let (total, left) = (Bytes(size >> 20 << 20), time_text(left));
    format!("{what}: {:.0} % of {total}, {left} left", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_reading_is_told_by_its_speed_so_far() {
        let took = Duration::from_secs(3);
        for (read, size, line) in [
            // A quarter in 3 s leaves 9 s for the rest.
            (64, 256, "a.csv: 25 % of 256 MiB, 9.0 s left"),
            (256, 256, "a.csv: 100 % of 256 MiB, 0.0 s left"),
            // A stream has no size, and a file that is read twice is smaller than the bytes read.
            (64, 0, "a.csv: 64 MiB, 3.0 s so far"),
            (512, 256, "a.csv: 512 MiB, 3.0 s so far"),
        ] {
            assert_eq!(reading_text("a.csv", read << 20, size << 20, took), line);
        }
    }

    #[test]
    fn templates_are_understood_and_lines_go_away() {
        let cells = Line::counting(8, "configurations");
        cells.set(3);
        assert_eq!((cells.0.position(), cells.0.length()), (3, Some(8)));
        drop(cells);
        for template in [
            "{wide_msg}",
            "{line}",
            "{wide_bar} {pos} of {len} configurations, {eta} left",
            "{wide_bar} {binary_bytes} of {binary_total_bytes} filled, {eta} left",
        ] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
        let line = Line::with_message("watching");
        let bar = line.0.clone();
        write_above_line(|| {});
        drop(line);
        assert!(bar.is_finished());
    }
}

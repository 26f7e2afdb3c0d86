//! A notation for the events of a trace and for the expected lives, one per line.
//!
//! A line of events names a request and what happens to it: `16+8 write 1Q 2G 9D 50C` is a write of
//! 8 sectors from sector 16, queued at 1 us, and so on. Other words of [`category`], joined by
//! commas, may replace `write`; a read has none. `253:0/16+8` is on another device than 259:0,
//! `50C@1` is on CPU 1, and `2X>24` splits at sector 24. Lines are merged by time; at one instant,
//! the upper line comes first.

use super::encode::{DISCARD, E, FLUSH, READ, WRITE, e, split};
use super::{lives, times, unmatched};
use q2c_trace::Span;
use q2c_trace::blktrace::MatchSummary;

const SYNC: u32 = 8;
const FUA: u32 = 1 << 15;
const PASSTHROUGH: u32 = 1 << 9;

/// Reads the lines as a trace. Checks the [`times`] of its I/Os (`1 2 - 5 9; 3 - - 5 9`) and the
/// reasons counted as unmatched (`merge lost 1, never completed 2`). Returns the I/Os and counts.
pub(crate) fn expect(lines: &[&str], wanted: &str, reasons: &str) -> (Vec<Span>, MatchSummary) {
    let (spans, read) = lives(&events(lines));
    let shown_times = |span: &Span| times(span).map(|us| us.to_string()).join(" ");
    let ios: Vec<String> = spans.iter().map(shown_times).collect();
    assert_eq!(ios.join("; ").replace("-1", "-"), wanted);
    let unmatched = unmatched(&read).into_iter();
    let unmatched = unmatched.map(|(reason, n)| format!("{reason} {n}"));
    assert_eq!(unmatched.collect::<Vec<_>>().join(", "), reasons);
    (spans, read)
}

/// The events of the lines, in the order of time.
pub(crate) fn events(lines: &[&str]) -> Vec<E> {
    let mut events: Vec<E> = lines.iter().flat_map(|line| line_events(line)).collect();
    events.sort_by_key(|event| event.us);
    events
}

fn line_events(line: &str) -> Vec<E> {
    let mut tokens = line.split(' ').peekable();
    let (device, extent) = device(tokens.next().unwrap());
    let (sector, sectors) = extent.split_once('+').unwrap();
    let (sector, sectors) = (sector.parse().unwrap(), sectors.parse().unwrap());
    let is_category = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    let category = tokens.next_if(is_category).map_or(READ, category);
    let event = |word: &str| {
        let mut event = word_event(word, sector, sectors).cat(category);
        event.device = device;
        event
    };
    tokens.map(event).collect()
}

fn device(word: &str) -> ((u32, u32), &str) {
    let Some((device, extent)) = word.split_once('/') else {
        return ((259, 0), word);
    };
    let (major, minor) = device.split_once(':').unwrap();
    ((major.parse().unwrap(), minor.parse().unwrap()), extent)
}

/// The category bits of words joined by commas.
fn category(words: &str) -> u32 {
    let bit = |word| match word {
        "read" => READ,
        "write" => WRITE,
        "flush" => FLUSH,
        "sync" => SYNC,
        "discard" => DISCARD,
        "fua" => FUA,
        "passthrough" => PASSTHROUGH,
        _ => panic!("no category: {word}"),
    };
    words.split(',').map(bit).sum()
}

/// The event of a word such as `50C`, `50C@1` or `2X>24`.
fn word_event(word: &str, sector: u64, sectors: u32) -> E {
    let (word, cpu) = word.split_once('@').unwrap_or((word, "0"));
    let (us, letter) = word.split_at(word.find(|c: char| !c.is_ascii_digit()).unwrap());
    let us = us.parse().unwrap();
    let event = match letter.split_once('>') {
        Some((_, at)) => split(us, sector, sectors, at.parse().unwrap()),
        None => e(us, letter, sector, sectors),
    };
    event.cpu(cpu.parse().unwrap())
}

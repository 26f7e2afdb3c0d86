//! Imports text with one request per line, read in blocks and parsed by several threads.
//!
//! Blocks end at line breaks and come back in the order of reading, so the result is the same for
//! any number of threads. Memory: two blocks of 512 KiB per thread with their rows, and the window
//! of [`RowSorter`].

mod blocks;
mod cells;

pub(super) use blocks::{BOM, Lines};
pub(super) use cells::{
    Cells, Separator, address, cell_ranges, length, number_32, read_or_write, sector_length,
    sectors, time, whole_number,
};

use super::arrange::RowSorter;
use super::run::{Skipped, no_thread, read_error};
use super::{BadLine, Import, ImportError, Row, Spec};
use blocks::{BLOCK_BYTES, Blocks, first_line};
use q2c_model::TraceMeta;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// The request of a line; `None` for a line without a request, such as a header.
pub(super) type Parse = Result<Option<Row>, BadLine>;

const MAX_WORKERS: usize = 8;
/// Note on the sector 0 of a source without offsets.
pub(super) const NO_OFFSETS: &str = "0 (the source has no offsets)";

/// Imports lines that can be parsed independently of each other.
pub(super) fn import(
    from: &mut Import<'_>,
    spec: &Spec,
    parse: impl Fn(&[u8]) -> Parse + Sync,
) -> Result<TraceMeta, ImportError> {
    let (path, skip_bad) = (from.path, from.options.skip_bad);
    let mut out = RowSorter::new(path, from.options, from.sink, spec);
    let mut blocks = Blocks::new(from.input, BLOCK_BYTES);
    // A source that fits into one block needs no threads.
    let first = blocks.next(Vec::new()).map_err(read_error(path))?;
    if let Some(block) = first {
        let parsed = ParsedBlock::from_block(block, true, skip_bad, &mut |line| parse(line));
        let spare = out.push_block(parsed)?;
        let second = blocks.next(spare).map_err(read_error(path))?;
        if let Some(second) = second {
            parse_in_parallel(path, second, &mut blocks, &mut out, skip_bad, &parse)?;
        }
    }
    out.finish()
}

/// Imports lines whose meaning depends on earlier lines.
pub(super) fn import_in_order(
    from: &mut Import<'_>,
    spec: &Spec,
    mut parse: impl FnMut(&[u8]) -> Parse,
) -> Result<TraceMeta, ImportError> {
    let (path, skip_bad) = (from.path, from.options.skip_bad);
    let mut out = RowSorter::new(path, from.options, from.sink, spec);
    let mut blocks = Blocks::new(from.input, BLOCK_BYTES);
    let (mut spare, mut is_first) = (Vec::new(), true);
    while let Some(block) = blocks.next(spare).map_err(read_error(path))? {
        spare = out.push_block(ParsedBlock::from_block(
            block, is_first, skip_bad, &mut parse,
        ))?;
        is_first = false;
    }
    out.finish()
}

/// True if the first lines of a file all fit the format and at least one is a request.
pub(super) fn sniff(head: &[u8], parse: impl FnMut(&[u8]) -> Parse) -> bool {
    first_rows(head, parse).is_some_and(|rows| !rows.is_empty())
}

/// The requests in a file's first lines; `None` if a line does not fit the format.
pub(super) fn first_rows(head: &[u8], mut parse: impl FnMut(&[u8]) -> Parse) -> Option<Vec<Row>> {
    const MAX_SNIFFED_LINES: usize = 8;
    let lines = complete_lines(head).take(MAX_SNIFFED_LINES);
    let rows = lines.filter_map(|line| parse(line).transpose());
    rows.collect::<Result<_, _>>().ok()
}

/// The non-blank lines of a file's head, without the last line, which may be cut.
pub(super) fn complete_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let head = head.strip_prefix(BOM).unwrap_or(head);
    let end = head.iter().rposition(|byte| *byte == b'\n');
    let lines = head[..end.unwrap_or(head.len())].split(|byte| *byte == b'\n');
    let lines = lines.map(<[u8]>::trim_ascii_end);
    lines.filter(|line| !line.is_empty())
}

struct Worker {
    blocks: SyncSender<Vec<u8>>,
    parsed: Receiver<ParsedBlock>,
}

/// Parses the remaining blocks in threads. Block `n` goes to worker `n` modulo their number, so
/// that results can be taken in order.
fn parse_in_parallel(
    path: &Path,
    first: Vec<u8>,
    blocks: &mut Blocks<'_>,
    out: &mut RowSorter<'_>,
    skip_bad: bool,
    parse: &(impl Fn(&[u8]) -> Parse + Sync),
) -> Result<(), ImportError> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let workers = cores.saturating_sub(1).clamp(1, MAX_WORKERS);
    thread::scope(|scope| {
        let start = || {
            let (blocks, todo) = sync_channel::<Vec<u8>>(2);
            let (done, parsed) = sync_channel(2);
            let body = move || {
                for block in todo {
                    let parsed =
                        ParsedBlock::from_block(block, false, skip_bad, &mut |line| parse(line));
                    if done.send(parsed).is_err() {
                        break;
                    }
                }
            };
            thread::Builder::new()
                .spawn_scoped(scope, body)
                .map(|_| Worker { blocks, parsed })
        };
        // As many threads as the system allows, but at least one.
        let mut started = vec![start().map_err(no_thread(path))?];
        started.extend((1..workers).map_while(|_| start().ok()));
        feed_workers(first, &started, blocks, out)
    })
}

fn feed_workers(
    first: Vec<u8>,
    workers: &[Worker],
    blocks: &mut Blocks<'_>,
    out: &mut RowSorter<'_>,
) -> Result<(), ImportError> {
    let max_in_work = 2 * workers.len();
    let (mut sent, mut taken) = (0, 0);
    let mut next = Some(first);
    while let Some(block) = next {
        // A worker that is gone has panicked; the thread scope reports it.
        if workers[sent % workers.len()].blocks.send(block).is_err() {
            return Ok(());
        }
        sent += 1;
        let mut spare = Vec::new();
        if sent - taken == max_in_work {
            spare = take_parsed(&workers[taken % workers.len()], out)?;
            taken += 1;
        }
        next = blocks.next(spare).map_err(read_error(out.intake.path))?;
    }
    while taken < sent {
        take_parsed(&workers[taken % workers.len()], out)?;
        taken += 1;
    }
    Ok(())
}

fn take_parsed(worker: &Worker, out: &mut RowSorter<'_>) -> Result<Vec<u8>, ImportError> {
    let parsed = worker.parsed.recv();
    parsed.map_or_else(|_| Ok(Vec::new()), |parsed| out.push_block(parsed))
}

/// Bytes of a short line. Memory for rows is reserved for lines of this length, because growing it
/// would copy the rows.
const SHORT_LINE_BYTES: usize = 32;

/// The result of parsing a block. Line numbers count from 1 within the block.
pub(super) struct ParsedBlock {
    pub(super) rows: Vec<Row>,
    pub(super) lines: u64,
    pub(super) skipped: Skipped,
    /// The bad line at which parsing stopped, with its number; `None` if parsing did not stop.
    pub(super) stopped: Option<(u64, BadLine)>,
    pub(super) memory: Vec<u8>,
}

impl ParsedBlock {
    /// Parses a block. `is_first` is true for a source's first block, which may start with a byte
    /// order mark.
    fn from_block(
        block: Vec<u8>,
        is_first: bool,
        skip_bad: bool,
        parse: &mut dyn FnMut(&[u8]) -> Parse,
    ) -> ParsedBlock {
        let mut parsed = ParsedBlock {
            rows: Vec::with_capacity(block.len() / SHORT_LINE_BYTES),
            lines: 0,
            skipped: Skipped::default(),
            stopped: None,
            memory: Vec::new(),
        };
        let mut unread = &block[..];
        if is_first {
            unread = unread.strip_prefix(BOM).unwrap_or(unread);
        }
        while !unread.is_empty() {
            let (line, after) = first_line(unread);
            unread = after;
            parsed.lines += 1;
            let row = line.and_then(|line| match line.trim_ascii_end() {
                [] => Ok(None),
                line => parse(line),
            });
            match row {
                Ok(None) => {}
                Ok(Some(mut row)) => {
                    row.position = parsed.lines;
                    parsed.rows.push(row);
                }
                Err(bad) if skip_bad => parsed.skipped.add(bad.reason, parsed.lines),
                Err(bad) => {
                    parsed.stopped = Some((parsed.lines, bad));
                    break;
                }
            }
        }
        parsed.memory = block;
        parsed
    }
}

//! Imports text with one request per line, read in blocks and parsed by several threads.
//!
//! Blocks end at line breaks and come back in the order in which they were read, so the result is
//! the same with any number of threads. Memory: two blocks of 512 KiB per thread with their rows,
//! and the window of [`Arranged`].

mod blocks;
mod cells;
mod parsed;

pub(super) use blocks::{BOM, Blocks, LONGEST_LINE};
pub(super) use cells::{
    Cells, Separator, address, bad, device, length, letter, ranges, sector_length, sectors, time,
    whole_number,
};

use super::arrange::{Arranged, Spec};
use super::error::{BadLine, ImportError};
use super::options::ImportOptions;
use super::run::{Import, RecordSink, no_thread, read_error};
use parsed::Parsed;
use q2c_model::TraceMeta;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use super::row::Row;

/// The request of a line; `None` for a line without a request, such as a header.
pub(super) type Parse = Result<Option<Row>, BadLine>;

const MOST_WORKERS: usize = 8;

/// Imports lines of which each can be parsed without the others.
pub(super) fn import(
    from: &mut Import<'_>,
    spec: &Spec,
    parse: impl Fn(&[u8]) -> Parse + Sync,
) -> Result<TraceMeta, ImportError> {
    let (path, skip_bad) = (from.path, from.options.skip_bad);
    let mut out = Output::new(path, from.options, from.sink, spec);
    let mut blocks = Blocks::new(from.input);
    // A source that fits into one block needs no threads.
    let first = blocks.next(Vec::new()).map_err(read_error(path))?;
    if let Some(block) = first {
        let parsed = Parsed::from_block(block, true, skip_bad, &mut |line| parse(line));
        let spare = out.take(parsed)?;
        let second = blocks.next(spare).map_err(read_error(path))?;
        if let Some(second) = second {
            in_parallel(path, second, &mut blocks, &mut out, skip_bad, &parse)?;
        }
    }
    out.finish()
}

/// Imports lines whose meaning depends on the lines before them.
pub(super) fn import_in_order(
    from: &mut Import<'_>,
    spec: &Spec,
    mut parse: impl FnMut(&[u8]) -> Parse,
) -> Result<TraceMeta, ImportError> {
    let (path, skip_bad) = (from.path, from.options.skip_bad);
    let mut out = Output::new(path, from.options, from.sink, spec);
    let mut blocks = Blocks::new(from.input);
    let (mut spare, mut first) = (Vec::new(), true);
    while let Some(block) = blocks.next(spare).map_err(read_error(path))? {
        spare = out.take(Parsed::from_block(block, first, skip_bad, &mut parse))?;
        first = false;
    }
    out.finish()
}

/// Whether the first lines of a file all fit the format and at least one of them is a request.
pub(super) fn sniff(head: &[u8], parse: impl FnMut(&[u8]) -> Parse) -> bool {
    first_rows(head, parse).is_some_and(|rows| !rows.is_empty())
}

/// The requests of a file's first lines; `None` when one of them does not fit the format.
pub(super) fn first_rows(head: &[u8], mut parse: impl FnMut(&[u8]) -> Parse) -> Option<Vec<Row>> {
    const LINES: usize = 8;
    let lines = complete_lines(head).take(LINES);
    let rows = lines.filter_map(|line| parse(line).transpose());
    rows.collect::<Result<_, _>>().ok()
}

/// The lines of a file's head that are not blank, but for the last one, which may be cut.
pub(super) fn complete_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let head = head.strip_prefix(BOM).unwrap_or(head);
    let end = head.iter().rposition(|byte| *byte == b'\n');
    let lines = head[..end.unwrap_or(head.len())].split(|byte| *byte == b'\n');
    let lines = lines.map(<[u8]>::trim_ascii_end);
    lines.filter(|line| !line.is_empty())
}

struct Worker {
    blocks: SyncSender<Vec<u8>>,
    parsed: Receiver<Parsed>,
}

/// Parses the remaining blocks in threads. The block `n` goes to the worker `n` modulo their
/// number, so that the results can be taken in order.
fn in_parallel(
    path: &Path,
    first: Vec<u8>,
    blocks: &mut Blocks<'_>,
    out: &mut Output<'_>,
    skip_bad: bool,
    parse: &(impl Fn(&[u8]) -> Parse + Sync),
) -> Result<(), ImportError> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let workers = cores.saturating_sub(1).clamp(1, MOST_WORKERS);
    thread::scope(|scope| {
        let start = || {
            let (blocks, todo) = sync_channel::<Vec<u8>>(2);
            let (done, parsed) = sync_channel(2);
            let body = move || {
                for block in todo {
                    let parsed =
                        Parsed::from_block(block, false, skip_bad, &mut |line| parse(line));
                    if done.send(parsed).is_err() {
                        break;
                    }
                }
            };
            thread::Builder::new()
                .spawn_scoped(scope, body)
                .map(|_| Worker { blocks, parsed })
        };
        // As many as the machine gives, but at least one.
        let mut started = vec![start().map_err(no_thread(path))?];
        started.extend((1..workers).map_while(|_| start().ok()));
        feed(first, &started, blocks, out)
    })
}

fn feed(
    first: Vec<u8>,
    workers: &[Worker],
    blocks: &mut Blocks<'_>,
    out: &mut Output<'_>,
) -> Result<(), ImportError> {
    let most = 2 * workers.len();
    let (mut sent, mut taken) = (0, 0);
    let mut next = Some(first);
    while let Some(block) = next {
        // A worker that is gone has panicked; the thread scope reports that.
        if workers[sent % workers.len()].blocks.send(block).is_err() {
            return Ok(());
        }
        sent += 1;
        let mut spare = Vec::new();
        if sent - taken == most {
            spare = out.take_from(&workers[taken % workers.len()])?;
            taken += 1;
        }
        next = blocks.next(spare).map_err(read_error(out.path))?;
    }
    while taken < sent {
        out.take_from(&workers[taken % workers.len()])?;
        taken += 1;
    }
    Ok(())
}

/// Takes parsed blocks in order and passes their rows on.
struct Output<'a> {
    path: &'a std::path::Path,
    arranged: Arranged<'a>,
    lines: u64,
}

impl<'a> Output<'a> {
    fn new(
        path: &'a std::path::Path,
        options: &ImportOptions,
        sink: &'a mut dyn RecordSink,
        spec: &'a Spec,
    ) -> Self {
        Output {
            path,
            arranged: Arranged::new(path, options, sink, spec),
            lines: 0,
        }
    }

    fn take_from(&mut self, worker: &Worker) -> Result<Vec<u8>, ImportError> {
        match worker.parsed.recv() {
            Ok(parsed) => self.take(parsed),
            Err(_) => Ok(Vec::new()),
        }
    }

    /// Takes a block's rows. Returns the block's memory for the next block.
    fn take(&mut self, parsed: Parsed) -> Result<Vec<u8>, ImportError> {
        self.arranged.skipped(&parsed.skipped, self.lines);
        for mut row in parsed.rows {
            row.position += self.lines;
            self.arranged.push(row)?;
        }
        if let Some((line, bad)) = parsed.stopped {
            return Err(self.arranged.refused(self.lines + line, bad));
        }
        self.lines += parsed.lines;
        Ok(parsed.memory)
    }

    fn finish(self) -> Result<TraceMeta, ImportError> {
        self.arranged.finish(self.lines)
    }
}

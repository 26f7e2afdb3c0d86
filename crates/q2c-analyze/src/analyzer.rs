//! The analysis of I/Os: a value that takes I/Os, and that can be joined from parts.
//!
//! [`AnalyzerThread`] runs an analysis in its own thread, so that reading goes on meanwhile.

use crate::state::{AnalyzerState, Tail};
use q2c_model::stored::StoredForm;
use q2c_model::{Exit, Fault, Layer, OrFault};
use q2c_result::analyze::AnalyzeResult;
use q2c_trace::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Analyses I/Os while they are read. Pass all I/Os to [`Analyzer::update`] in the order of
/// queueing, then call [`Analyzer::finish`].
///
/// Each part of a trace may have its own analyzer, on any machine, if all times are of one clock.
/// [`Analyzer::append`] joins successive parts, [`Analyzer::merge_devices`] those of other devices.
/// The result equals that of one pass, except for the figures in `inexact`.
///
/// ```
/// use q2c_analyze::Analyzer;
/// use q2c_model::Layer;
/// use std::collections::BTreeMap;
///
/// let morning = Analyzer::new(Layer::Block);
/// let noon = Analyzer::part(Layer::Block);
/// // Each takes its I/Os with `update`, and may go to another machine.
/// let noon = Analyzer::from_bytes(&noon.to_bytes()?)?;
/// let day = morning.append(noon)?;
/// assert_eq!(day.finish(&BTreeMap::new()).requests, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Serialize, Deserialize)]
pub struct Analyzer {
    pub(crate) layer: Layer,
    /// The first I/Os of a later part; `None` if this is the first part of the trace.
    pub(crate) head: Option<PartHead>,
    pub(crate) state: AnalyzerState,
}

/// The first I/Os of a later part, at most `most`. Some of their figures depend on I/Os in flight
/// when the part began, so they are kept unanalysed until this part is appended to the earlier one.
/// I/Os after them are analysed at once.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct PartHead {
    #[serde(with = "crate::stored::spans")]
    spans: Vec<Span>,
    most: u64,
}

pub(crate) fn same_layer(first: Layer, second: Layer) -> Result<(), Fault> {
    if first == second {
        return Ok(());
    }
    let (first, second) = (first.name(), second.name());
    Err(Fault::usage(format_args!(
        "merge analyses of the layers {first} and {second}: their times do not compare; merge those of one layer"
    )))
}

impl Analyzer {
    /// Most I/Os that a later part keeps unanalysed.
    pub(crate) const MAX_HEAD_IOS: usize = 1 << 16;

    /// Starts an analysis at the first I/O of a trace. I/Os of the user layer have the stages U2C
    /// and U2U and no bottleneck.
    pub fn new(layer: Layer) -> Self {
        Analyzer {
            layer,
            head: None,
            state: AnalyzerState::default(),
        }
    }

    /// Starts a later part of a trace, which keeps its first [`Analyzer::MAX_HEAD_IOS`] I/Os.
    pub fn part(layer: Layer) -> Self {
        Self::part_with_head(layer, Self::MAX_HEAD_IOS)
    }

    pub(crate) fn part_with_head(layer: Layer, max_head_ios: usize) -> Self {
        let (spans, most) = (Vec::new(), max_head_ios as u64);
        Analyzer {
            head: Some(PartHead { spans, most }),
            ..Analyzer::new(layer)
        }
    }

    /// Makes the excerpts keep up to 4,096 I/Os that are in flight within `window` (ns since the
    /// first start). Call it before the first I/O, and only for an analysis in one pass.
    pub(crate) fn set_excerpt_window(&mut self, window: Range<u64>) {
        self.state.excerpts.window = Some(window);
    }

    /// Takes the next I/Os. An I/O after one that was queued later is counted in full, but the
    /// largest number in flight may then be too small.
    pub fn update(&mut self, spans: &[Span]) {
        let after_head = match &mut self.head {
            Some(head) if !head.is_full() => {
                let after_head = head.take(spans);
                if head.is_full() {
                    self.state = AnalyzerState::continue_after(&head.spans);
                }
                after_head
            }
            _ => spans,
        };
        for span in after_head {
            self.state.add(self.layer, span);
        }
    }

    /// Number of I/Os that were added.
    pub(crate) fn requests(&self) -> u64 {
        let in_head = self.head.as_ref().map_or(0, |head| head.spans.len());
        self.state.counts.requests + in_head as u64
    }

    /// Continues with the part that comes next in time. Join parts in their order. Which neighbours
    /// are joined first does not matter as long as no figure is inexact.
    pub fn append(mut self, later: Analyzer) -> Result<Analyzer, Fault> {
        same_layer(self.layer, later.layer)?;
        let Analyzer { head, state, .. } = later;
        let tail = match &self.head {
            Some(head) if !head.is_full() => AnalyzerState::order_only(&head.spans).tail(),
            _ => self.state.tail(),
        };
        let has_state = head.is_none_or(|head| {
            self.update(&head.spans);
            head.is_full()
        });
        if has_state && state.counts.requests > 0 {
            self.seal();
            self.state.join(&tail, state);
        }
        Ok(self)
    }

    /// Adds a part of other devices over the same time, in any order. Join parts of one device by
    /// [`Analyzer::append`] first.
    pub fn merge_devices(self, other: Analyzer) -> Result<Analyzer, Fault> {
        same_layer(self.layer, other.layer)?;
        let (mut merged, other) = (self.into_complete(), other.into_complete());
        if merged.state.shares_device(&other.state) {
            let text = "merge analyses of different devices: found a device in both; join parts of one device in the order of their times first";
            return Err(Fault::usage(text));
        }
        merged.state.merge_devices(other.state);
        Ok(merged)
    }

    /// Ends the analysis. `names` are those of processes by id. The caller adds input and losses.
    pub fn finish(self, names: &BTreeMap<u32, String>) -> AnalyzeResult {
        let layer = self.layer;
        self.into_complete().state.into_result(layer, names)
    }

    /// Ends a head that is not full, so that further I/Os are analysed at once.
    fn seal(&mut self) {
        if let Some(head) = &mut self.head
            && !head.is_full()
        {
            head.most = head.spans.len() as u64;
            self.state = AnalyzerState::continue_after(&head.spans);
        }
    }

    pub(crate) fn check(&self) -> Result<(), Fault> {
        let checked = self.state.check();
        checked.or_fault(Exit::Input, "read the state of an analysis")
    }

    /// Analyses the I/Os of the head as well, as if they were the first of the trace.
    fn into_complete(self) -> Analyzer {
        let Some(head) = self.head else { return self };
        let mut whole = Analyzer::new(self.layer);
        whole.update(&head.spans);
        if head.is_full() && self.state.counts.requests > 0 {
            whole.state.join(&Tail::default(), self.state);
        }
        whole
    }

    /// Serialises the state: some 100 KB, and up to 150 KB for each of at most 8 devices whose I/Os
    /// are spread over the whole device. A later part has up to 4 MB more for its first I/Os.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Fault> {
        FORM.to_bytes(self).or_exit(Exit::Internal)
    }

    /// Restores a state. Fails if the bytes are damaged or of another kind or version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Analyzer, Fault> {
        let analyzer: Analyzer = FORM.from_bytes(bytes).or_exit(Exit::Input)?;
        analyzer.check()?;
        Ok(analyzer)
    }
}

impl PartHead {
    fn is_full(&self) -> bool {
        self.spans.len() as u64 >= self.most
    }

    /// Takes I/Os until the head is full. Returns the I/Os that it did not take.
    fn take<'a>(&mut self, spans: &'a [Span]) -> &'a [Span] {
        let room = self.most.saturating_sub(self.spans.len() as u64);
        let taken = spans.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let (head, after_head) = spans.split_at(taken);
        self.spans.extend_from_slice(head);
        after_head
    }
}

const FORM: StoredForm = StoredForm {
    letters: "q2cstate",
    version: 2,
    what: "the state of an analysis",
};

/// Most buffers that wait for the analysis. A faster reader waits, which bounds the memory.
const MAX_WAITING_BUFFERS: usize = 4;

/// Runs an [`Analyzer`] in a second thread. Buffers go there full and come back to be reused.
pub struct AnalyzerThread {
    full: SyncSender<Vec<Span>>,
    free: Receiver<Vec<Span>>,
    thread: JoinHandle<Analyzer>,
}

impl AnalyzerThread {
    /// Starts the thread.
    pub fn new(mut analyzer: Analyzer) -> io::Result<Self> {
        let (full, to_analyse) = sync_channel::<Vec<Span>>(MAX_WAITING_BUFFERS);
        let (give_back, free) = sync_channel(MAX_WAITING_BUFFERS + 2);
        let thread = thread::Builder::new().spawn(move || {
            for spans in to_analyse {
                analyzer.update(&spans);
                // The caller may be gone. A buffer that it does not take back is dropped.
                give_back.try_send(spans).ok();
            }
            analyzer
        })?;
        Ok(AnalyzerThread { full, free, thread })
    }

    /// Takes the next I/Os. Waits while four buffers are waiting for the analysis.
    pub fn update(&mut self, spans: &[Span]) {
        let mut buffer = self.free.try_recv().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(spans);
        // Sending fails only when the thread has panicked; `finish` hands the panic on.
        self.full.send(buffer).ok();
    }

    /// Waits until all I/Os are analysed, then returns the result as [`Analyzer::finish`] does.
    pub fn finish(self, names: &BTreeMap<u32, String>) -> AnalyzeResult {
        drop(self.full);
        match self.thread.join() {
            Ok(analyzer) => analyzer.finish(names),
            Err(panic) => resume_unwind(panic),
        }
    }
}

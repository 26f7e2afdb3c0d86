//! Decodes a page of the kernel's ring buffer, as `trace_pipe_raw` hands it out on little-endian
//! machines.
//!
//! The page's head (`events/header_page`) has a time in ns, from which the first event's time
//! counts, and `commit`, the bytes of events. Bit 31 of `commit` says that events were lost before
//! these; bit 30 says that their number follows the events, in 8 bytes.
//!
//! An event begins with 32 bits: its type in the lower 5, the time since the event before it in the
//! upper 27. Types (include/linux/ring_buffer.h):
//!
//! - 1 to 28: data, as many words of 4 bytes as the type says;
//! - 0: data, whose length is in the first word;
//! - 29: padding;
//! - 30: a longer distance in time;
//! - 31: an absolute time.

use super::format::{Format, TracefsField};

const LOST_BIT: u64 = 1 << 31;
const LOST_COUNT_STORED_BIT: u64 = 1 << 30;
/// Bits of an absolute time that an event of type 31 holds; the upper bits are those of the event
/// before it.
const STAMP_BITS: u32 = 59;

/// The places of time, `commit` and events on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageLayout {
    time: TracefsField,
    commit: TracefsField,
    data: TracefsField,
}

/// The error of a page whose lengths contradict each other. Events before the contradiction have
/// been handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl PageLayout {
    /// Reads the layout from the format `events/header_page`; `None` when it lacks a field or has a
    /// time that is not of 8 bytes.
    pub(super) fn from_head(head: &Format) -> Option<PageLayout> {
        Some(PageLayout {
            time: head.get("timestamp").filter(|field| field.size == 8)?,
            commit: head.get("commit")?,
            data: head.get("data")?,
        })
    }

    /// Size of a page in bytes, its head included.
    pub(super) fn page_bytes(&self) -> usize {
        self.data.offset.saturating_add(self.data.size)
    }

    /// True if the kernel lost events between the page before and this one.
    pub(super) fn after_gap(&self, page: &[u8]) -> bool {
        let commit = self.commit.number(page);
        commit.is_some_and(|commit| commit & LOST_BIT != 0)
    }

    /// Hands on time (ns) and record of each event of a page.
    pub(super) fn events(
        &self,
        page: &[u8],
        mut take: impl FnMut(u64, &[u8]),
    ) -> Result<(), Malformed> {
        let mut time = self.time.number(page).ok_or(Malformed)?;
        let commit = self.commit.number(page).ok_or(Malformed)?;
        let length = (commit & (LOST_COUNT_STORED_BIT - 1)) as usize;
        let data = page.get(self.data.offset..).ok_or(Malformed)?;
        let mut data = data.get(..length).ok_or(Malformed)?;
        while let Some(event) = PageEvent::first(data).ok_or(Malformed)? {
            time = event.time(time);
            if let PageEventKind::Data(record) = event.kind {
                take(time, record);
            }
            data = data.get(event.length..).ok_or(Malformed)?;
        }
        Ok(())
    }
}

enum PageEventKind<'a> {
    Data(&'a [u8]),
    Padding,
    /// A longer distance in time: its bits above those of `delta`.
    Extend(u64),
    /// An absolute time: its bits above those of `delta`.
    Stamp(u64),
}

struct PageEvent<'a> {
    /// Time since the event before, or the lower 27 bits of a longer or absolute time.
    delta: u64,
    kind: PageEventKind<'a>,
    /// Bytes of the whole event, its head included.
    length: usize,
}

impl<'a> PageEvent<'a> {
    /// The first event of `data`; `Some(None)` after the last event, `None` when the event is
    /// longer than `data`.
    fn first(data: &'a [u8]) -> Option<Option<PageEvent<'a>>> {
        if data.is_empty() {
            return Some(None);
        }
        let word = |at: usize| Some(u32::from_le_bytes(*data.get(at..)?.first_chunk()?));
        let head = word(0)?;
        let delta = u64::from(head >> 5);
        let event = |kind, length| {
            Some(Some(PageEvent {
                delta,
                kind,
                length,
            }))
        };
        match head & 31 {
            // Padding without a distance in time means that the rest of the page is empty.
            29 if delta == 0 => Some(None),
            29 => event(PageEventKind::Padding, 4 + word(4)? as usize),
            30 => event(PageEventKind::Extend(u64::from(word(4)?)), 8),
            31 => event(PageEventKind::Stamp(u64::from(word(4)?)), 8),
            0 => {
                // The length includes the word that holds it.
                let length = 4 + word(4)? as usize;
                event(PageEventKind::Data(data.get(8..length)?), length)
            }
            words => {
                let length = 4 + 4 * words as usize;
                event(PageEventKind::Data(data.get(4..length)?), length)
            }
        }
    }

    fn time(&self, before: u64) -> u64 {
        match self.kind {
            PageEventKind::Data(_) | PageEventKind::Padding => before.wrapping_add(self.delta),
            PageEventKind::Extend(upper) => before.wrapping_add(self.delta + (upper << 27)),
            PageEventKind::Stamp(upper) => {
                let stamp = self.delta + (upper << 27);
                let upper = before >> STAMP_BITS << STAMP_BITS;
                stamp & ((1 << STAMP_BITS) - 1) | upper
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
";

    fn layout() -> PageLayout {
        PageLayout::from_head(&Format::parse(HEAD)).unwrap()
    }

    fn page(time: u64, flags: u64, events: &[u32]) -> Vec<u8> {
        let mut page = time.to_le_bytes().to_vec();
        page.extend(((events.len() as u64 * 4) | flags).to_le_bytes());
        page.extend(events.iter().flat_map(|word| word.to_le_bytes()));
        page.resize(4096, 0);
        page
    }

    fn head(kind: u32, delta: u32) -> u32 {
        kind | delta << 5
    }

    type Events = Vec<(u64, Vec<u8>)>;

    fn events(page: &[u8]) -> (Events, Result<(), Malformed>) {
        let mut seen = Vec::new();
        let read = layout().events(page, |time, record| seen.push((time, record.to_vec())));
        (seen, read)
    }

    /// The page has each type of event; the expected times and lengths are worked out by hand.
    #[test]
    fn every_type_of_event() {
        assert_eq!(layout().page_bytes(), 4096);
        let page_words = [
            head(2, 10),
            0x0403_0201,
            0x0807_0605,
            // 5 * 2^27 + 7 ns later.
            head(30, 7),
            5,
            // Padding of 8 bytes after the head: a discarded event.
            head(29, 3),
            8,
            0,
            // Data of 12 bytes, the length's word included.
            head(0, 1),
            12,
            0xa,
            0xb,
            // An absolute time of 2^27 * 9 + 4.
            head(31, 4),
            9,
            head(1, 0),
            0xc,
            head(29, 0),
            77,
        ];
        let page = page(1000, 0, &page_words);
        let (decoded, result) = events(&page);
        assert_eq!((result, layout().after_gap(&page)), (Ok(()), false));
        let later = 1010 + (5 << 27) + 7;
        let wanted = [
            (1010, vec![1, 2, 3, 4, 5, 6, 7, 8]),
            (later + 4, vec![0xa, 0, 0, 0, 0xb, 0, 0, 0]),
            ((9 << 27) + 4, vec![0xc, 0, 0, 0]),
        ];
        assert_eq!(decoded, wanted);
    }

    #[test]
    fn a_stamp_keeps_the_upper_bits_of_the_page() {
        let (decoded, _) = events(&page(3 << 59, 0, &[head(31, 4), 9, head(1, 1), 0]));
        assert_eq!(decoded[0].0, (3 << 59) + (9 << 27) + 5);
    }

    #[test]
    fn lost_events_are_told() {
        for flags in [LOST_BIT, LOST_BIT | LOST_COUNT_STORED_BIT] {
            let page = page(5, flags, &[head(1, 1), 0xc]);
            assert_eq!(events(&page), (vec![(6, vec![0xc, 0, 0, 0])], Ok(())));
            assert!(layout().after_gap(&page));
        }
    }

    #[test]
    fn lengths_beyond_the_page_are_refused() {
        for page_words in [&[head(3, 1), 0][..], &[head(0, 1), 4000], &[head(30, 1)]] {
            let (_, result) = events(&page(5, 0, page_words));
            assert_eq!(result, Err(Malformed), "{page_words:?}");
        }
        let mut long = page(5, 0, &[]);
        long[8..12].copy_from_slice(&5000_u32.to_le_bytes());
        assert_eq!(events(&long).1, Err(Malformed));
        assert_eq!(events(&long[..12]).1, Err(Malformed));
    }
}

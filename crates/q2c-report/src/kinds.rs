//! Reads, writes and flushes of a pattern that has several of them.

use crate::document::Section;
use crate::note::ReportTable;
use crate::quantity::{DASH, duration, number, percent, range, two_durations};
use q2c_result::bench::KindFigures;

/// A section with a row for each kind of request of each name; empty for requests of one kind.
pub(crate) fn section<'a>(
    title: String,
    rows: impl Iterator<Item = (String, &'a [KindFigures])>,
) -> Section<'static> {
    let kinds = rows.flat_map(|(name, kinds)| kinds.iter().map(move |kind| (name.clone(), kind)));
    let row = |(name, kind): (String, &KindFigures)| {
        let (iops, lat) = (&kind.iops, &kind.lat_ns);
        let missed = kind.miss_rate.map(|rate| percent(rate.median));
        [
            name,
            kind.op.to_string(),
            number(iops.median / 1e3),
            range(iops, 1e-3),
            duration(lat.mean.median),
            two_durations(lat.p50.median, lat.p99.median),
            missed.unwrap_or(DASH.to_owned()),
        ]
    };
    let head = "method | kind | KIOPS | KIOPS\n[min, max] | mean | p50 / p99 | missed";
    let table = ReportTable::new(head, kinds.map(row).collect::<Vec<_>>());
    Section::new(title).table(table)
}

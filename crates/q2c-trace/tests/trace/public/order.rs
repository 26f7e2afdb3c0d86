//! Sources larger than a block, and sources out of order.

use super::{import, options, skipping};
use crate::support::tells;

/// More lines than the window holds, in several blocks. A request's number is its sector and its
/// time.
const LINES: u64 = 200_000;

fn line(number: u64) -> String {
    let (device, offset) = (number % 13, number * 512);
    format!("{device},W,{offset},4096,{}\n", 1_000 + number)
}

#[test]
fn many_blocks_come_back_in_order() {
    let text: String = (0..LINES).map(line).collect();
    let (records, _) = import("alibaba", text.as_bytes(), &options()).unwrap();
    assert_eq!(records.len() as u64, LINES);
    for (at, record) in (0..).zip(&records) {
        assert_eq!((record.id, record.sector.0), (at, at));
        assert_eq!(record.queue_ns.unwrap().0, at * 1_000);
        assert_eq!(u64::from(record.device.minor), at % 13);
    }
}

#[test]
fn a_bad_line_far_inside_is_named() {
    let mut text: String = (0..LINES).map(line).collect();
    text.push_str("1,W,oops,4096,9999999\n");
    let error = import("alibaba", text.as_bytes(), &options()).unwrap_err();
    tells(&error, &format!("line {}, offset: ", LINES + 1));
    let (records, meta) = import("alibaba", text.as_bytes(), &skipping()).unwrap();
    assert_eq!(records.len() as u64, LINES);
    assert_eq!(meta.unmatched["not a value of the field"], 1);
}

/// The lines of each pair are swapped, and the first request comes 50 000 lines late.
#[test]
fn what_is_a_little_out_of_order_is_sorted() {
    let mut order: Vec<u64> = (0..LINES).collect();
    order.chunks_exact_mut(2).for_each(<[u64]>::reverse);
    let first = order.remove(1);
    order.insert(50_000, first);
    let text: String = order.into_iter().map(line).collect();
    let (records, _) = import("alibaba", text.as_bytes(), &options()).unwrap();
    let sectors: Vec<u64> = records.iter().map(|record| record.sector.0).collect();
    assert!(sectors.into_iter().eq(0..LINES));
}

#[test]
fn what_is_far_out_of_order_is_refused_or_counted() {
    let text: String = (1..=LINES).chain([0]).map(line).collect();
    let error = import("alibaba", text.as_bytes(), &options()).unwrap_err();
    tells(&error, &format!("line {}, time: ", LINES + 1));
    let (_, meta) = import("alibaba", text.as_bytes(), &skipping()).unwrap();
    assert_eq!(meta.unmatched, [("time goes back".to_owned(), 1)].into());
}

#[test]
fn any_order_can_be_sorted() {
    let folder = tempfile::tempdir().unwrap();
    let mut sorting = options();
    sorting.sort = Some(folder.path().to_owned());
    let text: String = (0..LINES).rev().map(line).collect();
    let (records, _) = import("alibaba", text.as_bytes(), &sorting).unwrap();
    let sectors: Vec<u64> = records.iter().map(|record| record.sector.0).collect();
    assert!(sectors.into_iter().eq(0..LINES));
}

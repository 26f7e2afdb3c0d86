//! The map of a device as a grid of equal cells.

use q2c_result::analyze::{OffsetMap, OffsetWindow};

/// The number of I/Os in each cell: one row per range, the lowest offsets first, and in it one
/// column per window of time. `None` is a cell without I/Os.
pub(crate) type OffsetCounts = Vec<Vec<Option<u64>>>;

/// The cells of a device's map. `first_range` counts ranges from offset 0.
pub(crate) struct OffsetGrid {
    /// The middle of the first window, seconds.
    pub first_s: f64,
    /// Length of a window, ns.
    pub window_ns: f64,
    first_range: u64,
    rows: usize,
    /// Length of a range, bytes.
    pub range_bytes: f64,
    /// `None` if there were no reads; `writes` alike.
    pub reads: Option<OffsetCounts>,
    pub writes: Option<OffsetCounts>,
}

/// The cell of each window and range: neighbours are joined by powers of two until few are left.
struct OffsetBinning {
    /// End of the map's first window, ns; `length` is the length of all other windows, ns.
    first_end: u64,
    length: u64,
    /// log2 of the number of windows in a column, and log2 of the number of ranges in a row.
    joined: [u32; 2],
    columns: usize,
    /// Index of the lowest row, counted in rows from offset 0.
    first: u64,
    rows: usize,
}

impl OffsetBinning {
    fn from_map(map: &OffsetMap, (most_columns, most_rows): (usize, usize)) -> OffsetBinning {
        let windows = || map.windows.iter();
        let ends = || windows().map(|w| w.start_ns.saturating_add(w.length_ns));
        let length = windows().map(|w| w.length_ns).max().unwrap_or(1).max(1);
        let first_end = ends().min().unwrap_or(0);
        let last = (ends().max().unwrap_or(0) - first_end) / length;
        let ranges = || windows().flat_map(|w| w.reads.iter().chain(&w.writes));
        let numbers = || ranges().map(|(number, _)| *number);
        let (low, high) = (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0));
        let many = |from: u64, to: u64, most: usize| {
            (0..u64::BITS - 1).find(|n| (to >> n) - (from >> n) < most as u64)
        };
        let joined = [
            many(0, last, most_columns).unwrap_or(0),
            many(low, high, most_rows).unwrap_or(0),
        ];
        OffsetBinning {
            first_end,
            length,
            joined,
            columns: (last >> joined[0]) as usize + 1,
            first: low >> joined[1],
            rows: ((high >> joined[1]) - (low >> joined[1])) as usize + 1,
        }
    }

    fn counts(
        &self,
        map: &OffsetMap,
        get: fn(&OffsetWindow) -> &Vec<(u64, u64)>,
    ) -> Option<OffsetCounts> {
        let mut counts: OffsetCounts = vec![vec![None; self.columns]; self.rows];
        let mut any = false;
        for window in &map.windows {
            let end = window.start_ns.saturating_add(window.length_ns);
            let column = ((end - self.first_end) / self.length) >> self.joined[0];
            for (number, ios) in get(window) {
                let row = (number >> self.joined[1]) - self.first;
                let cell = &mut counts[row as usize][column as usize];
                *cell = Some(cell.unwrap_or(0).saturating_add(*ios));
                any = true;
            }
        }
        any.then_some(counts)
    }
}

impl OffsetGrid {
    pub(crate) fn from_map(map: &OffsetMap, most: (usize, usize)) -> OffsetGrid {
        let places = OffsetBinning::from_map(map, most);
        let window_ns = places.length as f64 * 2f64.powi(places.joined[0] as i32);
        let begin = places.first_end as f64 - places.length as f64;
        OffsetGrid {
            first_s: (begin + window_ns / 2.0) * 1e-9,
            window_ns,
            first_range: places.first,
            rows: places.rows,
            range_bytes: map.range_bytes as f64 * 2f64.powi(places.joined[1] as i32),
            reads: places.counts(map, |window| &window.reads),
            writes: places.counts(map, |window| &window.writes),
        }
    }

    /// The middle of the lowest range, bytes.
    pub(crate) fn first_offset(&self) -> f64 {
        (self.first_range as f64 + 0.5) * self.range_bytes
    }

    /// The end of the highest range, bytes.
    pub(crate) fn end(&self) -> f64 {
        (self.first_range as f64 + self.rows as f64) * self.range_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of 8 ns, the first one of 5 ns. Each read is (start of the window, range, I/Os).
    fn map(reads: &[(u64, u64, u64)]) -> OffsetMap {
        let window = |(start, range, ios): &(u64, u64, u64)| OffsetWindow {
            start_ns: *start,
            length_ns: if *start == 0 { 5 } else { 8 },
            reads: vec![(*range, *ios)],
            writes: Vec::new(),
        };
        OffsetMap {
            device: "8:0".to_owned(),
            range_bytes: 4096,
            windows: reads.iter().map(window).collect(),
        }
    }

    #[test]
    fn windows_stand_at_their_times() {
        let grid = OffsetGrid::from_map(&map(&[(0, 7, 2), (13, 9, 3)]), (16, 16));
        let wanted: OffsetCounts = vec![
            vec![Some(2), None, None],
            vec![None, None, None],
            vec![None, None, Some(3)],
        ];
        assert_eq!(grid.reads, Some(wanted));
        assert_eq!(grid.writes, None);
        assert_eq!((grid.window_ns, grid.range_bytes), (8.0, 4096.0));
        // The first window ends at 5 ns; with the full length it would begin at -3 ns.
        assert!((grid.first_s - 1e-9).abs() < 1e-18, "{}", grid.first_s);
        assert_eq!(
            (grid.first_offset(), grid.end()),
            (7.5 * 4096.0, 10.0 * 4096.0)
        );
    }

    #[test]
    fn neighbours_are_put_together_until_there_are_few() {
        let reads = [(0, 6, 1), (5, 7, 2), (13, 9, 4), (21, 9, 8)];
        let grid = OffsetGrid::from_map(&map(&reads), (2, 2));
        assert_eq!(
            grid.reads,
            Some(vec![vec![Some(3), None], vec![None, Some(12)]])
        );
        assert_eq!((grid.window_ns, grid.range_bytes), (16.0, 8192.0));
        assert_eq!(grid.first_offset(), 3.5 * 8192.0);
    }

    #[test]
    fn absurd_maps_make_no_large_grid() {
        let grid = OffsetGrid::from_map(&map(&[(0, 0, 1), (u64::MAX, u64::MAX, 1)]), (4, 4));
        let reads = grid.reads.expect("reads");
        assert!(reads.len() <= 4 && reads[0].len() <= 4);
    }
}

use crate::import::row::DAY;
use jiff::civil::Time;
use jiff::fmt::temporal::Pieces;
use jiff::tz::Offset;
use q2c_model::Nanos;

/// The kind of clock that a column's dates or times of day are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::import) enum ClockOrigin {
    /// Dates with a zone: `2024-01-15T10:30:45.5+02:00`.
    Unix,
    /// Dates without a zone: `2024-01-15 10:30:45.5`.
    Date,
    /// Times of day: `10:30:45.5`.
    Day,
}

impl ClockOrigin {
    /// The clock of a cell; `None` for numbers and other text.
    pub(super) fn recognise(cell: &str) -> Option<ClockOrigin> {
        parse(cell).map(|(clock, _)| clock)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            ClockOrigin::Unix => "date and time with a zone",
            ClockOrigin::Date => "date and time without a zone, taken as UTC",
            ClockOrigin::Day => "time of day",
        }
    }

    /// Nanoseconds since 1970, or since midnight; `None` if the cell is of another clock.
    pub(in crate::import) fn nanos(self, cell: &str) -> Option<u64> {
        let (clock, ns) = parse(cell)?;
        u64::try_from(ns).ok().filter(|_| clock == self)
    }
}

/// The fact with the number of midnights in a recording whose last time is `last`.
pub(in crate::import) fn midnights(last: Nanos) -> Option<(&'static str, String)> {
    let days = last.0 / DAY.0;
    let meaning = "a time of day more than 12 hours before the one above is of the next day";
    (days > 0).then(|| ("midnights", format!("{days} ({meaning})")))
}

/// Adds the day to a time of day: the day of `previous`, the time before it, or the next day if the
/// time falls by more than 12 hours. A late row from before midnight would rise by almost a day; it
/// keeps the day before.
pub(in crate::import) fn add_day(time: Nanos, previous: Nanos) -> Nanos {
    let hour = DAY.0 / 24;
    let same_day = (previous.0 - previous.0 % DAY.0).saturating_add(time.0);
    Nanos(if same_day.saturating_add(12 * hour) < previous.0 {
        same_day.saturating_add(DAY.0)
    } else if previous >= DAY && same_day > previous.0.saturating_add(23 * hour) {
        same_day - DAY.0
    } else {
        same_day
    })
}

/// Forms of dates and times that can be read, for messages.
pub(super) const FORMS: &str = "a time of day (23:59:59.9) or a date and time (2024-01-15 23:59:59.9, also with T for the blank, and with Z, UTC, GMT or +02:00 behind)";

/// True if a cell looks like a date or a time of day, even in a form that cannot be read.
pub(super) fn is_like_clock(cell: &str) -> bool {
    cell.contains([':', '/'])
}

fn parse(cell: &str) -> Option<(ClockOrigin, i128)> {
    let is_of_time = |byte: u8| byte.is_ascii_digit() || b":.,".contains(&byte);
    if cell.contains(':') && cell.bytes().all(is_of_time) {
        let time: Time = cell.parse().ok()?;
        let since_midnight = time.duration_since(Time::midnight());
        return Some((ClockOrigin::Day, since_midnight.as_nanos()));
    }
    let mut names = [" UTC", " GMT"].into_iter();
    let in_utc = names.find_map(|zone| cell.strip_suffix(zone));
    let with_zone = in_utc.map(|date| format!("{date}Z"));
    let pieces = Pieces::parse(with_zone.as_deref().unwrap_or(cell)).ok()?;
    if pieces.time_zone_annotation().is_some() {
        return None;
    }
    let offset = pieces.to_numeric_offset();
    let date = pieces.date().to_datetime(pieces.time()?);
    let instant = offset.unwrap_or(Offset::UTC).to_timestamp(date).ok()?;
    let clock = offset.map_or(ClockOrigin::Date, |_| ClockOrigin::Unix);
    Some((clock, instant.as_nanosecond()))
}

use jiff::Timestamp;
use std::time::SystemTime;

/// A system time as a timestamp. A time outside the years -9999 to 9999 does not come from a
/// working clock and becomes 1970.
fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// A time for folder names, such as `20261120T110747Z`. Such names sort by time.
pub(super) fn compact(time: SystemTime) -> String {
    timestamp(time).strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// A time for logs, such as `2026-11-20T11:07:47Z`.
pub(super) fn extended(time: SystemTime) -> String {
    timestamp(time).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Whole seconds since 1970; 0 for earlier times.
pub(super) fn unix_s(time: SystemTime) -> u64 {
    u64::try_from(timestamp(time).as_second()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn known_moments() {
        // date -u -d @951827696 gives Tue Feb 29 12:34:56 UTC 2000.
        let leap_day = SystemTime::UNIX_EPOCH + Duration::from_millis(951_827_696_999);
        assert_eq!(compact(leap_day), "20000229T123456Z");
        assert_eq!(extended(leap_day), "2000-02-29T12:34:56Z");
        assert_eq!(unix_s(leap_day), 951_827_696);
    }
}

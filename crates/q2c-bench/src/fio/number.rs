//! Parses numbers as fio writes them.

use std::collections::BTreeSet;

/// The meaning of the suffixes `k` and `kib` in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KbBase {
    /// `k` is 1024 and `kib` is 1000: fio's default.
    #[default]
    K1024,
    /// `k` is 1000 and `kib` is 1024.
    K1000,
}

/// A whole number with fio's suffixes, such as `4k`, `64KiB`, `0x1000`, `1m`. `kib` is 1000 if `k`
/// is 1024, and the reverse. `ki` means the same as `k`: fio 3.33 reads it so, against its manual.
pub fn parse_integer(text: &str, base: KbBase) -> Option<u64> {
    let (number, suffix) = number(text.trim())?;
    let suffix = suffix.to_ascii_lowercase();
    let power = match suffix.chars().next() {
        None => 0,
        Some(unit) => "bkmgtp".find(unit)? as u32,
    };
    let is_swapped = match (power, suffix.get(1..).unwrap_or_default()) {
        (_, "") => false,
        (1.., "b" | "i") => false,
        (1.., "ib") => true,
        _ => return None,
    };
    let unit: u64 = match (base, is_swapped) {
        (KbBase::K1024, false) | (KbBase::K1000, true) => 1024,
        (KbBase::K1024, true) | (KbBase::K1000, false) => 1000,
    };
    number.checked_mul(unit.pow(power))
}

/// Splits a text into its number (hexadecimal after `0x`) and its suffix.
fn number(text: &str) -> Option<(u64, &str)> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (text, radix) = hex.map_or((text, 10), |digits| (digits, 16));
    let end = text.find(|c: char| !c.is_digit(radix));
    let (digits, suffix) = text.split_at(end.unwrap_or(text.len()));
    Some((u64::from_str_radix(digits, radix).ok()?, suffix.trim()))
}

/// A time such as `30` (seconds), `10m` or `500ms`, in seconds; `None` for any other text.
pub fn seconds(text: &str) -> Option<f64> {
    let (number, suffix) = number(text.trim())?;
    let unit = match suffix.to_ascii_lowercase().as_str() {
        "d" => 86_400.0,
        "h" => 3_600.0,
        "m" => 60.0,
        "" | "s" | "sec" => 1.0,
        "ms" | "msec" => 1e-3,
        "us" | "usec" => 1e-6,
        _ => return None,
    };
    Some(number as f64 * unit)
}

/// CPU numbers must be below this bound, which no machine reaches.
const CPU_BOUND: u32 = 1 << 16;

/// CPUs such as `0,5,8-15`, ascending and each once, since fio means a set. `None` for other text.
pub fn cpus(text: &str) -> Option<Vec<u32>> {
    let cpu_number = |part: &str| {
        let cpu: Option<u32> = part.trim().parse().ok();
        cpu.filter(|&cpu| cpu < CPU_BOUND)
    };
    let mut cpus = BTreeSet::new();
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let (from, to) = (cpu_number(from)?, cpu_number(to)?);
        if from > to {
            return None;
        }
        cpus.extend(from..=to);
    }
    Some(cpus.into_iter().collect())
}

//! Second windowed rules as functions of an epoch, written from the published descriptions.

use super::closed_loop::INTERRUPT;
use super::epochs::{Epoch, percent_of};

pub(crate) fn mean(epoch: &Epoch, percent: u64) -> u64 {
    percent_of(percent, epoch.mean())
}

pub(crate) fn min(epoch: &Epoch, percent: u64) -> u64 {
    percent_of(percent, epoch.sorted()[0])
}

/// A share of the 5 % quantile, the time that 5 % of all do not exceed. It is known only to its
/// bin, a 64th part of a doubling; the bin's middle stands for it, kept within the times seen.
pub(crate) fn twentieth(epoch: &Epoch, percent: u64) -> u64 {
    let sorted = epoch.sorted();
    let (n, least, most) = (sorted.len(), sorted[0], sorted[sorted.len() - 1]);
    let exact = sorted[(n.div_ceil(20)).max(1) - 1];
    let mut width = 1;
    while exact / width >= 128 {
        width *= 2;
    }
    let middle = exact / width * width + (width - 1) / 2;
    percent_of(percent, middle.max(least).min(most))
}

/// Minimum less 2 x 1487 + 1076 = 4050 ns; interrupts from ten times that cost on, polling up to
/// the cost.
pub(crate) fn ehp(epoch: &Epoch, _: u64) -> u64 {
    match epoch.sorted()[0] {
        long if long >= 40_500 => INTERRUPT,
        some if some > 4_050 => some - 4_050,
        _ => 0,
    }
}

/// Mean - 4 LMD; by the miss rate a quarter less, or half the mean.
pub(crate) fn lmd(epoch: &Epoch, _: u64) -> u64 {
    let n = epoch.samples.len() as u64;
    let mean = epoch.mean();
    let half = mean.div_ceil(2);
    let Some(before) = epoch.mean_before else {
        return half;
    };
    let below: Vec<_> = epoch.samples.iter().filter(|s| s.0 < before).collect();
    let lmd = below.iter().map(|s| before - s.0).sum::<u64>() / n;
    let k = below.iter().filter(|s| s.1).count();
    if lmd == 0 || mean <= 4 * lmd {
        return half;
    }
    let v = mean - 4 * lmd;
    // The quotient is infinite without a miss.
    let q = (n as f64 / k as f64).log2().floor();
    let v = match q {
        ..=4.0 => half,
        ..=7.0 => v - v / 4,
        _ => v,
    };
    v.max(half)
}

/// A share of the mean by size class: 30, 35, 40 % and so on.
pub(crate) fn by_size(epoch: &Epoch, _: u64) -> u64 {
    percent_of(30 + 5 * u64::from(epoch.size_class), epoch.mean())
}

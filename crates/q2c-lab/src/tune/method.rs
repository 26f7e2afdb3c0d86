//! How a cell waits.

use super::kernel;
use super::outcome::Windows;
use q2c_advice::Method;
use q2c_capture::kernel_hybrid::Delay;
use std::fmt;
use std::str::FromStr;

/// A cell's method, parsed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum CellMethod {
    /// One that can be recommended.
    Of(Method),
    /// The kernel's own: [`super::kernel`].
    Kernel(Delay),
}

impl CellMethod {
    /// The method that can be recommended.
    pub(super) fn own(&self) -> Option<&Method> {
        match self {
            CellMethod::Of(method) => Some(method),
            CellMethod::Kernel(_) => None,
        }
    }

    /// What a formula made of the windows so far, in all lanes built from this method; `None` for a
    /// method without one.
    pub(super) fn windows(&self) -> Option<Windows> {
        self.own()?.policy()?.tally().map(|tally| Windows {
            all: tally.windows,
            negative: tally.negative,
            undefined: tally.undefined,
        })
    }
}

/// `interrupt`, `poll`, `hybrid:POLICY`, `hybrid-kernel` (the kernel's own sleep), or
/// `hybrid-kernel:57us` (fixed).
impl fmt::Display for CellMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CellMethod::Of(method) => method.fmt(f),
            CellMethod::Kernel(Delay(0)) => f.write_str(kernel::METHOD),
            CellMethod::Kernel(Delay(us)) => write!(f, "{}:{us}us", kernel::METHOD),
        }
    }
}

impl FromStr for CellMethod {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(rest) = text.strip_prefix(kernel::METHOD) else {
            return text
                .parse()
                .map(CellMethod::Of)
                .map_err(|e: q2c_advice::ParseMethodError| e.to_string());
        };
        let delay = match rest {
            "" => Some(0),
            _ => rest
                .strip_prefix(':')
                .and_then(|us| us.strip_suffix("us"))
                .and_then(|us| us.parse().ok()),
        };
        delay
            .map(|us| CellMethod::Kernel(Delay(us)))
            .ok_or_else(|| format!("expected hybrid-kernel or hybrid-kernel:57us, found `{text}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_read_back() {
        let hybrid = "mean:50%,100ms".parse().expect("a rule");
        for (text, wanted) in [
            ("interrupt", CellMethod::Of(Method::Interrupt)),
            ("poll", CellMethod::Of(Method::Poll)),
            ("hybrid-kernel", CellMethod::Kernel(Delay(0))),
            ("hybrid-kernel:57us", CellMethod::Kernel(Delay(57))),
            (
                "hybrid:mean:ratio=50%,period=100ms",
                CellMethod::Of(Method::Hybrid(hybrid)),
            ),
        ] {
            let read: CellMethod = text.parse().expect(text);
            assert_eq!(read, wanted, "{text}");
            assert_eq!(read.to_string(), text);
        }
        for text in [
            "hybrid-kernel:57",
            "hybrid-kernel:xus",
            "hybrid-kernelly",
            "sleep",
        ] {
            assert!(text.parse::<CellMethod>().is_err(), "{text}");
        }
    }
}

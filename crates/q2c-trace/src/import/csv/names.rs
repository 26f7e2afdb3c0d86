use crate::container::parse_device;
use crate::import::error::BadLine;
use crate::import::row::numbered;
use q2c_model::DevId;

/// Most names, as they are searched one by one, and the length of the longest, bytes.
const MOST: (usize, usize) = (1024, 256);

#[derive(Debug, Default)]
pub(super) struct CsvDeviceNames {
    names: Vec<String>,
    any_numbers: bool,
}

impl CsvDeviceNames {
    /// The device of a cell: `259:1`; `3` for `1:3`; or a name, which gets the next number of the
    /// major 1. A source has either names or numbers.
    pub(super) fn device(&mut self, cell: &str) -> Result<DevId, BadLine> {
        let bad = |expected| BadLine::new("not a value of the field", "device", expected, cell);
        let number = parse_device(cell).ok();
        let number = number.or_else(|| cell.parse().ok().map(numbered));
        if number.map_or(self.any_numbers, |_| self.any()) {
            return Err(bad(
                "devices by names alone or by numbers alone, as in the rows above",
            ));
        }
        if let Some(number) = number {
            self.any_numbers = true;
            return Ok(number);
        }
        let known = self.names.iter().rposition(|name| name == cell);
        if known.is_none() {
            if self.names.len() == MOST.0 || cell.len() > MOST.1 {
                return Err(bad("at most 1024 devices, with names of at most 256 bytes"));
            }
            self.names.push(cell.to_owned());
        }
        // The bound on names keeps the number within 32 bits.
        Ok(numbered(known.unwrap_or(self.names.len() - 1) as u32))
    }

    pub(super) fn any(&self) -> bool {
        !self.names.is_empty()
    }

    pub(super) fn facts(&self) -> impl Iterator<Item = (String, String)> {
        let names = self.names.iter().enumerate();
        names.map(|(at, name)| (format!("device.1:{at}"), name.clone()))
    }
}

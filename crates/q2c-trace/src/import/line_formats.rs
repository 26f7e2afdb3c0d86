//! Published traces with one request per line. Only the shape of the rows identifies their format.

use super::run::{fact, require};
use super::shape::{self, LineUnits};
use super::text::{
    self, BOM, Cells, Parse, Separator, address, length, number_32, read_or_write, sector_length,
    time, whole_number,
};
use super::{
    BadLine, Import, ImportError, ImportFormat, ImportOption as O, MaybeTime, Name, Row, Spec,
    TimeUnit, bad,
};
use q2c_model::{Bytes, DevId, Nanos, Op, TraceMeta};

/// A format of lines, of which the first `N` cells are read. Its defaults are those of most
/// formats.
pub(super) trait LineFormat<const N: usize> {
    const SPEC: Spec;
    const HELP: &'static str;
    /// The cells of a line, for messages.
    const LINE: &'static str;
    /// Smallest and largest number of cells of a line.
    const CELLS: (usize, usize);
    const SEPARATOR: Separator = Separator::Comma;
    /// The first cell of a header.
    const HEADER: Option<&'static [u8]> = None;
    const USES: &'static [O] = &[O::Unit, O::OffsetUnit, O::Sort];
    /// The units in which lines are read where nothing else is stated or asked for.
    const UNITS: LineUnits;
    const FORMAT: ImportFormat = ImportFormat {
        name: Self::SPEC.name,
        help: Self::HELP,
        sniff: Self::sniff,
        by_shape: true,
        uses: Self::USES,
        import: Self::import,
    };

    fn row(cells: &Cells<'_, N>, units: &LineUnits) -> Result<Row, BadLine>;

    #[inline]
    fn parse(line: &[u8], units: &LineUnits) -> Parse {
        let cells = Cells::from_line(line, Self::SEPARATOR, Self::CELLS, Self::LINE)?;
        if Self::HEADER == Some(cells.get(0)) {
            return Ok(None);
        }
        Self::row(&cells, units).map(Some)
    }

    fn sniff(head: &[u8]) -> bool {
        shape::detect_unit(head, &Self::SPEC, Self::UNITS, Self::parse).is_some()
    }

    fn units(from: &mut Import<'_>) -> Result<LineUnits, ImportError> {
        shape::find_units(from, &Self::SPEC, Self::UNITS, Self::parse)
    }

    fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
        let units = Self::units(from)?;
        text::import(from, &Self::SPEC, |line| Self::parse(line, &units))
    }
}

/// Alibaba Cloud block traces (2020). Offset and length are in bytes, the timestamp is microseconds
/// since 1970, the opcode is `R` or `W`. There is no header.
pub(super) struct Alibaba;

impl LineFormat<5> for Alibaba {
    const SPEC: Spec = Spec {
        is_unix: true,
        ..Spec::lines("alibaba", "Unix time")
    };
    const HELP: &str = "Alibaba Cloud 2020: device_id,opcode,offset,length,timestamp (not verified against a real file)";
    const LINE: &str = "5 cells: device_id,opcode,offset,length,timestamp";
    const CELLS: (usize, usize) = (5, 5);
    const HEADER: Option<&[u8]> = Some(b"device_id");
    const UNITS: LineUnits = LineUnits::in_units(TimeUnit::Microseconds, Bytes(1));

    fn row(cells: &Cells<'_, 5>, units: &LineUnits) -> Result<Row, BadLine> {
        let number = number_32(cells.get(0), "device_id")?;
        let op = read_or_write(cells.get(1), "opcode")?;
        let sector = address(cells.get(2), units.offsets, "offset")?;
        let bytes = length(cells.get(3), Bytes(1), "length")?;
        let start = time(cells.get(4), units.unit, "timestamp")?;
        Ok(Row::new(start, op, sector, bytes).with_device(number))
    }

    fn units(from: &mut Import<'_>) -> Result<LineUnits, ImportError> {
        let mut units = Self::UNITS;
        units.offsets = from.options.offset_unit.unwrap_or(units.offsets);
        shape::find_units(from, &Self::SPEC, units, Self::parse)
    }
}

/// DiskSim ASCII. Blocks have 512 bytes. Times are milliseconds in DiskSim's own files and
/// nanoseconds in copies of the format, so the unit must be stated. The lowest bit of the flags is
/// 1 for reads, unless stated otherwise.
pub(super) struct DiskSim;

impl LineFormat<5> for DiskSim {
    const SPEC: Spec = Spec::lines("disksim", "as in the source");
    const HELP: &str = "DiskSim ASCII: time device block blocks flags; needs the unit (ms in DiskSim's own files); --read-flag 0 where 0 is a read";
    const LINE: &str = "5 numbers: time device block blocks flags";
    const CELLS: (usize, usize) = (5, 5);
    const SEPARATOR: Separator = Separator::Blanks;
    const USES: &[O] = &[O::Unit, O::OffsetUnit, O::ReadFlag, O::Sort];
    const UNITS: LineUnits = LineUnits::in_units(TimeUnit::Nanoseconds, Bytes(512));

    fn row(cells: &Cells<'_, 5>, units: &LineUnits) -> Result<Row, BadLine> {
        let start = time(cells.get(0), units.unit, "time")?;
        let number = number_32(cells.get(1), "device")?;
        let sector = address(cells.get(2), units.offsets, "block")?;
        let bytes = length(cells.get(3), units.offsets, "blocks")?;
        let read = whole_number(cells.get(4), "flags")? & 1 == units.read_flag;
        let op = if read { Op::Read } else { Op::Write };
        Ok(Row::new(start, op, sector, bytes).with_device(number))
    }

    /// Copies of the format use bytes; the import then asks for the unit of offsets.
    fn sniff(head: &[u8]) -> bool {
        [Bytes(512), Bytes(1)].into_iter().any(|offsets| {
            let units = LineUnits {
                offsets,
                ..Self::UNITS
            };
            shape::sniff(head, &Self::SPEC, |line| Self::parse(line, &units))
        })
    }

    fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
        let (path, options) = (from.path, from.options);
        let reason = "DiskSim counts milliseconds (ms), copies of the format also nanoseconds (ns)";
        let units = LineUnits {
            unit: require(options.unit, path, "unit", reason)?,
            offsets: shape::find_offset_unit(from, true, |line| Self::parse(line, &Self::UNITS))?,
            read_flag: u64::from(options.read_flag.unwrap_or(1) & 1),
            ..Self::UNITS
        };
        let mut meta = text::import(from, &Self::SPEC, |line| Self::parse(line, &units))?;
        meta.facts.extend([
            fact("unit", units.unit.name()),
            fact("stated.read_flag", units.read_flag),
        ]);
        Ok(meta)
    }
}

/// FIU IODedup and SRCMap. Times are nanoseconds, address and size are sectors of 512 bytes, the
/// operation is `R` or `W`. The hash may be missing and is ignored.
pub(super) struct Fiu;

impl LineFormat<8> for Fiu {
    const SPEC: Spec = Spec::lines("fiu", "as in the source");
    const HELP: &str = "FIU IODedup, SRCMap: ts pid process lba size op major minor md5 (not verified against a real file)";
    const LINE: &str = "8 or 9 cells: ts pid process lba size op major minor md5";
    const CELLS: (usize, usize) = (8, 9);
    const SEPARATOR: Separator = Separator::Blanks;
    const UNITS: LineUnits = LineUnits::in_units(TimeUnit::Nanoseconds, Bytes(512));

    fn row(cells: &Cells<'_, 8>, units: &LineUnits) -> Result<Row, BadLine> {
        let start = time(cells.get(0), units.unit, "ts")?;
        let pid = number_32(cells.get(1), "pid")?;
        let sector = address(cells.get(3), units.offsets, "lba")?;
        let bytes = sector_length(cells.get(4), units.sizes, "size")?;
        let op = read_or_write(cells.get(5), "op")?;
        let mut row = Row::new(start, op, sector, bytes);
        row.device = DevId {
            major: number_32(cells.get(6), "major")?,
            minor: number_32(cells.get(7), "minor")?,
        };
        row.pid = Some(pid);
        row.name = Name::cut(cells.get(2));
        Ok(row)
    }

    fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
        let units = Self::units(from)?;
        shape::import_units(from, &Self::SPEC, units, Self::parse)
    }
}

/// MSR Cambridge. Times are Windows file times (100 ns since 1601), the response is in 100 ns,
/// offset and size are in bytes. A device's major number is its host's number by appearance, from
/// 1; the minor number is the disk's.
pub(super) struct Msr;

impl LineFormat<7> for Msr {
    const SPEC: Spec = Spec {
        is_unix: true,
        ends: true,
        has_hosts: true,
        numbers_devices: true,
        ..Spec::lines("msr", "Unix time from Windows file time, 100 ns")
    };
    const HELP: &str = "MSR Cambridge: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime (not verified against a real file)";
    const LINE: &str = "7 cells: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";
    const CELLS: (usize, usize) = (7, 7);
    const HEADER: Option<&[u8]> = Some(b"Timestamp");
    const USES: &[O] = &[O::Sort];
    const UNITS: LineUnits = LineUnits::in_units(TimeUnit::Nanoseconds, Bytes(1));

    fn row(cells: &Cells<'_, 7>, _: &LineUnits) -> Result<Row, BadLine> {
        let start = file_time(cells.get(0))?;
        let host = cells.get(1);
        let name = Name::if_fits(host).filter(|_| !host.is_empty());
        let name = name.ok_or_else(|| bad("Hostname", "a name of 1 to 16 bytes", host))?;
        let disk = number_32(cells.get(2), "DiskNumber")?;
        let op = read_or_write(cells.get(3), "Type")?;
        let sector = address(cells.get(4), Bytes(1), "Offset")?;
        let bytes = length(cells.get(5), Bytes(1), "Size")?;
        let response = whole_number(cells.get(6), "ResponseTime")?.checked_mul(100);
        let expected = "100 ns units, below 2^64 ns";
        let response = response.ok_or_else(|| bad("ResponseTime", expected, cells.get(6)))?;
        let mut row = Row::new(start, op, sector, bytes);
        (row.latency, row.name) = (MaybeTime::from(Nanos(response)), name);
        row.device.minor = disk;
        Ok(row)
    }
}

fn file_time(cell: &[u8]) -> Result<Nanos, BadLine> {
    /// File time of 1970, in 100 ns: 369 years with 89 leap days.
    const UNIX_EPOCH: u64 = (369 * 365 + 89) * 86_400 * 10_000_000;
    let since_1970 = whole_number(cell, "Timestamp")?.checked_sub(UNIX_EPOCH);
    let ns = since_1970.and_then(|ticks| ticks.checked_mul(100));
    let expected = "a Windows file time (100 ns since 1601) between 1970 and 2554";
    ns.map(Nanos)
        .ok_or_else(|| bad("Timestamp", expected, cell))
}

/// Nexus 5 BIOtracer, separated by tabs. Times are seconds. An odd type is a write. Readers of the
/// set disagree on the unit of the address, so it must be stated. A request starts when it was
/// generated, and ends when it was finished, if the file has that time.
pub(super) struct Nexus5;

impl LineFormat<8> for Nexus5 {
    const SPEC: Spec = Spec {
        ends: true,
        ..Spec::lines("nexus5", "as in the source")
    };
    const HELP: &str = "Nexus 5 BIOtracer: address sectors bytes type generated processed submitted [finished]; needs the offset unit (not verified against a real file)";
    const LINE: &str =
        "7 or 8 numbers: address sectors bytes type generated processed submitted [finished]";
    const CELLS: (usize, usize) = (7, 8);
    const SEPARATOR: Separator = Separator::Blanks;
    const UNITS: LineUnits = LineUnits::in_units(TimeUnit::Seconds, Bytes(512));

    fn row(cells: &Cells<'_, 8>, units: &LineUnits) -> Result<Row, BadLine> {
        let sector = address(cells.get(0), units.offsets, "address")?;
        whole_number(cells.get(1), "sectors")?;
        let bytes = length(cells.get(2), Bytes(1), "bytes")?;
        let write = whole_number(cells.get(3), "type")? % 2 == 1;
        let op = if write { Op::Write } else { Op::Read };
        let time_at = |cell, field| time(cells.get(cell), units.unit, field);
        let start = time_at(4, "generated")?;
        time_at(5, "processed")?;
        time_at(6, "submitted")?;
        let mut row = Row::new(start, op, sector, bytes);
        if cells.count == 8 {
            let end = time_at(7, "finished")?;
            if end < start {
                let distance = format!("{} ns before", (start - end).0);
                let expected = "a time not before the generation";
                let bad = BadLine::new("time goes back", "finished", expected, "");
                return Err(bad.found(distance));
            }
            row.latency = MaybeTime::from(end - start);
        }
        Ok(row)
    }

    fn sniff(head: &[u8]) -> bool {
        let parse = |line: &[u8]| Self::parse(line, &Self::UNITS);
        head.contains(&b'\t') && shape::sniff(head, &Self::SPEC, parse)
    }

    fn units(from: &mut Import<'_>) -> Result<LineUnits, ImportError> {
        let reason = "addresses are sectors (512) or bytes (1), and readers of the set differ";
        Ok(LineUnits {
            unit: from.options.unit.unwrap_or(Self::UNITS.unit),
            offsets: require(from.options.offset_unit, from.path, "offset unit", reason)?,
            ..Self::UNITS
        })
    }
}

/// SPC trace file format 1.0.1 (Financial, WebSearch), further cells allowed. The address is in
/// blocks, 512 bytes by convention, and the size in bytes. The timestamp is in seconds from the
/// start. The opcode is `R` or `W` in either case.
pub(super) struct Spc;

impl LineFormat<5> for Spc {
    const SPEC: Spec = Spec::lines("spc", "from the recording's start");
    const HELP: &str = "SPC 1.0.1 (Financial, WebSearch): ASU,LBA,size,opcode,timestamp (not verified against a real file)";
    const LINE: &str = "5 cells or more: ASU,LBA,size,opcode,timestamp";
    const CELLS: (usize, usize) = (5, usize::MAX);
    const UNITS: LineUnits = LineUnits::in_units(TimeUnit::Seconds, Bytes(512));

    fn row(cells: &Cells<'_, 5>, units: &LineUnits) -> Result<Row, BadLine> {
        let number = number_32(cells.get(0), "ASU")?;
        let sector = address(cells.get(1), units.offsets, "LBA")?;
        let bytes = length(cells.get(2), Bytes(1), "size")?;
        let op = read_or_write(cells.get(3), "opcode")?;
        let start = time(cells.get(4), units.unit, "timestamp")?;
        Ok(Row::new(start, op, sector, bytes).with_device(number))
    }

    fn units(from: &mut Import<'_>) -> Result<LineUnits, ImportError> {
        let mut units = Self::UNITS;
        units.unit = from.options.unit.unwrap_or(units.unit);
        units.offsets = shape::find_offset_unit(from, false, |line| Self::parse(line, &units))?;
        Ok(units)
    }
}

/// SYSTOR'17 (enterprise VDI), with a header that may repeat if files were joined. The timestamp is
/// Unix seconds with 9 decimals, of which 6 are valid. The response is in seconds, blank if lost.
/// Offset and size are in bytes. A type that was lost with the response becomes `other`.
pub(super) struct Systor17;

impl LineFormat<6> for Systor17 {
    const SPEC: Spec = Spec {
        is_unix: true,
        ends: true,
        ..Spec::lines("systor17", "Unix time, valid to 1 us")
    };
    const HELP: &str =
        "SYSTOR'17: Timestamp,Response,IOType,LUN,Offset,Size (not verified against a real file)";
    const LINE: &str = "6 cells: Timestamp,Response,IOType,LUN,Offset,Size";
    const CELLS: (usize, usize) = (6, 6);
    const HEADER: Option<&[u8]> = Some(b"Timestamp");
    const USES: &[O] = &[O::Unit, O::Sort];
    const UNITS: LineUnits = LineUnits::in_units(TimeUnit::Seconds, Bytes(1));

    fn row(cells: &Cells<'_, 6>, units: &LineUnits) -> Result<Row, BadLine> {
        let start = time(cells.get(0), units.unit, "Timestamp")?;
        let latency = match cells.get(1) {
            b"" => MaybeTime::UNKNOWN,
            cell => MaybeTime::from(time(cell, units.unit, "Response")?),
        };
        let op = match cells.get(2) {
            b"" => Op::Other,
            cell => read_or_write(cell, "IOType")?,
        };
        let lun = number_32(cells.get(3), "LUN")?;
        let sector = address(cells.get(4), Bytes(1), "Offset")?;
        let bytes = length(cells.get(5), Bytes(1), "Size")?;
        let mut row = Row::new(start, op, sector, bytes).with_device(lun);
        row.latency = latency;
        Ok(row)
    }

    fn sniff(head: &[u8]) -> bool {
        let text = head.strip_prefix(BOM).unwrap_or(head);
        text.starts_with(b"Timestamp,Response,IOType,LUN,Offset,Size")
            || shape::detect_unit(head, &Self::SPEC, Self::UNITS, Self::parse).is_some()
    }
}

/// Tencent CBS traces. The timestamp is whole seconds since 1970, offset and size are in sectors of
/// 512 bytes, the type is `0` for a read and `1` for a write. Copies of the set have offsets, or
/// sizes as well, in bytes; the option for the offset unit reads them.
pub(super) struct Tencent;

impl LineFormat<5> for Tencent {
    const SPEC: Spec = Spec {
        is_unix: true,
        ..Spec::lines("tencent", "Unix time")
    };
    const HELP: &str =
        "Tencent CBS: Timestamp,Offset,Size,IOType,VolumeID (not verified against a real file)";
    const LINE: &str = "5 cells: Timestamp,Offset,Size,IOType,VolumeID";
    const CELLS: (usize, usize) = (5, 5);
    const HEADER: Option<&[u8]> = Some(b"Timestamp");
    const UNITS: LineUnits = LineUnits::in_units(TimeUnit::Seconds, Bytes(512));

    fn row(cells: &Cells<'_, 5>, units: &LineUnits) -> Result<Row, BadLine> {
        let start = time(cells.get(0), units.unit, "Timestamp")?;
        let sector = address(cells.get(1), units.offsets, "Offset")?;
        let bytes = sector_length(cells.get(2), units.sizes, "Size")?;
        let op = match cells.get(3) {
            b"0" => Op::Read,
            b"1" => Op::Write,
            other => return Err(bad("IOType", "0 (read) or 1 (write)", other)),
        };
        let volume = number_32(cells.get(4), "VolumeID")?;
        Ok(Row::new(start, op, sector, bytes).with_device(volume))
    }

    fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
        let units = Self::units(from)?;
        shape::import_units(from, &Self::SPEC, units, Self::parse)
    }
}

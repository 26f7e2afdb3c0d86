//! A column of a recording: one value per I/O, in memory or in a mapped file.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Values stored elsewhere, for instance in a mapped file.
pub type ExternalValues<T> = Arc<dyn AsRef<[T]> + Send + Sync>;

/// One value per I/O: in its own memory, or as [`ExternalValues`], which are copied when changed.
#[derive(Clone)]
pub struct IoColumn<T>(Storage<T>);

#[derive(Clone)]
enum Storage<T> {
    Own(Vec<T>),
    External(ExternalValues<T>),
}

impl<T: Copy> IoColumn<T> {
    /// Removes all values except the last `keep` and returns the removed ones.
    pub(crate) fn take_except_last(&mut self, keep: usize) -> Vec<T> {
        let values = self.make_owned();
        let last_values = values.split_off(values.len().saturating_sub(keep));
        std::mem::replace(values, last_values)
    }

    /// The values in memory of its own, to which they are copied first if needed.
    pub(crate) fn make_owned(&mut self) -> &mut Vec<T> {
        if let Storage::External(values) = &self.0 {
            self.0 = Storage::Own((**values).as_ref().to_vec());
        }
        match &mut self.0 {
            Storage::Own(values) => values,
            Storage::External(_) => unreachable!("just copied"),
        }
    }
}

impl<T> Default for IoColumn<T> {
    fn default() -> Self {
        IoColumn(Storage::Own(Vec::new()))
    }
}

impl<T> From<Vec<T>> for IoColumn<T> {
    fn from(values: Vec<T>) -> Self {
        IoColumn(Storage::Own(values))
    }
}

impl<T> From<ExternalValues<T>> for IoColumn<T> {
    fn from(values: ExternalValues<T>) -> Self {
        IoColumn(Storage::External(values))
    }
}

impl<T> Deref for IoColumn<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Storage::Own(values) => values,
            Storage::External(values) => (**values).as_ref(),
        }
    }
}

impl<T: Copy> DerefMut for IoColumn<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.make_owned()
    }
}

impl<T: PartialEq> PartialEq for IoColumn<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: fmt::Debug> fmt::Debug for IoColumn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_values_are_copied_when_they_change() {
        let external: ExternalValues<u32> = Arc::new(vec![1, 2, 3]);
        let mut column = IoColumn::from(Arc::clone(&external));
        column.make_owned().push(4);
        assert_eq!(*column, [1, 2, 3, 4]);
        assert_eq!((*external).as_ref(), [1, 2, 3]);
    }

    #[test]
    fn taking_leaves_the_last() {
        let mut column = IoColumn::from(vec![1, 2, 3]);
        assert_eq!(column.take_except_last(1), [1, 2]);
        assert_eq!(column.take_except_last(1), Vec::<i32>::new());
        assert_eq!((column.take_except_last(0), column.len()), (vec![3], 0));
    }
}

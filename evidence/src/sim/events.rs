//! Things that happen at their time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Events in the order of their time; those of the same time in the order in which they were put in.
///
/// ```
/// use everbloom_lab::sim::Queue;
/// let mut queue = Queue::default();
/// queue.at(2.0, "second");
/// queue.at(1.0, "first");
/// assert_eq!(queue.next(), Some((1.0, "first")));
/// queue.after(0.5, "between");
/// assert_eq!(queue.next(), Some((1.5, "between")));
/// assert_eq!(queue.now(), 1.5);
/// ```
pub struct Queue<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    now: f64,
    entered: u64,
}

struct Entry<E> {
    time: f64,
    number: u64,
    event: E,
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.time.total_cmp(&other.time).then(self.number.cmp(&other.number))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

impl<E> Default for Queue<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), now: 0.0, entered: 0 }
    }
}

impl<E> Queue<E> {
    /// Puts an event at a time; a time that is past means now.
    pub fn at(&mut self, time: f64, event: E) {
        let (time, number) = (time.max(self.now), self.entered);
        self.entered += 1;
        self.heap.push(Reverse(Entry { time, number, event }));
    }

    /// Puts an event this long after now.
    pub fn after(&mut self, delay: f64, event: E) {
        self.at(self.now + delay, event);
    }

    /// The time of the last event taken.
    pub fn now(&self) -> f64 {
        self.now
    }
}

/// The next event and its time: the clock moves there.
impl<E> Iterator for Queue<E> {
    type Item = (f64, E);

    fn next(&mut self) -> Option<(f64, E)> {
        let Reverse(entry) = self.heap.pop()?;
        self.now = entry.time;
        Some((entry.time, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_times_keep_their_order_and_the_past_is_now() {
        let mut queue = Queue::default();
        for i in 0..100 {
            queue.at(1.0, i);
        }
        assert_eq!(
            queue.by_ref().take(100).map(|(_, i)| i).collect::<Vec<_>>(),
            (0..100).collect::<Vec<_>>()
        );
        queue.at(0.2, 7);
        assert_eq!(queue.next(), Some((1.0, 7)));
    }
}

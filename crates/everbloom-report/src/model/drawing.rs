//! Networks: dots and lines, which show something but judge nothing.

use serde::{Deserialize, Serialize};

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stroke {
    /// There, but not used.
    Pale,
    /// Used as it should be.
    Wanted,
    /// Used though it should not be.
    Wrong,
}

/// A dot of a drawing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dot {
    /// Its place in the unit square, y downwards.
    pub place: (f64, f64),
    /// The label next to it; may be empty.
    pub name: String,
}

/// Dots and the lines between them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Drawing {
    /// As [`Chart::id`](crate::Chart::id).
    pub id: String,
    /// Above the picture.
    pub title: String,
    /// The dots.
    pub dots: Vec<Dot>,
    /// The lines, by the numbers of their dots.
    pub lines: Vec<(usize, usize, Stroke)>,
}

impl Drawing {
    /// Nothing drawn yet.
    pub fn new(id: impl Into<String>, title: impl Into<String>) -> Self {
        Self { id: id.into(), title: title.into(), dots: Vec::new(), lines: Vec::new() }
    }

    /// Adds a dot: its number is how many were there before.
    pub fn dot(&mut self, place: (f64, f64), name: impl Into<String>) {
        self.dots.push(Dot { place, name: name.into() });
    }

    /// Adds a line between two dots.
    pub fn line(&mut self, from: usize, to: usize, stroke: Stroke) {
        self.lines.push((from, to, stroke));
    }
}

//! Tables: one model for terminals, markdown and HTML.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement};

use crate::markup::escape;
use crate::terminal::columns;

/// A table whose first columns hold words, to the left, and the others numbers, to the right.
#[derive(Clone, Debug)]
pub struct Table {
    words: usize,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// No rows yet; the first `words` columns hold words.
    pub fn new<S: Into<String>>(words: usize, header: impl IntoIterator<Item = S>) -> Self {
        Self { words, header: strings(header), rows: Vec::new() }
    }

    /// Adds a row.
    #[must_use]
    pub fn row<S: Into<String>>(mut self, cells: impl IntoIterator<Item = S>) -> Self {
        self.rows.push(strings(cells));
        self
    }

    /// Adds rows.
    #[must_use]
    pub fn rows<S: Into<String>, R: IntoIterator<Item = S>>(
        self,
        rows: impl IntoIterator<Item = R>,
    ) -> Self {
        rows.into_iter().fold(self, Self::row)
    }

    /// With frames, for a terminal, and no wider than that.
    pub fn terminal(&self) -> String {
        let mut table = comfy_table::Table::new();
        table
            .load_style(UTF8_FULL_CONDENSED)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_header(&self.header)
            .add_rows(&self.rows);
        if let Some(columns) = columns() {
            table.set_width(columns);
        }
        for column in table.column_iter_mut().skip(self.words) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        format!("{table}\n")
    }

    /// For a page in markdown.
    pub fn markdown(&self) -> String {
        let mut out = "|".to_owned();
        for name in &self.header {
            out += &if name.is_empty() { " |".to_owned() } else { format!(" {name} |") };
        }
        out += "\n|";
        out.extend((0..self.header.len()).map(|i| if i < self.words { "---|" } else { "---:|" }));
        for row in &self.rows {
            out += "\n|";
            out.extend(row.iter().map(|cell| format!(" {} |", cell.replace('|', "\\|"))));
        }
        out + "\n"
    }

    /// For spreadsheets: quoted where a cell needs it.
    pub fn csv(&self) -> String {
        let quoted = |cell: &String| match cell.contains([',', '"', '\n', '\r']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell.clone(),
        };
        let line =
            |cells: &Vec<String>| cells.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n";
        std::iter::once(&self.header).chain(&self.rows).map(line).collect()
    }

    /// For a page in HTML.
    pub fn html(&self) -> String {
        let line = |tag: &str, cells: &[String]| {
            let cells = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)));
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        let rows: String = self.rows.iter().map(|row| line("td", row)).collect();
        format!("<table>{}{rows}</table>\n", line("th", &self.header))
    }
}

fn strings<S: Into<String>>(cells: impl IntoIterator<Item = S>) -> Vec<String> {
    cells.into_iter().map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table::new(1, ["filter", "bits"]).rows([["bloom", "9"], ["a|b <c>", "10"]])
    }

    #[test]
    fn words_stand_left_and_numbers_right() {
        let text = table().terminal();
        assert!(text.contains("│ bloom   ┆    9 │"), "{text}");
    }

    #[test]
    fn cells_of_spreadsheets_are_quoted_where_they_must_be() {
        let text = table().row(["a \"b\", c", "1"]).csv();
        assert_eq!(text, "filter,bits\nbloom,9\na|b <c>,10\n\"a \"\"b\"\", c\",1\n");
    }

    #[test]
    fn cells_are_not_taken_for_markup() {
        let expected = "| filter | bits |\n|---|---:|\n| bloom | 9 |\n| a\\|b <c> | 10 |\n";
        assert_eq!(table().markdown(), expected);
        let expected = "<table><tr><th>filter</th><th>bits</th></tr>\n\
            <tr><td>bloom</td><td>9</td></tr>\n<tr><td>a|b &lt;c&gt;</td><td>10</td></tr>\n</table>\n";
        assert_eq!(table().html(), expected);
    }
}

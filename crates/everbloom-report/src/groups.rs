//! Long lists on one screen: names by group, as many of each as fit.

use crate::terminal::wrapped;

/// Lines of all groups together, so that a heading and a hint fit a screen of 24 with them.
const SCREEN: usize = 20;

/// Names by their groups. Where all of them are more than a screen, the longest groups end in how many more there are.
pub fn screen<'a>(names: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (group, name) in names {
        match groups.iter_mut().find(|(there, _)| *there == group) {
            Some((_, names)) => names.push(name),
            None => groups.push((group, vec![name])),
        }
    }
    let label = groups.iter().map(|(group, _)| group.len()).max().unwrap_or(0);
    let page = |most: usize| -> String {
        let line = |(group, names): &(&str, Vec<&str>)| {
            format!("{group:>label$}  {}\n", shortened(names, label + 2, most))
        };
        groups.iter().map(line).collect()
    };
    let fits = |page: &String| page.lines().count() <= SCREEN;
    (1..=SCREEN).rev().map(page).find(fits).unwrap_or_else(|| page(1))
}

/// As many of the names as fit so many lines.
fn shortened(names: &[&str], indent: usize, most: usize) -> String {
    let shown = |count: usize| {
        let more = match names.len() - count {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        wrapped(&format!("{}{more}", names[..count].join(", ")), indent)
    };
    let fits = |text: &String| text.lines().count() <= most;
    (1..=names.len()).rev().map(shown).find(fits).unwrap_or_else(|| shown(names.len().min(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_any_length_is_a_screen() {
        let names: Vec<String> = (0..400).map(|i| format!("variant-{i}")).collect();
        let group = |i: usize| ["a", "bc", "d"][i % 3];
        let page = screen(names.iter().enumerate().map(|(i, name)| (group(i), name.as_str())));
        assert!((SCREEN - 3..=SCREEN).contains(&page.lines().count()), "{page}");
        assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
        assert_eq!(page.matches(" more").count(), 3, "{page}");
        let few = screen([("a", "x"), ("b", "y"), ("a", "z")]);
        assert_eq!(few, "a  x, z\nb  y\n");
    }
}

//! Pages with a part that a chore writes, between two marks: `<!-- NAME -->` and `<!-- /NAME -->`.

use std::fs;
use std::path::Path;

/// The page with this text between its marks.
pub fn filled(page: &str, name: &str, text: &str) -> Result<String, String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let parts = page.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some((before, after))
    });
    let (before, after) = parts.ok_or_else(|| format!("there are no marks of {name}"))?;
    Ok(format!("{before}{begin}{text}{end}{after}"))
}

/// Writes the text between the marks of a page.
pub fn write(page: &Path, name: &str, text: &str) -> Result<(), String> {
    let place = |e: String| format!("{}: {e}", page.display());
    let old = fs::read_to_string(page).map_err(|e| place(e.to_string()))?;
    let new = filled(&old, name, text).map_err(place)?;
    fs::write(page, new).map_err(|e| place(e.to_string()))
}

/// Whether this text already stands between the marks of a page.
pub fn is_fresh(page: &Path, name: &str, text: &str) -> Result<bool, String> {
    let place = |e: String| format!("{}: {e}", page.display());
    let old = fs::read_to_string(page).map_err(|e| place(e.to_string()))?;
    Ok(filled(&old, name, text).map_err(place)? == old)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_between_the_marks_changes() {
        let page = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n";
        assert_eq!(filled(page, "x", "new\n").unwrap(), page.replace("old", "new"));
        assert!(filled(page, "y", "").is_err());
        assert!(filled("<!-- x -->\n", "x", "").is_err());
    }
}

//! The page for people who read the repository.

use super::{HOW_TO_READ, KINDS, Page, Section};

impl Page<'_> {
    /// In Markdown, with the pictures in files next to it.
    pub fn markdown(&self) -> String {
        let Self { title, intro, command, .. } = self;
        let mut page = format!(
            "# {title}\n\n{intro} This page and its pictures are generated:\n\n```\n{command}\n```\n\n\
             {HOW_TO_READ}\n\n## Sources\n\n"
        );
        for (name, title) in self.sources {
            page += &format!("- **{name}**: {title}\n");
        }
        page += &format!("\n## Errors found in the surveys\n\n{KINDS}\n\n");
        page += &self.errata().markdown();
        page.extend(self.sections.iter().map(section));
        page
    }
}

fn section(section: &Section<'_>) -> String {
    let Section { source, title, shows, command, report, .. } = section;
    let (passed, verdicts) = report.score();
    let mut out = format!(
        "\n## {source}: {title}\n\n{shows} ({passed} of {verdicts} verdicts agree; `{command}`)\n\n"
    );
    out.extend(section.warning().map(|warning| format!("**{warning}**\n\n")));
    for (file, panel) in section.pictures() {
        out += &format!("![{}]({file})\n\n", panel.title());
    }
    out.extend(report.notes.iter().map(|note| format!("- {note}\n")));
    out
}

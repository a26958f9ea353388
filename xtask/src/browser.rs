//! The lab's page in a browser: headless Chromium, without a network, as wide as a desk and as a phone.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::timing;

/// Widths in pixels, and how the screenshot is called.
const SCREENS: [(u32, &str); 2] = [(1280, "desk"), (390, "phone")];

/// Puts what the page looks like to the browser into its title, where `--dump-dom` shows it: the width of the page
/// and of the window, how many pictures there are, and how many of them take no room.
const LOOK: &str = "<script>addEventListener('load', () => {
    const pictures = [...document.querySelectorAll('svg, img')];
    const empty = pictures.filter(p => p.getBoundingClientRect().width < 50);
    document.title = [document.documentElement.scrollWidth, innerWidth, pictures.length, empty.length].join(' ');
})</script>";

/// Makes the page at quick effort in `folder`, or takes the one that is there, and looks at it.
pub fn run(folder: Option<&str>) -> Result<(), String> {
    if !timing::has("chromium") {
        println!("left out: no chromium here");
        return Ok(());
    }
    let folder =
        folder.map_or_else(|| std::env::temp_dir().join("everbloom-browser"), PathBuf::from);
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let made = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--release", "-p", "everbloom-lab", "--"])
        .args(["report", "--quick", "-q", "-o"])
        .arg(&folder)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return Err("the report is not made, or a verdict disagrees".to_owned());
    }
    let page = folder.join("index.html");
    let text = std::fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
    let looking = folder.join("looking.html");
    std::fs::write(&looking, format!("{text}{LOOK}")).map_err(|e| e.to_string())?;
    for (width, name) in SCREENS {
        look(&folder, &looking, width, name)?;
    }
    std::fs::remove_file(looking).map_err(|e| e.to_string())
}

fn look(folder: &Path, page: &Path, width: u32, name: &str) -> Result<(), String> {
    let picture = folder.join(format!("{name}.png"));
    chromium(folder, page, width, &format!("--screenshot={}", picture.display()))?;
    let dom = chromium(folder, page, width, "--dump-dom")?;
    let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next());
    let numbers: Vec<u32> =
        title.unwrap_or_default().split(' ').filter_map(|n| n.parse().ok()).collect();
    let [page_width, window, pictures, empty] = numbers[..] else {
        return Err(format!("{name}: the page's script did not run: {title:?}"));
    };
    if page_width > window {
        return Err(format!("{name}: the page is {page_width} wide in a window of {window}"));
    }
    if pictures < 20 || empty > 0 {
        return Err(format!("{name}: {pictures} pictures, {empty} of them empty"));
    }
    println!("{name}: {pictures} pictures fit a window of {window} pixels; {}", picture.display());
    Ok(())
}

/// Without a network: the page must bring all it needs.
fn chromium(folder: &Path, page: &Path, width: u32, what: &str) -> Result<String, String> {
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--hide-scrollbars",
        ])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=5000"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(format!("--window-size={width},2000"))
        .arg(what)
        .arg(format!("file://{}", page.display()))
        .output()
        .map_err(|e| format!("chromium: {e}"))?;
    if !output.status.success() {
        return Err(format!("chromium: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

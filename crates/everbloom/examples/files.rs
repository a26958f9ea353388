//! Filters as files: save, open, map into memory, send.
//!
//! `cargo run -p everbloom --example files`

use everbloom::{Access, BlockedBloom, Limits, Opener, Result, open, open_as, save, write_to};

fn main() -> Result<()> {
    let path = std::env::temp_dir().join(format!("everbloom-example-{}.evb", std::process::id()));

    let mut seen = BlockedBloom::with_rate(100_000, 0.01)?;
    seen.extend(0..100_000u64);
    save(&seen, &path)?;

    // As its own type, as any filter, and in place.
    let typed: BlockedBloom = open_as(&path)?;
    assert!(typed.contains(&7));
    let any = open(&path)?;
    assert!(any.contains(&7u64.to_le_bytes()));
    let mapped = Opener::new().access(Access::Map).open(&path)?;
    assert_eq!(mapped.len(), 100_000);

    // As bytes from someone else: within limits.
    let mut sent = Vec::new();
    write_to(&seen, &mut sent)?;
    let received = Opener::new().limits(Limits::NETWORK).read_from(&sent[..])?;
    println!("{}: {} items in {} bytes", received.facts().name, received.len(), sent.len());

    std::fs::remove_file(&path)?;
    Ok(())
}

//! Dictionaries of hunspell: a list of stems with flags (`.dic`), and rules for what flags make of a stem (`.aff`).
//!
//! ```text
//!   .dic   try/B        .aff   SFX B Y 2                  words   try
//!                              SFX B  y  ied  [^aeiou]y           tried
//!                              SFX B  0  ed   [aeiou]y
//! ```
//!
//! Every word is written out: prefixes, suffixes, both, and suffixes on suffixes. Words that an affix makes and
//! that the dictionary forbids are left out. Compound words, whose number has no bound, are not made:
//! [`Expansion::compounds`] tells whether a dictionary would. A word that must keep its case (KEEPCASE) is
//! accepted capitalized, too.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use everbloom::{Error, Kind, Result};

type Flag = u32;

/// A dictionary that is written out while it is gone through.
///
/// ```
/// use everbloom_tools::spell::hunspell::Expansion;
///
/// let aff = "SET UTF-8\nSFX B Y 2\nSFX B y ied [^aeiou]y\nSFX B 0 ed [aeiou]y\n";
/// let dictionary = Expansion::parse(aff.as_bytes(), b"2\ntry/B\nplay/B\n")?;
/// let mut words = Vec::new();
/// dictionary.each(|word| words.push(word.to_owned()));
/// assert_eq!(words, ["try", "tried", "play", "played"]);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Expansion {
    rules: Rules,
    /// Stems and their flags.
    stems: Vec<(String, Vec<Flag>)>,
    /// Words that are wrong although an affix makes them.
    forbidden: HashSet<String>,
}

/// How flags are written.
#[derive(Clone, Copy)]
enum Writing {
    Letter,
    Pair,
    Number,
}

struct Rules {
    writing: Writing,
    aliases: Vec<Vec<Flag>>,
    prefixes: HashMap<Flag, Affix>,
    suffixes: HashMap<Flag, Affix>,
    forbidden: Option<Flag>,
    needs_affix: Option<Flag>,
    compound_only: Option<Flag>,
    circumfix: Option<Flag>,
    full_strip: bool,
    compounds: bool,
}

#[derive(Default)]
struct Affix {
    /// Whether it goes together with one at the other end.
    cross: bool,
    rules: Vec<Rule>,
}

struct Rule {
    strip: String,
    add: String,
    condition: Vec<Atom>,
    /// What the word may get further.
    flags: Vec<Flag>,
}

enum Atom {
    Any,
    Of { letters: Vec<char>, negated: bool },
}

impl Atom {
    fn admits(&self, c: char) -> bool {
        match self {
            Atom::Any => true,
            Atom::Of { letters, negated } => letters.contains(&c) != *negated,
        }
    }
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(Kind::BadRecord, message)
}

/// The text in the encoding that the rules name.
fn decoded<'a>(bytes: &'a [u8], encoding: &str) -> Result<Cow<'a, str>> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match encoding.to_ascii_uppercase().replace("ISO-", "ISO").as_str() {
        "UTF-8" => std::str::from_utf8(bytes)
            .map(Cow::Borrowed)
            .map_err(|e| bad(format!("byte {} is not UTF-8", e.valid_up_to()))),
        "ISO8859-1" | "" => Ok(bytes.iter().map(|byte| char::from(*byte)).collect()),
        other => Err(bad(format!(
            "encoding {other} is not read: convert both files by `iconv -f {other} -t UTF-8`, and write SET UTF-8"
        ))),
    }
}

impl Expansion {
    /// Reads the rules and the stems.
    pub fn parse(aff: &[u8], dic: &[u8]) -> Result<Self> {
        let set =
            aff.split(|b| *b == b'\n').find_map(|line| line.trim_ascii().strip_prefix(b"SET "));
        let encoding = String::from_utf8_lossy(set.unwrap_or_default().trim_ascii()).into_owned();
        let rules = Rules::parse(&decoded(aff, &encoding)?)?;
        let text = decoded(dic, &encoding)?;
        let mut lines = text.lines();
        let count = lines.next().unwrap_or_default().trim();
        if count.parse::<u64>().is_err() {
            return Err(bad(format!(
                "{count:?}: the first line of a .dic file is the number of stems"
            )));
        }
        let (mut stems, mut forbidden) = (Vec::new(), HashSet::new());
        for (number, line) in (2..).zip(lines) {
            let Some((word, flags)) = entry(line) else { continue };
            let flags = rules.flags(flags).map_err(|e| e.context(format!("line {number}")))?;
            if rules.forbidden.is_some_and(|flag| flags.contains(&flag)) {
                forbidden.insert(word);
            } else {
                stems.push((word, flags));
            }
        }
        Ok(Self { rules, stems, forbidden })
    }

    /// Whether the dictionary also allows compound words, which are not written out.
    pub fn compounds(&self) -> bool {
        self.rules.compounds
    }

    /// Calls `f` with every word; some come more than once.
    pub fn each(&self, mut f: impl FnMut(&str)) {
        for (stem, flags) in &self.stems {
            self.rules.each(stem, flags, &mut |word| {
                if !self.forbidden.contains(word) {
                    f(word);
                }
            });
        }
    }
}

/// Stem and flags of a line: `stem/flags`, with what is known of its forms behind.
fn entry(line: &str) -> Option<(String, &str)> {
    let line = line.split('\t').next().unwrap_or_default();
    // " po:noun" and the like: two letters and a colon.
    let morphology =
        line.match_indices(' ').find(|(at, _)| line.as_bytes().get(at + 3) == Some(&b':'));
    let line = morphology.map_or(line, |(at, _)| &line[..at]).trim_end();
    let slash = line.match_indices('/').find(|(at, _)| *at > 0 && !line[..*at].ends_with('\\'));
    let (stem, flags) = slash.map_or((line, ""), |(at, _)| (&line[..at], &line[at + 1..]));
    (!stem.is_empty()).then(|| (stem.replace("\\/", "/"), flags))
}

impl Rules {
    fn parse(text: &str) -> Result<Self> {
        let mut rules = Rules {
            writing: Writing::Letter,
            aliases: Vec::new(),
            prefixes: HashMap::new(),
            suffixes: HashMap::new(),
            forbidden: None,
            needs_affix: None,
            compound_only: None,
            circumfix: None,
            full_strip: false,
            compounds: false,
        };
        // How flags are written stands anywhere.
        for line in text.lines() {
            rules.writing = match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["FLAG", "long", ..] => Writing::Pair,
                ["FLAG", "num", ..] => Writing::Number,
                _ => rules.writing,
            };
        }
        for (number, line) in (1..).zip(text.lines()) {
            rules.line(line).map_err(|e| e.context(format!("line {number}")))?;
        }
        Ok(rules)
    }

    fn line(&mut self, line: &str) -> Result<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["AF", flags, ..]
                if !flags.bytes().all(|b| b.is_ascii_digit()) || !self.aliases.is_empty() =>
            {
                let flags = self.written(flags)?;
                self.aliases.push(flags);
            }
            // The number of aliases; index 0 is none.
            ["AF", ..] => self.aliases.push(Vec::new()),
            ["FORBIDDENWORD", flag, ..] => self.forbidden = self.one(flag)?,
            ["NEEDAFFIX" | "PSEUDOROOT", flag, ..] => self.needs_affix = self.one(flag)?,
            ["ONLYINCOMPOUND", flag, ..] => self.compound_only = self.one(flag)?,
            ["CIRCUMFIX", flag, ..] => self.circumfix = self.one(flag)?,
            ["FULLSTRIP", ..] => self.full_strip = true,
            ["COMPOUNDFLAG" | "COMPOUNDBEGIN", _, ..] => self.compounds = true,
            [kind @ ("PFX" | "SFX"), flag, ref rest @ ..] => {
                let Some(flag) = self.one(flag)? else { return Ok(()) };
                let rule = match rest {
                    [cross @ ("Y" | "N"), count, ..] if count.parse::<u64>().is_ok() => {
                        self.affix(kind, flag).cross |= *cross == "Y";
                        return Ok(());
                    }
                    [strip, add, rest @ ..] => self.rule(strip, add, rest.first(), kind)?,
                    _ => return Err(bad("an affix rule says what to strip and what to add")),
                };
                self.affix(kind, flag).rules.push(rule);
            }
            _ => {}
        }
        Ok(())
    }

    fn affix(&mut self, kind: &str, flag: Flag) -> &mut Affix {
        let all = if kind == "PFX" { &mut self.prefixes } else { &mut self.suffixes };
        all.entry(flag).or_default()
    }

    fn rule(&self, strip: &str, add: &str, condition: Option<&&str>, kind: &str) -> Result<Rule> {
        let nothing =
            |text: &str| if text == "0" { String::new() } else { text.replace("\\/", "/") };
        let (add, flags) = add.split_once('/').unwrap_or((add, ""));
        let mut condition = atoms(condition.unwrap_or(&"."))?;
        if let ("SFX", [Atom::Any]) | ("PFX", [Atom::Any]) = (kind, &condition[..]) {
            condition.clear();
        }
        Ok(Rule { strip: nothing(strip), add: nothing(add), condition, flags: self.flags(flags)? })
    }

    fn one(&self, text: &str) -> Result<Option<Flag>> {
        Ok(self.written(text)?.first().copied())
    }

    /// Flags as they are written, or by the number of an alias.
    fn flags(&self, text: &str) -> Result<Vec<Flag>> {
        if self.aliases.is_empty() || text.is_empty() {
            return self.written(text);
        }
        let alias = text.parse().ok().and_then(|number: usize| self.aliases.get(number));
        alias.cloned().ok_or_else(|| bad(format!("{text:?} is no alias of flags")))
    }

    fn written(&self, text: &str) -> Result<Vec<Flag>> {
        let chars: Vec<char> = text.chars().collect();
        match self.writing {
            Writing::Letter => Ok(chars.into_iter().map(Flag::from).collect()),
            Writing::Pair => Ok(chars
                .chunks(2)
                .map(|pair| Flag::from(pair[0]) << 11 ^ pair.get(1).map_or(0, |c| Flag::from(*c)))
                .collect()),
            Writing::Number if text.is_empty() => Ok(Vec::new()),
            Writing::Number => text
                .split(',')
                .map(|n| n.parse().map_err(|_| bad(format!("{n:?} is no number of a flag"))))
                .collect(),
        }
    }

    /// Calls `f` with all that flags make of a stem.
    fn each(&self, stem: &str, flags: &[Flag], f: &mut impl FnMut(&str)) {
        let has =
            |flags: &[Flag], flag: Option<Flag>| flag.is_some_and(|flag| flags.contains(&flag));
        if !has(flags, self.needs_affix) && !has(flags, self.compound_only) {
            f(stem);
        }
        self.each_prefixed(stem, flags, None, f);
        for (once, affix, rule) in self.affixed(stem, flags, &self.suffixes, false) {
            let both = [if affix.cross { flags } else { &[] }, &rule.flags[..]].concat();
            let round = has(&rule.flags, self.circumfix);
            if !has(&rule.flags, self.needs_affix)
                && !has(&rule.flags, self.compound_only)
                && !round
            {
                f(&once);
            }
            self.each_prefixed(&once, &both, Some(round), f);
            for (twice, affix, second) in self.affixed(&once, &rule.flags, &self.suffixes, false) {
                if !has(&second.flags, self.needs_affix) {
                    f(&twice);
                }
                let both = [if affix.cross { flags } else { &[] }, &second.flags[..]].concat();
                self.each_prefixed(&twice, &both, Some(false), f);
            }
        }
    }

    /// Calls `f` with a word under the prefixes of its flags. `suffixed`: whether the suffix it has goes with a
    /// prefix of its own kind only.
    fn each_prefixed(
        &self,
        word: &str,
        flags: &[Flag],
        suffixed: Option<bool>,
        f: &mut impl FnMut(&str),
    ) {
        for (prefixed, affix, rule) in self.affixed(word, flags, &self.prefixes, true) {
            let round = self.circumfix.is_some_and(|flag| rule.flags.contains(&flag));
            let needs = self.needs_affix.is_some_and(|flag| rule.flags.contains(&flag));
            match suffixed {
                Some(suffix) if affix.cross && suffix == round => f(&prefixed),
                None => {
                    if !round && !needs {
                        f(&prefixed);
                    }
                    for (both, ..) in self.affixed(&prefixed, &rule.flags, &self.suffixes, false) {
                        f(&both);
                    }
                }
                Some(_) => {}
            }
        }
    }

    /// What the affixes of these flags make of a word.
    fn affixed<'a>(
        &'a self,
        word: &'a str,
        flags: &'a [Flag],
        affixes: &'a HashMap<Flag, Affix>,
        front: bool,
    ) -> impl Iterator<Item = (String, &'a Affix, &'a Rule)> {
        let known = flags.iter().filter_map(|flag| affixes.get(flag));
        known.flat_map(move |affix| {
            affix.rules.iter().filter_map(move |rule| {
                Some((rule.apply(word, front, self.full_strip)?, affix, rule))
            })
        })
    }
}

impl Rule {
    fn apply(&self, word: &str, front: bool, full_strip: bool) -> Option<String> {
        let rest =
            if front { word.strip_prefix(&*self.strip) } else { word.strip_suffix(&*self.strip) }?;
        if rest.is_empty() && !full_strip {
            return None;
        }
        let fits = if front {
            let mut letters = word.chars();
            self.condition.iter().all(|atom| letters.next().is_some_and(|c| atom.admits(c)))
        } else {
            let mut letters = word.chars().rev();
            self.condition.iter().rev().all(|atom| letters.next().is_some_and(|c| atom.admits(c)))
        };
        let (first, second) = if front { (&*self.add, rest) } else { (rest, &*self.add) };
        fits.then(|| [first, second].concat())
    }
}

/// The condition of a rule: letters, `.` for any, `[…]` for one of several, `[^…]` for any other.
fn atoms(text: &str) -> Result<Vec<Atom>> {
    let (mut atoms, mut rest) = (Vec::new(), text.chars());
    while let Some(c) = rest.next() {
        atoms.push(match c {
            '.' => Atom::Any,
            '[' => {
                let inside: Vec<char> = rest.by_ref().take_while(|c| *c != ']').collect();
                let negated = inside.first() == Some(&'^');
                let letters = inside[usize::from(negated)..].to_vec();
                if letters.is_empty() {
                    return Err(bad(format!("{text:?} is no condition")));
                }
                Atom::Of { letters, negated }
            }
            c => Atom::Of { letters: vec![c], negated: false },
        });
    }
    Ok(atoms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(aff: &str, dic: &str) -> Vec<String> {
        let expansion = Expansion::parse(aff.as_bytes(), dic.as_bytes()).unwrap();
        let mut words = Vec::new();
        expansion.each(|word| words.push(word.to_owned()));
        words.sort();
        words.dedup();
        words
    }

    #[test]
    fn prefixes_suffixes_and_both() {
        let aff = "SET UTF-8\nPFX U Y 1\nPFX U 0 un .\nSFX D Y 2\nSFX D 0 d e\nSFX D 0 ed [^e]\n\
                   SFX N N 1\nSFX N 0 ness .\n";
        assert_eq!(
            words(aff, "2\ntie/UD\nkind/UN\n"),
            ["kind", "kindness", "tie", "tied", "unkind", "untie", "untied"],
            "a suffix that is not combined stays without the prefix"
        );
    }

    #[test]
    fn suffixes_on_suffixes_aliases_and_ways_to_write_flags() {
        let long = "SET UTF-8\nFLAG long\nSFX Aa Y 1\nSFX Aa 0 er/Bb .\nSFX Bb Y 1\nSFX Bb 0 s .\n";
        assert_eq!(words(long, "1\nwork/Aa\n"), ["work", "worker", "workers"]);
        let number =
            "FLAG num\nAF 1\nAF 1001,7\nSFX 7 Y 1\nSFX 7 0 s .\nSFX 1001 Y 1\nSFX 1001 y ies y\n";
        assert_eq!(
            words(number, "2\ncat/1\ncity/1\tpo:noun\n"),
            ["cat", "cats", "cities", "city", "citys"]
        );
    }

    #[test]
    fn what_is_forbidden_needs_an_affix_or_only_compounds() {
        let aff = "FORBIDDENWORD !\nNEEDAFFIX ~\nONLYINCOMPOUND +\nCOMPOUNDFLAG c\nSFX S Y 1\nSFX S 0 s .\n";
        assert_eq!(
            words(aff, "4\nsheep/S\nsheeps/!\nroot/~S\nling/+\nand\\/or\n"),
            ["and/or", "roots", "sheep"]
        );
        assert!(Expansion::parse(aff.as_bytes(), b"0\n").unwrap().compounds());
    }

    #[test]
    fn circumfixes_come_in_pairs() {
        let aff =
            "CIRCUMFIX X\nPFX A Y 1\nPFX A 0 leg/X .\nSFX B Y 2\nSFX B 0 obb/AX .\nSFX B 0 obb .\n";
        assert_eq!(words(aff, "1\nnagy/B\n"), ["legnagyobb", "nagy", "nagyobb"]);
    }

    #[test]
    fn encodings() {
        let latin = Expansion::parse(b"SET ISO8859-1\n", b"1\n\xe9tude\n").unwrap();
        let mut words = Vec::new();
        latin.each(|word| words.push(word.to_owned()));
        assert_eq!(words, ["étude"]);
        let refused =
            |aff: &[u8], dic: &[u8]| Expansion::parse(aff, dic).err().unwrap().to_string();
        assert!(refused(b"SET KOI8-R\n", b"0\n").contains("iconv"));
        assert!(refused(b"SET UTF-8\n", b"1\n\xff\n").contains("not UTF-8"));
        assert!(refused(b"SET UTF-8\n", b"word\n").contains("number of stems"));
        assert!(refused(b"SFX A Y 1\nSFX A\n", b"0\n").contains("line 2"));
    }
}

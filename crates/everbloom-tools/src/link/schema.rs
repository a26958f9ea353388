//! How the columns of a table become pieces: schemas as the program clkhash has them, in JSON.

use std::io::Read;

use everbloom::{Error, Kind, Result};
use serde_json::Value;

/// Which columns are compared, and how.
///
/// ```
/// use everbloom_tools::link::Schema;
///
/// let schema = Schema::parse(br#"{ "version": 3, "clkConfig": { "l": 1024 }, "features": [
///     { "identifier": "id", "ignored": true },
///     { "identifier": "name", "hashing": { "comparison": { "type": "ngram", "n": 2 },
///                                          "strategy": { "bitsPerToken": 15 } } } ] }"#)?;
/// assert_eq!((schema.bits, schema.fields.len()), (1024, 1));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    /// Bits of a record's filter.
    pub bits: u64,
    /// The columns that are compared.
    pub fields: Vec<Field>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name in the header.
    pub name: String,
    /// What its pieces are.
    pub pieces: Pieces,
    /// How many bits they set.
    pub weight: Weight,
}

/// What the pieces of a value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// Runs of so many letters, the ends padded; with their place, if places count.
    Letters {
        /// Letters a piece.
        n: usize,
        /// Whether equal pieces at different places differ.
        positional: bool,
    },
    /// The value as a whole.
    Whole,
}

/// How many bits a column sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// So many for each piece.
    PerPiece(u32),
    /// So many for all pieces of a value together.
    PerValue(u32),
}

fn bad(message: impl Into<String>) -> Error {
    Error::new(Kind::BadParameter, message)
}

impl Schema {
    /// Pairs of letters of all these columns, 15 bits each among 1024.
    pub fn plain<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let (pieces, weight) = (Pieces::Letters { n: 2, positional: false }, Weight::PerPiece(15));
        let field = |name: S| Field { name: name.into(), pieces, weight };
        Self { bits: 1024, fields: names.into_iter().map(field).collect() }
    }

    /// Reads a schema of clkhash's, version 1, 2 or 3.
    ///
    /// Its columns, lengths of pieces and numbers of bits are taken; its hashes and keys are not, so that filters
    /// made here are compared with those made here.
    pub fn parse(json: &[u8]) -> Result<Self> {
        let schema: Value =
            serde_json::from_slice(json).map_err(|e| bad(format!("no JSON: {e}")))?;
        let version = schema["version"].as_u64().unwrap_or(0);
        if !(1..=3).contains(&version) {
            return Err(bad("no schema of clkhash's, version 1 to 3"));
        }
        let config = &schema["clkConfig"];
        let bits = config["l"].as_u64().filter(|l| (8..=1 << 20).contains(l));
        let bits = bits.ok_or_else(|| bad("clkConfig.l: bits of a filter, 8 to 1048576"))?;
        let features = schema["features"].as_array().ok_or_else(|| bad("no features"))?;
        let mut fields = Vec::new();
        for feature in features.iter().filter(|f| f["ignored"] != true) {
            let name = feature["identifier"]
                .as_str()
                .ok_or_else(|| bad("a feature without identifier"))?;
            let field = field(name, &feature["hashing"], config).map_err(|e| e.context(name))?;
            fields.push(field);
        }
        if fields.is_empty() {
            return Err(bad("no feature that is compared"));
        }
        Ok(Self { bits, fields })
    }

    /// The values of the schema's columns in a table with a header, and of another, by which rows are called.
    pub fn read(&self, table: impl Read, id: Option<&str>) -> Result<Rows> {
        let wrong = |e: csv::Error| Error::new(Kind::BadRecord, e.to_string());
        let mut reader = csv::Reader::from_reader(table);
        let header = reader.headers().map_err(wrong)?.clone();
        let column = |name: &str| {
            let found = header.iter().position(|h| h.trim().eq_ignore_ascii_case(name));
            let all = header.iter().collect::<Vec<_>>().join(", ");
            found.ok_or_else(|| bad(format!("no column {name:?}; there are {all}")))
        };
        let columns: Vec<usize> =
            self.fields.iter().map(|f| column(&f.name)).collect::<Result<_>>()?;
        let id = id.map(column).transpose()?;
        let mut rows = Rows::default();
        for (number, row) in (1..).zip(reader.records()) {
            let row = row.map_err(wrong)?;
            let text = |at: &usize| row.get(*at).unwrap_or_default().trim().to_owned();
            rows.names.push(id.map_or_else(|| u64::to_string(&number), |id| text(&id)));
            rows.values.push(columns.iter().map(|at| text(at).to_lowercase()).collect());
        }
        Ok(rows)
    }
}

/// The header of a table.
pub fn header(table: impl Read) -> Result<Vec<String>> {
    let mut reader = csv::Reader::from_reader(table);
    let header = reader.headers().map_err(|e| Error::new(Kind::BadRecord, e.to_string()))?;
    Ok(header.iter().map(|name| name.trim().to_owned()).collect())
}

/// Rows of a table.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// What each is called: its number from 1, or a column.
    pub names: Vec<String>,
    /// The values that are compared, trimmed and in small letters.
    pub values: Vec<Vec<String>>,
}

fn field(name: &str, hashing: &Value, config: &Value) -> Result<Field> {
    let comparison = &hashing["comparison"];
    let number =
        |value: &Value| value.as_u64().filter(|n| (1..=64).contains(n)).map(|n| n as usize);
    let n = number(&hashing["ngram"]).or(number(&comparison["n"]));
    let positional = hashing["positional"] == true || comparison["positional"] == true;
    let pieces = match (comparison["type"].as_str(), n) {
        (Some("exact"), _) => Pieces::Whole,
        (None | Some("ngram"), Some(n)) => Pieces::Letters { n, positional },
        (Some(other), _) if other != "ngram" => {
            return Err(bad(format!(
                "comparison {other:?} is not known here: take ngram or exact"
            )));
        }
        _ => return Err(bad("pieces of how many letters? hashing has no n")),
    };
    let strategy = &hashing["strategy"];
    let count = |value: &Value| value.as_f64().filter(|b| (1.0..=100_000.0).contains(b));
    // Version 1 has a number for all columns and a weight for each.
    let weighed = count(&config["k"])
        .map(|k| (k * hashing["weight"].as_f64().unwrap_or(1.0)).round().max(1.0));
    let per_piece = count(&strategy["bitsPerToken"]).or(count(&strategy["k"]));
    let per_value = count(&strategy["bitsPerFeature"]).or(count(&strategy["numBits"]));
    let weight = match (per_piece, per_value, weighed) {
        (Some(bits), ..) => Weight::PerPiece(bits as u32),
        (_, Some(bits), _) => Weight::PerValue(bits as u32),
        (.., Some(bits)) => Weight::PerPiece(bits as u32),
        _ => {
            return Err(bad("how many bits? strategy has neither bitsPerToken nor bitsPerFeature"));
        }
    };
    Ok(Field { name: name.to_owned(), pieces, weight })
}

impl Field {
    /// The pieces of a value; an empty one has none.
    pub fn pieces(&self, value: &str) -> Vec<String> {
        let Pieces::Letters { n, positional } = self.pieces else {
            return if value.is_empty() { Vec::new() } else { vec![value.to_owned()] };
        };
        if value.is_empty() {
            return Vec::new();
        }
        let pad = || std::iter::repeat_n('_', n - 1);
        let letters: Vec<char> = pad().chain(value.chars()).chain(pad()).collect();
        let windows = letters.windows(n).map(|piece| piece.iter().collect::<String>());
        let placed =
            |(i, piece): (usize, String)| if positional { format!("{i} {piece}") } else { piece };
        windows.enumerate().map(placed).collect()
    }

    /// Bits for each of so many pieces.
    pub fn bits(&self, pieces: usize) -> u32 {
        match self.weight {
            Weight::PerPiece(bits) => bits,
            Weight::PerValue(bits) => (bits / pieces.max(1) as u32).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_of_three_versions() {
        let v1 = br#"{"version":1,"clkConfig":{"l":1000,"k":20},"features":[
            {"identifier":"a","hashing":{"ngram":2,"weight":1.5}},
            {"identifier":"b","hashing":{"ngram":1,"positional":true}}]}"#;
        let schema = Schema::parse(v1).unwrap();
        assert_eq!(schema.fields[0].weight, Weight::PerPiece(30));
        assert_eq!(schema.fields[1].pieces("ab"), ["0 a", "1 b"]);
        let v2 = br#"{"version":2,"clkConfig":{"l":1024},"features":[
            {"identifier":"a","hashing":{"ngram":3,"strategy":{"numBits":100}}}]}"#;
        let field = &Schema::parse(v2).unwrap().fields[0];
        assert_eq!(field.pieces("xy"), ["__x", "_xy", "xy_", "y__"]);
        assert_eq!((field.bits(4), field.bits(1000)), (25, 1));
        let v3 = br#"{"version":3,"clkConfig":{"l":64},"features":[{"identifier":"id","ignored":true},
            {"identifier":"a","hashing":{"comparison":{"type":"exact"},"strategy":{"bitsPerFeature":40}}}]}"#;
        assert_eq!(Schema::parse(v3).unwrap().fields[0].pieces("a b"), ["a b"]);
        for (json, why) in [
            ("{", "no JSON"),
            ("{}", "version"),
            (r#"{"version":3,"clkConfig":{},"features":[]}"#, "bits"),
            (r#"{"version":3,"clkConfig":{"l":64},"features":[]}"#, "compared"),
            (
                r#"{"version":3,"clkConfig":{"l":64},"features":[{"identifier":"a","hashing":
                {"comparison":{"type":"numeric"}}}]}"#,
                "numeric",
            ),
            (
                r#"{"version":3,"clkConfig":{"l":64},"features":[{"identifier":"a","hashing":
                {"comparison":{"type":"ngram","n":2}}}]}"#,
                "bitsPerToken",
            ),
        ] {
            let error = Schema::parse(json.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(why), "{json}: {error}");
        }
    }

    #[test]
    fn tables_are_read_by_their_header() {
        let table = "id,Name,town\n7,\" Smith, J \",Rome\n8,EVE,\n";
        let schema = Schema::plain(["town", "name"]);
        let rows = schema.read(table.as_bytes(), Some("id")).unwrap();
        assert_eq!(rows.names, ["7", "8"]);
        assert_eq!(rows.values, [["rome", "smith, j"], ["", "eve"]]);
        assert_eq!(schema.read(table.as_bytes(), None).unwrap().names, ["1", "2"]);
        let missing = Schema::plain(["street"]).read(table.as_bytes(), None).unwrap_err();
        assert!(missing.to_string().contains("id, Name, town"), "{missing}");
        assert!(schema.read(&b"name,town\na\n"[..], None).is_err(), "a row of another length");
    }
}

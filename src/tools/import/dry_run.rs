//! A dry run: reports the lines that an import would reject, and those that Plaudit lacks or has otherwise. It writes
//! nothing. Rows that no line is about are not reported.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io::{self, Write},
    sync::atomic::Ordering::Relaxed,
};

use super::{
    barrier::Barrier,
    batch_writer::ParsedLine,
    batches::{Batches, LineBatch, Reading},
    input::Input,
    line::{Line, Reason},
    names::Names,
    run::{ImportError, Progress},
    write::{without_erased, write},
};
use plaudit_catalogue::{EntityKind, UnixMillis, primitives::ShardCount};
use plaudit_store::{
    StoreResult,
    redis::Redis,
    sql::{
        Db, Tx,
        import::lines::{self, LineSection, RowKey},
    },
};

/// Numbers of lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Compared {
    pub lines: u64,
    /// Plaudit has nothing of them.
    pub missing: u64,
    /// Plaudit has other texts, or an older edge or rating that says otherwise.
    pub otherwise: u64,
    /// What Plaudit has came later: a removal, an erasure, an edge or rating. An import changes nothing of it.
    pub later: u64,
}

/// What a dry run of a file has found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// By the types of lines.
    pub types: BTreeMap<&'static str, Compared>,
    /// All lines that were read.
    pub lines: u64,
    /// Lines that an import would reject.
    pub rejected: u64,
    /// Rejected lines that say nothing that could be compared.
    pub wrong: u64,
}

impl Comparison {
    pub fn all(&self) -> Compared {
        self.types.values().fold(Compared::default(), |all, of| Compared {
            lines: all.lines + of.lines,
            missing: all.missing + of.missing,
            otherwise: all.otherwise + of.otherwise,
            later: all.later + of.later,
        })
    }

    /// Whether Plaudit has what the lines say, or what came later.
    pub fn is_equal(&self) -> bool {
        let all = self.all();
        all.missing + all.otherwise + self.wrong == 0
    }

    fn count(&mut self, line: &Line, finding: LineFinding) {
        let of_type = self.types.entry(line.type_name()).or_default();
        of_type.lines += 1;
        match finding {
            LineFinding::Same => {}
            LineFinding::Missing => of_type.missing += 1,
            LineFinding::Otherwise => of_type.otherwise += 1,
            LineFinding::Later => of_type.later += 1,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LineFinding {
    Same,
    Missing,
    Otherwise,
    Later,
}

/// Reads one input after the other, in batches.
pub struct DryRun {
    db: Db,
    shards: ShardCount,
    barrier: Barrier,
    names: Names,
}

impl DryRun {
    pub fn new(redis: Redis, db: Db) -> Self {
        let shards = redis.shards();
        Self { barrier: Barrier::new(redis, db.clone()), shards, db, names: Names::default() }
    }

    /// Writes the lines that are missing or otherwise to `differences`, in their order.
    ///
    /// # Errors
    /// [`ImportError`].
    pub async fn run(
        &mut self,
        input: &Input,
        differences: &mut Option<impl Write>,
        progress: &Progress,
    ) -> Result<Comparison, ImportError> {
        let reading = |error: io::Error| ImportError::Read { name: input.name(), source: error };
        let mut batches = Batches::of(input.open().map_err(reading)?, progress.bytes.clone());
        let mut comparison = Comparison::default();
        while let Some(batch) = batches.next(Reading::AHEAD).await {
            let batch = batch.map_err(reading)?;
            if let Some(newest) = batch.newest_edge() {
                self.barrier.wait(newest).await??;
            }
            let (rejected, findings) = self.look(&batch).await?;
            comparison.lines = batch.last;
            comparison.rejected += rejected;
            comparison.wrong += batch.rejected.len() as u64;
            for (parsed, finding) in batch.lines.iter().zip(findings) {
                comparison.count(&parsed.line, finding);
                if let (LineFinding::Missing | LineFinding::Otherwise, Some(out)) =
                    (finding, &mut *differences)
                {
                    writeln!(out, "{}", parsed.text).map_err(ImportError::Differences)?;
                }
            }
            progress.lines.store(comparison.lines, Relaxed);
            progress.rejected.store(comparison.rejected, Relaxed);
        }
        Ok(comparison)
    }

    /// How many lines of a batch an import would reject, and the findings in the order of those that were parsed.
    async fn look(&mut self, batch: &LineBatch) -> StoreResult<(u64, Vec<LineFinding>)> {
        let (mut tx, names) = (self.db.begin().await?, &mut self.names);
        names.shrink();
        let written = write(&mut tx, names, &batch.lines, self.shards, true).await?;
        let (_, erased) = without_erased(&mut tx, &batch.lines).await?;
        let stored = StoredLines::read(&mut tx, names, &batch.lines).await?;
        let finding = |parsed: &ParsedLine| match erased.contains_key(&parsed.number) {
            true => LineFinding::Later,
            false => stored.finding(&parsed.line),
        };
        let rejected = batch.rejected.len() + written.rejected.len();
        Ok((rejected as u64, batch.lines.iter().map(finding).collect()))
    }
}

/// Where the row of a line is.
type StoredRow = (LineSection, RowKey);

/// What Plaudit has of a batch, as lines.
struct StoredLines<'a> {
    names: &'a Names,
    /// Texts that no import would take are errors, such as those that name an erased user.
    lines: HashMap<StoredRow, Result<Line, Reason>>,
}

impl<'a> StoredLines<'a> {
    async fn read(tx: &mut Tx, names: &'a Names, lines: &[ParsedLine]) -> StoreResult<Self> {
        let mut rows = BTreeMap::<LineSection, BTreeSet<RowKey>>::new();
        for (section, row) in lines.iter().filter_map(|parsed| row_of(names, &parsed.line)) {
            rows.entry(section).or_default().insert(row);
        }
        let mut stored = HashMap::new();
        for (section, rows) in rows {
            let found = lines::stored_lines(tx, section, &rows.into_iter().collect::<Vec<_>>()).await?;
            let parse = |(row, text): (RowKey, String)| ((section, row), Line::parse(&text, UnixMillis::MAX));
            stored.extend(found.into_iter().map(parse));
        }
        Ok(Self { names, lines: stored })
    }

    fn finding(&self, line: &Line) -> LineFinding {
        if line.carried().is_some_and(|line| self.names.is_from_here(line)) {
            return LineFinding::Same;
        }
        let of = line.thing().or_else(|| line.carried().map(|line| (line.counter.kind(), line.of.as_str())));
        if of.and_then(|(kind, name)| self.names.find(kind, name)).is_some_and(|thing| thing.is_removed) {
            return LineFinding::Later;
        }
        match (row_of(self.names, line).and_then(|row| self.lines.get(&row)), line) {
            (Some(Ok(stored)), _) => compare(line, stored),
            (Some(Err(_)), _) => LineFinding::Otherwise,
            // What is off, or carries nothing, has no row either.
            (None, Line::Edge(line)) if !line.on => LineFinding::Same,
            (None, Line::Carried(line))
                if line.value == 0 && self.names.find(line.counter.kind(), &line.of).is_some() =>
            {
                LineFinding::Same
            }
            (None, _) => LineFinding::Missing,
        }
    }
}

/// The row that a line is about; `None` if it names something unknown.
fn row_of(names: &Names, line: &Line) -> Option<StoredRow> {
    let id = |kind, name: &str| names.find(kind, name).map(|thing| thing.id.get());
    Some(match line {
        Line::Edge(line) => {
            let (actor, target) = names.edge(line.kind, &line.user, &line.target).ok()?;
            (LineSection::Edges(line.kind), (actor.get(), target.id.get()))
        }
        Line::Rating(line) => {
            (LineSection::Ratings, (id(EntityKind::User, &line.user)?, id(EntityKind::Note, &line.note)?))
        }
        Line::Carried(line) => (LineSection::Carried(line.counter), (id(line.counter.kind(), &line.of)?, 0)),
        Line::User(_) | Line::Group(_) | Line::Note(_) | Line::Comment(_) => {
            let (kind, name) = line.thing()?;
            (LineSection::Things(kind), (id(kind, name)?, 0))
        }
    })
}

/// Compares a line with its row's line. Times of things, and what the line leaves out, are not compared.
fn compare(line: &Line, stored: &Line) -> LineFinding {
    let is_same = match (line, stored) {
        (Line::User(line), Line::User(row)) => {
            line.name == row.name && is_said(&line.avatar_url, &row.avatar_url)
        }
        (Line::Group(line), Line::Group(row)) => {
            (&line.owner, &line.name, &line.description) == (&row.owner, &row.name, &row.description)
        }
        (Line::Note(line), Line::Note(row)) => {
            let is_text = |line: &str, row: &str| line.is_empty() || line == row;
            line.author == row.author
                && is_text(&line.title, &row.title)
                && is_text(&line.body, &row.body)
                && is_said(&line.group, &row.group)
                && is_said(&line.url, &row.url)
        }
        (Line::Comment(line), Line::Comment(row)) => {
            (&line.author, &line.note, &line.body) == (&row.author, &row.note, &row.body)
                && line.images == row.images
                && is_said(&line.reply_to, &row.reply_to)
        }
        // Of equal times an import leaves the row.
        (Line::Edge(line), Line::Edge(row)) if line.on != row.on => {
            return if row.at >= line.at { LineFinding::Later } else { LineFinding::Otherwise };
        }
        (Line::Rating(line), Line::Rating(row)) if line.score != row.score => {
            return if row.at >= line.at { LineFinding::Later } else { LineFinding::Otherwise };
        }
        (Line::Edge(_), Line::Edge(_)) | (Line::Rating(_), Line::Rating(_)) => true,
        (Line::Carried(line), Line::Carried(row)) => line.value == row.value,
        _ => false,
    };
    if is_same { LineFinding::Same } else { LineFinding::Otherwise }
}

/// Whether an optional field of a line is left out, or what is stored.
fn is_said(line: &Option<String>, stored: &Option<String>) -> bool {
    line.is_none() || line == stored
}

//! The report on its way out, and the line that tells what goes on.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use super::model::Report;
use super::options::{Format, Options};
use super::report::{json, markdown, progress, sarif, text};
use crate::bridge::Level;
use crate::shell::{self, Console};
use crate::sys;

/// The file of `--output`. It is opened before anything is started, so that nobody waits for a
/// report that cannot be written, and changed only once there is one.
pub(super) struct Sheet<'o> {
    path: &'o Path,
    file: File,
    /// It was not there before. The path is that of the file itself, where ours is a link to it.
    made: Option<PathBuf>,
}

impl<'o> Sheet<'o> {
    pub(super) fn open(path: &'o Path) -> Result<Self, String> {
        let is_new = !path.exists();
        let file = opened(path).map_err(|error| unwritable(path, &error))?;
        let made = if is_new { fs::canonicalize(path).ok() } else { None };
        Ok(Sheet { path, file, made })
    }

    fn write(mut self, text: &str) -> Result<(), String> {
        // A pipe or a device has no length.
        let is_file = self.file.metadata().is_ok_and(|metadata| metadata.is_file());
        let written = if is_file { self.replace(text) } else { self.append(text) };
        written.map_err(|error| unwritable(self.path, &error))
    }

    fn append(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())
    }

    /// Meanwhile another check, which had made the file, may have removed it.
    fn replace(&mut self, text: &str) -> io::Result<()> {
        if self.length_at(self.path).is_none() {
            self.file = opened(self.path)?;
        }
        self.file.set_len(0)?;
        self.append(text)
    }

    /// There is no report after all. What others wrote or put there meanwhile stays.
    pub(super) fn discard(self) {
        if let Some(path) = self.made.as_deref().filter(|path| self.length_at(path) == Some(0)) {
            let _ = fs::remove_file(path);
        }
    }

    /// How long our file is, where it is the one at this path.
    fn length_at(&self, path: &Path) -> Option<u64> {
        let (ours, there) = (self.file.metadata().ok()?, fs::metadata(path).ok()?);
        let is_ours = (ours.dev(), ours.ino()) == (there.dev(), there.ino());
        is_ours.then_some(there.len())
    }
}

fn opened(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).open(path)
}

fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("--output: cannot write '{}': {error}", path.display())
}

/// Prints the report where it is wanted.
pub(super) fn deliver(
    options: &Options,
    report: &Report,
    sheet: Option<Sheet<'_>>,
    console: &Console,
) -> Result<(), String> {
    let to_terminal = sheet.is_none() && io::stdout().is_terminal();
    let printed = match options.wishes.format {
        Format::Json => json::print(report),
        Format::Sarif => sarif::print(report, anchor(options).as_deref()),
        Format::Markdown => markdown::print(report),
        Format::Text => text::print(report, &style(options, to_terminal)),
    };
    // Whoever takes the report may take its time; signals end us as they end anybody.
    sys::release_signals();
    if let Some(sheet) = sheet {
        sheet.write(&printed)?;
        console.say(Level::Info, &text::last_line(report));
        for note in &report.notes {
            console.say(Level::Info, note);
        }
        return Ok(());
    }
    shell::print(&printed)
}

fn style(options: &Options, to_terminal: bool) -> text::Style {
    let columns = if to_terminal { sys::columns() } else { None };
    text::Style {
        width: columns.unwrap_or(80).max(60),
        has_color: to_terminal && options.wishes.may_color && shell::may_colour(),
        is_verbose: options.wishes.verbose,
    }
}

/// The file that findings are shown at: the one that was named, or the first word of the command
/// that is a file below our working directory, where the sources are taken to begin.
fn anchor(options: &Options) -> Option<String> {
    let here = env::current_dir().unwrap_or_default();
    let below = |path: &Path| {
        let path = here.join(path);
        // Collected, its parts have no `.` among them.
        let path: PathBuf = path.strip_prefix(&here).ok()?.components().collect();
        let leaves = path.components().any(|part| part == Component::ParentDir);
        (!leaves).then(|| path.to_string_lossy().into_owned())
    };
    if let Some(path) = &options.wishes.anchor {
        return below(path).or_else(|| Some(path.to_string_lossy().into_owned()));
    }
    let folder = here.join(options.launch.cwd.as_deref().unwrap_or(Path::new("")));
    let words = std::iter::once(&options.launch.program).chain(&options.launch.args);
    let mut files = words.map(|word| folder.join(word)).filter(|path| path.is_file());
    files.find_map(|path| below(&path))
}

/// One line on a terminal that tells what goes on.
pub(super) struct Progress {
    width: Option<usize>,
}

impl Progress {
    pub(super) fn new() -> Self {
        let is_shown = io::stderr().is_terminal() && !shell::is_dumb_terminal();
        // Some terminals do not know their size.
        let width = is_shown.then(|| sys::columns().unwrap_or(80));
        Progress { width }
    }

    pub(super) fn show(&self, what: &str, is_wrapped: bool) {
        if let Some(width) = self.width {
            let behind = format!("{what} (wrapped)");
            let line = progress::line(if is_wrapped { &behind } else { what }, width);
            let _ = io::stderr().write_all(line.as_bytes());
        }
    }

    pub(super) fn hide(&self) {
        if self.width.is_some() {
            let _ = io::stderr().write_all(progress::ERASE.as_bytes());
        }
    }
}
